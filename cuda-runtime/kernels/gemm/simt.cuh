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

  // This thread's elements of a tile of TILE x BK: lanes run along the axis that memory runs along.
  struct Walk {
    int outer, k;          // of the first element
    int outerStep, kStep;  // to the next
    int64_t at, step;      // in memory
    int outerLeft;         // elements from the first on that exist
    bool alongK;

    __device__ __forceinline__ Walk(int64_t base, int outerStride, int kStride, int outerBegin, int outerEnd, int kBegin) {
      const int index = threadIdx.x;
      alongK = kStride == 1;
      outer = alongK ? index / BK : index % TILE;
      k = alongK ? index % BK : index / TILE;
      outerStep = alongK ? kThreads / BK : 0;
      kStep = alongK ? 0 : kThreads / TILE;
      at = base + (int64_t)(outerBegin + outer) * outerStride + (int64_t)(kBegin + k) * kStride;
      step = (int64_t)outerStep * outerStride + (int64_t)kStep * kStride;
      outerLeft = outerEnd - outerBegin - outer;
    }

    __device__ __forceinline__ void fetch(float (&values)[kLoads], const void* from, int type, int kLeft) const {
      if (type == kFloat16) fetchAs(values, static_cast<const __half*>(from), kLeft);
      else if (type == kBFloat16) fetchAs(values, static_cast<const __nv_bfloat16*>(from), kLeft);
      else fetchAs(values, static_cast<const float*>(from), kLeft);
    }

    template <typename T>
    __device__ __forceinline__ void fetchAs(float (&values)[kLoads], const T* from, int kLeft) const {
      const T* next = from + at;
#pragma unroll
      for (int i = 0; i < kLoads; ++i) {
        const bool exists = i * outerStep < outerLeft && k + i * kStep < kLeft;
        values[i] = exists ? toFloat(*next) : 0.0f;
        next += step;
      }
    }

    __device__ __forceinline__ void put(float* tile, const float (&values)[kLoads]) const {
#pragma unroll
      for (int i = 0; i < kLoads; ++i) tile[(k + i * kStep) * kPitch + outer + i * outerStep] = values[i];
    }
  };

  static __device__ __forceinline__ void run(const GemmParams& p) {
    __shared__ __align__(16) float tiles[2][2][BK * kPitch];
    const Place at = placeOf(p);
    const int m0 = at.tileM * TILE;
    const int n0 = at.tileN * TILE;
    const int begin = kBegin(p, at);
    const int end = kEnd(p, at);
    Walk walkA(at.a, p.aM, p.aK, m0, p.m, begin);
    Walk walkB(at.b, p.bN, p.bK, n0, p.n, begin);
    const int64_t nextTileA = (int64_t)BK * p.aK;
    const int64_t nextTileB = (int64_t)BK * p.bK;
    const int tx = threadIdx.x % 16;
    const int ty = threadIdx.x / 16;
    float sums[kEdge][kEdge];
#pragma unroll
    for (int i = 0; i < kEdge; ++i)
#pragma unroll
      for (int j = 0; j < kEdge; ++j) sums[i][j] = 0.0f;

    float nextA[kLoads], nextB[kLoads];
    if (begin < end) {
      walkA.fetch(nextA, p.a, p.aType, end - begin);
      walkB.fetch(nextB, p.b, p.bType, end - begin);
    }
    int slot = 0;
    for (int k0 = begin; k0 < end; k0 += BK, slot ^= 1) {
      walkA.put(tiles[slot][0], nextA);
      walkB.put(tiles[slot][1], nextB);
      __syncthreads();
      walkA.at += nextTileA;
      walkB.at += nextTileB;
      if (k0 + BK < end) {
        walkA.fetch(nextA, p.a, p.aType, end - k0 - BK);
        walkB.fetch(nextB, p.b, p.bType, end - k0 - BK);
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
