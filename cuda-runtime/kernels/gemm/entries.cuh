// Declares entries of tensor.cuh, which entries.generated.cuh lists. A name is tile, then layout, one letter an operand: k where its unit stride is along
// k, m or n where it is along the other axis; "odd" for rows at any even address.
#pragma once
#include "../common/launch.cuh"
#include "tensor.cuh"

// Warps of WM x WN, STAGES tiles in flight, BLOCKS to a multiprocessor at least.
#define TENSOR(NAME, T, BM, BN, BK, WM, WN, STAGES, A_ALONG, B_ALONG, ODD, BLOCKS)                  \
  extern "C" __global__ void __launch_bounds__((BM / WM) * (BN / WN) * 32, BLOCKS)                  \
      NAME(const __grid_constant__ GemmParams p) {                                                  \
    TensorProduct<T, BM, BN, BK, WM, WN, STAGES, A_ALONG, B_ALONG, ODD> product;                    \
    product.run(p);                                                                                 \
  }
