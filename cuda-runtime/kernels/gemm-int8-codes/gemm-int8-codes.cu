// Products of codes of a byte that become codes or floats, on Hopper. What becomes of a result takes longer than the products of a short k: more
// warps than those of gemm-int8-hopper hide how long each instruction of it takes, and tiles are small, so that there are fewer of these: a
// launch fetches them anew, which took 8 of 22 us for tiles of 128x128 within a ResNet-50.
// only: 90a
// hot: codes_*
#include "../gemm-int8-hopper/matrices.cuh"

template <int BM, int BN> using Matrices = MatrixTiles<Stored::codesAndFloats, BM, BN>;

// GROUPS multiply, in RESIDENT blocks of a multiprocessor.
#define PRODUCT(NAME, A, B, BLOCKS_M, BN, STAGES, GROUPS, RESIDENT)                                                                 \
  extern "C" __global__ void __launch_bounds__(128 * (GROUPS + 1), RESIDENT) NAME(const __grid_constant__ CodeMapsParams maps) {    \
    extern __shared__ __align__(1024) unsigned char shared[];                                                                     \
    HopperCodes<Matrices, A, B, false, BLOCKS_M, BN, STAGES, GROUPS, RESIDENT>(maps, shared).run();                                \
  }
#define PRODUCTS_OF(NAME, A, B)                      \
  PRODUCT(codes_##NAME##_d64x64, A, B, 1, 64, 5, 2, 2)   \
  PRODUCT(codes_##NAME##_d64x32, A, B, 1, 32, 7, 2, 2)   \
  PRODUCT(codes_##NAME##_t64x128, A, B, 1, 128, 7, 3, 1)

PRODUCTS_OF(s8s8, S8, S8)
PRODUCTS_OF(u8s8, U8, S8)
