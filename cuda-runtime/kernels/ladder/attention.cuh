// softmax(scale q kᵀ) v in FP16, heads of 64, queries and keys a multiple of 64.
#pragma once
#include "params.generated.cuh"
#include "product.cuh"

constexpr float kLog2OfE = 1.4426950408889634f;

__device__ __forceinline__ const __half* rowsOf(const void* base, int row) {
  return static_cast<const __half*>(base) + static_cast<int64_t>(row) * kTile;
}

// Rung 1 is three launches. The scores: a block has 64 queries and 64 keys.
extern "C" __global__ void __launch_bounds__(kProductThreads) ladder_attention_scores(const __grid_constant__ LadderAttentionParams p) {
  beginKernel();
  __shared__ Tile q, k;
  const int head = blockIdx.z, query = blockIdx.y * kTile, key = blockIdx.x * kTile;
  stageTile(q, rowsOf(p.q, head * p.length + query), kTile);
  stageTile(k, rowsOf(p.k, head * p.length + key), kTile);
  __syncthreads();
  Sums sums = {};
#pragma unroll
  for (int depth = 0; depth < kTile; depth += 16) {
    uint32_t a[4];
    loadLeft(a, q, depth);
    multiplyByRows(sums, a, k, depth);
  }
#pragma unroll
  for (int half = 0; half < 2; half++) {
    const int64_t row = static_cast<int64_t>(head) * p.length + query + rowOf(half);
    storeRow(static_cast<__half*>(p.scores) + row * p.length + key, sums, half, p.scale);
  }
}

template <typename Combine> __device__ __forceinline__ float overWarp(float value, Combine combine) {
#pragma unroll
  for (int mask = 16; mask > 0; mask /= 2) value = combine(value, __shfl_xor_sync(~0u, value, mask));
  return value;
}

// Each row of them becomes weights, in place: a warp has a row, and reads it three times, from L1 but for the first.
extern "C" __global__ void __launch_bounds__(256) ladder_attention_softmax(const __grid_constant__ LadderAttentionParams p) {
  beginKernel();
  const int row = blockIdx.x * 8 + threadIdx.x / 32, lane = threadIdx.x % 32;
  if (row >= p.heads * p.length) return;
  __half2* pairs = static_cast<__half2*>(p.scores) + static_cast<int64_t>(row) * (p.length / 2);
  float most = __int_as_float(0xff800000), total = 0;
  for (int i = lane; i < p.length / 2; i += 32) {
    const float2 pair = __half22float2(pairs[i]);
    most = fmaxf(most, fmaxf(pair.x, pair.y));
  }
  most = overWarp(most, [](float a, float b) { return fmaxf(a, b); });
  for (int i = lane; i < p.length / 2; i += 32) {
    const float2 pair = __half22float2(pairs[i]);
    total += exp2f((pair.x - most) * kLog2OfE) + exp2f((pair.y - most) * kLog2OfE);
  }
  const float share = 1 / overWarp(total, [](float a, float b) { return a + b; });
  for (int i = lane; i < p.length / 2; i += 32) {
    const float2 pair = __half22float2(pairs[i]);
    pairs[i] = __floats2half2_rn(exp2f((pair.x - most) * kLog2OfE) * share, exp2f((pair.y - most) * kLog2OfE) * share);
  }
}

// Weights times values: a block has 64 queries.
extern "C" __global__ void __launch_bounds__(kProductThreads) ladder_attention_values(const __grid_constant__ LadderAttentionParams p) {
  beginKernel();
  __shared__ Tile weights, v;
  const int head = blockIdx.y, query = head * p.length + blockIdx.x * kTile;
  Sums sums = {};
  for (int key = 0; key < p.length; key += kTile) {
    __syncthreads();
    stageTile(weights, static_cast<const __half*>(p.scores) + static_cast<int64_t>(query) * p.length + key, p.length);
    stageTile(v, rowsOf(p.v, head * p.length + key), kTile);
    __syncthreads();
#pragma unroll
    for (int depth = 0; depth < kTile; depth += 16) {
      uint32_t a[4];
      loadLeft(a, weights, depth);
      multiplyByColumns(sums, a, v, depth);
    }
  }
#pragma unroll
  for (int half = 0; half < 2; half++)
    storeRow(static_cast<__half*>(p.o) + static_cast<int64_t>(query + rowOf(half)) * kTile, sums, half, 1);
}

// Of a row of queries, as far as keys were seen.
struct Row {
  float most;   // The largest score.
  float total;  // Of its weights, relative to that score's.
};

// Scores of one row become weights; sums and total so far shrink to the new largest score. Four lanes share a row.
__device__ __forceinline__ void weigh(Row& row, Sums& scores, Sums& sums, int half, float factor) {
  float most = row.most;
#pragma unroll
  for (int n = 0; n < kTile / 8; n++) most = fmaxf(most, fmaxf(scores[n][2 * half], scores[n][2 * half + 1]));
  most = fmaxf(most, __shfl_xor_sync(~0u, most, 1));
  most = fmaxf(most, __shfl_xor_sync(~0u, most, 2));
  const float shrink = exp2f((row.most - most) * factor);
  row = {most, row.total * shrink};
#pragma unroll
  for (int n = 0; n < kTile / 8; n++) {
#pragma unroll
    for (int i = 2 * half; i < 2 * half + 2; i++) {
      sums[n][i] *= shrink;
      scores[n][i] = exp2f((scores[n][i] - most) * factor);
      row.total += scores[n][i];
    }
  }
}

// Rung 2: a block has 64 queries, and never more than 64 keys' scores of them, in registers.
extern "C" __global__ void __launch_bounds__(kProductThreads) ladder_attention_online(const __grid_constant__ LadderAttentionParams p) {
  beginKernel();
  __shared__ Tile k, v;
  const int head = blockIdx.y, query = head * p.length + blockIdx.x * kTile;
  uint32_t q[kTile / 16][4];
  stageTile(k, rowsOf(p.q, query), kTile);
  __syncthreads();
#pragma unroll
  for (int step = 0; step < kTile / 16; step++) loadLeft(q[step], k, step * 16);
  Row rows[2] = {{__int_as_float(0xff800000), 0}, {__int_as_float(0xff800000), 0}};
  Sums sums = {};
  for (int key = 0; key < p.length; key += kTile) {
    __syncthreads();
    stageTile(k, rowsOf(p.k, head * p.length + key), kTile);
    stageTile(v, rowsOf(p.v, head * p.length + key), kTile);
    __syncthreads();
    Sums scores = {};
#pragma unroll
    for (int step = 0; step < kTile / 16; step++) multiplyByRows(scores, q[step], k, step * 16);
#pragma unroll
  #pragma unroll
  for (int half = 0; half < 2; half++) weigh(rows[half], scores, sums, half, p.scale * kLog2OfE);
    // A lane's scores lie where a product wants its left side.
#pragma unroll
    for (int step = 0; step < kTile / 16; step++) {
      const float(&low)[4] = scores[2 * step], (&high)[4] = scores[2 * step + 1];
      const uint32_t a[4] = {packHalves(low[0], low[1]), packHalves(low[2], low[3]), packHalves(high[0], high[1]), packHalves(high[2], high[3])};
      multiplyByColumns(sums, a, v, step * 16);
    }
  }
#pragma unroll
  for (int half = 0; half < 2; half++) {
    float total = rows[half].total;
    total += __shfl_xor_sync(~0u, total, 1);
    total += __shfl_xor_sync(~0u, total, 2);
    storeRow(static_cast<__half*>(p.o) + static_cast<int64_t>(query + rowOf(half)) * kTile, sums, half, 1 / total);
  }
}
