// ArgMax, ArgMin and TopK along one axis of a strided view. Equal elements keep their order; NaN counts as the largest.
#include "../common/launch.cuh"
#include "../common/scalar.cuh"
#include "params.generated.cuh"

// Bits in the order of the numbers: smaller first, NaN last.
__device__ __forceinline__ uint32_t orderedBits(float x) {
  if (x != x) return 0xffffffffu;
  // Both zeros are equal.
  const uint32_t bits = __float_as_uint(x == 0.0f ? 0.0f : x);
  return bits & 0x80000000u ? ~bits : bits | 0x80000000u;
}

__device__ __forceinline__ uint64_t orderedBits(double x) {
  if (x != x) return ~0ull;
  const uint64_t bits = static_cast<uint64_t>(__double_as_longlong(x == 0.0 ? 0.0 : x));
  return bits >> 63 ? ~bits : bits | (1ull << 63);
}

// The key of an element of any type; types of up to 32 bits use the low half.
__device__ __forceinline__ uint64_t keyAt(const void* base, int64_t index, int type) {
  switch (type) {
    case kFloat32:
    case kFloat16:
    case kBFloat16: return orderedBits(loadFloat(base, index, type));
    case kFloat64: return orderedBits(static_cast<const double*>(base)[index]);
    case kInt8:
    case kInt16:
    case kInt32: return static_cast<uint32_t>(loadAs<int64_t>(base, index, type)) ^ 0x80000000u;
    case kInt64: return static_cast<uint64_t>(loadAs<int64_t>(base, index, type)) ^ (1ull << 63);
    default: return loadAs<uint64_t>(base, index, type);
  }
}

__device__ __forceinline__ bool isWide(int type) { return type == kFloat64 || type == kInt64 || type == kUint64; }

// --- ArgMax, ArgMin: `lanes` threads to a result ---

struct Candidate {
  uint64_t key;
  int index;
};

// Smaller keys win; the caller has turned them around for a maximum.
__device__ __forceinline__ Candidate better(Candidate a, Candidate b, bool isLast) {
  if (a.key != b.key) return a.key < b.key ? a : b;
  // No candidate has index -1.
  if (a.index < 0 || b.index < 0) return a.index < 0 ? b : a;
  return (a.index < b.index) != isLast ? a : b;
}

constexpr int kArgThreads = 256;

extern "C" __global__ void __launch_bounds__(kArgThreads) arg_any(const __grid_constant__ OrderParams p) {
  beginKernel();
  __shared__ Candidate shared[kArgThreads];
  const int lane = threadIdx.x & (p.lanes - 1);
  const int64_t result = static_cast<int64_t>(blockIdx.x) * (kArgThreads / p.lanes) + threadIdx.x / p.lanes;
  Candidate best = {~0ull, -1};
  if (result < p.outer) {
    const int64_t base = offsetOf(static_cast<int>(result), p.outerSizes, p.outerStridesX, p.outerRank);
#pragma unroll 1
    for (int64_t at = lane; at < p.length; at += p.lanes) {
      const uint64_t key = keyAt(p.x, base + at * p.strideX, p.xType);
      best = better(best, {p.isLargest ? ~key : key, static_cast<int>(at)}, p.isLastIndex);
    }
  }
  shared[threadIdx.x] = best;
  for (int step = p.lanes / 2; step > 0; step /= 2) {
    __syncthreads();
    if (lane < step) shared[threadIdx.x] = better(shared[threadIdx.x], shared[threadIdx.x + step], p.isLastIndex);
  }
  if (lane != 0 || result >= p.outer) return;
  p.indices[offsetOf(static_cast<int>(result), p.outerSizes, p.outerStridesIndices, p.outerRank)] =
      shared[threadIdx.x].index;
}

// --- TopK: one block to a row ---

// An element and where it was, ordered by key and then by place. Narrow: both in 64 bits.
struct NarrowPair {
  uint64_t bits;
  __device__ static NarrowPair of(uint64_t key, int index) {
    return {key << 32 | static_cast<uint32_t>(index)};
  }
  __device__ static NarrowPair last() { return {~0ull}; }
  __device__ int index() const { return static_cast<int>(static_cast<uint32_t>(bits)); }
  __device__ bool operator<(const NarrowPair& other) const { return bits < other.bits; }
};

struct WidePair {
  uint64_t key;
  uint64_t place;
  __device__ static WidePair of(uint64_t key, int index) { return {key, static_cast<uint32_t>(index)}; }
  __device__ static WidePair last() { return {~0ull, ~0ull}; }
  __device__ int index() const { return static_cast<int>(place); }
  __device__ bool operator<(const WidePair& other) const {
    return key != other.key ? key < other.key : place < other.place;
  }
};

template <typename Pair> __device__ __forceinline__ Pair pairAt(const OrderParams& p, int64_t base, int at) {
  const uint64_t key = keyAt(p.x, base + static_cast<int64_t>(at) * p.strideX, p.xType);
  const uint64_t mask = sizeof(Pair) == 8 ? 0xffffffffull : ~0ull;
  return Pair::of(p.isLargest ? ~key & mask : key, at);
}

