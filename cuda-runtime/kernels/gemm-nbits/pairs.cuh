// Codes of four bits, and the elements that they are multiplied by, as operands of mma: which k an operand stands for is free as long as both agree.
#pragma once
#include "../common/scalar.cuh"
#include <cstdint>

// Eight neighbours of a row of a as the pairs (0,4), (1,5), (2,6), (3,7).
__device__ __forceinline__ void pairsOf(const uint4& x, uint32_t (&pairs)[4]) {
  pairs[0] = __byte_perm(x.x, x.z, 0x5410);
  pairs[1] = __byte_perm(x.x, x.z, 0x7632);
  pairs[2] = __byte_perm(x.y, x.w, 0x5410);
  pairs[3] = __byte_perm(x.y, x.w, 0x7632);
}

// A word's eight codes as operands that are exactly kOffset + code, in units of 1 / kUnit. Pairs 1 and 3 are 1 / kOdd as large again.
template <typename T> struct CodePairs;

// A half below 2^-14 is its bits times 2^-24: a code needs no arithmetic at all, and four bits further left it is 16 times as large.
template <> struct CodePairs<__half> {
  static constexpr float kUnit = 16777216.0f, kOffset = 0.0f, kOdd = 0.0625f;
  static __device__ __forceinline__ void expand(uint32_t word, uint32_t (&pairs)[4]) {
    pairs[0] = word & 0x000f000f, pairs[1] = word & 0x00f000f0;
    word >>= 8;
    pairs[2] = word & 0x000f000f, pairs[3] = word & 0x00f000f0;
  }
};

// 128 + code: the products of a subnormal of this type with a row's elements could be too small for a float.
template <> struct CodePairs<__nv_bfloat16> {
  static constexpr float kUnit = 1.0f, kOffset = 128.0f, kOdd = 1.0f;
  static __device__ __forceinline__ void expand(uint32_t word, uint32_t (&pairs)[4]) {
#pragma unroll
    for (int i = 0; i < 4; ++i, word >>= 4) pairs[i] = (word & 0x000f000f) | 0x43004300;
  }
};
