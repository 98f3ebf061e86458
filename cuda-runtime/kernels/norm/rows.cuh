// A row is contiguous; rows lie a stride apart. The row stays in registers, so that it is read once.
#pragma once
#include "../common/launch.cuh"
#include "vector.cuh"
#include "params.generated.cuh"

// x + skip + skipBias at columns from `col`; what is read is written to `sum` where there is one.
template <typename T, int WIDTH>
__device__ __forceinline__ void loadSum(const RowNormParams& p, int row, int col, float* v) {
  loadRun<T, WIDTH>(static_cast<const T*>(p.x) + static_cast<int64_t>(row) * p.xStride + col, v);
  if (p.skip == nullptr) return;
  float other[WIDTH];
  const T* skip = static_cast<const T*>(p.skip) + static_cast<int64_t>(row % p.skipRows) * p.skipStride;
  loadRun<T, WIDTH>(skip + col, other);
#pragma unroll
  for (int i = 0; i < WIDTH; i++) v[i] += other[i];
  if (p.skipBias == nullptr) return;
  loadRun<float, WIDTH>(p.skipBias + col, other);
#pragma unroll
  for (int i = 0; i < WIDTH; i++) v[i] += other[i];
}

template <int WIDTH>
__device__ __forceinline__ void storeNormalized(const RowNormParams& p, int row, int col, float mean, float invStd,
                                                const float* v) {
  float scale[WIDTH], bias[WIDTH], out[WIDTH];
  if (p.scale != nullptr) loadRun<float, WIDTH>(p.scale + col, scale);
  if (p.bias != nullptr) loadRun<float, WIDTH>(p.bias + col, bias);
#pragma unroll
  for (int i = 0; i < WIDTH; i++) {
    out[i] = (v[i] - mean) * invStd;
    if (p.scale != nullptr) out[i] *= scale[i];
    if (p.bias != nullptr) out[i] += bias[i];
  }
  storeRunOf<WIDTH>(p.y, static_cast<int64_t>(row) * p.yStride + col, p.yType, out);
}

__device__ __forceinline__ void storeStatistics(const RowNormParams& p, int row, float mean, float invStd) {
  if (p.mean != nullptr) storeFloat(p.mean, row, p.statisticsType, mean);
  if (p.invStd != nullptr) storeFloat(p.invStd, row, p.statisticsType, invStd);
}

// CHUNKS × 8 elements a thread, in runs of WIDTH.
template <typename T, int WIDTH, int CHUNKS, bool WARP>
__device__ __forceinline__ void normalizeRow(const RowNormParams& p) {
  __shared__ float scratch[32];
  const RowThreads<WARP> threads{scratch};
  const int row = threads.row(), lane = threads.lane(), count = threads.count();
  if (row >= p.rows) return;
  constexpr int runs = CHUNKS * 8 / WIDTH;
  float v[runs][WIDTH];
#pragma unroll
  for (int j = 0; j < runs; j++) {
    const int col = (j * count + lane) * WIDTH;
    if (col < p.cols) {
      loadSum<T, WIDTH>(p, row, col, v[j]);
    } else {
#pragma unroll
      for (int i = 0; i < WIDTH; i++) v[j][i] = 0.0f;
    }
  }
  float total = 0.0f;
#pragma unroll
  for (int j = 0; j < runs; j++) {
#pragma unroll
    for (int i = 0; i < WIDTH; i++) total += v[j][i];
  }
  const float mean = p.rms ? 0.0f : threads.reduce(total, 0.0f, Add()) / p.cols;
  float squares = 0.0f;
#pragma unroll
  for (int j = 0; j < runs; j++) {
    const bool inside = (j * count + lane) * WIDTH < p.cols;
#pragma unroll
    for (int i = 0; i < WIDTH; i++) {
      const float centred = inside ? v[j][i] - mean : 0.0f;
      squares += centred * centred;
    }
  }
  const float invStd = 1.0f / sqrtf(threads.reduce(squares, 0.0f, Add()) / p.cols + p.epsilon);
#pragma unroll
  for (int j = 0; j < runs; j++) {
    const int col = (j * count + lane) * WIDTH;
    if (col >= p.cols) continue;
    if (p.sum != nullptr) storeRunOf<WIDTH>(p.sum, static_cast<int64_t>(row) * p.sumStride + col, p.sumType, v[j]);
    storeNormalized<WIDTH>(p, row, col, mean, invStd, v[j]);
  }
  if (lane == 0) storeStatistics(p, row, mean, invStd);
}

