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
    beginKernel();                                                                                       \
    SkinnyAlongK<T, ROWS, WIDTH>::run(p);                                                                \
  }
#define SKINNY_N(NAME, T, ROWS, WIDTH, LANES, THREADS)                                                   \
  extern "C" __global__ void __launch_bounds__(THREADS, 2) NAME(const __grid_constant__ GemmParams p) {  \
    beginKernel();                                                                                       \
    SkinnyAlongN<T, ROWS, WIDTH, LANES>::run(p);                                                         \
  }

#include "entries.generated.cuh"

// Adds the splits in their order. `a` holds their sums, [split, batch, m, n] packed.
extern "C" __global__ void __launch_bounds__(256) sum_splits(const __grid_constant__ GemmParams p) {
  beginKernel();
  const int64_t matrix = (int64_t)p.m * p.n;
  const int64_t count = matrix * p.batch[0] * p.batch[1] * p.batch[2];
  const int64_t index = (int64_t)blockIdx.x * 256 + threadIdx.x;
  if (index >= count) return;
  const float* from = static_cast<const float*>(p.a) + index;
  float sum = 0.0f;
#pragma unroll 4
  for (int split = 0; split < p.splits; ++split) sum += from[split * p.splitStride];
  const int within = static_cast<int>(index % matrix);
  const int rest = static_cast<int>(index / matrix);
  const int i2 = rest % p.batch[2];
  const int i1 = rest / p.batch[2] % p.batch[1];
  const int i0 = rest / p.batch[2] / p.batch[1];
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
