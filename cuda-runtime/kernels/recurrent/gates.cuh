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

// Functions of one direction as the parameters name them.
struct NamedGates {
  // Where the function of an RNN is.
  static constexpr int kTangent = 0;
  const GateFunction* functions;
  __device__ __forceinline__ float of(float x, int index) const { return gate(x, functions[index]); }
};

// A sigmoid first, and behind it the hyperbolic tangent: without branches, and exact to a few units of float32 around 1.
struct UsualGates {
  static constexpr int kTangent = 1;
  static constexpr float kLog2e = 1.44269504f;
  static __device__ __forceinline__ float sigmoid(float x) { return reciprocalFast(1.0f + exp2Fast(-kLog2e * x)); }
  static __device__ __forceinline__ float of(float x, int index) {
    return index == 0 ? sigmoid(x) : fmaf(-2.0f, reciprocalFast(1.0f + exp2Fast(2.0f * kLog2e * x)), 1.0f);
  }
};

// `in`: input, output, forget and cell gate, clipped behind their peepholes. `cell` is the state of the cell, which it changes.
template <typename Gates>
__device__ __forceinline__ float lstmUnit(const RecurrentParams& p, int direction, int unit, const Gates& gates, const float (&in)[4],
                                          float& cell) {
  const float* peep = p.peepholes == nullptr ? nullptr : p.peepholes + static_cast<int64_t>(direction) * 3 * p.hidden + unit;
  const float before = cell;
  const float peepInput = peep == nullptr ? 0.0f : peep[0] * before;
  const float peepForget = peep == nullptr ? 0.0f : peep[2 * p.hidden] * before;
  const float input = gates.of(clipped(in[0] + peepInput, p.clip), 0);
  const float forget = p.inputForget != 0 ? 1.0f - input : gates.of(clipped(in[2] + peepForget, p.clip), 0);
  cell = forget * before + input * gates.of(clipped(in[3], p.clip), 1);
  const float peepOutput = peep == nullptr ? 0.0f : peep[p.hidden] * cell;
  const float output = gates.of(clipped(in[1] + peepOutput, p.clip), 0);
  return output * gates.of(cell, 2);
}

// A GRU whose reset comes behind the product with R: update, reset and candidate, of the input and of the state.
template <typename Gates>
__device__ __forceinline__ float gruUnit(const RecurrentParams& p, const Gates& gates, const float (&in)[3], const float (&product)[3],
                                         float before) {
  const float z = gates.of(clipped(in[0] + product[0], p.clip), 0);
  const float r = gates.of(clipped(in[1] + product[1], p.clip), 0);
  const float candidate = in[2] + r * product[2];
  return (1.0f - z) * gates.of(clipped(candidate, p.clip), 1) + z * before;
}