// Rows of any length: read three times, the second and third time from the cache.
template <typename T, int WIDTH> __device__ __forceinline__ void normalizeLongRow(const RowNormParams& p) {
  __shared__ float scratch[32];
  const int row = blockIdx.x, step = blockDim.x * WIDTH;
  float v[WIDTH], total = 0.0f, squares = 0.0f;
  for (int col = threadIdx.x * WIDTH; col < p.cols; col += step) {
    loadSum<T, WIDTH>(p, row, col, v);
    if (p.sum != nullptr) storeRunOf<WIDTH>(p.sum, static_cast<int64_t>(row) * p.sumStride + col, p.sumType, v);
#pragma unroll
    for (int i = 0; i < WIDTH; i++) total += v[i];
  }
  const float mean = p.rms ? 0.0f : reduceBlock(total, 0.0f, scratch, Add()) / p.cols;
  for (int col = threadIdx.x * WIDTH; col < p.cols; col += step) {
    loadSum<T, WIDTH>(p, row, col, v);
#pragma unroll
    for (int i = 0; i < WIDTH; i++) squares += (v[i] - mean) * (v[i] - mean);
  }
  const float invStd = 1.0f / sqrtf(reduceBlock(squares, 0.0f, scratch, Add()) / p.cols + p.epsilon);
  for (int col = threadIdx.x * WIDTH; col < p.cols; col += step) {
    loadSum<T, WIDTH>(p, row, col, v);
    storeNormalized<WIDTH>(p, row, col, mean, invStd, v);
  }
  if (threadIdx.x == 0) storeStatistics(p, row, mean, invStd);
}

#define ROW_NORM_ENTRY(T, TYPE, WIDTH, FORM, THREADS, CHUNKS, WARP)                              \
  extern "C" __global__ void __launch_bounds__(THREADS) rownorm_##TYPE##_w##WIDTH##_##FORM(     \
      const __grid_constant__ RowNormParams p) { beginKernel(); normalizeRow<T, WIDTH, CHUNKS, WARP>(p); }

#define ROW_NORM_LONG(T, TYPE, WIDTH)                                                           \
  extern "C" __global__ void __launch_bounds__(1024) rownorm_##TYPE##_w##WIDTH##_long(          \
      const __grid_constant__ RowNormParams p) { beginKernel(); normalizeLongRow<T, WIDTH>(p); }

// The rows of norm.ts' table.
#define ROW_NORM(T, TYPE)                                    \
  ROW_NORM_ENTRY(T, TYPE, 8, warp1, 256, 1, true)            \
  ROW_NORM_ENTRY(T, TYPE, 8, warp2, 256, 2, true)            \
  ROW_NORM_ENTRY(T, TYPE, 8, warp4, 256, 4, true)            \
  ROW_NORM_ENTRY(T, TYPE, 8, block1, 1024, 1, false)         \
  ROW_NORM_ENTRY(T, TYPE, 8, block4, 384, 4, false)          \
  ROW_NORM_LONG(T, TYPE, 8)                                  \
  ROW_NORM_ENTRY(T, TYPE, 1, warp1, 256, 1, true)            \
  ROW_NORM_ENTRY(T, TYPE, 1, block1, 1024, 1, false)         \
  ROW_NORM_LONG(T, TYPE, 1)

ROW_NORM(float, f32)
ROW_NORM(__half, f16)
ROW_NORM(__nv_bfloat16, bf16)
