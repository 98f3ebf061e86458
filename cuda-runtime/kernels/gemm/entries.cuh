// Declares entries of tensor.cuh. A name is tile, then layout, one letter an operand: k where its unit stride is along
// k, m or n where it is along the other axis; "odd" for rows at any even address.
#pragma once
#include "../common/launch.cuh"
#include "tensor.cuh"

// Warps of WM x WN, STAGES tiles in flight, BLOCKS to a multiprocessor at least.
#define TENSOR(NAME, T, BM, BN, BK, WM, WN, STAGES, A_ALONG, B_ALONG, ODD, BLOCKS)                  \
  extern "C" __global__ void __launch_bounds__((BM / WM) * (BN / WN) * 32, BLOCKS)                  \
      NAME(const __grid_constant__ GemmParams p) { beginKernel();                                   \
    TensorProduct<T, BM, BN, BK, WM, WN, STAGES, A_ALONG, B_ALONG, ODD> product;                    \
    product.run(p);                                                                                 \
  }

#define TENSOR_K(TILE, T, BM, BN, BK, WM, WN, STAGES, BLOCKS)                                       \
  TENSOR(TILE##_kk, T, BM, BN, BK, WM, WN, STAGES, true, true, false, BLOCKS)                       \
  TENSOR(TILE##_kn, T, BM, BN, BK, WM, WN, STAGES, true, false, false, BLOCKS)

#define TENSOR_M(TILE, T, BM, BN, BK, WM, WN, STAGES, BLOCKS)                                       \
  TENSOR(TILE##_mk, T, BM, BN, BK, WM, WN, STAGES, false, true, false, BLOCKS)                      \
  TENSOR(TILE##_mn, T, BM, BN, BK, WM, WN, STAGES, false, false, false, BLOCKS)

#define TENSOR_ODD(TILE, T, BM, BN, BK, WM, WN, BLOCKS)                                             \
  TENSOR(TILE##_kk_odd, T, BM, BN, BK, WM, WN, 2, true, true, true, BLOCKS)                         \
  TENSOR(TILE##_kn_odd, T, BM, BN, BK, WM, WN, 2, true, false, true, BLOCKS)

// The rows of table.ts for elements of two bytes.
#define TENSOR_HALVES(T)                                 \
  TENSOR_K(t256x128x64, T, 256, 128, 64, 64, 64, 3, 1)   \
  TENSOR_K(t128x128x64, T, 128, 128, 64, 64, 64, 3, 2)   \
  TENSOR_M(t128x128x64, T, 128, 128, 64, 64, 64, 3, 2)   \
  TENSOR_K(t128x64x64, T, 128, 64, 64, 64, 32, 3, 3)     \
  TENSOR_K(t64x128x64, T, 64, 128, 64, 32, 64, 3, 3)     \
  TENSOR_K(t64x64x64, T, 64, 64, 64, 32, 32, 4, 3)       \
  TENSOR_M(t64x64x64, T, 64, 64, 64, 32, 32, 4, 3)       \
  TENSOR_K(t32x128x64, T, 32, 128, 64, 32, 32, 4, 2)     \
  TENSOR_K(t32x64x64, T, 32, 64, 64, 16, 32, 4, 4)       \
  TENSOR_K(t16x64x64, T, 16, 64, 64, 16, 16, 5, 4)       \
  TENSOR_ODD(t64x64x64, T, 64, 64, 64, 32, 32, 3)        \
  TENSOR_ODD(t16x64x64, T, 16, 64, 64, 16, 16, 4)

// … and for floats rounded to TF32.
#define TENSOR_FLOATS                                        \
  TENSOR_K(t128x128x32, float, 128, 128, 32, 64, 64, 3, 2)   \
  TENSOR_M(t128x128x32, float, 128, 128, 32, 64, 64, 3, 2)   \
  TENSOR_K(t128x64x32, float, 128, 64, 32, 64, 32, 3, 3)     \
  TENSOR_K(t64x64x32, float, 64, 64, 32, 32, 32, 4, 3)       \
  TENSOR_M(t64x64x32, float, 64, 64, 32, 32, 32, 4, 3)       \
  TENSOR_K(t32x64x32, float, 32, 64, 32, 16, 32, 4, 4)       \
  TENSOR_K(t16x64x32, float, 16, 64, 32, 16, 16, 5, 4)
