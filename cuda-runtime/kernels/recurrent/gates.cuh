// What a hidden unit does with the sums of its gates: LSTM, GRU and RNN. State and arithmetic are float32.
#pragma once
#include "../common/approximate.cuh"
#include "params.generated.cuh"

enum GateActivation : int {
  kSigmoid = 0, kTanh = 1, kRelu = 2, kAffine = 3, kLeakyRelu = 4, kThresholdedRelu = 5, kScaledTanh = 6,
  kHardSigmoid = 7, kElu = 8, kSoftsign = 9, kSoftplus = 10,
};

// Not inlined: it is in every kernel several times, and takes a small part of the time.
__device__ __noinline__ float gate(float x, GateFunction f) {
  switch (f.kind) {
    case kSigmoid: return 1.0f / (1.0f + expf(-x));
    case kTanh: return tanhf(x);
    case kRelu: return x < 0.0f ? 0.0f : x;
    case kAffine: return f.alpha * x + f.beta;
    case kLeakyRelu: return x < 0.0f ? f.alpha * x : x;
    case kThresholdedRelu: return x > f.alpha ? x : 0.0f;
    case kScaledTanh: return f.alpha * tanhf(f.beta * x);
    case kHardSigmoid: return fminf(fmaxf(f.alpha * x + f.beta, 0.0f), 1.0f);
    case kElu: return x < 0.0f ? f.alpha * expm1f(x) : x;
    case kSoftsign: return x / (1.0f + fabsf(x));
    default: return x > 20.0f ? x : log1pf(expf(x));
  }
}

__device__ __forceinline__ float clipped(float x, float limit) {
  return x < -limit ? -limit : (x > limit ? limit : x);
}

enum Cell : int { kLstm, kRnn, kGru, kGruGates, kGruCandidate };

template <Cell CELL> struct CellTraits;
// Gates in R, the first of them that is multiplied here, and how many are.
template <> struct CellTraits<kLstm> { static constexpr int kAll = 4, kFirst = 0, kCount = 4; };
template <> struct CellTraits<kRnn> { static constexpr int kAll = 1, kFirst = 0, kCount = 1; };
template <> struct CellTraits<kGru> { static constexpr int kAll = 3, kFirst = 0, kCount = 3; };
template <> struct CellTraits<kGruGates> { static constexpr int kAll = 3, kFirst = 0, kCount = 2; };
template <> struct CellTraits<kGruCandidate> { static constexpr int kAll = 3, kFirst = 2, kCount = 1; };

struct Moment {
  bool isActive;
  int time;
};

// A reversed direction goes from the end of each sequence; steps behind its end only write zeros.
__device__ __forceinline__ Moment momentOf(const RecurrentParams& p, int direction, int length, int step) {
  const bool isActive = step < length;
  const bool isReversed = p.reversed[direction] != 0;
  return {isActive, isReversed && isActive ? length - 1 - step : step};
}

__device__ __forceinline__ int lengthOf(const RecurrentParams& p, int sequence) {
  return p.lengths == nullptr ? p.steps : p.lengths[sequence];
}

// Functions of one direction as the parameters name them, behind limits.
struct NamedGates {
  // Where the function of an RNN is.
  static constexpr int kTangent = 0;
  const RecurrentParams& p;
  const int direction;

  __device__ __forceinline__ float of(float x, int index) const { return ofState(clipped(x, p.clip), index); }
  __device__ __forceinline__ float ofState(float x, int index) const { return gate(x, p.functions[direction][index]); }
  // Of an LSTM: what a gate (0 input, 1 output, 2 forget) sees of the cell.
  __device__ __forceinline__ float seen(int gate, int unit, float cell) const {
    if (p.peepholes == nullptr) return 0.0f;
    return p.peepholes[(static_cast<int64_t>(direction) * 3 + gate) * p.hidden + unit] * cell;
  }
  __device__ __forceinline__ bool forgetsInput() const { return p.inputForget != 0; }
};

// What nearly all networks have: a sigmoid first, behind it the hyperbolic tangent, and nothing else. Without branches, and exact to a few
// units of float32 around 1.
struct UsualGates {
  static constexpr int kTangent = 1;
  static constexpr float kLog2e = 1.44269504f;

  static __device__ __forceinline__ bool suits(const RecurrentParams& p, int direction, int functions) {
    const GateFunction* f = p.functions[direction];
    if (functions == 1) return f[0].kind == kTanh && p.clip == INFINITY;
    const bool isKnown = f[0].kind == kSigmoid && f[1].kind == kTanh && (functions == 2 || f[2].kind == kTanh);
    return isKnown && p.clip == INFINITY && p.peepholes == nullptr && p.inputForget == 0;
  }
  static __device__ __forceinline__ float of(float x, int index) {
    if (index == 0) return reciprocalFast(1.0f + exp2Fast(-kLog2e * x));
    return fmaf(-2.0f, reciprocalFast(1.0f + exp2Fast(2.0f * kLog2e * x)), 1.0f);
  }
  static __device__ __forceinline__ float ofState(float x, int index) { return of(x, index); }
  static __device__ __forceinline__ float seen(int, int, float) { return 0.0f; }
  static __device__ __forceinline__ bool forgetsInput() { return false; }
};

// `in`: input, output, forget and cell gate. `cell` is the state of the cell, which it changes.
template <typename Gates>
__device__ __forceinline__ float lstmUnit(const Gates& gates, int unit, const float (&in)[4], float& cell) {
  const float before = cell;
  const float input = gates.of(in[0] + gates.seen(0, unit, before), 0);
  const float forget = gates.forgetsInput() ? 1.0f - input : gates.of(in[2] + gates.seen(2, unit, before), 0);
  cell = forget * before + input * gates.of(in[3], 1);
  return gates.of(in[1] + gates.seen(1, unit, cell), 0) * gates.ofState(cell, 2);
}

// A GRU whose reset comes behind the product with R: update, reset and candidate, of the input and of the state.
template <typename Gates>
__device__ __forceinline__ float gruUnit(const Gates& gates, const float (&in)[3], const float (&product)[3], float before) {
  const float z = gates.of(in[0] + product[0], 0);
  const float r = gates.of(in[1] + product[1], 0);
  return (1.0f - z) * gates.of(in[2] + r * product[2], 1) + z * before;
}
