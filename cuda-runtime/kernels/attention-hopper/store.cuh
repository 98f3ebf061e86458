// Results of a warp's 16 queries from its accumulators to memory.
#pragma once
#include "../attention/params.cuh"
#include "../common/mma.cuh"
#include "place.cuh"

// Of queries `query` and 8 further; a thread has columns 2 t and 2 t + 1 of every 8.
template <typename T, int D> struct HopperStore {
  const AttentionParams& p;
  const HopperPlace& place;
  const int query;

  __device__ __forceinline__ T* row(int half) const {
    return static_cast<T*>(p.o) + static_cast<int64_t>(place.sample) * p.oBatch + static_cast<int64_t>(place.head) * p.oHead +
           static_cast<int64_t>(query + 8 * half) * p.oRow;
  }

  // Rows of whole 16-byte pieces, each at a multiple of them.
  __device__ __forceinline__ bool suitsChunks() const {
    const int strides = p.oRow | p.oHead | p.oBatch | p.valueDim;
    return (strides & 7) == 0 && (reinterpret_cast<uintptr_t>(p.o) & 15) == 0;
  }

  // The four threads of a row have four pieces of 8 columns together; each stores one of them.
  __device__ __forceinline__ void chunks(const float (&sums)[D / 8][4]) const {
    const int own = threadIdx.x % 4;
#pragma unroll
    for (int half = 0; half < 2; ++half) {
#pragma unroll
      for (int first = 0; first < D / 8; first += 4) {
        uint32_t words[4];
#pragma unroll
        for (int i = 0; i < 4; ++i) {
          const int n = first + i;
          words[i] = n < D / 8 ? packPair<T>(sums[n][2 * half], sums[n][2 * half + 1]) : 0;
        }
        const uint4 piece = turned(words, own);
        const int column = (first + own) * 8;
        if (query + 8 * half < p.queries && column < p.valueDim) *reinterpret_cast<uint4*>(row(half) + column) = piece;
      }
    }
  }

  // Word `own` of each of the four threads, in their order.
  static __device__ __forceinline__ uint4 turned(const uint32_t (&words)[4], int own) {
    uint32_t got[4];
#pragma unroll
    for (int by = 0; by < 4; ++by) got[by] = __shfl_xor_sync(0xffffffffu, chosen(words, own ^ by), by);
    return make_uint4(chosen(got, own), chosen(got, own ^ 1), chosen(got, own ^ 2), chosen(got, own ^ 3));
  }

  // Registers have no run-time index.
  static __device__ __forceinline__ uint32_t chosen(const uint32_t (&words)[4], int index) {
    const uint32_t low = index & 1 ? words[1] : words[0], high = index & 1 ? words[3] : words[2];
    return index & 2 ? high : low;
  }

  // An odd value dim writes one element more, for which the row has room.
  __device__ __forceinline__ void pairs(const float (&sums)[D / 8][4]) const {
#pragma unroll
    for (int half = 0; half < 2; ++half) {
      if (query + 8 * half >= p.queries) continue;
      const int column = threadIdx.x % 4 * 2;
      T* to = row(half) + column;
#pragma unroll
      for (int n = 0; n < D / 8; ++n) {
        if (n * 8 + column >= p.valueDim) break;
        *reinterpret_cast<uint32_t*>(to + n * 8) =
            packPair<T>(sums[n][2 * half], sums[n][2 * half + 1]);
      }
    }
  }

  // What attention_combine adds up.
  __device__ __forceinline__ void partial(const float (&sums)[D / 8][4], const float (&maximum)[2], const float (&sum)[2],
                                          float factor) const {
    const int64_t rows = static_cast<int64_t>(p.batch) * p.heads * p.queries;
#pragma unroll
    for (int half = 0; half < 2; ++half) {
      const int own = query + 8 * half, column = threadIdx.x % 4 * 2;
      if (own >= p.queries) continue;
      const int64_t at = place.split * rows + (static_cast<int64_t>(place.sample) * p.heads + place.head) * p.queries + own;
      if (column == 0) {
        p.partialRows[2 * at] = maximum[half] * factor;
        p.partialRows[2 * at + 1] = sum[half];
      }
      float* to = p.partial + at * partialPitch(p) + column;
#pragma unroll
      for (int n = 0; n < D / 8; ++n) {
        if (n * 8 + column >= p.valueDim) break;
        *reinterpret_cast<float2*>(to + n * 8) = make_float2(sums[n][2 * half], sums[n][2 * half + 1]);
      }
    }
  }
};
