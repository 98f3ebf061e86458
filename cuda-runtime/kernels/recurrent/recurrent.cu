// LSTM, GRU and RNN: what comes after the product with the whole input. State and arithmetic are float32.
//
// `tensor` kernels (tensor.cuh) keep R and do all steps. In others a warp makes one hidden unit for B sequences at once: its rows of R times the state, a sum over the warp, then one
// lane a sequence applies the gates. `step` kernels do one time step for all units; `sequence` kernels keep a whole
// sequence in one block, for states so small that a launch would cost more.
#include "../common/launch.cuh"
#include "../common/storage.cuh"
#include "gates.cuh"
#include "tensor.cuh"

__device__ __forceinline__ float warpSum(float x) {
  #pragma unroll
  for (int distance = 16; distance > 0; distance >>= 1) x += __shfl_xor_sync(0xffffffffu, x, distance);
  return x;
}

// Where a warp works: which direction, which sequences (B of them from `first` on, `count` of which exist).
struct Place {
  int direction;
  int first;
  int count;
  int unit;
  int step;
};

// State of the place's sequences, [count, hidden]: in shared or in global memory.
struct State {
  const float* h;
  float* hNext;
  float* reset;
  float* update;
};

template <int ALL> __device__ __forceinline__ float recurrentBias(const RecurrentParams& p, const Place& place, int g) {
  if (p.rBias == nullptr) return 0.0f;
  return p.rBias[(static_cast<int64_t>(place.direction) * ALL + g) * p.hidden + place.unit];
}

template <Cell CELL>
__device__ __forceinline__ void finish(const RecurrentParams& p, const Place& place, const State& state, int lane,
                                       const float* sums) {
  using Traits = CellTraits<CELL>;
  const int sequence = place.first + lane;
  const int at = lane * p.hidden + place.unit;
  const Moment moment = momentOf(p, place.direction, lengthOf(p, sequence), place.step);
  const float* x = p.x + static_cast<int64_t>(place.direction) * p.xStrides[0] +
                   static_cast<int64_t>(moment.time) * p.xStrides[1] + static_cast<int64_t>(sequence) * p.xStrides[2] +
                   place.unit;
  float in[Traits::kCount];
  float product[Traits::kCount];
  #pragma unroll
  for (int g = 0; g < Traits::kCount; ++g) {
    in[g] = x[(Traits::kFirst + g) * p.hidden];
    product[g] = sums[g] + recurrentBias<Traits::kAll>(p, place, Traits::kFirst + g);
  }
  const NamedGates gates{p, place.direction};
  const float before = state.h[at];
  if (CELL == kGruGates) {
    state.update[at] = gates.of(in[0] + product[0], 0);
    state.reset[at] = gates.of(in[Traits::kCount - 1] + product[Traits::kCount - 1], 0) * before;
    return;
  }
  float result = before;
  if (moment.isActive) {
    if constexpr (CELL == kLstm) {
      float total[4];
      #pragma unroll
      for (int g = 0; g < Traits::kCount; ++g) total[g] = in[g] + product[g];
      float* at = p.c + (static_cast<int64_t>(place.direction) * p.batch + sequence) * p.hidden + place.unit;
      float cell = *at;
      result = lstmUnit(gates, place.unit, total, cell);
      *at = cell;
    } else if constexpr (CELL == kRnn) {
      result = gates.of(in[0] + product[0], 0);
    } else if constexpr (CELL == kGruCandidate) {
      const float z = state.update[at];
      result = (1.0f - z) * gates.of(in[0] + product[0], 1) + z * before;
    } else if constexpr (CELL == kGru) {
      result = gruUnit(gates, in, product, before);
    }
  }
  state.hNext[at] = result;
  if (p.y == nullptr) return;
  const int64_t y = static_cast<int64_t>(place.direction) * p.yStrides[0] +
                    static_cast<int64_t>(moment.time) * p.yStrides[1] + static_cast<int64_t>(sequence) * p.yStrides[2] +
                    place.unit;
  storeFloat(p.y, y, p.yType, moment.isActive ? result : 0.0f);
}

