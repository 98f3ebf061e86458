// Attention in FP32 on CUDA cores, for any float types: the accurate path, and the one of GPUs without the instructions
// of the other. Also the sum of splits, and the scores as an output of their own.
#pragma once
#include "../common/launch.cuh"
#include "params.cuh"

// ROWS queries and keys a step; 128 threads as 8 groups of rows times 16 columns.
template <int D, int ROWS> struct PlainAttention {
  static constexpr int rows = ROWS / 8, cols = ROWS / 16;
  static constexpr int sharedFloats = 2 * ROWS * (D + 1) + ROWS * D + ROWS * (ROWS + 1);
  float *q, *k, *v, *weights;
  float sums[rows][D / 16], maximum[rows], total[rows];

  // Loads of several elements are under way together: one by one each would wait for memory.
  template <typename T>
  __device__ __forceinline__ static void copyRowsOf(float* to, int pitch, const T* from, int rowStride, int count, int dim) {
    constexpr int together = 8;
    static_assert(ROWS * D % (128 * together) == 0, "whole rounds");
#pragma unroll 1
    for (int first = threadIdx.x; first < ROWS * D; first += 128 * together) {
      float values[together];
#pragma unroll
      for (int i = 0; i < together; i++) {
        const int row = (first + 128 * i) / D, col = (first + 128 * i) % D;
        values[i] = row < count && col < dim ? toFloat(from[static_cast<int64_t>(row) * rowStride + col]) : 0.0f;
      }
#pragma unroll
      for (int i = 0; i < together; i++) to[(first + 128 * i) / D * pitch + (first + 128 * i) % D] = values[i];
    }
  }

  __device__ __forceinline__ static void copyRows(float* to, int pitch, const void* from, int64_t offset, int rowStride,
                                                  int count, int dim, int type) {
    if (type == kFloat16) copyRowsOf(to, pitch, static_cast<const __half*>(from) + offset, rowStride, count, dim);
    else if (type == kBFloat16) copyRowsOf(to, pitch, static_cast<const __nv_bfloat16*>(from) + offset, rowStride, count, dim);
    else copyRowsOf(to, pitch, static_cast<const float*>(from) + offset, rowStride, count, dim);
  }

  __device__ __forceinline__ void step(const AttentionParams& p, const AttentionPlace& place, const KeyLimits& limits,
                                       const ScoreRule& rule, int firstKey) {
    const int group = threadIdx.x / 16, lane = threadIdx.x % 16;
    float scores[rows][cols] = {};
#pragma unroll 4
    for (int d = 0; d < D; d++) {
#pragma unroll
      for (int r = 0; r < rows; r++) {
#pragma unroll
        for (int c = 0; c < cols; c++) {
          scores[r][c] += q[(group * rows + r) * (D + 1) + d] * k[(lane + 16 * c) * (D + 1) + d];
        }
      }
    }
#pragma unroll
    for (int r = 0; r < rows; r++) {
      const int query = place.firstQuery + group * rows + r;
      float largest = maximum[r];
#pragma unroll
      for (int c = 0; c < cols; c++) {
        const int key = firstKey + lane + 16 * c;
        const bool allowed = query < p.queries && limits.allows(query, key);
        scores[r][c] = allowed ? rule.mask(p, rule.cap(p, scores[r][c] * p.scale), query, key) : minusInfinity();
        largest = fmaxf(largest, scores[r][c]);
      }
#pragma unroll
      for (int offset = 8; offset > 0; offset /= 2) largest = fmaxf(largest, __shfl_xor_sync(0xffffffffu, largest, offset));
      const float base = largest == minusInfinity() ? 0.0f : largest;
      const float rescale = expf(maximum[r] - base);
      maximum[r] = largest;
      float sum = 0.0f;
#pragma unroll
      for (int c = 0; c < cols; c++) {
        const float weight = expf(scores[r][c] - base);
        weights[(group * rows + r) * (ROWS + 1) + lane + 16 * c] = weight;
        sum += weight;
      }
#pragma unroll
      for (int offset = 8; offset > 0; offset /= 2) sum += __shfl_xor_sync(0xffffffffu, sum, offset);
      total[r] = total[r] * rescale + sum;
#pragma unroll
      for (int n = 0; n < D / 16; n++) sums[r][n] *= rescale;
    }
    // Weights of a row are written and read by the same warp.
    __syncwarp();
#pragma unroll 2
    for (int key = 0; key < ROWS; key++) {
#pragma unroll
      for (int r = 0; r < rows; r++) {
        const float weight = weights[(group * rows + r) * (ROWS + 1) + key];
#pragma unroll
        for (int n = 0; n < D / 16; n++) sums[r][n] += weight * v[key * D + lane + 16 * n];
      }
    }
  }

  __device__ __forceinline__ void run(const AttentionParams& p, float* shared) {
    q = shared;
    k = q + ROWS * (D + 1);
    v = k + ROWS * (D + 1);
    weights = v + ROWS * D;
    const AttentionPlace place(p, ROWS);
    const KeyLimits limits(p, place.sample);
    const ScoreRule rule(p, place.sample, place.head);
#pragma unroll
    for (int r = 0; r < rows; r++) {
      maximum[r] = minusInfinity();
      total[r] = 0.0f;
#pragma unroll
      for (int n = 0; n < D / 16; n++) sums[r][n] = 0.0f;
    }
    const int64_t qAt = static_cast<int64_t>(place.sample) * p.qBatch + static_cast<int64_t>(place.head) * p.qHead +
                        static_cast<int64_t>(place.firstQuery) * p.qRow;
    copyRows(q, D + 1, p.q, qAt, p.qRow, p.queries - place.firstQuery, p.dim, p.qType);
    const int lastQuery = min(place.firstQuery + ROWS, p.queries) - 1;
    for (int key = limits.begin(place.firstQuery) / ROWS * ROWS; key < limits.end(lastQuery); key += ROWS) {
      __syncthreads();  // nobody reads the keys before any more
      const int64_t kAt = static_cast<int64_t>(place.sample) * p.kBatch + static_cast<int64_t>(place.kvHead) * p.kHead +
                          static_cast<int64_t>(key) * p.kRow;
      const int64_t vAt = static_cast<int64_t>(place.sample) * p.vBatch + static_cast<int64_t>(place.kvHead) * p.vHead +
                          static_cast<int64_t>(key) * p.vRow;
      copyRows(k, D + 1, p.k, kAt, p.kRow, p.keys - key, p.dim, p.kType);
      copyRows(v, D, p.v, vAt, p.vRow, p.keys - key, p.valueDim, p.vType);
      __syncthreads();
      step(p, place, limits, rule, key);
    }
    store(p, place);
  }

  __device__ __forceinline__ void store(const AttentionParams& p, const AttentionPlace& place) const {
    const int group = threadIdx.x / 16, lane = threadIdx.x % 16;
#pragma unroll
    for (int r = 0; r < rows; r++) {
      const int query = place.firstQuery + group * rows + r;
      if (query >= p.queries) continue;
      const float inverse = total[r] == 0.0f && p.zeroEmpty ? 0.0f : 1.0f / total[r];
      const int64_t row = static_cast<int64_t>(place.sample) * p.oBatch + static_cast<int64_t>(place.head) * p.oHead +
                          static_cast<int64_t>(query) * p.oRow;
#pragma unroll
      for (int n = 0; n < D / 16; n++) {
        const int col = lane + 16 * n;
        if (col < p.valueDim) storeOutput(p, row + col, sums[r][n] * inverse);
      }
    }
  }
};

