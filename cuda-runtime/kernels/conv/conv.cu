// Convolution forward as an implicit product, and what it needs around it. kernels/conv/table.ts lists the entries.
// hot: conv_f16_*, conv_bf16_*, conv_tf32_*
#include "../common/launch.cuh"
#include "pack-reduce.cuh"
#include "gather.cuh"
#include "implicit.cuh"

// Registers are what the blocks of one multiprocessor leave to each thread: 65,536 in all. Two blocks of 256 threads leave
// too few where copies go through registers (before sm_80), or are in many pieces, or of TF32 (before sm_90).
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ < 800
#define RESIDENT(BLOCKS) (BLOCKS == 2 ? 1 : BLOCKS)
#else
#define RESIDENT(BLOCKS) BLOCKS
#endif
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ < 900
#define TWO_IF_ROOM 1
#else
#define TWO_IF_ROOM 2
#endif
#define IMPLICIT(NAME, MATH, BM, BN, CHUNKS, STAGES, WARPS_M, WARPS_N, GRAIN, BLOCKS)                       \
  extern "C" __global__ void __launch_bounds__(32 * WARPS_M * WARPS_N, RESIDENT(BLOCKS))                    \
      conv_##NAME(const __grid_constant__ ConvParams p) { beginKernel();                                    \
    implicitProduct<Tile<MATH, BM, BN, CHUNKS, STAGES, WARPS_M, WARPS_N>, GRAIN>(p);                        \
  }
#define GATHER(NAME, MATH, FROM, BM, BN, WARPS_M, WARPS_N, BLOCKS)                                          \
  extern "C" __global__ void __launch_bounds__(32 * WARPS_M * WARPS_N, RESIDENT(BLOCKS))                    \
      conv_##NAME(const __grid_constant__ ConvParams p) { beginKernel();                                    \
    gatheredProduct<Tile<MATH, BM, BN, 4, 2, WARPS_M, WARPS_N>, FROM>(p);                                   \
  }

#define HALVES(NAME, MATH, FROM)                                        \
  IMPLICIT(NAME##_256x128, MATH, 256, 128, 4, 4, 4, 2, 16, 1)           \
  IMPLICIT(NAME##_128x128, MATH, 128, 128, 4, 4, 2, 4, 16, 2)           \
  IMPLICIT(NAME##_256x64, MATH, 256, 64, 4, 4, 4, 2, 16, 2)             \
  IMPLICIT(NAME##_128x64, MATH, 128, 64, 4, 4, 2, 2, 16, 3)             \
  IMPLICIT(NAME##_64x128, MATH, 64, 128, 4, 4, 1, 4, 16, 3)             \
  IMPLICIT(NAME##_64x64, MATH, 64, 64, 8, 4, 2, 2, 16, 3)               \
  IMPLICIT(NAME##_128x32, MATH, 128, 32, 4, 4, 4, 1, 16, 4)             \
  IMPLICIT(NAME##_64x32, MATH, 64, 32, 8, 4, 4, 1, 16, 4)               \
  IMPLICIT(NAME##_128x16, MATH, 128, 16, 8, 3, 4, 1, 16, 4)             \
  IMPLICIT(NAME##_128x128_g8, MATH, 128, 128, 4, 4, 2, 4, 8, TWO_IF_ROOM)\
  IMPLICIT(NAME##_64x64_g8, MATH, 64, 64, 4, 4, 2, 2, 8, 4)             \
  IMPLICIT(NAME##_128x128_g4, MATH, 128, 128, 4, 4, 2, 4, 4, TWO_IF_ROOM)\
  IMPLICIT(NAME##_64x64_g4, MATH, 64, 64, 4, 4, 2, 2, 4, 4)             \
  GATHER(NAME##_128x64_gather, MATH, FROM, 128, 64, 2, 2, 3)            \
  GATHER(NAME##_128x32_gather, MATH, FROM, 128, 32, 4, 1, 4)            \
  GATHER(NAME##_128x64_gather_f32, MATH, float, 128, 64, 2, 2, 3)       \
  GATHER(NAME##_128x32_gather_f32, MATH, float, 128, 32, 4, 1, 4)

HALVES(f16, HalfMath, __half)
HALVES(bf16, Bfloat16Math, __nv_bfloat16)

IMPLICIT(tf32_128x128, Tf32Math, 128, 128, 4, 4, 2, 4, 16, TWO_IF_ROOM)
IMPLICIT(tf32_128x64, Tf32Math, 128, 64, 4, 4, 2, 2, 16, 3)
IMPLICIT(tf32_64x64, Tf32Math, 64, 64, 8, 4, 2, 2, 16, 3)
IMPLICIT(tf32_64x32, Tf32Math, 64, 32, 8, 4, 4, 1, 16, 4)
GATHER(tf32_128x64_gather, Tf32Math, float, 128, 64, 2, 2, 3)
GATHER(tf32_128x32_gather, Tf32Math, float, 128, 32, 4, 1, 4)

IMPLICIT(f32_128x64, Float32Math, 128, 64, 4, 3, 2, 2, 16, 2)
IMPLICIT(f32_64x32, Float32Math, 64, 32, 4, 3, 2, 1, 16, 6)
GATHER(f32_128x64_gather, Float32Math, float, 128, 64, 2, 2, 2)
GATHER(f32_64x32_gather, Float32Math, float, 64, 32, 2, 1, 6)