// One unit of B sequences, by a warp.
template <Cell CELL, typename T, int B>
__device__ __forceinline__ void makeUnit(const RecurrentParams& p, const Place& place, const State& state) {
  using Traits = CellTraits<CELL>;
  const int lane = threadIdx.x & 31;
  const T* rows = static_cast<const T*>(p.r) +
                  ((static_cast<int64_t>(place.direction) * Traits::kAll + Traits::kFirst) * p.hidden + place.unit) * p.hidden;
  const int64_t gateStride = static_cast<int64_t>(p.hidden) * p.hidden;
  const float* h = CELL == kGruCandidate ? state.reset : state.h;
  float sums[Traits::kCount][B];
  #pragma unroll
  for (int g = 0; g < Traits::kCount; ++g) {
    #pragma unroll
    for (int b = 0; b < B; ++b) sums[g][b] = 0.0f;
  }
  #pragma unroll 4
  for (int k = lane; k < p.hidden; k += 32) {
    float weights[Traits::kCount];
    #pragma unroll
    for (int g = 0; g < Traits::kCount; ++g) weights[g] = toFloat(rows[g * gateStride + k]);
    #pragma unroll
    for (int b = 0; b < B; ++b) {
      // Sequences beyond the last repeat it; nothing is stored for them.
      const float value = h[min(b, place.count - 1) * p.hidden + k];
      #pragma unroll
      for (int g = 0; g < Traits::kCount; ++g) sums[g][b] += weights[g] * value;
    }
  }
  float own[Traits::kCount];
  #pragma unroll
  for (int g = 0; g < Traits::kCount; ++g) {
    own[g] = 0.0f;
    #pragma unroll
    for (int b = 0; b < B; ++b) {
      const float total = warpSum(sums[g][b]);
      own[g] = lane == b ? total : own[g];
    }
  }
  if (lane < place.count) finish<CELL>(p, place, state, lane, own);
}

constexpr int kStepWarps = 4;

template <Cell CELL, typename T, int B> __device__ __forceinline__ void stepOnce(const RecurrentParams& p) {
  const int unit = blockIdx.x * kStepWarps + (threadIdx.x >> 5);
  if (unit >= p.hidden) return;
  const int first = blockIdx.z * B;
  const Place place{static_cast<int>(blockIdx.y), first, min(B, p.batch - first), unit, p.step};
  const int64_t at = (static_cast<int64_t>(place.direction) * p.batch + first) * p.hidden;
  const State state{p.hIn + at, p.hOut + at, p.reset == nullptr ? nullptr : p.reset + at,
                    p.update == nullptr ? nullptr : p.update + at};
  makeUnit<CELL, T, B>(p, place, state);
}

constexpr int kSequenceThreads = 512;
constexpr int kSequenceWarps = kSequenceThreads / 32;

// CELL, or GATES before it where the product of a GRU's candidate waits for the reset of all units.
template <bool HAS_GATES, Cell CELL, typename T, int B>
__device__ __forceinline__ void runSequence(const RecurrentParams& p) {
  extern __shared__ float memory[];
  const int first = blockIdx.z * B;
  Place place{static_cast<int>(blockIdx.y), first, min(B, p.batch - first), 0, 0};
  const int size = place.count * p.hidden;
  const int64_t at = (static_cast<int64_t>(place.direction) * p.batch + first) * p.hidden;
  float* h = memory;
  float* hNext = memory + B * p.hidden;
  float* reset = HAS_GATES ? memory + 2 * B * p.hidden : nullptr;
  float* update = HAS_GATES ? memory + 3 * B * p.hidden : nullptr;
  for (int i = threadIdx.x; i < size; i += kSequenceThreads) h[i] = p.hIn[at + i];
  __syncthreads();
  for (int step = 0; step < p.steps; ++step) {
    place.step = step;
    const State state{h, hNext, reset, update};
    if (HAS_GATES) {
      for (int unit = threadIdx.x >> 5; unit < p.hidden; unit += kSequenceWarps) {
        place.unit = unit;
        makeUnit<kGruGates, T, B>(p, place, state);
      }
      __syncthreads();
    }
    for (int unit = threadIdx.x >> 5; unit < p.hidden; unit += kSequenceWarps) {
      place.unit = unit;
      makeUnit<CELL, T, B>(p, place, state);
    }
    __syncthreads();
    float* swapped = h;
    h = hNext;
    hNext = swapped;
  }
  for (int i = threadIdx.x; i < size; i += kSequenceThreads) p.hOut[at + i] = h[i];
}

