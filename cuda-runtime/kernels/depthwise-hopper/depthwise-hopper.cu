// Depthwise convolutions on Hopper's Tensor Cores, in tiles that TMA brings.
// only: 90a
// hot: depthwise_*
#include "ring.cuh"

#define RING(NAME, E, TAPS, STRIDE, HIGH, REGISTERS)                                                                 \
  extern "C" __global__ void __maxnreg__(REGISTERS)                                                                  \
      depthwise_##NAME##_ring_k##TAPS##s##STRIDE##_##HIGH(const __grid_constant__ DepthwiseRingParams params) {      \
    extern __shared__ __align__(1024) char shared[];                                                        \
    DepthwiseRing<E, TAPS, STRIDE, HIGH>(params, shared).run();                                                      \
  }

#define RINGS(NAME, E)        \
  RING(NAME, E, 3, 1, 4, 80)  \
  RING(NAME, E, 3, 1, 7, 96)  \
  RING(NAME, E, 3, 2, 4, 80)  \
  RING(NAME, E, 3, 2, 7, 96)  \
  RING(NAME, E, 5, 1, 4, 96)  \
  RING(NAME, E, 5, 1, 7, 128) \
  RING(NAME, E, 5, 2, 4, 96)  \
  RING(NAME, E, 5, 2, 7, 128) \
  RING(NAME, E, 7, 1, 4, 128) \
  RING(NAME, E, 7, 1, 7, 128) \
  RING(NAME, E, 7, 2, 4, 128) \
  RING(NAME, E, 7, 2, 7, 128)

RINGS(f16, __half)
RINGS(bf16, __nv_bfloat16)
