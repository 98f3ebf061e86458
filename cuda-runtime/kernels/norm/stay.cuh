// Rows normalized by blocks that stay: scale and bias are kept in registers, and the row to come is on its way while one is
// normalized.
#pragma once
#include "../common/launch.cuh"
#include "vector.cuh"
#include "params.generated.cuh"

// Of eight columns, of a thread.
constexpr int kStayingRuns = 4;

// A thread's part; what lies behind the row is not loaded.
template <typename T> struct StayingRow {
  Run<T, 8> runs[kStayingRuns];

  __device__ __forceinline__ static int column(int run) {
    return (run * static_cast<int>(blockDim.x) + static_cast<int>(threadIdx.x)) * 8;
  }
  __device__ __forceinline__ void load(const RowNormParams& p, int row) {
    if (row >= p.rows) return;
    const T* from = static_cast<const T*>(p.x) + static_cast<int64_t>(row) * p.xStride;
#pragma unroll
    for (int j = 0; j < kStayingRuns; j++) {
      if (column(j) < p.cols) runs[j].load(from + column(j));
    }
  }
};

// One barrier: the next sum goes to another `scratch`, which nobody reads any more. 32 floats each.
__device__ __forceinline__ float sumOfBlock(float x, float* scratch) {
  x = reduceWarp(x, Add());
  const int warps = blockDim.x / 32, lane = threadIdx.x & 31;
  if (lane == 0) scratch[threadIdx.x / 32] = x;
  __syncthreads();
  return reduceWarp(lane < warps ? scratch[lane] : 0.0f, Add());
}

// Mean and inverse deviation.
template <typename T>
__device__ __forceinline__ float2 statisticsOfRow(const RowNormParams& p, const StayingRow<T>& row, float (*scratch)[32]) {
  float v[8], total = 0.0f, squares = 0.0f;
  if (!p.rms) {
#pragma unroll
    for (int j = 0; j < kStayingRuns; j++) {
      if (row.column(j) >= p.cols) continue;
      row.runs[j].widen(v);
#pragma unroll
      for (int i = 0; i < 8; i++) total += v[i];
    }
  }
  const float mean = p.rms ? 0.0f : sumOfBlock(total, scratch[0]) / p.cols;
#pragma unroll
  for (int j = 0; j < kStayingRuns; j++) {
    if (row.column(j) >= p.cols) continue;
    row.runs[j].widen(v);
#pragma unroll
    for (int i = 0; i < 8; i++) squares += (v[i] - mean) * (v[i] - mean);
  }
  return make_float2(mean, 1.0f / sqrtf(sumOfBlock(squares, scratch[1]) / p.cols + p.epsilon));
}

// grid: as many blocks as stay; each takes every gridDim.x-th row.
template <typename T> __device__ __forceinline__ void normalizeStaying(const RowNormParams& p) {
  // Of two rows: a warp may be a row ahead of one that still reads.
  __shared__ float scratch[2][2][32];
  StayingRow<T> row, next;
  float scale[kStayingRuns][8], bias[kStayingRuns][8];
  row.load(p, blockIdx.x);
  next.load(p, blockIdx.x + gridDim.x);
#pragma unroll
  for (int j = 0; j < kStayingRuns; j++) {
#pragma unroll
    for (int i = 0; i < 8; i++) scale[j][i] = 1.0f, bias[j][i] = 0.0f;
    if (row.column(j) >= p.cols) continue;
    if (p.scale != nullptr) loadRun<float, 8>(p.scale + row.column(j), scale[j]);
    if (p.bias != nullptr) loadRun<float, 8>(p.bias + row.column(j), bias[j]);
  }
  int turn = 0;
#pragma unroll 1
  for (int at = blockIdx.x; at < p.rows; at += gridDim.x, turn ^= 1) {
    const float2 of = statisticsOfRow<T>(p, row, scratch[turn]);
    const int64_t to = static_cast<int64_t>(at) * p.yStride;
#pragma unroll
    for (int j = 0; j < kStayingRuns; j++) {
      if (row.column(j) >= p.cols) continue;
      float v[8];
      row.runs[j].widen(v);
#pragma unroll
      for (int i = 0; i < 8; i++) v[i] = (v[i] - of.x) * of.y * scale[j][i] + bias[j][i];
      storeRunOf<8>(p.y, to + row.column(j), p.yType, v);
    }
    if (threadIdx.x == 0) {
      if (p.mean != nullptr) storeFloat(p.mean, at, p.statisticsType, of.x);
      if (p.invStd != nullptr) storeFloat(p.invStd, at, p.statisticsType, of.y);
    }
    row = next;
    next.load(p, at + 2 * gridDim.x);
  }
}

// Of halves alone: floats leave no registers for the row to come.
#define ROW_NORM_STAY(T, TYPE)                                                                     \
  extern "C" __global__ void __launch_bounds__(512, 1) rownorm_##TYPE##_w8_stay4(                  \
      const __grid_constant__ RowNormParams p) { beginKernel(); normalizeStaying<T>(p); }

ROW_NORM_STAY(__half, f16)
ROW_NORM_STAY(__nv_bfloat16, bf16)
