// Convolution of stride 1 on Hopper's Tensor Cores, whose taps are read from one patch of the image in shared memory.
// only: 90a
// hot: conv_*
#include "../common/launch.cuh"
#include "halo-product.cuh"

#define HALO(NAME, T, CHANNELS, PATCHES, BN, STAGES, BLOCKS)                                                        \
  using NAME##_product = HaloProduct<T, CHANNELS, PATCHES, BN, STAGES, BLOCKS>;                                     \
  extern "C" __global__ void __launch_bounds__(NAME##_product::kThreads, BLOCKS)                                    \
      NAME(const __grid_constant__ ConvHaloParams params) {                                                         \
    extern __shared__ __align__(1024) unsigned char shared[];                                                       \
    NAME##_product(params, shared).run();                                                                           \
  }

#include "entries.generated.cuh"