#define PLAIN_ATTENTION(D, ROWS)                                                                               \
  extern "C" __global__ void __launch_bounds__(128) attention_plain_d##D(                                      \
      const __grid_constant__ AttentionParams p) { beginKernel();                                              \
    extern __shared__ __align__(16) unsigned char plainShared[];                                           \
    PlainAttention<D, ROWS> attention;                                                                         \
    attention.run(p, reinterpret_cast<float*>(plainShared));                                               \
  }

PLAIN_ATTENTION(32, 32)
PLAIN_ATTENTION(64, 32)
PLAIN_ATTENTION(128, 32)
PLAIN_ATTENTION(256, 16)

// Of a row's parts the neighbours that a lane adds up: one load has both.
constexpr int kPairs = 2, kTogether = 4;

// Sums splits in their order. One warp a row; grid: rows / 4 of [batch, heads, queries]. Parts of several splits are on their way together.
extern "C" __global__ void __launch_bounds__(128) attention_combine(const __grid_constant__ AttentionParams p) {
  beginKernel();
  const int64_t rows = static_cast<int64_t>(p.batch) * p.heads * p.queries;
  const int64_t row = static_cast<int64_t>(blockIdx.x) * 4 + threadIdx.x / 32;
  const int lane = threadIdx.x % 32, pitch = partialPitch(p);
  if (row >= rows) return;
  const auto rowOf = [&](int split) { return reinterpret_cast<const float2*>(p.partialRows)[split * rows + row]; };
  float largest = minusInfinity();
  for (int split = lane; split < p.splits; split += 32) largest = fmaxf(largest, rowOf(split).x);
  largest = reduceWarp(largest, Max());
  const float base = largest == minusInfinity() ? 0.0f : largest;
  const int query = static_cast<int>(row % p.queries), head = static_cast<int>(row / p.queries % p.heads);
  const int64_t sample = row / p.queries / p.heads;
  const int64_t at = sample * p.oBatch + static_cast<int64_t>(head) * p.oHead + static_cast<int64_t>(query) * p.oRow;
  for (int first = 2 * lane; first < p.valueDim; first += 64 * kPairs) {
    float total = 0.0f;
    float2 sums[kPairs] = {};
#pragma unroll 1
    for (int from = 0; from < p.splits; from += kTogether) {
      float2 parts[kTogether][kPairs], of[kTogether];
#pragma unroll
      for (int i = 0; i < kTogether; ++i) {
        of[i] = make_float2(minusInfinity(), 0.0f);
        if (from + i < p.splits) of[i] = rowOf(from + i);
#pragma unroll
        for (int j = 0; j < kPairs; ++j) {
          parts[i][j] = make_float2(0.0f, 0.0f);
          const int col = first + 64 * j;
          if (from + i < p.splits && col < p.valueDim) {
            parts[i][j] = *reinterpret_cast<const float2*>(p.partial + ((from + i) * rows + row) * pitch + col);
          }
        }
      }
#pragma unroll
      for (int i = 0; i < kTogether; ++i) {
        const float weight = exp2f(of[i].x - base);
        total += of[i].y * weight;
#pragma unroll
        for (int j = 0; j < kPairs; ++j) {
          sums[j].x += parts[i][j].x * weight;
          sums[j].y += parts[i][j].y * weight;
        }
      }
    }
    const float inverse = total == 0.0f && p.zeroEmpty ? 0.0f : 1.0f / total;
#pragma unroll
    for (int j = 0; j < kPairs; ++j) {
      const int col = first + 64 * j;
      if (col < p.valueDim) storeOutput(p, at + col, sums[j].x * inverse);
      if (col + 1 < p.valueDim) storeOutput(p, at + col + 1, sums[j].y * inverse);
    }
  }
}

