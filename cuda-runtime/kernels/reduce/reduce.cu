// Reductions over any axes of a strided view. Halves are summed in FP32; the order of the sums is fixed by the launch.
#include "../common/launch.cuh"
#include "../common/scalar.cuh"
#include "params.generated.cuh"

enum CombineCode : int { kSum = 0, kProd = 1, kMax = 2, kMin = 3, kLogSumExp = 4 };
enum PreCode : int { kAsIs = 0, kAbs = 1, kSquare = 2, kNegate = 3 };
enum PostCode : int { kPlain = 0, kSqrt = 1, kLog = 2, kOpposite = 3 };

constexpr int kThreads = 256;

template <typename Acc> __device__ __forceinline__ Acc applyPre(Acc x, int pre) {
  if (pre == kAbs) return x < Acc(0) ? Acc(0) - x : x;
  if (pre == kSquare) return x * x;
  if (pre == kNegate) return Acc(0) - x;
  return x;
}

template <> __device__ __forceinline__ uint64_t applyPre<uint64_t>(uint64_t x, int pre) {
  return pre == kSquare ? x * x : x;
}

template <> __device__ __forceinline__ float applyPre<float>(float x, int pre) {
  if (pre == kAbs) return fabsf(x);
  if (pre == kSquare) return x * x;
  if (pre == kNegate) return -x;
  return x;
}

// Square roots and logarithms are for floating point: integers that need them are reduced as double.
template <typename Acc> __device__ __forceinline__ Acc applyPost(Acc x, int divisor, int post) {
  const Acc quotient = divisor == 1 ? x : x / static_cast<Acc>(divisor);
  return post == kOpposite ? Acc(0) - quotient : quotient;
}
template <> __device__ __forceinline__ float applyPost<float>(float x, int divisor, int post) {
  const float quotient = divisor == 1 ? x : __fdiv_rn(x, static_cast<float>(divisor));
  if (post == kSqrt) return sqrtf(quotient);
  if (post == kLog) return logf(quotient);
  return post == kOpposite ? -quotient : quotient;
}
template <> __device__ __forceinline__ double applyPost<double>(double x, int divisor, int post) {
  const double quotient = x / divisor;
  if (post == kSqrt) return sqrt(quotient);
  if (post == kLog) return log(quotient);
  return post == kOpposite ? -quotient : quotient;
}

// A partial result. `scale` is used by LogSumExp alone: the sum is scale × exp(value).
template <typename Acc> struct State {
  Acc value;
  Acc scale;
};

template <typename Acc, int Combine> __device__ __forceinline__ State<Acc> identity() {
  if (Combine == kProd) return {Acc(1), Acc(0)};
  if (Combine == kMin) return {highestOf<Acc>(), Acc(0)};
  if (Combine == kMax || Combine == kLogSumExp) return {lowestOf<Acc>(), Acc(0)};
  return {Acc(0), Acc(0)};
}

__device__ __forceinline__ float expOf(float x) { return expf(x); }
__device__ __forceinline__ double expOf(double x) { return exp(x); }
__device__ __forceinline__ float logOf(float x) { return logf(x); }
__device__ __forceinline__ double logOf(double x) { return log(x); }

template <typename Acc, int Combine>
__device__ __forceinline__ State<Acc> combined(State<Acc> a, State<Acc> b) {
  if (Combine == kSum) return {a.value + b.value, Acc(0)};
  if (Combine == kProd) return {a.value * b.value, Acc(0)};
  if (Combine == kMax) return {maxNan(a.value, b.value), Acc(0)};
  if (Combine == kMin) return {minNan(a.value, b.value), Acc(0)};
  if constexpr (Combine == kLogSumExp) {
    const Acc top = maxNan(a.value, b.value);
    // Infinities of one sign: their difference would be NaN.
    const Acc left = a.value == top ? a.scale : a.scale * expOf(a.value - top);
    const Acc right = b.value == top ? b.scale : b.scale * expOf(b.value - top);
    return {top, left + right};
  }
}

template <typename Acc, int Combine> __device__ __forceinline__ State<Acc> single(Acc x) {
  return {x, Combine == kLogSumExp ? Acc(1) : Acc(0)};
}

template <typename Acc, int Combine> __device__ __forceinline__ Acc finished(State<Acc> state) {
  if constexpr (Combine == kLogSumExp) return state.scale == Acc(0) ? state.value : state.value + logOf(state.scale);
  else return state.value;
}