// Bitonic sort of `size` pairs, a power of two, by the whole block.
template <typename Pair> __device__ void sortPairs(Pair* pairs, int size) {
  for (int run = 2; run <= size; run *= 2) {
    for (int step = run / 2; step > 0; step /= 2) {
      __syncthreads();
      for (int i = threadIdx.x; i < size / 2; i += blockDim.x) {
        const int low = 2 * i - (i & (step - 1));
        const int high = low + step;
        const bool isAscending = (low & run) == 0;
        if ((pairs[high] < pairs[low]) == isAscending) {
          const Pair swapped = pairs[low];
          pairs[low] = pairs[high];
          pairs[high] = swapped;
        }
      }
    }
  }
  __syncthreads();
}

template <typename Pair> __device__ void writePair(const OrderParams& p, int row, int place, int from) {
  const int64_t base = offsetOf(row, p.outerSizes, p.outerStridesX, p.outerRank);
  const int64_t x = base + static_cast<int64_t>(from) * p.strideX;
  const int64_t value = offsetOf(row, p.outerSizes, p.outerStridesValues, p.outerRank) +
                        static_cast<int64_t>(place) * p.strideValues;
  if (isWide(p.xType)) static_cast<uint64_t*>(p.values)[value] = static_cast<const uint64_t*>(p.x)[x];
  else if (p.xType == kInt8 || p.xType == kUint8 || p.xType == kBool)
    static_cast<uint8_t*>(p.values)[value] = static_cast<const uint8_t*>(p.x)[x];
  else if (p.xType == kFloat32 || p.xType == kInt32 || p.xType == kUint32)
    static_cast<uint32_t*>(p.values)[value] = static_cast<const uint32_t*>(p.x)[x];
  else static_cast<uint16_t*>(p.values)[value] = static_cast<const uint16_t*>(p.x)[x];
  const int64_t index = offsetOf(row, p.outerSizes, p.outerStridesIndices, p.outerRank) +
                        static_cast<int64_t>(place) * p.strideIndices;
  p.indices[index] = from;
}

// Shared memory keeps the best pairs so far, in front, and behind them those that beat the worst of these. Which place a
// newcomer gets depends on timing, but which pairs are there does not, and they are sorted.
template <typename Pair> __device__ void topK(const OrderParams& p) {
  extern __shared__ __align__(16) unsigned char memory[];
  __shared__ int filled;
  Pair* pairs = reinterpret_cast<Pair*>(memory);
  const int row = blockIdx.x;
  const int64_t base = offsetOf(row, p.outerSizes, p.outerStridesX, p.outerRank);
  const int first = min(p.length, p.capacity);
  for (int at = threadIdx.x; at < p.capacity; at += blockDim.x) {
    pairs[at] = at < first ? pairAt<Pair>(p, base, at) : Pair::last();
  }
  sortPairs(pairs, p.capacity);
  // `capacity` is at least `count` and, for rows that do not fit, the number of threads more.
  int next = first;
  while (next < p.length) {
    if (threadIdx.x == 0) filled = p.count;
    __syncthreads();
    const Pair worst = pairs[p.count - 1];
    while (next < p.length) {
      __syncthreads();
      const int before = filled;
      __syncthreads();
      if (before + static_cast<int>(blockDim.x) > p.capacity) break;
      const int at = next + threadIdx.x;
      if (at < p.length) {
        const Pair pair = pairAt<Pair>(p, base, at);
        if (pair < worst) pairs[atomicAdd(&filled, 1)] = pair;
      }
      next = min(p.length, next + static_cast<int>(blockDim.x));
    }
    __syncthreads();
    const int end = filled;
    for (int at = end + threadIdx.x; at < p.capacity; at += blockDim.x) pairs[at] = Pair::last();
    sortPairs(pairs, p.capacity);
  }
  for (int place = threadIdx.x; place < p.count; place += blockDim.x) writePair<Pair>(p, row, place, pairs[place].index());
}

constexpr int kTopThreads = 512;

extern "C" __global__ void __launch_bounds__(kTopThreads) topk_narrow(const __grid_constant__ OrderParams p) { beginKernel(); topK<NarrowPair>(p); }
extern "C" __global__ void __launch_bounds__(kTopThreads) topk_wide(const __grid_constant__ OrderParams p) { beginKernel(); topK<WidePair>(p); }

// For more elements than shared memory holds: a thread counts how many come before its element, and that is its place.
extern "C" __global__ void __launch_bounds__(kTopThreads) topk_rank(const __grid_constant__ OrderParams p) {
  beginKernel();
  __shared__ WidePair tile[kTopThreads];
  const int row = blockIdx.x;
  const int64_t base = offsetOf(row, p.outerSizes, p.outerStridesX, p.outerRank);
  const int64_t at = static_cast<int64_t>(blockIdx.y) * kTopThreads + threadIdx.x;
  const WidePair own = at < p.length ? pairAt<WidePair>(p, base, static_cast<int>(at)) : WidePair::last();
  int place = 0;
  for (int64_t start = 0; start < p.length; start += kTopThreads) {
    __syncthreads();
    const int64_t other = start + threadIdx.x;
    tile[threadIdx.x] = other < p.length ? pairAt<WidePair>(p, base, static_cast<int>(other)) : WidePair::last();
    __syncthreads();
    for (int i = 0; i < kTopThreads; i++) place += tile[i] < own ? 1 : 0;
  }
  if (at < p.length && place < p.count) writePair<WidePair>(p, row, place, static_cast<int>(at));
}
