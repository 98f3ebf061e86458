// Softmax, LogSoftmax and Hardmax: over contiguous rows kept in registers, over rows of any length, and over an axis of
// any stride.
#include "../common/launch.cuh"
#include "finish.cuh"
#include "kept.cuh"
#include "packed.cuh"
#include "params.generated.cuh"

constexpr int kNoIndex = 0x7fffffff;
struct Min { __device__ __forceinline__ float operator()(float a, float b) const { return a < b ? a : b; } };

// The index of the first maximum as a float would not be exact: it is reduced in two parts.
template <int LANES> __device__ __forceinline__ int firstIndex(const RowThreads<LANES>& threads, int index) {
  const float high = static_cast<float>(index >> 12);
  const float least = threads.reduce(high, 1e9f, Min());
  const float low = high == least ? static_cast<float>(index & 0xfff) : 4096.0f;
  return (static_cast<int>(least) << 12) + static_cast<int>(threads.reduce(low, 4096.0f, Min()));
}

// CHUNKS × 8 elements a thread, in runs of WIDTH, kept as they are stored.
template <typename T, int WIDTH, int CHUNKS, int LANES, bool PHASED>
__device__ __forceinline__ void softmaxRow(const RowSoftmaxParams& p) {
  __shared__ float scratch[32];
  const RowThreads<LANES> threads{scratch};
  // Threads of no row take the last one, for the sake of those that they reduce with.
  const int row = min(threads.row(), p.rows - 1), lane = threads.lane(), count = threads.count();
  const bool isRow = threads.row() < p.rows;
  constexpr int runs = CHUNKS * 8 / WIDTH;
  const T* x = static_cast<const T*>(p.x) + static_cast<int64_t>(row) * p.xStride;
  const RowCut<T, WIDTH, PHASED> cut(x, p.cols, row == p.rows - 1);
  Run<T, WIDTH> kept[runs];
  float v[WIDTH], maximum = -INFINITY;
#pragma unroll
  for (int j = 0; j < runs; j++) cut.loadSome(x, cut.column(j * count + lane), kept[j]);
#pragma unroll
  for (int j = 0; j < runs; j++) {
    cut.widen(kept[j], cut.column(j * count + lane), -INFINITY, v);
#pragma unroll
    for (int i = 0; i < WIDTH; i++) maximum = Max()(maximum, v[i]);
  }
  maximum = threads.reduce(maximum, -INFINITY, Max());
  int hot = kNoIndex;
  RowFinish<T> finish{maximum, 0.0f, p.mode};
  if (p.mode == kHardmax) {
#pragma unroll
    for (int j = runs - 1; j >= 0; j--) {
      const int col = cut.column(j * count + lane);
      cut.widen(kept[j], col, -INFINITY, v);
#pragma unroll
      for (int i = WIDTH - 1; i >= 0; i--) {
        if (cut.has(col) && cut.owns(col + i) && v[i] == maximum) hot = col + i;
      }
    }
    hot = firstIndex(threads, hot);
  } else {
    float total = 0.0f;
#pragma unroll
    for (int j = 0; j < runs; j++) {
      const int col = cut.column(j * count + lane);
      if (!cut.has(col)) continue;
      cut.widen(kept[j], col, -INFINITY, v);
  #pragma unroll
      for (int i = 0; i < WIDTH; i++) total += cut.owns(col + i) ? finish.power(v[i]) : 0.0f;
    }
    total = threads.reduce(total, 0.0f, Add());
    finish.term = p.mode == kSoftmax ? 1.0f / total : logf(total);
  }
  if (!isRow) return;
#pragma unroll
  for (int j = 0; j < runs; j++) {
    const int col = cut.column(j * count + lane);
    if (!cut.has(col)) continue;
    cut.widen(kept[j], col, -INFINITY, v);
#pragma unroll
    for (int i = 0; i < WIDTH; i++) v[i] = p.mode == kHardmax ? (col + i == hot ? 1.0f : 0.0f) : finish(v[i]);
    cut.store(p.y, static_cast<int64_t>(row) * p.yStride, p.yType, col, v);
  }
}

