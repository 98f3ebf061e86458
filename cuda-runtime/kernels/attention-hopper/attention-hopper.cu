// Attention of halves on Hopper's Tensor Cores, without masks other than a window of keys.
// only: 90a
// hot: attention_*
#include "../common/launch.cuh"
#include "hopper.cuh"

// BLOCKS a multiprocessor.
#define HOPPER_ATTENTION_ENTRY(T, TYPE, D, GROUPS, BK, STAGES, BLOCKS, PAIR, SUFFIX)                              \
  extern "C" __global__ void __launch_bounds__(GROUPS * 128 + (GROUPS == 1 ? 32 : 128), BLOCKS)                   \
      attention_##TYPE##_d##D##_h##GROUPS##k##BK##SUFFIX##_plain(const __grid_constant__ AttentionHopperParams params) { \
    extern __shared__ __align__(1024) unsigned char attentionShared[];                                            \
    HopperAttention<T, D, GROUPS, BK, STAGES, PAIR>(params, attentionShared).run();                               \
  }

#define HOPPER_ATTENTION_FORM(D, GROUPS, BK, STAGES, BLOCKS, PAIR, SUFFIX)                             \
  HOPPER_ATTENTION_ENTRY(__half, f16, D, GROUPS, BK, STAGES, BLOCKS, PAIR, SUFFIX)                     \
  HOPPER_ATTENTION_ENTRY(__nv_bfloat16, bf16, D, GROUPS, BK, STAGES, BLOCKS, PAIR, SUFFIX)
#define HOPPER_ATTENTION(D, GROUPS, BK, STAGES, BLOCKS) HOPPER_ATTENTION_FORM(D, GROUPS, BK, STAGES, BLOCKS, false, )
#define HOPPER_ATTENTION_PAIR(D, GROUPS, BK, STAGES) HOPPER_ATTENTION_FORM(D, GROUPS, BK, STAGES, 1, true, p)

// The rows of tiles.ts.
HOPPER_ATTENTION(48, 1, 64, 2, 3)
HOPPER_ATTENTION(64, 1, 64, 2, 3)
HOPPER_ATTENTION(80, 1, 64, 2, 2)
HOPPER_ATTENTION(96, 1, 64, 2, 2)
HOPPER_ATTENTION(128, 1, 64, 3, 2)
HOPPER_ATTENTION(48, 2, 128, 2, 1)
HOPPER_ATTENTION(64, 2, 128, 2, 1)
HOPPER_ATTENTION(80, 2, 128, 2, 1)
HOPPER_ATTENTION(96, 2, 128, 2, 1)
HOPPER_ATTENTION(128, 2, 128, 2, 1)
HOPPER_ATTENTION(48, 3, 128, 2, 1)
HOPPER_ATTENTION(64, 3, 128, 2, 1)
HOPPER_ATTENTION_PAIR(80, 2, 128, 2)
HOPPER_ATTENTION_PAIR(128, 2, 128, 2)