// Any strides. `lanes` threads (a power of two) walk the reduced elements of one result.
template <typename Acc, int Combine> __device__ void reduceGeneral(const ReduceParams& p) {
  __shared__ State<Acc> shared[kThreads];
  const int results = kThreads / p.lanes;
  const int lane = p.isSideBySide ? threadIdx.x / results : threadIdx.x & (p.lanes - 1);
  const int own = p.isSideBySide ? threadIdx.x & (results - 1) : threadIdx.x / p.lanes;
  const int between = p.isSideBySide ? results : 1;
  const int64_t result = static_cast<int64_t>(blockIdx.x) * results + own;
  const int begin = blockIdx.y * p.chunk;
  const int end = min(static_cast<int64_t>(begin) + p.chunk, static_cast<int64_t>(p.inner));
  State<Acc> state = identity<Acc, Combine>();
  if (result < p.outer) {
    const int64_t base = offsetOf(static_cast<int>(result), p.outerSizes, p.outerStridesX, p.outerRank);
#pragma unroll 1
    for (int64_t at = static_cast<int64_t>(begin) + lane; at < end; at += p.lanes) {
      const int64_t offset = base + offsetOf(static_cast<int>(at), p.innerSizes, p.innerStrides, p.innerRank);
      const Acc x = applyPre(loadAs<Acc>(p.x, offset, p.xType), p.pre);
      state = combined<Acc, Combine>(state, single<Acc, Combine>(x));
    }
  }
  shared[threadIdx.x] = state;
  for (int step = p.lanes / 2; step > 0; step /= 2) {
    __syncthreads();
    if (lane < step) {
      shared[threadIdx.x] = combined<Acc, Combine>(shared[threadIdx.x], shared[threadIdx.x + step * between]);
    }
  }
  if (lane != 0 || result >= p.outer) return;
  const int64_t to = offsetOf(static_cast<int>(result), p.outerSizes, p.outerStridesY, p.outerRank) +
                     static_cast<int64_t>(blockIdx.y) * p.chunkStrideY;
  const Acc value = finished<Acc, Combine>(shared[threadIdx.x]);
  storeAs<Acc>(p.y, to, p.yType, applyPost(value, p.divisor, p.post));
}

template <typename Acc> __device__ __forceinline__ void reduceAny(const ReduceParams& p) {
  switch (p.combine) {
    case kSum: return reduceGeneral<Acc, kSum>(p);
    case kProd: return reduceGeneral<Acc, kProd>(p);
    case kMax: return reduceGeneral<Acc, kMax>(p);
    case kMin: return reduceGeneral<Acc, kMin>(p);
    default: return;
  }
}

template <typename Acc> __device__ __forceinline__ void reduceAnyFloat(const ReduceParams& p) {
  if (p.combine == kLogSumExp) reduceGeneral<Acc, kLogSumExp>(p);
  else reduceAny<Acc>(p);
}

extern "C" __global__ void __launch_bounds__(kThreads) reduce_any_f32(const __grid_constant__ ReduceParams p) { beginKernel(); reduceAnyFloat<float>(p); }
extern "C" __global__ void __launch_bounds__(kThreads) reduce_any_f64(const __grid_constant__ ReduceParams p) { beginKernel(); reduceAnyFloat<double>(p); }
extern "C" __global__ void __launch_bounds__(kThreads) reduce_any_i64(const __grid_constant__ ReduceParams p) { beginKernel(); reduceAny<int64_t>(p); }
extern "C" __global__ void __launch_bounds__(kThreads) reduce_any_u64(const __grid_constant__ ReduceParams p) { beginKernel(); reduceAny<uint64_t>(p); }

// --- Sixteen bytes at a time ---

template <typename T> struct alignas(16) Vector {
  static constexpr int kCount = 16 / sizeof(T);
  T at[kCount];
};

template <typename T> __device__ __forceinline__ Vector<T> loadVector(const T* address) {
  const uint4 bits = *reinterpret_cast<const uint4*>(address);
  Vector<T> vector;
  *reinterpret_cast<uint4*>(&vector) = bits;
  return vector;
}

template <bool IsMax> __device__ __forceinline__ float join(float a, float b) { return IsMax ? maxNan(a, b) : a + b; }
template <bool IsMax> __device__ __forceinline__ float neutral() { return IsMax ? lowestOf<float>() : 0.0f; }

// Over `lanes` neighbouring threads, a power of two: within warps, then between them. Valid in lane 0.
template <bool IsMax> __device__ __forceinline__ float joinLanes(float value, int lanes, float* shared) {
  for (int step = min(lanes, 32) / 2; step > 0; step /= 2) {
    value = join<IsMax>(value, __shfl_down_sync(0xffffffffu, value, step));
  }
  if (lanes <= 32) return value;
  const int warp = threadIdx.x / 32;
  if (threadIdx.x % 32 == 0) shared[warp] = value;
  __syncthreads();
  const int warps = lanes / 32;
  if (threadIdx.x % lanes == 0) {
    for (int other = 1; other < warps; other++) value = join<IsMax>(value, shared[warp + other]);
  }
  return value;
}

