// A row is contiguous; rows lie a stride apart. The row stays in registers, so that it is read once.
#pragma once
#include "../common/codes.cuh"
#include "../common/launch.cuh"
#include "vector.cuh"
#include "params.generated.cuh"

// Of the columns from `col`: zeros where there are none.
template <int WIDTH, bool PHASED>
__device__ __forceinline__ void loadParameters(const float* row, int col, int cols, float* out) {
  if constexpr (!PHASED) {
    loadRun<float, WIDTH>(row + col, out);
  } else {
#pragma unroll
    for (int i = 0; i < WIDTH; i++) out[i] = static_cast<unsigned>(col + i) < static_cast<unsigned>(cols) ? row[col + i] : 0.0f;
  }
}

// x + skip + skipBias at columns from `col`, zeros for what is not the row's.
template <typename T, int WIDTH, bool PHASED>
__device__ __forceinline__ void loadSum(const RowNormParams& p, const RowCut<T, WIDTH, PHASED>& cut, int row, int col, float* v) {
  cut.load(static_cast<const T*>(p.x) + static_cast<int64_t>(row) * p.xStride, col, 0.0f, v);
  if (p.skip == nullptr || !cut.has(col)) return;
  float other[WIDTH];
  cut.load(static_cast<const T*>(p.skip) + static_cast<int64_t>(row % p.skipRows) * p.skipStride, col, 0.0f, other);
#pragma unroll
  for (int i = 0; i < WIDTH; i++) v[i] += other[i];
  if (p.skipBias == nullptr) return;
  loadParameters<WIDTH, PHASED>(p.skipBias, col, p.cols, other);
#pragma unroll
  for (int i = 0; i < WIDTH; i++) v[i] += other[i];
}

// Rows of codes are packed, so that runs of eight begin at multiples of 4.
template <typename T, int WIDTH, bool PHASED>
__device__ __forceinline__ void storeCodes(const RowNormParams& p, const RowCut<T, WIDTH, PHASED>& cut, int row, int col,
                                           const float* v) {
  constexpr int words = (WIDTH + 3) / 4;
  unsigned char* to = static_cast<unsigned char*>(p.codes) + static_cast<int64_t>(row) * p.cols + col;
  uint32_t codes[words];
#pragma unroll
  for (int j = 0; j < words; j++) {
    float four[4];
#pragma unroll
    for (int i = 0; i < 4; i++) four[i] = v[min(4 * j + i, WIDTH - 1)];
    codes[j] = codesOf(four, p.to);
  }
  if (WIDTH == 8 && cut.isWhole(col)) {
#pragma unroll
    for (int j = 0; j < words; j++) reinterpret_cast<uint32_t*>(to)[j] = codes[j];
    return;
  }
#pragma unroll
  for (int i = 0; i < WIDTH; i++) {
    if (cut.owns(col + i)) to[i] = static_cast<unsigned char>(codes[i / 4] >> (i % 4 * 8));
  }
}

// What a run is multiplied by and what is added then, where there is such.
template <int WIDTH, bool PHASED> struct ColumnParameters {
  float scale[WIDTH], bias[WIDTH];

  __device__ __forceinline__ void load(const RowNormParams& p, int col) {
    if (p.scale != nullptr) loadParameters<WIDTH, PHASED>(p.scale, col, p.cols, scale);
    if (p.bias != nullptr) loadParameters<WIDTH, PHASED>(p.bias, col, p.cols, bias);
  }
};

template <typename T, int WIDTH, bool PHASED, bool CODES>
__device__ __forceinline__ void storeNormalized(const RowNormParams& p, const RowCut<T, WIDTH, PHASED>& cut, int row, int col,
                                                float mean, float invStd, const float* v,
                                                const ColumnParameters<WIDTH, PHASED>& parameters) {
  float out[WIDTH];
#pragma unroll
  for (int i = 0; i < WIDTH; i++) {
    out[i] = (v[i] - mean) * invStd;
    if (p.scale != nullptr) out[i] *= parameters.scale[i];
    if (p.bias != nullptr) out[i] += parameters.bias[i];
  }
  if (!CODES || p.y != nullptr) cut.store(p.y, static_cast<int64_t>(row) * p.yStride, p.yType, col, out);
  if (CODES && p.codes != nullptr) storeCodes<T, WIDTH, PHASED>(p, cut, row, col, out);
}

