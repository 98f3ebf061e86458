// Fragments of mma.sync out of the tiles that load.cuh wrote. A step of k is 32 bytes: 16 halves or 8 floats.
#pragma once
#include "../common/mma.cuh"
#include "load.cuh"

// Rows of 16 (m or n) of one warp, from a tile whose rows run along k.
template <int ROW_BYTES, bool B_SIDE>
struct FragmentsAlongK {
  uint32_t first;

  __device__ __forceinline__ explicit FragmentsAlongK(int outer) {
    const int lane = threadIdx.x & 31;
    const int row = outer + (B_SIDE ? (lane & 7) + (lane >> 4 << 3) : lane & 15);
    const int chunk = B_SIDE ? lane >> 3 & 1 : lane >> 4;
    first = row * ROW_BYTES + (swizzled<ROW_BYTES, false>(row, chunk) << 4);
  }

  // Steps differ in bits of the chunk that the swizzle flips apart from the others.
  __device__ __forceinline__ void load(uint32_t (&r)[4], uint32_t tile, int step, int block) const {
    ldmatrix4(r, (tile + first ^ step * 32) + block * 16 * ROW_BYTES);
  }
};

// The same, from a tile of halves whose rows are one k each.
template <int ROW_BYTES, bool B_SIDE>
struct FragmentsAcrossK {
  uint32_t first;

  __device__ __forceinline__ explicit FragmentsAcrossK(int outer) {
    const int lane = threadIdx.x & 31;
    const int k = (lane & 7) + (B_SIDE ? (lane >> 3 & 1) << 3 : lane >> 4 << 3);
    const int chunk = outer / 8 + (B_SIDE ? lane >> 4 : lane >> 3 & 1);
    first = k * ROW_BYTES + (swizzled<ROW_BYTES, false>(k, chunk) << 4);
  }

  __device__ __forceinline__ void load(uint32_t (&r)[4], uint32_t tile, int step, int block) const {
    ldmatrix4Transposed(r, (tile + first ^ (block & 3) * 32) + (block >> 2) * 128 + step * 16 * ROW_BYTES);
  }
};

// The same for floats: ldmatrix turns 16-bit elements only, so single words are gathered.
template <int ROW_BYTES, bool B_SIDE>
struct WordFragmentsAcrossK {
  uint32_t first;

  __device__ __forceinline__ explicit WordFragmentsAcrossK(int outer) {
    const int lane = threadIdx.x & 31;
    const int g = lane >> 2;
    const int t = lane & 3;
    first = t * ROW_BYTES + (swizzled<ROW_BYTES, true>(t, outer / 4 + (g >> 2)) << 4) + (g & 3) * 4;
  }

  __device__ __forceinline__ void load(uint32_t (&r)[4], uint32_t tile, int step, int block) const {
#pragma unroll
    for (int i = 0; i < 4; ++i) {
      const int outerHalf = B_SIDE ? i >> 1 : i & 1;
      const int kHalf = B_SIDE ? i & 1 : i >> 1;
      const uint32_t at = tile + first ^ ((block & 1) * 64 + outerHalf * 32);
      r[i] = loadShared4(at + (block >> 1) * 128 + (step * 8 + kHalf * 4) * ROW_BYTES);
    }
  }
};

template <typename T, int ROW_BYTES, bool ALONG_K, bool B_SIDE>
struct FragmentsOf {
  using Type = FragmentsAlongK<ROW_BYTES, B_SIDE>;
};
template <typename T, int ROW_BYTES, bool B_SIDE>
struct FragmentsOf<T, ROW_BYTES, false, B_SIDE> {
  using Type = FragmentsAcrossK<ROW_BYTES, B_SIDE>;
};
template <int ROW_BYTES, bool B_SIDE>
struct FragmentsOf<float, ROW_BYTES, false, B_SIDE> {
  using Type = WordFragmentsAcrossK<ROW_BYTES, B_SIDE>;
};
