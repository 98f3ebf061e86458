// The end of a tile of 16 weights' rows by one or two rows, whose k the block's eight warps have cut among themselves.
#pragma once
#include "../gemm/params.cuh"
#include "params.generated.cuh"
#include <cstdint>

// A lane's totals are of weights' rows `group` and `group + 8` and of row quad / 2 of a: half of its columns, the other half stands in the lane beside it.
// Sums go from all warps to one of them, each in its turn, which multiplies them by `unit` and stores them.
__device__ __forceinline__ void finishTile(const NBitsParams& q, const float (&totals)[2], int tile, int round, float unit) {
  constexpr int kWarps = 8, kRows = 16, kMost = 2;
  __shared__ float partial[2][kWarps][kMost][kRows];
  const int warp = threadIdx.x / 32, lane = threadIdx.x % 32, group = lane / 4, quad = lane % 4;
#pragma unroll
  for (int i = 0; i < 2; ++i) {
    const float sum = totals[i] + __shfl_xor_sync(0xffffffffu, totals[i], 1);
    if (quad % 2 == 0) partial[round % 2][warp][quad / 2][group + 8 * i] = sum;
  }
  // One barrier a tile: the sums before these were read by a warp that has come here since.
  __syncthreads();
  if (warp != round % kWarps) return;
  const int m = lane / kRows, n = tile * kRows + lane % kRows;
  if (m >= q.p.m || n >= q.p.n) return;
  float sum = 0.0f;
#pragma unroll
  for (int i = 0; i < kWarps; ++i) sum += partial[round % 2][i][m][lane % kRows];
  Place at = {};
  finish(q.p, at, m, n, sum * unit);
}