__device__ __forceinline__ void storeStatistics(const RowNormParams& p, int row, float mean, float invStd) {
  if (p.mean != nullptr) storeFloat(p.mean, row, p.statisticsType, mean);
  if (p.invStd != nullptr) storeFloat(p.invStd, row, p.statisticsType, invStd);
}

// CHUNKS × 8 elements a thread, in runs of WIDTH. Warps that hold the most of a row have no registers left for codes (norm.ts). AHEAD: scale and
// bias are on their way with the row, and have registers of their own.
template <typename T, int WIDTH, int CHUNKS, int LANES, bool PHASED, bool AHEAD>
__device__ __forceinline__ void normalizeRow(const RowNormParams& p) {
  __shared__ float scratch[32];
  const RowThreads<LANES> threads{scratch};
  // Threads of no row take the last one, for the sake of those that they reduce with.
  const int row = min(threads.row(), p.rows - 1), lane = threads.lane(), count = threads.count();
  const bool isRow = threads.row() < p.rows;
  constexpr int runs = CHUNKS * 8 / WIDTH;
  const RowCut<T, WIDTH, PHASED> cut(static_cast<const T*>(p.x) + static_cast<int64_t>(row) * p.xStride, p.cols,
                                     row == p.rows - 1);
  beginKernelEarly();
  float v[runs][WIDTH], total = 0.0f;
#pragma unroll
  for (int j = 0; j < runs; j++) loadSum<T, WIDTH, PHASED>(p, cut, row, cut.column(j * count + lane), v[j]);
  ColumnParameters<WIDTH, PHASED> parameters[AHEAD ? runs : 1];
  if constexpr (AHEAD) {
#pragma unroll
    for (int j = 0; j < runs; j++) {
      const int col = cut.column(j * count + lane);
      if (cut.has(col)) parameters[j].load(p, col);
    }
  }
#pragma unroll
  for (int j = 0; j < runs; j++) {
#pragma unroll
    for (int i = 0; i < WIDTH; i++) total += v[j][i];
  }
  const float mean = p.rms ? 0.0f : threads.reduce(total, 0.0f, Add()) / p.cols;
  float squares = 0.0f;
#pragma unroll
  for (int j = 0; j < runs; j++) {
    const int col = cut.column(j * count + lane);
#pragma unroll
    for (int i = 0; i < WIDTH; i++) {
      const float centred = cut.has(col) && cut.owns(col + i) ? v[j][i] - mean : 0.0f;
      squares += centred * centred;
    }
  }
  const float invStd = 1.0f / sqrtf(threads.reduce(squares, 0.0f, Add()) / p.cols + p.epsilon);
  if (!isRow) return;
#pragma unroll
  for (int j = 0; j < runs; j++) {
    const int col = cut.column(j * count + lane);
    if (!cut.has(col)) continue;
    if (p.sum != nullptr) cut.store(p.sum, static_cast<int64_t>(row) * p.sumStride, p.sumType, col, v[j]);
    if constexpr (!AHEAD) parameters[0].load(p, col);
    storeNormalized<T, WIDTH, PHASED, (LANES == kBlock || CHUNKS < 4)>(p, cut, row, col, mean, invStd, v[j],
                                                                       parameters[AHEAD ? j : 0]);
  }
  if (lane == 0) storeStatistics(p, row, mean, invStd);
}

