// Two products of halves one behind another on Hopper's Tensor Cores: what the first one gives is the rows of the second one. All operands
// have their unit stride along k, rows at multiples of 16 bytes.
// only: 90a
// hot: p*
#include "product.cuh"

// GROUPS of four warps, CHUNK columns at a time each; BLOCKS to a multiprocessor at least.
#define PAIR(NAME, T, GROUPS, CHUNK, BLOCKS)                                             \
  extern "C" __global__ void __launch_bounds__(GROUPS * 128 + 32, BLOCKS)                \
      NAME(const __grid_constant__ PairParams params) {                                  \
    extern __shared__ __align__(1024) unsigned char shared[];                            \
    PairProduct<T, GROUPS, CHUNK>(params, sharedAddress(shared)).run();                  \
  }

#include "entries.generated.cuh"