// The index of a long row's first maximum.
template <typename T, int WIDTH, bool PHASED>
__device__ __forceinline__ int hottest(const T* x, const RowCut<T, WIDTH, PHASED>& cut, const RowThreads<kBlock>& threads) {
  const int step = blockDim.x * WIDTH, first = cut.column(threadIdx.x);
  float v[WIDTH], own = -INFINITY;
  int hot = kNoIndex;
  for (int col = first; col < cut.cols; col += step) {
    cut.load(x, col, -INFINITY, v);
#pragma unroll
    for (int i = 0; i < WIDTH; i++) {
      if (v[i] > own) hot = col + i;
      own = Max()(own, v[i]);
    }
  }
  const float maximum = threads.reduce(own, -INFINITY, Max());
  // A row of -inf alone has its first element hot.
  if (hot == kNoIndex && maximum == -INFINITY) hot = max(first, 0);
  return firstIndex(threads, own == maximum ? hot : kNoIndex);
}

// Maximum and sum of a long row at once: the sum is of powers of what a thread has seen as its maximum.
template <typename T, int WIDTH, bool PHASED>
__device__ __forceinline__ RowFinish<T> finishOf(const RowSoftmaxParams& p, const T* x, const RowCut<T, WIDTH, PHASED>& cut,
                                                 const RowThreads<kBlock>& threads) {
  const int step = blockDim.x * WIDTH;
  float v[WIDTH], own = -INFINITY, total = 0.0f;
#pragma unroll 2
  for (int col = cut.column(threadIdx.x); col < p.cols; col += step) {
    cut.load(x, col, -INFINITY, v);
    float maximum = own;
#pragma unroll
    for (int i = 0; i < WIDTH; i++) maximum = Max()(maximum, v[i]);
    if (maximum == -INFINITY) continue;
    const RowFinish<T> finish{maximum, 0.0f, p.mode};
    total *= finish.power(own);
#pragma unroll
    for (int i = 0; i < WIDTH; i++) total += finish.power(v[i]);
    own = maximum;
  }
  RowFinish<T> finish{threads.reduce(own, -INFINITY, Max()), 0.0f, p.mode};
  total = threads.reduce(own == -INFINITY ? 0.0f : total * finish.power(own), 0.0f, Add());
  finish.term = p.mode == kSoftmax ? 1.0f / total : logf(total);
  return finish;
}

// One block a row, read twice.
template <typename T, int WIDTH, bool PHASED> __device__ __forceinline__ void softmaxLongRow(const RowSoftmaxParams& p) {
  __shared__ float scratch[32];
  const RowThreads<kBlock> threads{scratch};
  const T* x = static_cast<const T*>(p.x) + static_cast<int64_t>(blockIdx.x) * p.xStride;
  const RowCut<T, WIDTH, PHASED> cut(x, p.cols, blockIdx.x == p.rows - 1);
  const bool isHard = p.mode == kHardmax;
  const int hot = isHard ? hottest(x, cut, threads) : kNoIndex;
  const RowFinish<T> finish = isHard ? RowFinish<T>{} : finishOf(p, x, cut, threads);
  float v[WIDTH];
  for (int col = cut.column(threadIdx.x); col < p.cols; col += blockDim.x * WIDTH) {
    if (!isHard) cut.load(x, col, -INFINITY, v);
#pragma unroll
    for (int i = 0; i < WIDTH; i++) v[i] = isHard ? (col + i == hot ? 1.0f : 0.0f) : finish(v[i]);
    cut.store(p.y, static_cast<int64_t>(blockIdx.x) * p.yStride, p.yType, col, v);
  }
}

#define SOFTMAX_ENTRY(T, TYPE, CUT, WIDTH, PHASED, FORM, THREADS, CHUNKS, LANES)                  \
  extern "C" __global__ void __launch_bounds__(THREADS) softmax_##TYPE##_##CUT##_##FORM(          \
      const __grid_constant__ RowSoftmaxParams p) { beginKernel(); softmaxRow<T, WIDTH, CHUNKS, LANES, PHASED>(p); }

#define SOFTMAX_LONG(T, TYPE, CUT, WIDTH, PHASED)                                                 \
  extern "C" __global__ void __launch_bounds__(1024) softmax_##TYPE##_##CUT##_long(               \
      const __grid_constant__ RowSoftmaxParams p) { beginKernel(); softmaxLongRow<T, WIDTH, PHASED>(p); }

