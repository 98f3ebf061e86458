// What narrow tiles take besides common/: products of widths that no other family has.
#pragma once
#include "../common/wgmma.cuh"

#define NUMBERS_8 "%0, %1, %2, %3, %4, %5, %6, %7"
#define NUMBERS_12 NUMBERS_8 ", " "%8, %9, %10, %11"
#define NUMBERS_24 NUMBERS_16 ", " "%16, %17, %18, %19, %20, %21, %22, %23"
#define NUMBERS_40 NUMBERS_32 ", " "%32, %33, %34, %35, %36, %37, %38, %39"

#if defined(TC_LINT_WGMMA)
WGMMA_BOTH(16, NUMBERS_8, "%8, %9", "%10", SUMS_OF(0), SUMS_OF(1))
WGMMA_BOTH(24, NUMBERS_12, "%12, %13", "%14", SUMS_OF(0), SUMS_OF(1), SUMS_OF(2))
WGMMA_BOTH(48, NUMBERS_24, "%24, %25", "%26", SUMS_OF_4(0), SUMS_OF(4), SUMS_OF(5))
WGMMA_BOTH(80, NUMBERS_40, "%40, %41", "%42", SUMS_OF_4(0), SUMS_OF_4(4), SUMS_OF(8), SUMS_OF(9))
#endif

// d += a b.
template <int N, typename T>
__device__ __forceinline__ void addProduct(float (&d)[N / 8][4], uint64_t a, uint64_t b) {
#if defined(TC_LINT_WGMMA)
  if constexpr (N == 16) wgmma64x16(d, a, b, 1, T());
  else if constexpr (N == 24) wgmma64x24(d, a, b, 1, T());
  else if constexpr (N == 48) wgmma64x48(d, a, b, 1, T());
  else if constexpr (N == 80) wgmma64x80(d, a, b, 1, T());
  else wgmma64<N, T>(d, a, b, 1);
#endif
}

// describeTile for rows of `bytes`, 32, 64 or 128, that only the launch knows.
__device__ __forceinline__ uint64_t describeRows(uint32_t tile, int bytes) {
  if (bytes == 128) return describeTile<128>(tile);
  return bytes == 64 ? describeTile<64>(tile) : describeTile<32>(tile);
}
