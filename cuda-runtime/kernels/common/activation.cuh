// Activations of an epilogue: codes and formulas of plan/epilogue.ts, in FP32.
#pragma once

enum ActivationCode : int {
  kNone = 0, kRelu = 1, kClip = 2, kLeakyRelu = 3, kSigmoid = 4, kTanh = 5, kSilu = 6, kGelu = 7,
  kGeluTanh = 8, kHardSigmoid = 9, kHardSwish = 10, kElu = 11, kSoftplus = 12, kAffine = 13,
};

struct Activation {
  int kind;
  float a;
  float b;
};

__device__ __forceinline__ float sigmoidOf(float x) { return 1.0f / (1.0f + __expf(-x)); }

__device__ __forceinline__ float geluOf(float x) { return 0.5f * x * (1.0f + erff(x * 0.70710678118654752f)); }

__device__ __forceinline__ float geluTanhOf(float x) {
  return 0.5f * x * (1.0f + tanhf(0.79788456080286536f * (x + 0.044715f * x * x * x)));
}

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
    case kGeluTanh: return geluTanhOf(x);
    case kHardSigmoid: return clipOf(f.a * x + f.b, 0.0f, 1.0f);
    case kHardSwish: return x * clipOf(f.a * x + f.b, 0.0f, 1.0f);
    case kElu: return x < 0.0f ? f.a * expm1f(x) : x;
    case kSoftplus: return x > 20.0f ? x : log1pf(__expf(x));
    case kAffine: return f.a * x + f.b;
    default: return x;
  }
}
