// Two rows of scores that a thread has a part of, and their softmax as it is so far.
#pragma once
#include "../attention/params.cuh"
#include "../attention/rows.cuh"
#include "../common/mma.cuh"

// Of queries `query` and 8 further; a thread has columns 2 t and 2 t + 1 of every 8 of a step's BK keys.
template <typename T, int BK> struct HopperRows {
  const AttentionParams& p;
  const float factor;  // of scores in powers of two
  const int query;
  float maximum[2], total[2];
  float factorOfSums[2];  // what the last step's maxima make of sums before it

  __device__ __forceinline__ HopperRows(const AttentionParams& p, float factor, int query) : p(p), factor(factor), query(query) {
    maximum[0] = maximum[1] = minusInfinity();
    total[0] = total[1] = 0.0f;
  }

  // Scores of keys from `firstKey` on become weights.
  template <typename Work> __device__ __forceinline__ void weigh(const Work& work, float (&scores)[BK / 8][4], int firstKey) {
    if (!work.isInside(p, firstKey)) limit(work.limits, scores, firstKey);
    exponentiate(scores);
  }

  // Keys that a query does not see.
  __device__ __forceinline__ void limit(const KeyLimits& limits, float (&scores)[BK / 8][4], int firstKey) const {
#pragma unroll
    for (int half = 0; half < 2; ++half) {
      const int at = limits.position + query + 8 * half, key = firstKey + static_cast<int>(threadIdx.x) % 4 * 2;
      const int lowest = at - limits.left - key, highest = min(at + limits.right, limits.count - 1) - key;
#pragma unroll
      for (int n = 0; n < BK / 8; ++n) {
#pragma unroll
        for (int i = 0; i < 2; ++i) {
          if (n * 8 + i > highest || n * 8 + i < lowest) scores[n][2 * half + i] = minusInfinity();
        }
      }
    }
  }

  __device__ __forceinline__ void exponentiate(float (&scores)[BK / 8][4]) {
#pragma unroll
    for (int half = 0; half < 2; ++half) {
      float largest = maximum[half];
#pragma unroll
      for (int n = 0; n < BK / 8; ++n) largest = fmaxf(largest, fmaxf(scores[n][2 * half], scores[n][2 * half + 1]));
      largest = fmaxf(largest, __shfl_xor_sync(0xffffffffu, largest, 1));
      largest = fmaxf(largest, __shfl_xor_sync(0xffffffffu, largest, 2));
      // -inf less -inf is no number: a row that has seen no key yet subtracts 0.
      // Both are rounded alike, so that a row whose maximum stays is rescaled by 1.
      const float low = largest == minusInfinity() ? 0.0f : __fmul_rn(largest, factor);
      factorOfSums[half] = exp2Fast(__fmul_rn(maximum[half], factor) - low);
      maximum[half] = largest;
      float sum = 0.0f;
#pragma unroll
      for (int n = 0; n < BK / 8; ++n) {
#pragma unroll
        for (int i = 2 * half; i < 2 * half + 2; ++i) {
          scores[n][i] = exp2Fast(fmaf(scores[n][i], factor, -low));
          sum += scores[n][i];
        }
      }
      total[half] = total[half] * factorOfSums[half] + sum;
    }
  }

  // What a product has in its accumulators is what the next one takes from registers.
  __device__ __forceinline__ void pack(uint32_t (&weights)[BK / 16][4], const float (&scores)[BK / 8][4]) const {
#pragma unroll
    for (int step = 0; step < BK / 16; ++step) {
#pragma unroll
      for (int i = 0; i < 4; ++i) {
        const float* pair = &scores[2 * step + i / 2][i % 2 * 2];
        weights[step][i] = packPair<T>(pair[0], pair[1]);
      }
    }
  }

  template <int N> __device__ __forceinline__ void rescale(float (&sums)[N][4]) const {
#pragma unroll
    for (int n = 0; n < N; ++n) {
#pragma unroll
      for (int i = 0; i < 4; ++i) sums[n][i] *= factorOfSums[i / 2];
    }
  }

  // Totals of the four threads of a row.
  __device__ __forceinline__ void addUp() {
#pragma unroll
    for (int half = 0; half < 2; ++half) {
      total[half] += __shfl_xor_sync(0xffffffffu, total[half], 1);
      total[half] += __shfl_xor_sync(0xffffffffu, total[half], 2);
    }
  }

  template <int N> __device__ __forceinline__ void divide(float (&sums)[N][4], bool isZeroEmpty) const {
#pragma unroll
    for (int half = 0; half < 2; ++half) {
      const float inverse = total[half] == 0.0f && isZeroEmpty ? 0.0f : 1.0f / total[half];
#pragma unroll
      for (int n = 0; n < N; ++n) sums[n][2 * half] *= inverse, sums[n][2 * half + 1] *= inverse;
    }
  }
};
