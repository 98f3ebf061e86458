// Activations of an epilogue: codes and formulas of ir/epilogue.ts, in FP32.
#pragma once
#include "approximate.cuh"
#include "params.generated.cuh"

enum ActivationCode : int {
  kNone = 0, kRelu = 1, kClip = 2, kLeakyRelu = 3, kSigmoid = 4, kTanh = 5, kSilu = 6, kGelu = 7,
  kGeluTanh = 8, kHardSigmoid = 9, kHardSwish = 10, kElu = 11, kSoftplus = 12, kAffine = 13,
};

// As right as the argument of ex2, which FP32 rounds: relatively within 5e-7 + 9e-8 |x| where x < 0, within 4e-7 elsewhere; 0 below
// -87.4. No branch: formulas of several elements stand side by side.
__device__ __forceinline__ float sigmoidOf(float x) { return reciprocalFast(1.0f + exp2Fast(-1.4426950408889634f * x)); }

// Of NaN NaN: one instruction each from sm_80 on.
__device__ __forceinline__ float atLeast(float x, float low) {
#if __CUDA_ARCH__ >= 800
  float y;
  asm("max.NaN.f32 %0, %1, %2;" : "=f"(y) : "f"(x), "f"(low));
  return y;
#else
  return x < low ? low : x;
#endif
}
__device__ __forceinline__ float atMost(float x, float high) {
#if __CUDA_ARCH__ >= 800
  float y;
  asm("min.NaN.f32 %0, %1, %2;" : "=f"(y) : "f"(x), "f"(high));
  return y;
#else
  return x > high ? high : x;
#endif
}

// x Φ(x) as relu(x) - |x| Q(|x|), where Q is small and keeps its digits: erfc by Abramowitz and Stegun 7.1.26, within
// 1.5e-7. Without branches, and with two slow instructions; erff has about fifty.
__device__ __forceinline__ float geluOf(float x) {
  const float size = fminf(fabsf(x), 100.0f);
  const float z = size * 0.70710678118654752f;
  const float t = reciprocalFast(1.0f + 0.3275911f * z);
  const float series = t * (0.254829592f + t * (-0.284496736f + t * (1.421413741f + t * (-1.453152027f + t * 1.061405429f))));
  const float tail = 0.5f * size * series * exp2Fast(-1.4426950408889634f * z * z);
  return (x < 0.0f ? 0.0f : x) - tail;
}

// The same for results that are rounded to halves: Q as a power of two, whose exponent is a polynomial of |x|. Off by 0.009 of an FP16
// result's last place at most, relatively by 5e-6 from -4 on and 4e-5 from -7 on; below, where x Φ(x) is under 1e-11, by no more than
// that. Eleven instructions, one of them slow. test/cuda-runtime/kernels/activation.test.ts holds it to that.
__device__ __forceinline__ float geluForHalf(float x) {
  const float size = fminf(fabsf(x), 100.0f);
  float power = -1.7560769e-6f;
  power = fmaf(power, size, 6.0077720e-5f);
  power = fmaf(power, size, -9.1905566e-4f);
  power = fmaf(power, size, 8.4648514e-3f);
  power = fmaf(power, size, -5.3875610e-2f);
  power = fmaf(power, size, -4.5854726e-1f);
  power = fmaf(power, size, -1.1512164f);
  power = fmaf(power, size, -0.99999923f);
  return fmaf(-size, exp2Fast(power), atLeast(x, 0.0f));
}

// The same: by its power series up to 1/4, by the sigmoid beyond. Off by 0.01 of an FP16 result's last place at most, relatively by 4e-6.
__device__ __forceinline__ float tanhForHalf(float x) {
  const float square = x * x;
  float series = fmaf(square, -0.053968254f, 0.13333333f);
  series = fmaf(square, series, -0.33333333f);
  series = fmaf(x * square, series, x);
  return square < 0.0625f ? series : fmaf(2.0f, sigmoidOf(2.0f * x), -1.0f);
}

// GELU with tanh is x sigmoid(this): 0.5 (1 + tanh(u)) is sigmoid(2 u).
__device__ __forceinline__ float geluTanhSlope(float x) { return 1.5957691216057308f * (x + 0.044715f * x * x * x); }

// Comparisons are written so that NaN stays NaN.
__device__ __forceinline__ float clipOf(float x, float low, float high) {
  return x < low ? low : (x > high ? high : x);
}

// `kind` is the same for the whole launch: one uniform branch.
__device__ __forceinline__ float activate(float x, const Activation& f) {
  switch (f.kind) {
    case kRelu: return x < 0.0f ? 0.0f : x;
    case kClip: return clipOf(x, f.a, f.b);
    case kLeakyRelu: return x < 0.0f ? f.a * x : x;
    case kSigmoid: return sigmoidOf(x);
    case kTanh: return tanhf(x);
    case kSilu: return x * sigmoidOf(f.a * x);
    case kGelu: return geluOf(x);
    case kGeluTanh: return x * sigmoidOf(geluTanhSlope(x));
    case kHardSigmoid: return clipOf(f.a * x + f.b, 0.0f, 1.0f);
    case kHardSwish: return x * clipOf(f.a * x + f.b, 0.0f, 1.0f);
    case kElu: return x < 0.0f ? f.a * expm1f(x) : x;
    case kSoftplus: return x > 20.0f ? x : log1pf(__expf(x));
    case kAffine: return f.a * x + f.b;
    default: return x;
  }
}
