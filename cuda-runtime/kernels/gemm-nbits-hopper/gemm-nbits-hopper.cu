// Products of one or two rows, a token's, with weights of 4 bits on Hopper: weights come by TMA, a ring of boxes for each warp.
//
// only: 90a
// hot: nbits4_*
#include "product.cuh"

#define NBITS_STREAM(TYPE, NAME, ZEROS, FLAG)                                                                         \
  extern "C" __global__ void __launch_bounds__(256, 2) nbits4_##NAME##_stream##ZEROS(const __grid_constant__ NBitsHopperParams params) { \
    extern __shared__ __align__(1024) unsigned char shared[];                                                         \
    NBitsStream<TYPE, FLAG>(params, shared).run();                                                                    \
  }

NBITS_STREAM(__half, f16, , false)
NBITS_STREAM(__half, f16, _zeros, true)
NBITS_STREAM(__nv_bfloat16, bf16, , false)
NBITS_STREAM(__nv_bfloat16, bf16, _zeros, true)
