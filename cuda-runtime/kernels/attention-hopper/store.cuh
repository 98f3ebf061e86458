// Results of a warp's 16 queries from its accumulators to memory.
#pragma once
#include "../attention/params.cuh"
#include "../common/barrier.cuh"
#include "../common/copy.cuh"
#include "../common/mma.cuh"
#include "place.cuh"

// Of queries `query` and 8 further; a thread has columns 2 t and 2 t + 1 of every 8. Shared memory holds 64 columns of a row, and the next 64
// PANEL bytes further, as it held the queries: results lie where those of the same warpgroup were. Others may still multiply with theirs.
template <typename T, int D, int PANEL> struct HopperStore {
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

  // Through `own`, shared memory of 16 rows that a warpgroup is done with together: a loop is less to fetch than turning registers.
  __device__ __forceinline__ void chunks(const float (&sums)[D / 8][4], uint32_t own) const {
    constexpr int kChunks = D / 8;
    const int lane = threadIdx.x % 32;
    syncGroup<128>(threadIdx.x / 128);
    // Rows that are stored at once lie in different banks.
    const uint32_t to = own + lane % 4 * 4;
#pragma unroll
    for (int n = 0; n < kChunks; ++n) {
      const uint32_t at = to + placeOf(lane / 4, n);
      storeShared4(at, packPair<T>(sums[n][0], sums[n][1]));
      storeShared4(at + 8 * 128, packPair<T>(sums[n][2], sums[n][3]));
    }
    __syncwarp();
    const int chunksOfRow = p.valueDim / 8, rows = min(p.queries - (query - lane / 4), 16);
    T* first = row(0) - static_cast<int64_t>(lane / 4) * p.oRow;
#pragma unroll 1
    for (int index = lane; index < 16 * kChunks; index += 32) {
      const int at = index / kChunks, n = index % kChunks;
      if (at < rows && n < chunksOfRow) {
        const uint4 piece = loadShared16(own + placeOf(at, n));
        *reinterpret_cast<uint4*>(first + static_cast<int64_t>(at) * p.oRow + n * 8) = piece;
      }
    }
  }

  static __device__ __forceinline__ uint32_t placeOf(uint32_t row, uint32_t chunk) {
    return chunk / 8 * PANEL + row * 128 + (chunk % 8 ^ row % 8) * 16;
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