// What is done to each element, told once a launch: asked of every element it takes longer than to load it (1x32 of 12544, 33 us for 9 on an H100).
template <int PRE> __device__ __forceinline__ float prepared(float x) {
  if constexpr (PRE == kAbs) return fabsf(x);
  else if constexpr (PRE == kSquare) return x * x;
  else if constexpr (PRE == kNegate) return -x;
  else return x;
}

// Reduced elements next to each other. Loads are aligned whatever the row's address: the ends are read one by one.
template <typename T, bool IsMax, int PRE> __device__ __forceinline__ void reduceRowsOf(const ReduceParams& p, float* shared) {
  constexpr int kCount = Vector<T>::kCount;
  constexpr int kUnroll = 4;
  const int lane = threadIdx.x & (p.lanes - 1);
  const int64_t result = static_cast<int64_t>(blockIdx.x) * (kThreads / p.lanes) + threadIdx.x / p.lanes;
  float sums[kUnroll];
#pragma unroll
  for (int i = 0; i < kUnroll; i++) sums[i] = neutral<IsMax>();
  if (result < p.outer) {
    const int begin = blockIdx.y * p.chunk;
    const int count = min(p.chunk, p.inner - begin);
    const T* row = static_cast<const T*>(p.x) + begin +
                   offsetOf(static_cast<int>(result), p.outerSizes, p.outerStridesX, p.outerRank);
    const int misaligned = static_cast<int>(reinterpret_cast<uintptr_t>(row) % 16 / sizeof(T));
    const int head = min(count, (kCount - misaligned) % kCount);
    const int vectors = (count - head) / kCount;
    const auto take = [&](int slot, T x) { sums[slot] = join<IsMax>(sums[slot], prepared<PRE>(toFloat(x))); };
    if (lane < head) take(0, row[lane]);
    for (int at = head + vectors * kCount + lane; at < count; at += p.lanes) take(0, row[at]);
    const T* body = row + head;
    int at = lane;
    for (; at + (kUnroll - 1) * p.lanes < vectors; at += kUnroll * p.lanes) {
      Vector<T> loaded[kUnroll];
#pragma unroll
      for (int i = 0; i < kUnroll; i++) loaded[i] = loadVector(body + static_cast<int64_t>(at + i * p.lanes) * kCount);
#pragma unroll
      for (int i = 0; i < kUnroll; i++) {
#pragma unroll
        for (int j = 0; j < kCount; j++) take(i, loaded[i].at[j]);
      }
    }
    for (; at < vectors; at += p.lanes) {
      const Vector<T> loaded = loadVector(body + static_cast<int64_t>(at) * kCount);
#pragma unroll
      for (int j = 0; j < kCount; j++) take(j % kUnroll, loaded.at[j]);
    }
  }
  const float own = join<IsMax>(join<IsMax>(sums[0], sums[1]), join<IsMax>(sums[2], sums[3]));
  const float total = joinLanes<IsMax>(own, p.lanes, shared);
  if (lane != 0 || result >= p.outer) return;
  const int64_t to = offsetOf(static_cast<int>(result), p.outerSizes, p.outerStridesY, p.outerRank) +
                     static_cast<int64_t>(blockIdx.y) * p.chunkStrideY;
  storeFloat(p.y, to, p.yType, applyPost(total, p.divisor, p.post));
}