enum ScoresMode : int { kProducts = 0, kCapped = 1, kMasked = 2, kWeights = 3 };

// The scores as a model may ask for them. One warp a row of [batch, heads, queries].
extern "C" __global__ void __launch_bounds__(128) attention_scores(const __grid_constant__ AttentionParams p) {
  beginKernel();
  const int64_t row = static_cast<int64_t>(blockIdx.x) * 4 + threadIdx.x / 32;
  if (row >= static_cast<int64_t>(p.batch) * p.heads * p.queries) return;
  const int query = static_cast<int>(row % p.queries), head = static_cast<int>(row / p.queries % p.heads);
  const int sample = static_cast<int>(row / p.queries / p.heads), lane = threadIdx.x % 32;
  const KeyLimits limits(p, sample);
  const ScoreRule rule(p, sample, head);
  const int64_t qAt = static_cast<int64_t>(sample) * p.qBatch + static_cast<int64_t>(head) * p.qHead +
                      static_cast<int64_t>(query) * p.qRow;
  const auto score = [&](int key) {
    const int64_t kAt = static_cast<int64_t>(sample) * p.kBatch + static_cast<int64_t>(head / p.group) * p.kHead +
                        static_cast<int64_t>(key) * p.kRow;
    float sum = 0.0f;
    for (int d = 0; d < p.dim; d++) sum += loadFloat(p.q, qAt + d, p.qType) * loadFloat(p.k, kAt + d, p.kType);
    sum *= p.scale;
    if (p.scoresMode == kProducts) return sum;
    sum = rule.cap(p, sum);
    if (p.scoresMode == kCapped) return sum;
    return limits.allows(query, key) ? rule.mask(p, sum, query, key) : minusInfinity();
  };
  float largest = minusInfinity(), total = 0.0f;
  // Weights need two passes more: the maximum, the sum.
  for (int pass = p.scoresMode == kWeights ? 0 : 2; pass < 3; pass++) {
    const bool isEmpty = largest == minusInfinity() && p.zeroEmpty;
    for (int key = lane; key < p.keys; key += 32) {
      float value = score(key);
      if (pass == 0) largest = Max()(largest, value);
      if (pass == 1) total += expf(value - largest);
      if (pass < 2) continue;
      if (p.scoresMode == kWeights) value = isEmpty ? 0.0f : expf(value - largest) / total;
      storeFloat(p.scores, row * p.keys + key, p.scoresType, value);
    }
    if (pass == 0) largest = reduceWarp(largest, Max());
    if (pass == 1) total = reduceWarp(total, Add());
  }
}
