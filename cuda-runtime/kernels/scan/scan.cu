// Running sums and products along one axis of a strided view.
#include "../common/launch.cuh"
#include "../common/scalar.cuh"
#include "params.generated.cuh"

constexpr int kThreads = 256;
constexpr int kItems = 4;

template <typename Acc> __device__ __forceinline__ Acc joined(Acc a, Acc b, int isProduct) {
  return isProduct ? a * b : a + b;
}

template <typename Acc> __device__ void scanByThread(const ScanParams& p) {
  const int64_t row = static_cast<int64_t>(blockIdx.x) * kThreads + threadIdx.x;
  if (row >= p.outer) return;
  int64_t x = offsetOf(static_cast<int>(row), p.outerSizes, p.outerStridesX, p.outerRank);
  int64_t y = offsetOf(static_cast<int>(row), p.outerSizes, p.outerStridesY, p.outerRank);
  Acc total = p.isProduct ? Acc(1) : Acc(0);
  for (int at = 0; at < p.length; at++, x += p.strideX, y += p.strideY) {
    const Acc next = joined(total, loadAs<Acc>(p.x, x, p.xType), p.isProduct);
    storeAs<Acc>(p.y, y, p.yType, p.isExclusive ? total : next);
    total = next;
  }
}

// A tile of kItems elements to a thread at a time; what came before the tile is carried along.
template <typename Acc> __device__ void scanByBlock(const ScanParams& p) {
  __shared__ Acc shared[2][kThreads];
  const Acc neutral = p.isProduct ? Acc(1) : Acc(0);
  const int64_t x = offsetOf(blockIdx.x, p.outerSizes, p.outerStridesX, p.outerRank);
  const int64_t y = offsetOf(blockIdx.x, p.outerSizes, p.outerStridesY, p.outerRank);
  Acc carry = neutral;
  for (int64_t tile = 0; tile < p.length; tile += kThreads * kItems) {
    const int64_t first = tile + threadIdx.x * kItems;
    // What comes before each element in its thread, and the thread's total at the end.
    Acc before[kItems + 1];
    before[0] = neutral;
#pragma unroll
    for (int i = 0; i < kItems; i++) {
      const int64_t at = first + i;
      const Acc own = at < p.length ? loadAs<Acc>(p.x, x + at * p.strideX, p.xType) : neutral;
      before[i + 1] = joined(before[i], own, p.isProduct);
    }
    int current = 0;
    __syncthreads();
    shared[current][threadIdx.x] = before[kItems];
    for (int step = 1; step < kThreads; step *= 2) {
      __syncthreads();
      const Acc own = shared[current][threadIdx.x];
      shared[1 - current][threadIdx.x] =
          threadIdx.x >= step ? joined(shared[current][threadIdx.x - step], own, p.isProduct) : own;
      current = 1 - current;
    }
    __syncthreads();
    const Acc threadsBefore = threadIdx.x == 0 ? neutral : shared[current][threadIdx.x - 1];
    const Acc base = joined(carry, threadsBefore, p.isProduct);
#pragma unroll
    for (int i = 0; i < kItems; i++) {
      const int64_t at = first + i;
      const Acc value = joined(base, p.isExclusive ? before[i] : before[i + 1], p.isProduct);
      if (at < p.length) storeAs<Acc>(p.y, y + at * p.strideY, p.yType, value);
    }
    carry = joined(carry, shared[current][kThreads - 1], p.isProduct);
  }
}

template <typename Acc> __device__ __forceinline__ void scan(const ScanParams& p) {
  if (p.lanes == 1) scanByThread<Acc>(p);
  else scanByBlock<Acc>(p);
}

extern "C" __global__ void __launch_bounds__(kThreads) scan_f32(const __grid_constant__ ScanParams p) { beginKernel(); scan<float>(p); }
extern "C" __global__ void __launch_bounds__(kThreads) scan_f64(const __grid_constant__ ScanParams p) { beginKernel(); scan<double>(p); }
extern "C" __global__ void __launch_bounds__(kThreads) scan_i64(const __grid_constant__ ScanParams p) { beginKernel(); scan<int64_t>(p); }
extern "C" __global__ void __launch_bounds__(kThreads) scan_u64(const __grid_constant__ ScanParams p) { beginKernel(); scan<uint64_t>(p); }
