// Convolution of stride 1 on Hopper's Tensor Cores, whose taps are read from one patch of the image in shared memory.
// only: 90a
// hot: conv_*
#include "../common/launch.cuh"
#include "halo-product.cuh"

#define HALO(NAME, T, CHANNELS, PATCHES, BN, STAGES, BLOCKS)                                                        \
  extern "C" __global__ void __launch_bounds__(384, BLOCKS) NAME(const __grid_constant__ ConvHaloParams params) {   \
    extern __shared__ __align__(1024) unsigned char shared[];                                                       \
    HaloProduct<T, CHANNELS, PATCHES, BN, STAGES, BLOCKS>(params, shared).run();                                    \
  }

#include "entries.generated.cuh"
