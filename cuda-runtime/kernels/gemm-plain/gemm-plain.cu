// Products of matrices on CUDA cores: FP32 of any strides, few rows, integers and doubles; and the sum over splits of k.
// hot: skinny_float*, simt_64, simt_32
#include "../common/launch.cuh"
#include "../gemm/simt.cuh"
#include "../gemm/skinny.cuh"
#include "../gemm/generic.cuh"

#define SIMT(NAME, TILE, BK, BLOCKS)                                                                     \
  extern "C" __global__ void __launch_bounds__(256, BLOCKS) NAME(const __grid_constant__ GemmParams p) { beginKernel(); \
    SimtProduct<TILE, BK>::run(p);                                                                       \
  }

#define SKINNY_K(NAME, T, ROWS, WIDTH, THREADS)                                                          \
  extern "C" __global__ void __launch_bounds__(THREADS) NAME(const __grid_constant__ GemmParams p) {     \
    SkinnyAlongK<T, ROWS, WIDTH>::run(p);                                                                \
  }
// Blocks of one short row on a multiprocessor. From sm_120 on the compiler wants more registers.
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 1200
constexpr int kShortBlocks = 5;
#else
constexpr int kShortBlocks = 7;
#endif

#define SKINNY_SHORT(NAME, T, ROWS, WIDTH, LANES, THREADS)                                               \
  extern "C" __global__ void __launch_bounds__(THREADS, ROWS == 1 ? kShortBlocks : 3) NAME(const __grid_constant__ GemmParams p) {     \
    SkinnyShort<T, ROWS, WIDTH, LANES>::run(p);                                                          \
  }
#define SKINNY_N(NAME, T, ROWS, WIDTH, LANES, THREADS)                                                   \
  extern "C" __global__ void __launch_bounds__(THREADS, 2) NAME(const __grid_constant__ GemmParams p) {  \
    SkinnyAlongN<T, ROWS, WIDTH, LANES>::run(p);                                                         \
  }

#include "entries.generated.cuh"

// `a` holds sums, [split, batch, m, n] packed. A block's rows of threads have a run of the splits each, whose sums are added up in order;
// all loads of a round are in flight before its first sum.
__device__ __forceinline__ float sumOfRun(const float* from, int64_t step, int count) {
  constexpr int kAtOnce = 8;
  float sum = 0.0f;
#pragma unroll 1
  for (; count > 0; count -= kAtOnce, from += kAtOnce * step) {
    float parts[kAtOnce] = {};
#pragma unroll
    for (int i = 0; i < kAtOnce; ++i)
      if (i < count) parts[i] = from[i * step];
#pragma unroll
    for (int i = 0; i < kAtOnce; ++i) sum += parts[i];
  }
  return sum;
}

extern "C" __global__ void __launch_bounds__(256) sum_splits(const __grid_constant__ GemmParams p) {
  beginKernel();
  __shared__ float others[256];
  const int64_t matrix = (int64_t)p.m * p.n;
  const int64_t count = matrix * p.batch[0] * p.batch[1] * p.batch[2];
  const int64_t index = (int64_t)blockIdx.x * blockDim.x + threadIdx.x;
  const int perRun = (p.splits + blockDim.y - 1) / blockDim.y;
  const int first = threadIdx.y * perRun;
  const float* from = static_cast<const float*>(p.a) + first * p.splitStride + index;
  float sum = sumOfRun(from, p.splitStride, index < count ? min(perRun, p.splits - first) : 0);
  if (blockDim.y > 1) {
    others[threadIdx.y * blockDim.x + threadIdx.x] = sum;
    __syncthreads();
    if (threadIdx.y > 0) return;
    for (int run = 1; run < blockDim.y; ++run) sum += others[run * blockDim.x + threadIdx.x];
  }
  if (index >= count) return;
  // Divisions are slow, and mostly there is one product.
  int within = static_cast<int>(index), i0 = 0, i1 = 0, i2 = 0;
  if (index >= matrix) {
    within = static_cast<int>(index % matrix);
    const int rest = static_cast<int>(index / matrix);
    i2 = rest % p.batch[2];
    i1 = rest / p.batch[2] % p.batch[1];
    i0 = rest / p.batch[2] / p.batch[1];
  }
  Place at;
  at.d = (int64_t)i0 * p.dBatch[0] + (int64_t)i1 * p.dBatch[1] + (int64_t)i2 * p.dBatch[2];
  at.residual = (int64_t)i0 * p.rBatch[0] + (int64_t)i1 * p.rBatch[1] + (int64_t)i2 * p.rBatch[2];
  finish(p, at, within / p.n, within % p.n, sum);
}

#define GENERIC(NAME, T)                                                                                \
  extern "C" __global__ void __launch_bounds__(256) NAME(const __grid_constant__ GenericParams p) { beginKernel(); \
    GenericProduct<T>::run(p);                                                                          \
  }
GENERIC(generic_double, double)
GENERIC(generic_int, int32_t)
GENERIC(generic_long, int64_t)
