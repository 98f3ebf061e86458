// Products of halves with many rows and little along k on Hopper's Tensor Cores. Both operands have their unit stride along k, rows at
// multiples of 16 bytes.
// only: 90a
// hot: r*
#include "../common/copy.cuh"
#include "product.cuh"

// BLOCKS to a multiprocessor at least.
#define THIN(NAME, T, W, GROUPS_M, GROUPS_N, BLOCKS)                                                               \
  extern "C" __global__ void __launch_bounds__(GROUPS_M * GROUPS_N * 128 + 32, BLOCKS)                             \
      NAME(const __grid_constant__ ThinParams params) {                                                            \
    extern __shared__ __align__(1024) unsigned char shared[];                                                      \
    ThinProduct<T, W, GROUPS_M, GROUPS_N>(params, sharedAddress(shared)).run();                                    \
  }

#include "entries.generated.cuh"
