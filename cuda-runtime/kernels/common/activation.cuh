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
