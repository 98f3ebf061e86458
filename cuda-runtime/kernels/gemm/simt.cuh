// Products in FP32 on CUDA cores: any float types, any strides, any alignment.
#pragma once
#include "params.cuh"

// A block of 256 threads computes TILE x TILE, each thread EDGE x EDGE of it in runs of four (or two) neighbours.
template <int TILE, int BK>
struct SimtProduct {
  static constexpr int kThreads = 256;
  static constexpr int kEdge = TILE / 16;
  static constexpr int kRun = kEdge < 4 ? kEdge : 4;
  static constexpr int kRuns = kEdge / kRun;
  static constexpr int kPitch = TILE + 4;
  static constexpr int kLoads = TILE * BK / kThreads;

  // Element i of this thread in a tile of TILE x BK: lanes run along the axis that memory runs along.
  static __device__ __forceinline__ void split(int i, bool alongK, int& outer, int& k) {
    const int index = threadIdx.x + i * kThreads;
    outer = alongK ? index / BK : index % TILE;
    k = alongK ? index % BK : index / TILE;
  }

  static __device__ __forceinline__ void fetch(float (&values)[kLoads], const void* from, int type, int64_t base, int outerStride,
                                               int kStride, bool alongK, int outerBegin, int outerEnd, int k0, int kEnd) {
#pragma unroll
    for (int i = 0; i < kLoads; ++i) {
      int outer, k;
      split(i, alongK, outer, k);
      outer += outerBegin;
      k += k0;
      const bool exists = outer < outerEnd && k < kEnd;
      values[i] = exists ? loadFloat(from, base + (int64_t)outer * outerStride + (int64_t)k * kStride, type) : 0.0f;
    }
  }

  static __device__ __forceinline__ void put(float* tile, const float (&values)[kLoads], bool alongK) {
#pragma unroll
    for (int i = 0; i < kLoads; ++i) {
      int outer, k;
      split(i, alongK, outer, k);
      tile[k * kPitch + outer] = values[i];
    }
  }

  static __device__ __forceinline__ void run(const GemmParams& p) {
    __shared__ __align__(16) float tiles[2][2][BK * kPitch];
    const Place at = placeOf(p);
    const int m0 = at.tileM * TILE;
    const int n0 = at.tileN * TILE;
    const int begin = kBegin(p, at);
    const int end = kEnd(p, at);
    const bool aAlong = p.aK == 1;
    const bool bAlong = p.bK == 1;
    const int tx = threadIdx.x % 16;
    const int ty = threadIdx.x / 16;
    float sums[kEdge][kEdge];
#pragma unroll
    for (int i = 0; i < kEdge; ++i)
#pragma unroll
      for (int j = 0; j < kEdge; ++j) sums[i][j] = 0.0f;

    float nextA[kLoads], nextB[kLoads];
    if (begin < end) {
      fetch(nextA, p.a, p.aType, at.a, p.aM, p.aK, aAlong, m0, p.m, begin, end);
      fetch(nextB, p.b, p.bType, at.b, p.bN, p.bK, bAlong, n0, p.n, begin, end);
    }
    int slot = 0;
    for (int k0 = begin; k0 < end; k0 += BK, slot ^= 1) {
      put(tiles[slot][0], nextA, aAlong);
      put(tiles[slot][1], nextB, bAlong);
      __syncthreads();
      if (k0 + BK < end) {
        fetch(nextA, p.a, p.aType, at.a, p.aM, p.aK, aAlong, m0, p.m, k0 + BK, end);
        fetch(nextB, p.b, p.bType, at.b, p.bN, p.bK, bAlong, n0, p.n, k0 + BK, end);
      }
      multiply(sums, tiles[slot][0], tiles[slot][1], tx, ty);
    }
    finishTile(p, at, sums, &tiles[0][0][0], m0, n0, tx, ty);
  }

  static __device__ __forceinline__ void multiply(float (&sums)[kEdge][kEdge], const float* a, const float* b, int tx,
                                                  int ty) {
#pragma unroll
    for (int k = 0; k < BK; ++k) {
      float x[kEdge], y[kEdge];
      readRuns(x, a + k * kPitch + ty * kRun);
      readRuns(y, b + k * kPitch + tx * kRun);
#pragma unroll
      for (int i = 0; i < kEdge; ++i)
#pragma unroll
        for (int j = 0; j < kEdge; ++j) sums[i][j] = fmaf(x[i], y[j], sums[i][j]);
    }
  }

  static __device__ __forceinline__ void readRuns(float (&values)[kEdge], const float* from) {
#pragma unroll
    for (int run = 0; run < kRuns; ++run) {
      if constexpr (kRun == 4) {
        const float4 v = *reinterpret_cast<const float4*>(from + run * 64);
        values[run * 4] = v.x;
        values[run * 4 + 1] = v.y;
        values[run * 4 + 2] = v.z;
        values[run * 4 + 3] = v.w;
      } else {
#pragma unroll
        for (int q = 0; q < kRun; ++q) values[run * kRun + q] = from[run * 16 * kRun + q];
      }
    }
  }

  // Through shared memory, one row of every thread at a time, so that the epilogue's code is there once.
  static __device__ __forceinline__ void finishTile(const GemmParams& p, const Place& at, const float (&sums)[kEdge][kEdge],
                                                    float* stage, int m0, int n0, int tx, int ty) {
#pragma unroll 1
    for (int i = 0; i < kEdge; ++i) {
      float row[kEdge];
#pragma unroll
      for (int other = 0; other < kEdge; ++other)
#pragma unroll
        for (int j = 0; j < kEdge; ++j) row[j] = other == 0 || other == i ? sums[other][j] : row[j];
      __syncthreads();
#pragma unroll
      for (int j = 0; j < kEdge; ++j) stage[ty * TILE + j / kRun * 16 * kRun + tx * kRun + j % kRun] = row[j];
      __syncthreads();
      const int firstM = m0 + i / kRun * 16 * kRun + i % kRun;
#pragma unroll 1
      for (int index = threadIdx.x; index < 16 * TILE; index += kThreads) {
        const int m = firstM + index / TILE * kRun;
        const int n = n0 + index % TILE;
        if (m < p.m && n < p.n) finish(p, at, m, n, stage[index]);
      }
    }
  }
};