// The last kept axis lies next to each other, the one reduced axis is strided: a thread has 16 bytes of columns.
// `lanes` threads side by side in a row, the others of the block take other rows. Everything is a multiple of 16 bytes.
template <typename T, bool IsMax, int PRE> __device__ __forceinline__ void reduceColumnsOf(const ReduceParams& p, float (*shared)[Vector<T>::kCount + 1]) {
  constexpr int kCount = Vector<T>::kCount;
  constexpr int kUnroll = 4;
  const int lane = threadIdx.x & (p.lanes - 1);
  const int first = threadIdx.x / p.lanes;
  const int rows = kThreads / p.lanes;
  const int columns = p.outerSizes[p.outerRank - 1];
  const int tiles = (columns + p.lanes * kCount - 1) / (p.lanes * kCount);
  const int column = (static_cast<int>(blockIdx.x % tiles) * p.lanes + lane) * kCount;
  const int result = static_cast<int>(blockIdx.x / tiles) * columns + column;
  const int begin = blockIdx.y * p.chunk;
  const int count = min(p.chunk, p.inner - begin);
  float sums[kCount];
#pragma unroll
  for (int j = 0; j < kCount; j++) sums[j] = neutral<IsMax>();
  if (column < columns) {
    const int64_t stride = p.innerStrides[0];
    const T* x = static_cast<const T*>(p.x) + offsetOf(result, p.outerSizes, p.outerStridesX, p.outerRank) + begin * stride;
    int row = first;
    for (; row + (kUnroll - 1) * rows < count; row += kUnroll * rows) {
      Vector<T> loaded[kUnroll];
#pragma unroll
      for (int i = 0; i < kUnroll; i++) loaded[i] = loadVector(x + (row + i * rows) * stride);
#pragma unroll
      for (int i = 0; i < kUnroll; i++) {
#pragma unroll
        for (int j = 0; j < kCount; j++) sums[j] = join<IsMax>(sums[j], prepared<PRE>(toFloat(loaded[i].at[j])));
      }
    }
    for (; row < count; row += rows) {
      const Vector<T> loaded = loadVector(x + row * stride);
#pragma unroll
      for (int j = 0; j < kCount; j++) sums[j] = join<IsMax>(sums[j], prepared<PRE>(toFloat(loaded.at[j])));
    }
  }
#pragma unroll
  for (int j = 0; j < kCount; j++) shared[threadIdx.x][j] = sums[j];
  for (int step = rows / 2; step > 0; step /= 2) {
    __syncthreads();
    if (first < step) {
#pragma unroll
      for (int j = 0; j < kCount; j++) {
        shared[threadIdx.x][j] = join<IsMax>(shared[threadIdx.x][j], shared[threadIdx.x + step * p.lanes][j]);
      }
    }
  }
  if (first != 0 || column >= columns) return;
  const int64_t to = offsetOf(result, p.outerSizes, p.outerStridesY, p.outerRank) +
                     static_cast<int64_t>(blockIdx.y) * p.chunkStrideY;
  const int64_t stride = p.outerStridesY[p.outerRank - 1];
#pragma unroll
  for (int j = 0; j < kCount; j++) {
    storeFloat(p.y, to + j * stride, p.yType, applyPost(shared[threadIdx.x][j], p.divisor, p.post));
  }
}

// Sums are of elements, their sizes or squares; maxima of elements or, for minima, of their opposites.
#define BY_PRE(WHAT, T, IS_MAX, P, ...)                                                         \
  if constexpr (IS_MAX) {                                                                       \
    if (P.pre == kNegate) WHAT<T, IS_MAX, kNegate>(P, __VA_ARGS__);                             \
    else WHAT<T, IS_MAX, kAsIs>(P, __VA_ARGS__);                                                \
  } else {                                                                                      \
    if (P.pre == kAbs) WHAT<T, IS_MAX, kAbs>(P, __VA_ARGS__);                                   \
    else if (P.pre == kSquare) WHAT<T, IS_MAX, kSquare>(P, __VA_ARGS__);                        \
    else WHAT<T, IS_MAX, kAsIs>(P, __VA_ARGS__);                                                \
  }

template <typename T, bool IsMax> __device__ void reduceRows(const ReduceParams& p) {
  __shared__ float shared[kThreads / 32];
  BY_PRE(reduceRowsOf, T, IsMax, p, shared)
}

template <typename T, bool IsMax> __device__ void reduceColumns(const ReduceParams& p) {
  __shared__ float shared[kThreads][Vector<T>::kCount + 1];
  BY_PRE(reduceColumnsOf, T, IsMax, p, shared)
}

#define REDUCE_ENTRIES(NAME, T)                                                                                     \
  extern "C" __global__ void __launch_bounds__(kThreads) reduce_rows_sum_##NAME(const __grid_constant__ ReduceParams p) { beginKernel(); \
    reduceRows<T, false>(p);                                                                                        \
  }                                                                                                                 \
  extern "C" __global__ void __launch_bounds__(kThreads) reduce_rows_max_##NAME(const __grid_constant__ ReduceParams p) { beginKernel(); \
    reduceRows<T, true>(p);                                                                                         \
  }                                                                                                                 \
  extern "C" __global__ void __launch_bounds__(kThreads) reduce_columns_sum_##NAME(const __grid_constant__ ReduceParams p) { beginKernel(); \
    reduceColumns<T, false>(p);                                                                                     \
  }                                                                                                                 \
  extern "C" __global__ void __launch_bounds__(kThreads) reduce_columns_max_##NAME(const __grid_constant__ ReduceParams p) { beginKernel(); \
    reduceColumns<T, true>(p);                                                                                      \
  }

REDUCE_ENTRIES(float32, float)
REDUCE_ENTRIES(float16, __half)
REDUCE_ENTRIES(bfloat16, __nv_bfloat16)

#include "slabs.cuh"
