// softmax(scale Q·Kᵀ + mask)·V, streamed over keys: no matrix of scores in memory.
#include "../common/launch.cuh"
#include "plain.cuh"
#include "tensor.cuh"

#define TENSOR_ATTENTION_ENTRY(T, TYPE, D, M_TILES, BK, KEEP_Q, FORM, MASKED)                \
  extern "C" __global__ void __launch_bounds__(128) attention_##TYPE##_d##D##_m##M_TILES##_##FORM( \
      const __grid_constant__ AttentionParams p) { beginKernel(); attendOnTensorCores<T, D, M_TILES, 4, BK, KEEP_Q, MASKED, false>(p); }

#define TENSOR_ATTENTION(D, M_TILES, BK, KEEP_Q, FORM, MASKED)                       \
  TENSOR_ATTENTION_ENTRY(__half, f16, D, M_TILES, BK, KEEP_Q, FORM, MASKED)          \
  TENSOR_ATTENTION_ENTRY(__nv_bfloat16, bf16, D, M_TILES, BK, KEEP_Q, FORM, MASKED)

#define APART_ATTENTION_ENTRY(T, TYPE, D, FORM, MASKED)                                      \
  extern "C" __global__ void __launch_bounds__(128) attention_##TYPE##_d##D##_w4_##FORM(     \
      const __grid_constant__ AttentionParams p) { beginKernel(); attendOnTensorCores<T, D, 1, 4, 64, true, MASKED, true>(p); }

#define APART_ATTENTION(D, FORM, MASKED)                     \
  APART_ATTENTION_ENTRY(__half, f16, D, FORM, MASKED)        \
  APART_ATTENTION_ENTRY(__nv_bfloat16, bf16, D, FORM, MASKED)

// The rows of tiles.ts.
APART_ATTENTION(32, plain, false)
APART_ATTENTION(64, plain, false)
APART_ATTENTION(32, masked, true)
APART_ATTENTION(64, masked, true)
TENSOR_ATTENTION(16, 1, 64, true, plain, false)
TENSOR_ATTENTION(32, 1, 64, true, plain, false)
TENSOR_ATTENTION(48, 1, 64, true, plain, false)
TENSOR_ATTENTION(64, 1, 64, true, plain, false)
TENSOR_ATTENTION(80, 1, 64, true, plain, false)
TENSOR_ATTENTION(96, 1, 64, true, plain, false)
TENSOR_ATTENTION(128, 1, 64, true, plain, false)
TENSOR_ATTENTION(160, 1, 32, true, plain, false)
TENSOR_ATTENTION(192, 1, 32, true, plain, false)
TENSOR_ATTENTION(256, 1, 32, false, plain, false)
TENSOR_ATTENTION(48, 2, 64, false, plain, false)
TENSOR_ATTENTION(64, 2, 64, false, plain, false)
TENSOR_ATTENTION(80, 2, 64, false, plain, false)
TENSOR_ATTENTION(96, 2, 64, false, plain, false)
TENSOR_ATTENTION(128, 2, 32, false, plain, false)
TENSOR_ATTENTION(32, 1, 64, true, masked, true)
TENSOR_ATTENTION(64, 1, 64, true, masked, true)
TENSOR_ATTENTION(96, 1, 64, true, masked, true)
TENSOR_ATTENTION(128, 1, 64, true, masked, true)
TENSOR_ATTENTION(256, 1, 32, false, masked, true)