// Rows of any length: read three times, the second and third time from the cache.
template <typename T, int WIDTH, bool PHASED> __device__ __forceinline__ void normalizeLongRow(const RowNormParams& p) {
  __shared__ float scratch[32];
  const int row = blockIdx.x, step = blockDim.x * WIDTH;
  const RowCut<T, WIDTH, PHASED> cut(static_cast<const T*>(p.x) + static_cast<int64_t>(row) * p.xStride, p.cols,
                                     row == p.rows - 1);
  const int first = cut.column(threadIdx.x);
  float v[WIDTH], total = 0.0f, squares = 0.0f;
  for (int col = first; col < p.cols; col += step) {
    loadSum<T, WIDTH, PHASED>(p, cut, row, col, v);
    if (p.sum != nullptr) cut.store(p.sum, static_cast<int64_t>(row) * p.sumStride, p.sumType, col, v);
#pragma unroll
    for (int i = 0; i < WIDTH; i++) total += v[i];
  }
  const float mean = p.rms ? 0.0f : reduceBlock(total, 0.0f, scratch, Add()) / p.cols;
  for (int col = first; col < p.cols; col += step) {
    loadSum<T, WIDTH, PHASED>(p, cut, row, col, v);
#pragma unroll
    for (int i = 0; i < WIDTH; i++) squares += cut.owns(col + i) ? (v[i] - mean) * (v[i] - mean) : 0.0f;
  }
  const float invStd = 1.0f / sqrtf(reduceBlock(squares, 0.0f, scratch, Add()) / p.cols + p.epsilon);
  for (int col = first; col < p.cols; col += step) {
    loadSum<T, WIDTH, PHASED>(p, cut, row, col, v);
    ColumnParameters<WIDTH, PHASED> parameters;
    parameters.load(p, col);
    storeNormalized<T, WIDTH, PHASED, true>(p, cut, row, col, mean, invStd, v, parameters);
  }
  if (threadIdx.x == 0) storeStatistics(p, row, mean, invStd);
}

#define ROW_NORM_FORM(T, TYPE, CUT, WIDTH, PHASED, FORM, THREADS, CHUNKS, LANES, AHEAD)          \
  extern "C" __global__ void __launch_bounds__(THREADS) rownorm_##TYPE##_##CUT##_##FORM(        \
      const __grid_constant__ RowNormParams p) { normalizeRow<T, WIDTH, CHUNKS, LANES, PHASED, AHEAD>(p); }
#define ROW_NORM_ENTRY(T, TYPE, CUT, WIDTH, PHASED, FORM, THREADS, CHUNKS, LANES) \
  ROW_NORM_FORM(T, TYPE, CUT, WIDTH, PHASED, FORM, THREADS, CHUNKS, LANES, (CHUNKS == 1 && !PHASED))

#define ROW_NORM_LONG(T, TYPE, CUT, WIDTH, PHASED)                                              \
  extern "C" __global__ void __launch_bounds__(1024) rownorm_##TYPE##_##CUT##_long(             \
      const __grid_constant__ RowNormParams p) { beginKernel(); normalizeLongRow<T, WIDTH, PHASED>(p); }

// The forms of rows.ts.
#define ROW_NORM_RUNS(T, TYPE, CUT, PHASED)                                  \
  ROW_NORM_ENTRY(T, TYPE, CUT, 8, PHASED, lanes16, 256, 2, 16)               \
  ROW_NORM_ENTRY(T, TYPE, CUT, 8, PHASED, warp2, 256, 2, 32)                 \
  ROW_NORM_ENTRY(T, TYPE, CUT, 8, PHASED, block1, 1024, 1, kBlock)           \
  ROW_NORM_ENTRY(T, TYPE, CUT, 8, PHASED, block4, 384, 4, kBlock)            \
  ROW_NORM_LONG(T, TYPE, CUT, 8, PHASED)

#define ROW_NORM(T, TYPE)                                                    \
  ROW_NORM_RUNS(T, TYPE, w8, false)                                          \
  ROW_NORM_ENTRY(T, TYPE, w8, 8, false, lanes4, 256, 4, 4)                   \
  ROW_NORM_ENTRY(T, TYPE, w8, 8, false, half1, 256, 1, 16)                   \
  ROW_NORM_ENTRY(T, TYPE, w8, 8, false, warp1, 256, 1, 32)                   \
  ROW_NORM_ENTRY(T, TYPE, w8, 8, false, warp4, 256, 4, 32)                   \
  ROW_NORM_FORM(T, TYPE, w8, 8, false, warp2_ahead, 256, 2, 32, true)        \
  ROW_NORM_RUNS(T, TYPE, p8, true)                                           \
  ROW_NORM_ENTRY(T, TYPE, w1, 1, false, warp1, 256, 1, 32)                   \
  ROW_NORM_ENTRY(T, TYPE, w1, 1, false, block1, 1024, 1, kBlock)             \
  ROW_NORM_LONG(T, TYPE, w1, 1, false)

ROW_NORM(float, f32)
ROW_NORM(__half, f16)
ROW_NORM(__nv_bfloat16, bf16)
