// Softmax, LogSoftmax and Hardmax: over contiguous rows kept in registers, over rows of any length, and over an axis of
// any stride.
#include "../common/launch.cuh"
#include "../norm/vector.cuh"
#include "params.generated.cuh"

enum SoftmaxMode : int { kSoftmax = 0, kLogSoftmax = 1, kHardmax = 2 };

constexpr int kNoIndex = 0x7fffffff;
struct Min { __device__ __forceinline__ float operator()(float a, float b) const { return a < b ? a : b; } };

// What a row's elements are made of once its maximum is known.
struct RowFinish {
  float maximum;
  float term;  // softmax: 1 / sum; log: log(sum)
  int mode;
  __device__ __forceinline__ float operator()(float x) const {
    return mode == kSoftmax ? expf(x - maximum) * term : x - maximum - term;
  }
};

// The index of the first maximum as a float would not be exact: it is reduced in two parts.
template <bool WARP> __device__ __forceinline__ int firstIndex(const RowThreads<WARP>& threads, int index) {
  const float high = static_cast<float>(index >> 12);
  const float least = threads.reduce(high, 1e9f, Min());
  const float low = high == least ? static_cast<float>(index & 0xfff) : 4096.0f;
  return (static_cast<int>(least) << 12) + static_cast<int>(threads.reduce(low, 4096.0f, Min()));
}

template <typename T, int WIDTH, int CHUNKS, bool WARP>
__device__ __forceinline__ void softmaxRow(const RowSoftmaxParams& p) {
  __shared__ float scratch[32];
  const RowThreads<WARP> threads{scratch};
  const int row = threads.row(), lane = threads.lane(), count = threads.count();
  if (row >= p.rows) return;
  constexpr int runs = CHUNKS * 8 / WIDTH;
  const T* x = static_cast<const T*>(p.x) + static_cast<int64_t>(row) * p.xStride;
  float v[runs][WIDTH];
  float maximum = -INFINITY;
#pragma unroll
  for (int j = 0; j < runs; j++) {
    const int col = (j * count + lane) * WIDTH;
    if (col < p.cols) {
      loadRun<T, WIDTH>(x + col, v[j]);
    } else {
#pragma unroll
      for (int i = 0; i < WIDTH; i++) v[j][i] = -INFINITY;
    }
#pragma unroll
    for (int i = 0; i < WIDTH; i++) maximum = Max()(maximum, v[j][i]);
  }
  maximum = threads.reduce(maximum, -INFINITY, Max());
  int hot = kNoIndex;
  RowFinish finish{maximum, 0.0f, p.mode};
  if (p.mode == kHardmax) {
#pragma unroll
    for (int j = runs - 1; j >= 0; j--) {
#pragma unroll
      for (int i = WIDTH - 1; i >= 0; i--) {
        const int col = (j * count + lane) * WIDTH + i;
        if (col < p.cols && v[j][i] == maximum) hot = col;
      }
    }
    hot = firstIndex(threads, hot);
  } else {
    float total = 0.0f;
#pragma unroll
    for (int j = 0; j < runs; j++) {
      if ((j * count + lane) * WIDTH >= p.cols) continue;
#pragma unroll
      for (int i = 0; i < WIDTH; i++) total += expf(v[j][i] - maximum);
    }
    total = threads.reduce(total, 0.0f, Add());
    finish.term = p.mode == kSoftmax ? 1.0f / total : logf(total);
  }
#pragma unroll
  for (int j = 0; j < runs; j++) {
    const int col = (j * count + lane) * WIDTH;
    if (col >= p.cols) continue;
    float out[WIDTH];
#pragma unroll
    for (int i = 0; i < WIDTH; i++) out[i] = p.mode == kHardmax ? (col + i == hot ? 1.0f : 0.0f) : finish(v[j][i]);
    storeRunOf<WIDTH>(p.y, static_cast<int64_t>(row) * p.yStride + col, p.yType, out);
  }
}

