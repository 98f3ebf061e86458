// Convolution forward as an implicit product, and what it needs around it. kernels/conv/table.ts has the entries.
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
      NAME(const __grid_constant__ ConvParams p) { beginKernel();                                           \
    implicitProduct<Tile<MATH, BM, BN, CHUNKS, STAGES, WARPS_M, WARPS_N>, GRAIN>(p);                        \
  }
#define GATHER(NAME, MATH, FROM, BM, BN, CHUNKS, STAGES, WARPS_M, WARPS_N, BLOCKS)                          \
  extern "C" __global__ void __launch_bounds__(32 * WARPS_M * WARPS_N, RESIDENT(BLOCKS))                    \
      NAME(const __grid_constant__ ConvParams p) { beginKernel();                                           \
    gatheredProduct<Tile<MATH, BM, BN, CHUNKS, STAGES, WARPS_M, WARPS_N>, FROM>(p);                         \
  }

#include "entries.generated.cuh"
