// Softmax of long rows in one read of memory: a block keeps its row in shared memory, as it is stored.
#pragma once
#include "../common/copy.cuh"
#include "../common/launch.cuh"
#include "finish.cuh"
#include "params.generated.cuh"

// A thread's runs of eight elements in shared memory; only it reads them. Neighbouring threads have neighbouring pieces.
template <typename T> struct KeptRow {
  static constexpr int kPieces = 8 * sizeof(T) / 16;
  const RowCut<T, 8, false>& cut;
  uint4* pieces;

  __device__ __forceinline__ int column(int run) const {
    return cut.column(run * static_cast<int>(blockDim.x) + static_cast<int>(threadIdx.x));
  }
  __device__ __forceinline__ uint4* piece(int run, int of) const {
    return pieces + (run * kPieces + of) * static_cast<int>(blockDim.x) + static_cast<int>(threadIdx.x);
  }
  // All of them are on their way at once.
  __device__ __forceinline__ void load(const T* row) const {
#pragma unroll 4
    for (int run = 0; cut.has(column(run)); run++) {
      const int col = column(run);
#pragma unroll
      for (int of = 0; of < kPieces; of++)
        cpAsync<16>(sharedAddress(piece(run, of)), reinterpret_cast<const uint4*>(row + col) + of, 16);
    }
    cpAsyncCommit();
    cpAsyncWait<0>();
  }
  // `fill` for what is not the row's.
  __device__ __forceinline__ void get(int run, float fill, float* out) const {
    Run<T, 8> kept;
#pragma unroll
    for (int of = 0; of < kPieces; of++) {
      const uint4 four = *piece(run, of);
      kept.words[4 * of] = four.x; kept.words[4 * of + 1] = four.y; kept.words[4 * of + 2] = four.z; kept.words[4 * of + 3] = four.w;
    }
    cut.widen(kept, column(run), fill, out);
  }
};

// One block a row. Shared memory: of each thread, as many runs as it has at most.
template <typename T> __device__ __forceinline__ void softmaxKeptRow(const RowSoftmaxParams& p) {
  extern __shared__ uint4 keptPieces[];
  __shared__ float scratch[32];
  const RowThreads<kBlock> threads{scratch};
  const T* x = static_cast<const T*>(p.x) + static_cast<int64_t>(blockIdx.x) * p.xStride;
  const RowCut<T, 8, false> cut(x, p.cols, blockIdx.x == p.rows - 1);
  const KeptRow<T> kept{cut, keptPieces};
  float v[8], maximum = -INFINITY, total = 0.0f;
  kept.load(x);
#pragma unroll 2
  for (int run = 0; cut.has(kept.column(run)); run++) {
    kept.get(run, -INFINITY, v);
#pragma unroll
    for (int i = 0; i < 8; i++) maximum = Max()(maximum, v[i]);
  }
  RowFinish<T> finish{threads.reduce(maximum, -INFINITY, Max()), 0.0f, p.mode};
#pragma unroll 2
  for (int run = 0; cut.has(kept.column(run)); run++) {
    kept.get(run, -INFINITY, v);
#pragma unroll
    for (int i = 0; i < 8; i++) total += finish.power(v[i]);
  }
  total = threads.reduce(total, 0.0f, Add());
  finish.term = p.mode == kSoftmax ? 1.0f / total : logf(total);
#pragma unroll 2
  for (int run = 0; cut.has(kept.column(run)); run++) {
    kept.get(run, -INFINITY, v);
#pragma unroll
    for (int i = 0; i < 8; i++) v[i] = finish(v[i]);
    cut.store(p.y, static_cast<int64_t>(blockIdx.x) * p.yStride, p.yType, kept.column(run), v);
  }
}

#define SOFTMAX_KEPT(T, TYPE)                                                                       \
  extern "C" __global__ void __launch_bounds__(512) softmax_##TYPE##_w8_kept(                       \
      const __grid_constant__ RowSoftmaxParams p) { beginKernel(); softmaxKeptRow<T>(p); }

SOFTMAX_KEPT(float, f32)
SOFTMAX_KEPT(__half, f16)
SOFTMAX_KEPT(__nv_bfloat16, bf16)