// One block a row, read three times.
template <typename T, int WIDTH> __device__ __forceinline__ void softmaxLongRow(const RowSoftmaxParams& p) {
  __shared__ float scratch[32];
  const RowThreads<false> threads{scratch};
  const T* x = static_cast<const T*>(p.x) + static_cast<int64_t>(blockIdx.x) * p.xStride;
  const int step = blockDim.x * WIDTH, first = threadIdx.x * WIDTH;
  float v[WIDTH], maximum = -INFINITY;
  int hot = kNoIndex;
  for (int col = first; col < p.cols; col += step) {
    loadRun<T, WIDTH>(x + col, v);
#pragma unroll
    for (int i = 0; i < WIDTH; i++) {
      if (v[i] > maximum) hot = col + i;
      maximum = Max()(maximum, v[i]);
    }
  }
  const float own = maximum;
  maximum = threads.reduce(maximum, -INFINITY, Max());
  RowFinish finish{maximum, 0.0f, p.mode};
  if (p.mode == kHardmax) {
    // A row of -inf alone has its first element hot.
    if (hot == kNoIndex && maximum == -INFINITY) hot = first;
    hot = firstIndex(threads, own == maximum ? hot : kNoIndex);
  } else {
    float total = 0.0f;
    for (int col = first; col < p.cols; col += step) {
      loadRun<T, WIDTH>(x + col, v);
#pragma unroll
      for (int i = 0; i < WIDTH; i++) total += expf(v[i] - maximum);
    }
    total = threads.reduce(total, 0.0f, Add());
    finish.term = p.mode == kSoftmax ? 1.0f / total : logf(total);
  }
  for (int col = first; col < p.cols; col += step) {
    loadRun<T, WIDTH>(x + col, v);
    float out[WIDTH];
#pragma unroll
    for (int i = 0; i < WIDTH; i++) out[i] = p.mode == kHardmax ? (col + i == hot ? 1.0f : 0.0f) : finish(v[i]);
    storeRunOf<WIDTH>(p.y, static_cast<int64_t>(blockIdx.x) * p.yStride + col, p.yType, out);
  }
}

#define SOFTMAX_ENTRY(T, TYPE, WIDTH, FORM, THREADS, CHUNKS, WARP)                               \
  extern "C" __global__ void __launch_bounds__(THREADS) softmax_##TYPE##_w##WIDTH##_##FORM(     \
      const __grid_constant__ RowSoftmaxParams p) { beginKernel(); softmaxRow<T, WIDTH, CHUNKS, WARP>(p); }

#define SOFTMAX_LONG(T, TYPE, WIDTH)                                                            \
  extern "C" __global__ void __launch_bounds__(1024) softmax_##TYPE##_w##WIDTH##_long(          \
      const __grid_constant__ RowSoftmaxParams p) { beginKernel(); softmaxLongRow<T, WIDTH>(p); }

// The forms of norm/rows.ts.
#define ROW_SOFTMAX(T, TYPE)                                \
  SOFTMAX_ENTRY(T, TYPE, 8, warp1, 256, 1, true)            \
  SOFTMAX_ENTRY(T, TYPE, 8, warp2, 256, 2, true)            \
  SOFTMAX_ENTRY(T, TYPE, 8, warp4, 256, 4, true)            \
  SOFTMAX_ENTRY(T, TYPE, 8, block1, 1024, 1, false)         \
  SOFTMAX_ENTRY(T, TYPE, 8, block4, 384, 4, false)          \
  SOFTMAX_LONG(T, TYPE, 8)                                  \
  SOFTMAX_ENTRY(T, TYPE, 1, warp1, 256, 1, true)            \
  SOFTMAX_ENTRY(T, TYPE, 1, block1, 1024, 1, false)         \
  SOFTMAX_LONG(T, TYPE, 1)

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
