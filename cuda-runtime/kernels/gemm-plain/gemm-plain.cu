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
SIMT(simt_128, 128, 8, 2)
SIMT(simt_64, 64, 16, 2)
SIMT(simt_32, 32, 32, 2)

#define SKINNY(TYPE, T, ROWS, WIDE)                                                                              \
  extern "C" __global__ void __launch_bounds__(128)                                                              \
      skinny_##TYPE##_k_wide_##ROWS(const __grid_constant__ GemmParams p) { beginKernel(); SkinnyAlongK<T, ROWS, WIDE>::run(p); } \
  extern "C" __global__ void __launch_bounds__(128)                                                              \
      skinny_##TYPE##_k_##ROWS(const __grid_constant__ GemmParams p) { beginKernel(); SkinnyAlongK<T, ROWS, 1>::run(p); } \
  extern "C" __global__ void __launch_bounds__(256, 2)                                                              \
      skinny_##TYPE##_n_wide_##ROWS(const __grid_constant__ GemmParams p) { beginKernel(); SkinnyAlongN<T, ROWS, WIDE, 8>::run(p); } \
  extern "C" __global__ void __launch_bounds__(256, 2)                                                              \
      skinny_##TYPE##_n_##ROWS(const __grid_constant__ GemmParams p) { beginKernel(); SkinnyAlongN<T, ROWS, 1, 32>::run(p); }
SKINNY(float16, __half, 1, 8)
SKINNY(float16, __half, 4, 8)
SKINNY(bfloat16, __nv_bfloat16, 1, 8)
SKINNY(bfloat16, __nv_bfloat16, 4, 8)
SKINNY(float32, float, 1, 4)
SKINNY(float32, float, 4, 4)

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
