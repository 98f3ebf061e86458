// Softmax of rows that follow each other without gaps, of any length: a block takes eight rows or a multiple of them, which are
// whole runs of 16 bytes together, to shared memory and back; between, elements are taken one by one.
#pragma once
#include "../common/launch.cuh"
#include "finish.cuh"
#include "params.generated.cuh"

// LANES threads a row, up to EACH elements of it a thread. grid: rows by THREADS / LANES.
template <typename T, int LANES, int EACH, int THREADS>
__device__ __forceinline__ void softmaxPackedRows(const RowSoftmaxParams& p) {
  constexpr int kRows = THREADS / LANES, kRuns = (EACH + 7) / 8;
  static_assert(kRows % 8 == 0, "whole runs");
  __shared__ __align__(16) T elements[kRows * LANES * EACH];
  const int first = blockIdx.x * kRows, rows = min(kRows, p.rows - first), count = rows * p.cols;
  const int runs = count / 8, behind = 8 * runs + static_cast<int>(threadIdx.x);
  const T* x = static_cast<const T*>(p.x) + static_cast<int64_t>(first) * p.cols;
  T* y = static_cast<T*>(p.y) + static_cast<int64_t>(first) * p.cols;
  Run<T, 8> loaded[kRuns];
#pragma unroll
  for (int j = 0; j < kRuns; j++) {
    const int run = j * THREADS + threadIdx.x;
    if (run < runs) loaded[j].load(x + 8 * run);
  }
#pragma unroll
  for (int j = 0; j < kRuns; j++) {
    const int run = j * THREADS + threadIdx.x;
    if (run < runs) loaded[j].store(elements + 8 * run);
  }
  if (behind < count) elements[behind] = x[behind];
  __syncthreads();
  const int row = threadIdx.x / LANES, lane = threadIdx.x % LANES;
  T* own = elements + row * p.cols;
  const int cols = row < rows ? p.cols : 0;
  float v[EACH], maximum = -INFINITY, total = 0.0f;
#pragma unroll
  for (int j = 0; j < EACH; j++) v[j] = lane + j * LANES < cols ? toFloat(own[lane + j * LANES]) : -INFINITY;
#pragma unroll
  for (int j = 0; j < EACH; j++) maximum = Max()(maximum, v[j]);
  RowFinish<T> finish{reduceLanes<LANES>(maximum, Max()), 0.0f, p.mode};
#pragma unroll
  for (int j = 0; j < EACH; j++) {
    const float power = lane + j * LANES < cols ? finish.power(v[j]) : 0.0f;
    total += power;
    if (p.mode == kSoftmax) v[j] = power;
  }
  total = reduceLanes<LANES>(total, Add());
  const float factor = 1.0f / total, subtracted = p.mode == kSoftmax ? 0.0f : logf(total);
#pragma unroll
  for (int j = 0; j < EACH; j++) {
    if (lane + j * LANES >= cols) continue;
    own[lane + j * LANES] = fromFloat<T>(p.mode == kSoftmax ? v[j] * factor : v[j] - finish.maximum - subtracted);
  }
  __syncthreads();
#pragma unroll
  for (int j = 0; j < kRuns; j++) {
    const int run = j * THREADS + threadIdx.x;
    if (run >= runs) continue;
    loaded[j].load(elements + 8 * run);
    loaded[j].store(y + 8 * run);
  }
  if (behind < count) y[behind] = elements[behind];
}

#define SOFTMAX_PACKED(T, TYPE, FORM, LANES, EACH, THREADS)                                        \
  extern "C" __global__ void __launch_bounds__(THREADS) softmax_##TYPE##_packed_##FORM(            \
      const __grid_constant__ RowSoftmaxParams p) { beginKernel(); softmaxPackedRows<T, LANES, EACH, THREADS>(p); }

// The packed forms of forms.ts.
#define SOFTMAX_PACKED_ROWS(T, TYPE)                  \
  SOFTMAX_PACKED(T, TYPE, lanes8x8, 8, 8, 128)        \
  SOFTMAX_PACKED(T, TYPE, lanes8x16, 8, 16, 128)      \
  SOFTMAX_PACKED(T, TYPE, lanes16x14, 16, 14, 128)    \
  SOFTMAX_PACKED(T, TYPE, lanes32x8, 32, 8, 256)

SOFTMAX_PACKED_ROWS(float, f32)
SOFTMAX_PACKED_ROWS(__half, f16)
SOFTMAX_PACKED_ROWS(__nv_bfloat16, bf16)
