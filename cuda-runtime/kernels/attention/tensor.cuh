// Attention on Tensor Cores: a block takes a tile of queries and streams over keys, softmax and sums in FP32 registers.
#pragma once
#include "../common/mma.cuh"
#include "params.cuh"
#include "rows.cuh"

// WARPS × 16 M_TILES queries, BK keys a step, head size up to D; two stages of K and V. APART: all warps have the same
// 16 M_TILES queries and each its own keys, every WARPS-th step, in two stages of its own; what they sum is joined at the end.
template <typename T, int D, int M_TILES, int WARPS, int BK, bool KEEP_Q, bool MASKED, bool APART> struct TensorAttention {
  static_assert(!APART || (KEEP_Q && M_TILES == 1), "queries of warps that go their own ways stay in registers");
  static constexpr int threads = WARPS * 32, tileQueries = (APART ? 1 : WARPS) * 16 * M_TILES;
  static constexpr int keyWarps = APART ? WARPS : 1, copyThreads = threads / keyWarps;
  static constexpr int pitchBytes = (D + 8) * 2;
  static constexpr int stageBytes = 2 * BK * pitchBytes;

  const AttentionParams& p;
  const AttentionPlace place;
  const KeyLimits limits;
  const int warp, lane;
  uint32_t sharedQ, sharedKv;
  const T *k, *v;
  float scores[M_TILES][BK / 8][4];
  float sums[M_TILES][D / 8][4];  // of values, not yet divided
  float maximum[M_TILES][2], total[M_TILES][2];
  uint32_t keptQ[KEEP_Q ? M_TILES : 1][KEEP_Q ? D / 16 : 1][4];
  float factor;  // of scores in powers of two; masked ones are in powers of two already

  __device__ __forceinline__ explicit TensorAttention(const AttentionParams& params)
      : p(params), place(params, tileQueries), limits(params, place.sample), warp(threadIdx.x / 32),
        lane(threadIdx.x % 32) {
    k = static_cast<const T*>(p.k) + static_cast<int64_t>(place.sample) * p.kBatch + static_cast<int64_t>(place.kvHead) * p.kHead;
    v = static_cast<const T*>(p.v) + static_cast<int64_t>(place.sample) * p.vBatch + static_cast<int64_t>(place.kvHead) * p.vHead;
#pragma unroll
    for (int m = 0; m < M_TILES; m++) {
#pragma unroll
      for (int n = 0; n < D / 8; n++) {
#pragma unroll
        for (int i = 0; i < 4; i++) sums[m][n][i] = 0.0f;
      }
      maximum[m][0] = maximum[m][1] = minusInfinity();
      total[m][0] = total[m][1] = 0.0f;
    }
  }

  __device__ __forceinline__ void copyQueries() const {
    const T* q = static_cast<const T*>(p.q) + static_cast<int64_t>(place.sample) * p.qBatch +
                 static_cast<int64_t>(place.head) * p.qHead + static_cast<int64_t>(place.firstQuery) * p.qRow;
    copyRows<T, tileQueries, D, threads>(threadIdx.x, sharedQ, q, p.qRow, p.queries - place.firstQuery, p.dim);
  }

  __device__ __forceinline__ void copyKeys(int firstKey, int stage) const {
    const uint32_t to = sharedKv + stage * stageBytes;
    const int rows = p.keys - firstKey;
    const int thread = threadIdx.x % copyThreads;
    copyRows<T, BK, D, copyThreads>(thread, to, k + static_cast<int64_t>(firstKey) * p.kRow, p.kRow, rows, p.dim);
    copyRows<T, BK, D, copyThreads>(thread, to + BK * pitchBytes, v + static_cast<int64_t>(firstKey) * p.vRow, p.vRow, rows,
                                    p.valueDim);
  }

  // Which of the block's queries the warp has.
  __device__ __forceinline__ int rowWarp() const { return APART ? 0 : warp; }

  __device__ __forceinline__ void loadQueries(uint32_t (&a)[4], int m, int step) const {
    const int row = (rowWarp() * M_TILES + m) * 16 + (lane & 15);
    ldmatrix4(a, sharedQ + row * pitchBytes + (step * 16 + (lane >> 4) * 8) * 2);
  }

  __device__ __forceinline__ void keepQueries() {
#pragma unroll
    for (int m = 0; m < M_TILES; m++) {
#pragma unroll
      for (int step = 0; step < D / 16; step++) loadQueries(keptQ[m][step], m, step);
    }
  }

  __device__ __forceinline__ void multiplyKeys(uint32_t keys) {
#pragma unroll
    for (int m = 0; m < M_TILES; m++) {
#pragma unroll
      for (int n = 0; n < BK / 8; n++) {
#pragma unroll
        for (int i = 0; i < 4; i++) scores[m][n][i] = 0.0f;
      }
    }
    const uint32_t at = keys + ((lane & 7) + (lane >> 4) * 8) * pitchBytes + (lane >> 3 & 1) * 16;
#pragma unroll
    for (int step = 0; step < D / 16; step++) {
      uint32_t a[M_TILES][4];
#pragma unroll
      for (int m = 0; m < M_TILES; m++) {
        if constexpr (KEEP_Q) {
#pragma unroll
          for (int i = 0; i < 4; i++) a[m][i] = keptQ[m][step][i];
        } else {
          loadQueries(a[m], m, step);
        }
      }
#pragma unroll
      for (int n = 0; n < BK / 16; n++) {
        uint32_t b[4];
        ldmatrix4(b, at + n * 16 * pitchBytes + step * 32);
#pragma unroll
        for (int m = 0; m < M_TILES; m++) {
          mma16816(scores[m][2 * n], a[m], b[0], b[1], T());
          mma16816(scores[m][2 * n + 1], a[m], b[2], b[3], T());
        }
      }
    }
  }

  // Rows g and g + 8 of each tile, columns 2 t and 2 t + 1 of every 8.
  __device__ __forceinline__ int queryOf(int m, int i) const {
    return place.firstQuery + (rowWarp() * M_TILES + m) * 16 + lane / 4 + i / 2 * 8;
  }

  // To powers of two.
  __device__ __forceinline__ void scaleAndCap() {
    const float scale = p.softcap == 0.0f ? p.scale * kLog2E : p.scale / p.softcap;
#pragma unroll
    for (int m = 0; m < M_TILES; m++) {
#pragma unroll
      for (int n = 0; n < BK / 8; n++) {
#pragma unroll
        for (int i = 0; i < 4; i++) {
          scores[m][n][i] *= scale;
          if (p.softcap != 0.0f) scores[m][n][i] = p.softcap * kLog2E * tanhFast(scores[m][n][i]);
        }
      }
    }
  }

  // Calls `change(score, element)` with what `mask` holds for the score. Queries beyond the last one repeat it, and so do
  // keys: stores and limits leave both out. All of a row's elements are asked for before the first is waited for.
  template <typename M, typename Change>
  __device__ __forceinline__ void forMask(const M* mask, int queryStride, int keyStride, int firstKey, Change change) {
    const int key = firstKey + lane % 4 * 2, last = p.keys - 1 - key;
#pragma unroll
    for (int m = 0; m < M_TILES; m++) {
#pragma unroll
      for (int half = 0; half < 2; half++) {
        const M* at = mask + static_cast<int64_t>(min(queryOf(m, 2 * half), p.queries - 1)) * queryStride +
                      static_cast<int64_t>(key) * keyStride;
        M elements[BK / 8][2];
#pragma unroll
        for (int n = 0; n < BK / 8; n++) {
#pragma unroll
          for (int i = 0; i < 2; i++) elements[n][i] = at[min(n * 8 + i, last) * keyStride];
        }
#pragma unroll
        for (int n = 0; n < BK / 8; n++) {
#pragma unroll
          for (int i = 0; i < 2; i++) change(scores[m][n][2 * half + i], elements[n][i]);
        }
      }
    }
  }

  __device__ __forceinline__ void applyMasks(int firstKey) {
    const ScoreRule rule(p, place.sample, place.head);
    scaleAndCap();
    // Finite masks stay finite in powers of two: their lowest float would not.
    const auto add = [&](float& score, auto element) {
      const float added = toFloat(element);
      score = fmaf(added, kLog2E, score);
      if (score < kLowest && (added != minusInfinity() || p.softInfinity)) score = kLowest;
    };
    if (p.bias != nullptr && p.biasType == kFloat32) {
      forMask(static_cast<const float*>(p.bias) + rule.bias, p.biasQuery, p.biasKey, firstKey, add);
    } else if (p.bias != nullptr) {
      forMask(static_cast<const T*>(p.bias) + rule.bias, p.biasQuery, p.biasKey, firstKey, add);
    }
    if (p.keep != nullptr) {
      const float fill = p.fill == minusInfinity() ? p.fill : fmaxf(p.fill * kLog2E, kLowest);
      forMask(p.keep + rule.keep, p.keepQuery, p.keepKey, firstKey,
              [&](float& score, uint8_t keeps) { if (keeps == 0) score = fill; });
    }
  }

  __device__ __forceinline__ void applyLimits(int firstKey) {
#pragma unroll
    for (int m = 0; m < M_TILES; m++) {
#pragma unroll
      for (int half = 0; half < 2; half++) {
        const int at = limits.position + queryOf(m, 2 * half), key = firstKey + lane % 4 * 2;
        const int lowest = at - limits.left - key, highest = min(at + limits.right, limits.count - 1) - key;
#pragma unroll
        for (int n = 0; n < BK / 8; n++) {
#pragma unroll
          for (int i = 0; i < 2; i++) {
            if (n * 8 + i > highest || n * 8 + i < lowest) scores[m][n][2 * half + i] = minusInfinity();
          }
        }
      }
    }
  }

  // New maxima, what was summed so far rescaled, scores become weights.
  __device__ __forceinline__ void exponentiate() {
#pragma unroll
    for (int m = 0; m < M_TILES; m++) {
#pragma unroll
      for (int half = 0; half < 2; half++) {
        float largest = maximum[m][half];
#pragma unroll
        for (int n = 0; n < BK / 8; n++) {
          largest = fmaxf(largest, fmaxf(scores[m][n][2 * half], scores[m][n][2 * half + 1]));
        }
        largest = fmaxf(largest, __shfl_xor_sync(0xffffffffu, largest, 1));
        largest = fmaxf(largest, __shfl_xor_sync(0xffffffffu, largest, 2));
        // -inf less -inf is no number: a row that has seen no key yet subtracts 0.
        // Both are rounded alike, so that a row whose maximum stays is rescaled by 1.
        const float base = largest == minusInfinity() ? 0.0f : __fmul_rn(largest, factor);
        const float rescale = exp2Fast(__fmul_rn(maximum[m][half], factor) - base);
        maximum[m][half] = largest;
        float sum = 0.0f;
#pragma unroll
        for (int n = 0; n < BK / 8; n++) {
#pragma unroll
          for (int i = 2 * half; i < 2 * half + 2; i++) {
            // Masks are too low for what rounding `base` would leave of equal scores.
            scores[m][n][i] = exp2Fast(MASKED ? scores[m][n][i] - base : fmaf(scores[m][n][i], factor, -base));
            sum += scores[m][n][i];
          }
        }
        total[m][half] = total[m][half] * rescale + sum;
#pragma unroll
        for (int n = 0; n < D / 8; n++) {
          sums[m][n][2 * half] *= rescale;
          sums[m][n][2 * half + 1] *= rescale;
        }
      }
    }
  }

  __device__ __forceinline__ void multiplyValues(uint32_t values) {
    const uint32_t at = values + (lane & 15) * pitchBytes + (lane >> 4) * 16;
#pragma unroll
    for (int step = 0; step < BK / 16; step++) {
      uint32_t a[M_TILES][4];
#pragma unroll
      for (int m = 0; m < M_TILES; m++) {
#pragma unroll
        for (int i = 0; i < 4; i++) {
          const float* pair = &scores[m][2 * step + i / 2][i % 2 * 2];
          a[m][i] = packPair<T>(pair[0], pair[1]);
        }
      }
#pragma unroll
      for (int n = 0; n < D / 16; n++) {
        uint32_t b[4];
        ldmatrix4Transposed(b, at + step * 16 * pitchBytes + n * 32);
#pragma unroll
        for (int m = 0; m < M_TILES; m++) {
          mma16816(sums[m][2 * n], a[m], b[0], b[1], T());
          mma16816(sums[m][2 * n + 1], a[m], b[2], b[3], T());
        }
      }
    }
  }

  __device__ __forceinline__ void run(uint32_t shared) {
    sharedQ = shared;
    sharedKv = shared + tileQueries * pitchBytes + (APART ? warp * 2 * stageBytes : 0);
    const int lastQuery = min(place.firstQuery + tileQueries, p.queries) - 1;
    const int begin = limits.begin(place.firstQuery) / BK * BK, end = limits.end(lastQuery);
    const int steps = end > begin ? (end - begin + BK - 1) / BK : 0;
    const int stepsOfSplit = (steps + p.splits - 1) / p.splits;
    const int first = min(place.split * stepsOfSplit, steps), last = min(first + stepsOfSplit, steps);
    // Without masks the scale is part of the factor; it is positive then.
    factor = MASKED ? 1.0f : p.scale * kLog2E;
    if (first < last) {
      copyQueries();
      cpAsyncCommit();
      if (!APART || first + warp < last) copyKeys(begin + (first + (APART ? warp : 0)) * BK, 0);
      cpAsyncCommit();
      if constexpr (KEEP_Q) {
        cpAsyncWait<1>();
        __syncthreads();
        keepQueries();
      }
    }
    int stage = 0;
#pragma unroll 1
    for (int step = first + (APART ? warp : 0); step < last; step += keyWarps, stage ^= 1) {
      const int firstKey = begin + step * BK;
      cpAsyncWait<0>();
      // The copies of all threads are there, and nobody reads the other stage any more.
      if constexpr (APART) __syncwarp();
      else __syncthreads();
      if (step + keyWarps < last) copyKeys(firstKey + keyWarps * BK, stage ^ 1);
      cpAsyncCommit();
      const uint32_t keys = sharedKv + stage * stageBytes;
      multiplyKeys(keys);
      if constexpr (MASKED) applyMasks(firstKey);
      if (firstKey + BK > limits.innerEnd(place.firstQuery) || firstKey < limits.innerBegin(lastQuery)) applyLimits(firstKey);
      exponentiate();
      multiplyValues(keys + BK * pitchBytes);
    }
  }

  __device__ __forceinline__ void finish() {
#pragma unroll
    for (int m = 0; m < M_TILES; m++) {
#pragma unroll
      for (int half = 0; half < 2; half++) {
        float sum = total[m][half];
        sum += __shfl_xor_sync(0xffffffffu, sum, 1);
        sum += __shfl_xor_sync(0xffffffffu, sum, 2);
        const int query = queryOf(m, 2 * half);
        if (query >= p.queries) continue;
        if (p.splits > 1) storePartial(m, half, query, sum);
        else storeRow(m, half, query, sum == 0.0f && p.zeroEmpty ? 0.0f : 1.0f / sum);
      }
    }
  }

  // Sums of the warps' own keys, each with its largest score, become the sums of all: 16 queries of the block, through `to`.
  __device__ __forceinline__ void join(float* to) {
    constexpr int pitch = D + 4, ofWarp = 16 * pitch;
    __syncthreads();
#pragma unroll
    for (int half = 0; half < 2; half++) {
      float sum = total[0][half];
      sum += __shfl_xor_sync(0xffffffffu, sum, 1);
      sum += __shfl_xor_sync(0xffffffffu, sum, 2);
      float* row = to + warp * ofWarp + (lane / 4 + 8 * half) * pitch;
#pragma unroll
      for (int n = 0; n < D / 8; n++) {
        *reinterpret_cast<float2*>(row + n * 8 + lane % 4 * 2) = make_float2(sums[0][n][2 * half], sums[0][n][2 * half + 1]);
      }
      if (lane % 4 == 0) *reinterpret_cast<float2*>(row + D) = make_float2(maximum[0][half] * factor, sum);
    }
    __syncthreads();
    constexpr int lanesOfRow = threads / 16;
    const int query = place.firstQuery + static_cast<int>(threadIdx.x) / lanesOfRow;
    if (query >= p.queries) return;
    const float* row = to + static_cast<int>(threadIdx.x) / lanesOfRow * pitch;
    float largest = minusInfinity(), sum = 0.0f, weight[WARPS];
#pragma unroll
    for (int w = 0; w < WARPS; w++) largest = fmaxf(largest, row[w * ofWarp + D]);
    const float base = largest == minusInfinity() ? 0.0f : largest;
#pragma unroll
    for (int w = 0; w < WARPS; w++) {
      weight[w] = exp2Fast(row[w * ofWarp + D] - base);
      sum += weight[w] * row[w * ofWarp + D + 1];
    }
    const float inverse = sum == 0.0f && p.zeroEmpty ? 0.0f : 1.0f / sum;
    const int64_t out = static_cast<int64_t>(place.sample) * p.oBatch + static_cast<int64_t>(place.head) * p.oHead +
                        static_cast<int64_t>(query) * p.oRow;
#pragma unroll
    for (int i = 0; i < D / (2 * lanesOfRow); i++) {
      const int col = (i * lanesOfRow + static_cast<int>(threadIdx.x) % lanesOfRow) * 2;
      if (col >= p.valueDim) break;
      float2 all = make_float2(0.0f, 0.0f);
#pragma unroll
      for (int w = 0; w < WARPS; w++) {
        const float2 part = *reinterpret_cast<const float2*>(row + w * ofWarp + col);
        all.x += weight[w] * part.x, all.y += weight[w] * part.y;
      }
      storeOutputs<T>(p, out + col, all.x * inverse, all.y * inverse);
    }
  }

  // In pairs: an odd value dim writes one element more, for which the row has room.
  __device__ __forceinline__ void storeRow(int m, int half, int query, float inverse) const {
    const int64_t row = static_cast<int64_t>(place.sample) * p.oBatch + static_cast<int64_t>(place.head) * p.oHead +
                        static_cast<int64_t>(query) * p.oRow + lane % 4 * 2;
#pragma unroll
    for (int n = 0; n < D / 8; n++) {
      if (n * 8 + lane % 4 * 2 >= p.valueDim) break;
      storeOutputs<T>(p, row + n * 8, sums[m][n][2 * half] * inverse, sums[m][n][2 * half + 1] * inverse);
    }
  }

  __device__ __forceinline__ void storePartial(int m, int half, int query, float sum) const {
    const int64_t rows = static_cast<int64_t>(p.batch) * p.heads * p.queries;
    const int64_t row = place.split * rows + (static_cast<int64_t>(place.sample) * p.heads + place.head) * p.queries + query;
    if (lane % 4 == 0) {
      p.partialRows[2 * row] = maximum[m][half] * factor;
      p.partialRows[2 * row + 1] = sum;
    }
    float* out = p.partial + row * partialPitch(p) + lane % 4 * 2;
#pragma unroll
    for (int n = 0; n < D / 8; n++) {
      if (n * 8 + lane % 4 * 2 >= p.valueDim) break;
      *reinterpret_cast<float2*>(out + n * 8) = make_float2(sums[m][n][2 * half], sums[m][n][2 * half + 1]);
    }
  }
};

template <typename T, int D, int M_TILES, int WARPS, int BK, bool KEEP_Q, bool MASKED, bool APART>
__device__ __forceinline__ void attendOnTensorCores(const AttentionParams& p) {
  extern __shared__ __align__(16) unsigned char attentionShared[];
  TensorAttention<T, D, M_TILES, WARPS, BK, KEEP_Q, MASKED, APART> attention(p);
  attention.run(sharedAddress(attentionShared));
  if constexpr (APART) attention.join(reinterpret_cast<float*>(attentionShared));
  else attention.finish();
}