#define STEP_ENTRY(NAME, CELL, TYPE, T, B)                                                                           \
  extern "C" __global__ void __launch_bounds__(32 * kStepWarps)                                                      \
      NAME##_step_##TYPE##_b##B(const __grid_constant__ RecurrentParams p) { beginKernel();                          \
    stepOnce<CELL, T, B>(p);                                                                                         \
  }

#define SEQUENCE_ENTRY(NAME, HAS_GATES, CELL, TYPE, T, B)                                                            \
  extern "C" __global__ void __launch_bounds__(kSequenceThreads, 1)                                                   \
      NAME##_sequence_##TYPE##_b##B(const __grid_constant__ RecurrentParams p) { beginKernel();                      \
    runSequence<HAS_GATES, CELL, T, B>(p);                                                                           \
  }

#define ENTRIES(TYPE, T, B)                                                                                          \
  STEP_ENTRY(lstm, kLstm, TYPE, T, B)                                                                                \
  STEP_ENTRY(rnn, kRnn, TYPE, T, B)                                                                                  \
  STEP_ENTRY(gru, kGru, TYPE, T, B)                                                                                  \
  STEP_ENTRY(gru_gates, kGruGates, TYPE, T, B)                                                                       \
  STEP_ENTRY(gru_candidate, kGruCandidate, TYPE, T, B)                                                               \
  SEQUENCE_ENTRY(lstm, false, kLstm, TYPE, T, B)                                                                     \
  SEQUENCE_ENTRY(rnn, false, kRnn, TYPE, T, B)                                                                       \
  SEQUENCE_ENTRY(gru, false, kGru, TYPE, T, B)                                                                       \
  SEQUENCE_ENTRY(gru_reset, true, kGruCandidate, TYPE, T, B)

ENTRIES(float32, float, 1)
ENTRIES(float32, float, 4)
ENTRIES(float16, __half, 1)
ENTRIES(float16, __half, 4)
ENTRIES(bfloat16, __nv_bfloat16, 1)
ENTRIES(bfloat16, __nv_bfloat16, 4)

// KEPT: pairs of steps along k, of 32 hidden units, whose part of R is in registers.
#define TENSOR_ENTRY(NAME, CELL, TYPE, T, KEPT, THREADS)                                                             \
  extern "C" __global__ void __launch_bounds__(THREADS, 1)                                                           \
      NAME##_tensor_##TYPE##_k##KEPT(const __grid_constant__ RecurrentParams p) { beginKernel();                     \
    extern __shared__ __align__(16) unsigned char bytes[];                                                           \
    TensorRecurrence<CELL, T, KEPT>(p, bytes).run();                                                                 \
  }

#define TENSOR_ENTRIES(TYPE, T, KEPT, THREADS)                                                                       \
  TENSOR_ENTRY(lstm, kLstm, TYPE, T, KEPT, THREADS)                                                                  \
  TENSOR_ENTRY(gru, kGru, TYPE, T, KEPT, THREADS)                                                                    \
  TENSOR_ENTRY(rnn, kRnn, TYPE, T, KEPT, THREADS)

TENSOR_ENTRIES(float16, __half, 3, 512)
TENSOR_ENTRIES(float16, __half, 4, 384)
TENSOR_ENTRIES(float16, __half, 8, 256)
TENSOR_ENTRIES(bfloat16, __nv_bfloat16, 3, 512)
TENSOR_ENTRIES(bfloat16, __nv_bfloat16, 4, 384)
TENSOR_ENTRIES(bfloat16, __nv_bfloat16, 8, 256)
