// Convolutions of few channels (stems) on Hopper's Tensor Cores without im2col: the image is packed into planes of eight slots a pixel,
// zeros around it included, and a tile's pixels come to shared memory once for all taps.
// only: 90a
// hot: conv_planes_*
#include "code-end.cuh"
#include "pack.cuh"
#include "product.cuh"

#define PLANES(NAME, T, BN, BLOCKS_M)                                                                     \
  extern "C" __global__ void __launch_bounds__(288, 2) NAME(const __grid_constant__ PlanesParams params) { \
    extern __shared__ __align__(1024) unsigned char shared[];                                             \
    PlanesProduct<PlanesEnd<T, BN>, T, BN, BLOCKS_M>(params, shared).run();                                \
  }
// Differences of codes from their zero point are whole halves, and sums of few of their products whole floats: what integer Tensor Cores make.
#define PLANES_OF_CODES(NAME, BN, BLOCKS_M)                                                               \
  extern "C" __global__ void __launch_bounds__(288, 2) NAME(const __grid_constant__ PlanesParams params) { \
    extern __shared__ __align__(1024) unsigned char shared[];                                             \
    PlanesProduct<PlanesCodeEnd<BN>, __half, BN, BLOCKS_M>(params, shared).run();                          \
  }

#include "entries.generated.cuh"
