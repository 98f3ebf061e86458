// Sums and maxima of columns in one launch: channels lie next to each other, and what is reduced is strided. A block has 16 bytes of
// channels a thread, `lanes` threads side by side, and takes rows in turn with the other blocks of its team (a cluster), which join what
// they have through each other's shared memory.
#pragma once
#include "../common/cluster.cuh"
#include "../core/team.cuh"

constexpr int kSlabThreads = 256;
constexpr int kSlabWarps = kSlabThreads / 32;

template <typename T, bool IsMax, int PRE> struct Slab {
  static constexpr int kCount = Vector<T>::kCount;
  static constexpr int kUnroll = 8;
  static constexpr int kMostColumns = 32 * kCount;

  const SlabReduceParams& p;
  float sums[kCount];

  __device__ __forceinline__ explicit Slab(const SlabReduceParams& p) : p(p) {
#pragma unroll
    for (int j = 0; j < kCount; ++j) sums[j] = neutral<IsMax>();
  }

  __device__ __forceinline__ void run(float (&parts)[kSlabWarps][kMostColumns], float (&totals)[kMostColumns]) {
    const int team = blocksOfTeam(), rank = rankInTeam();
    const int first = blockIdx.x / team * p.lanes * kCount;
    walk(first + (threadIdx.x & (p.lanes - 1)) * kCount, team, rank);
    joinWarps(parts);
    __syncthreads();
    const int column = threadIdx.x, columns = p.lanes * kCount;
    float total = neutral<IsMax>();
    if (column < columns) {
#pragma unroll
      for (int warp = 0; warp < kSlabWarps; ++warp) total = join<IsMax>(total, parts[warp][column]);
    }
    if (team > 1) {
      if (column < columns) totals[column] = total;
      arriveTeam<true>();
      waitTeam();
      if (rank == 0 && column < columns) total = joinTeam(&totals[column], team);
      arriveTeam<false>();
      waitTeam();
    }
    if (rank > 0 || column >= columns || first + column >= p.columns) return;
    const int64_t to = static_cast<int64_t>(blockIdx.y) * p.yBatch + static_cast<int64_t>(first + column) * p.yColumn;
    storeFloat(p.y, to, p.yType, applyPost(total, p.divisor, p.post));
  }

  __device__ __forceinline__ void add(const Vector<T>& loaded) {
#pragma unroll
    for (int j = 0; j < kCount; ++j) sums[j] = join<IsMax>(sums[j], prepared<PRE>(toFloat(loaded.at[j])));
  }

  // Where rows lie is computed before anybody is waited for.
  __device__ __forceinline__ void walk(int column, int team, int rank) {
    const int rows = kSlabThreads / p.lanes, step = rows * team;
    const int64_t stride = p.xRow;
    const T* x = static_cast<const T*>(p.x) + static_cast<int64_t>(blockIdx.y) * p.xBatch + column;
    int row = rank * rows + threadIdx.x / p.lanes;
    beginKernelEarly();
    if (column >= p.columns) return;
    for (; row + (kUnroll - 1) * step < p.rows; row += kUnroll * step) {
      Vector<T> loaded[kUnroll];
#pragma unroll
      for (int i = 0; i < kUnroll; ++i) loaded[i] = loadVector(x + (row + i * step) * stride);
#pragma unroll
      for (int i = 0; i < kUnroll; ++i) add(loaded[i]);
    }
    // What is left of a round is in flight together as well.
    Vector<T> loaded[kUnroll - 1];
#pragma unroll
    for (int i = 0; i < kUnroll - 1; ++i)
      if (row + i * step < p.rows) loaded[i] = loadVector(x + (row + i * step) * stride);
#pragma unroll
    for (int i = 0; i < kUnroll - 1; ++i)
      if (row + i * step < p.rows) add(loaded[i]);
  }

  // Rows of one warp, then each warp's sums beside the others'.
  __device__ __forceinline__ void joinWarps(float (&parts)[kSlabWarps][kMostColumns]) {
    for (int step = 16; step >= p.lanes; step /= 2) {
#pragma unroll
      for (int j = 0; j < kCount; ++j) sums[j] = join<IsMax>(sums[j], __shfl_down_sync(0xffffffffu, sums[j], step));
    }
    const int lane = threadIdx.x & 31;
    if (lane >= p.lanes) return;
#pragma unroll
    for (int j = 0; j < kCount; ++j) parts[threadIdx.x / 32][lane * kCount + j] = sums[j];
  }

  // In the order of blocks; all loads are in flight together.
  static __device__ __forceinline__ float joinTeam(const float* own, int team) {
    constexpr int kMost = 16;
    float parts[kMost];
#pragma unroll
    for (int i = 0; i < kMost; ++i) parts[i] = i < team ? loadFromBlock(own, i) : neutral<IsMax>();
    float total = neutral<IsMax>();
#pragma unroll
    for (int i = 0; i < kMost; ++i) total = join<IsMax>(total, parts[i]);
    return total;
  }
};

template <typename T> using SlabColumns = float[32 * Vector<T>::kCount];

template <typename T, bool IsMax, int PRE>
__device__ __forceinline__ void reduceSlabOf(const SlabReduceParams& p, SlabColumns<T> (&parts)[kSlabWarps], SlabColumns<T>& totals) {
  Slab<T, IsMax, PRE>(p).run(parts, totals);
}

#define SLAB_ENTRY(NAME, T, IS_MAX)                                                                                     \
  extern "C" __global__ void __launch_bounds__(kSlabThreads) NAME(const __grid_constant__ SlabReduceParams p) {          \
    __shared__ SlabColumns<T> parts[kSlabWarps];                                                                        \
    __shared__ SlabColumns<T> totals;                                                                                   \
    BY_PRE(reduceSlabOf, T, IS_MAX, p, parts, totals)                                                                   \
  }

SLAB_ENTRY(reduce_slab_sum_float32, float, false)
SLAB_ENTRY(reduce_slab_max_float32, float, true)
SLAB_ENTRY(reduce_slab_sum_float16, __half, false)
SLAB_ENTRY(reduce_slab_max_float16, __half, true)
SLAB_ENTRY(reduce_slab_sum_bfloat16, __nv_bfloat16, false)
SLAB_ENTRY(reduce_slab_max_bfloat16, __nv_bfloat16, true)
