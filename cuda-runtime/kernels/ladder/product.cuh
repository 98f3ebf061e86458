// Tiles of 64 x 64 halves in shared memory, and products of them on Tensor Cores: each of four warps has 16 rows.
#pragma once
#include <cuda_fp16.h>
#include "../common/copy.cuh"
#include "../common/mma.cuh"

constexpr int kTile = 64;
constexpr int kProductThreads = 128;
// 16 bytes more than a row has: the eight rows that one ldmatrix reads lie in different banks.
constexpr int kPitch = kTile + 8;
struct alignas(16) Tile {
  __half at[kTile][kPitch];
};

// Of a warp: 16 rows, 8 columns each; lane 4 g + t has columns 2 t and 2 t + 1 of rows g and g + 8.
using Sums = float[kTile / 8][4];

// Rows that lie `pitch` elements apart.
__device__ __forceinline__ void stageTile(Tile& tile, const __half* from, int pitch) {
#pragma unroll
  for (int i = threadIdx.x; i < kTile * kTile / 8; i += kProductThreads) {
    const int row = i / 8, column = i % 8 * 8;
    *reinterpret_cast<uint4*>(&tile.at[row][column]) =
        *reinterpret_cast<const uint4*>(from + static_cast<int64_t>(row) * pitch + column);
  }
}

// This warp's rows, 16 columns from `depth` on, as the left side of a product.
__device__ __forceinline__ void loadLeft(uint32_t (&a)[4], const Tile& tile, int depth) {
  const int warp = threadIdx.x / 32, lane = threadIdx.x % 32;
  ldmatrix4(a, sharedAddress(&tile.at[warp * 16 + lane % 16][depth + lane / 16 * 8]));
}

// sums[row][column] += a[row] · tile[column], 16 elements of each from `depth` on.
__device__ __forceinline__ void multiplyByRows(Sums& sums, const uint32_t (&a)[4], const Tile& tile, int depth) {
  const int lane = threadIdx.x % 32;
#pragma unroll
  for (int n = 0; n < kTile / 8; n += 2) {
    uint32_t b[4];
    ldmatrix4(b, sharedAddress(&tile.at[n * 8 + lane / 16 * 8 + lane % 8][depth + lane / 8 % 2 * 8]));
    mma16816(sums[n], a, b[0], b[1], __half());
    mma16816(sums[n + 1], a, b[2], b[3], __half());
  }
}

// sums[row][column] += a[row] · tile[.][column], 16 rows of the tile from `depth` on.
__device__ __forceinline__ void multiplyByColumns(Sums& sums, const uint32_t (&a)[4], const Tile& tile, int depth) {
  const int lane = threadIdx.x % 32;
#pragma unroll
  for (int n = 0; n < kTile / 8; n += 2) {
    uint32_t b[4];
    ldmatrix4Transposed(b, sharedAddress(&tile.at[depth + lane % 16][n * 8 + lane / 16 * 8]));
    mma16816(sums[n], a, b[0], b[1], __half());
    mma16816(sums[n + 1], a, b[2], b[3], __half());
  }
}

__device__ __forceinline__ uint32_t packHalves(float low, float high) {
  const __half2 pair = __floats2half2_rn(low, high);
  uint32_t word;
  memcpy(&word, &pair, 4);
  return word;
}

// A row of the tile in memory; `half` is 0 for row g, 1 for row g + 8.
__device__ __forceinline__ void storeRow(__half* row, const Sums& sums, int half, float factor) {
  const int column = threadIdx.x % 4 * 2;
#pragma unroll
  for (int n = 0; n < kTile / 8; n++)
    *reinterpret_cast<uint32_t*>(row + n * 8 + column) = packHalves(sums[n][2 * half] * factor, sums[n][2 * half + 1] * factor);
}

// Of this thread's rows in the tile.
__device__ __forceinline__ int rowOf(int half) { return threadIdx.x / 32 * 16 + threadIdx.x % 32 / 4 + 8 * half; }
