// Products of codes of a byte on Hopper's Tensor Cores, rows at multiples of 16 bytes.
// only: 90a
// hot: codes_*
#include "hopper-codes-sum.cuh"
#include "matrices.cuh"

template <int BM, int BN> using Matrices = MatrixTiles<Stored::all, BM, BN>;

#define HOPPER(NAME, A, B, TOGETHER, BLOCKS_M, BN, STAGES)                                                     \
  extern "C" __global__ void __launch_bounds__(384, 1) NAME(const __grid_constant__ CodeMapsParams maps) {     \
    extern __shared__ __align__(1024) unsigned char shared[];                                                  \
    HopperCodes<Matrices, A, B, TOGETHER, BLOCKS_M, BN, STAGES>(maps, shared).run();                                     \
  }
#define HOPPER_OF(NAME, A, B)                              \
  HOPPER(codes_##NAME##_h256x128, A, B, true, 2, 128, 4)   \
  HOPPER(codes_##NAME##_h128x256, A, B, true, 1, 256, 4)   \
  HOPPER(codes_##NAME##_h128x128, A, B, false, 2, 128, 6)  \
  HOPPER(codes_##NAME##_h128x64, A, B, false, 2, 64, 8)    \
  HOPPER(codes_##NAME##_h64x128, A, B, false, 1, 128, 8)   \
  HOPPER(codes_##NAME##_h64x64, A, B, false, 1, 64, 12)    \
  HOPPER(codes_##NAME##_h64x32, A, B, false, 1, 32, 16)

HOPPER_OF(s8s8, S8, S8)
HOPPER_OF(u8s8, U8, S8)
HOPPER_OF(s8u8, S8, U8)
HOPPER_OF(u8u8, U8, U8)
HOPPER_OF(e4m3e4m3, E4M3, E4M3)
HOPPER_OF(e5m2e4m3, E5M2, E4M3)
HOPPER_OF(e4m3e5m2, E4M3, E5M2)
HOPPER_OF(e5m2e5m2, E5M2, E5M2)

CODES_SUM(codes_s8s8_s64x64, Matrices, S8, S8, 64, 6)
CODES_SUM(codes_u8s8_s64x64, Matrices, U8, S8, 64, 6)
CODES_SUM(codes_s8s8_s64x32, Matrices, S8, S8, 32, 8)
CODES_SUM(codes_u8s8_s64x32, Matrices, U8, S8, 32, 8)