// The forms of norm/rows.ts.
#define SOFTMAX_RUNS(T, TYPE, CUT, PHASED)                                   \
  SOFTMAX_ENTRY(T, TYPE, CUT, 8, PHASED, lanes16, 256, 2, 16)                \
  SOFTMAX_ENTRY(T, TYPE, CUT, 8, PHASED, warp2, 256, 2, 32)                  \
  SOFTMAX_ENTRY(T, TYPE, CUT, 8, PHASED, block1, 1024, 1, kBlock)            \
  SOFTMAX_ENTRY(T, TYPE, CUT, 8, PHASED, block4, 384, 4, kBlock)             \
  SOFTMAX_LONG(T, TYPE, CUT, 8, PHASED)

#define ROW_SOFTMAX(T, TYPE)                                                 \
  SOFTMAX_RUNS(T, TYPE, w8, false)                                           \
  SOFTMAX_ENTRY(T, TYPE, w8, 8, false, lanes4, 256, 4, 4)                    \
  SOFTMAX_ENTRY(T, TYPE, w8, 8, false, half1, 256, 1, 16)                    \
  SOFTMAX_ENTRY(T, TYPE, w8, 8, false, warp1, 256, 1, 32)                    \
  SOFTMAX_ENTRY(T, TYPE, w8, 8, false, warp4, 256, 4, 32)                    \
  SOFTMAX_RUNS(T, TYPE, p8, true)                                            \
  SOFTMAX_ENTRY(T, TYPE, w1, 1, false, warp1, 256, 1, 32)                    \
  SOFTMAX_ENTRY(T, TYPE, w1, 1, false, block1, 1024, 1, kBlock)              \
  SOFTMAX_LONG(T, TYPE, w1, 1, false)

ROW_SOFTMAX(float, f32)
ROW_SOFTMAX(__half, f16)
ROW_SOFTMAX(__nv_bfloat16, bf16)

template <typename T> __device__ __forceinline__ T loadAs(const void* base, int64_t index, int type);
template <> __device__ __forceinline__ float loadAs<float>(const void* base, int64_t index, int type) {
  return loadFloat(base, index, type);
}
template <> __device__ __forceinline__ double loadAs<double>(const void* base, int64_t index, int) {
  return static_cast<const double*>(base)[index];
}
__device__ __forceinline__ void storeAs(void* base, int64_t index, int type, float x) { storeFloat(base, index, type, x); }
__device__ __forceinline__ void storeAs(void* base, int64_t index, int, double x) { static_cast<double*>(base)[index] = x; }

// One thread a softmax; neighbouring threads read neighbouring elements.
template <typename T> __device__ __forceinline__ void softmaxAxis(const AxisSoftmaxParams& p) {
  int64_t rest = static_cast<int64_t>(blockIdx.x) * blockDim.x + threadIdx.x;
  if (rest >= p.kept) return;
  int64_t x = 0, y = 0;
#pragma unroll
  for (int axis = 7; axis >= 0; axis--) {
    const int coordinate = static_cast<int>(rest % p.size[axis]);
    rest /= p.size[axis];
    x += static_cast<int64_t>(coordinate) * p.keptX[axis];
    y += static_cast<int64_t>(coordinate) * p.keptY[axis];
  }
  const auto at = [&](int i) { return loadAs<T>(p.x, x + static_cast<int64_t>(i) * p.xStride, p.xType); };
  T maximum = at(0);
  int hot = 0;
  for (int i = 1; i < p.length; i++) {
    const T value = at(i);
    if (value > maximum) hot = i;
    if (value > maximum || value != value) maximum = value;
  }
  T total = 0;
  for (int i = 0; i < p.length && p.mode != kHardmax; i++) total += exp(at(i) - maximum);
  const T term = p.mode == kLogSoftmax ? log(total) : T(1) / total;
  for (int i = 0; i < p.length; i++) {
    T out = i == hot ? T(1) : T(0);
    if (p.mode == kSoftmax) out = exp(at(i) - maximum) * term;
    if (p.mode == kLogSoftmax) out = at(i) - maximum - term;
    storeAs(p.y, y + static_cast<int64_t>(i) * p.yStride, p.yType, out);
  }
}

extern "C" __global__ void __launch_bounds__(256) softmax_axis(const __grid_constant__ AxisSoftmaxParams p) {
  beginKernel();
  softmaxAxis<float>(p);
}
extern "C" __global__ void __launch_bounds__(256) softmax_axis_f64(const __grid_constant__ AxisSoftmaxParams p) {
  beginKernel();
  softmaxAxis<double>(p);
}
