// Images sampled: weighted taps along up to three axes, grids of coordinates, columns added up.
#include "../common/launch.cuh"
#include "../common/storage.cuh"
#include "../movement/walk.cuh"
#include "params.generated.cuh"

// --- taps: tables made by kernels/resize/taps.ts say which elements make each output position, and with which weights.

constexpr int kSlots = 3;

template <typename T> struct AccumulatorOf { using Type = float; };
template <> struct AccumulatorOf<double> { using Type = double; };

__device__ __forceinline__ double toAccumulator(double x) { return x; }
__device__ __forceinline__ float toAccumulator(float x) { return x; }
__device__ __forceinline__ float toAccumulator(__half x) { return toFloat(x); }
__device__ __forceinline__ float toAccumulator(__nv_bfloat16 x) { return toFloat(x); }
template <typename T> __device__ __forceinline__ T fromAccumulator(float x) { return fromFloat<T>(x); }
template <typename T> __device__ __forceinline__ T fromAccumulator(double x) { return static_cast<T>(x); }

template <typename T, int V> struct alignas(sizeof(T) * V) Vector { T lanes[V]; };

// TAPS > 0: the last two slots have as many taps, the first has one; else what the parameters say.
template <typename T, int V, int TAPS> __device__ __forceinline__ void sampleTaps(const TapsParams& p) {
  using A = typename AccumulatorOf<T>::Type;
  const unsigned index = threadIndex();
  if (index >= static_cast<unsigned>(p.walk.count)) return;
  int64_t from = 0;
  int64_t to = 0;
  int position[kSlots] = {0, 0, 0};
  walkTo(p.walk, index, [&](int axis, int coordinate) {
    to += static_cast<int64_t>(coordinate) * p.toStrides[axis];
    const int slot = p.slots[axis];
    if (slot < 0) from += static_cast<int64_t>(coordinate) * p.fromStrides[axis];
    #pragma unroll
    for (int i = 0; i < kSlots; ++i) position[i] = slot == i ? coordinate : position[i];
  });
  const int taps0 = TAPS > 0 ? 1 : p.taps[0];
  const int taps1 = TAPS > 0 ? TAPS : p.taps[1];
  const int taps2 = TAPS > 0 ? TAPS : p.taps[2];
  const int at0 = p.tableAt[0] + position[0] * taps0;
  const int at1 = p.tableAt[1] + position[1] * taps1;
  const int at2 = p.tableAt[2] + position[2] * taps2;
  const Vector<T, V>* source = static_cast<const Vector<T, V>*>(p.from) + from;
  Vector<T, V>* target = static_cast<Vector<T, V>*>(p.to) + to;
  A sums[V];
  if (p.indices[at0] < 0 || p.indices[at1] < 0 || p.indices[at2] < 0) {
    #pragma unroll
    for (int lane = 0; lane < V; ++lane) sums[lane] = p.extrapolation;
  } else {
    #pragma unroll
    for (int lane = 0; lane < V; ++lane) sums[lane] = 0;
    for (int i = 0; i < taps0; ++i) {
      const int64_t plane = static_cast<int64_t>(p.indices[at0 + i]) * p.slotStrides[0];
      #pragma unroll
      for (int j = 0; j < (TAPS > 0 ? TAPS : taps1); ++j) {
        const int64_t row = plane + static_cast<int64_t>(p.indices[at1 + j]) * p.slotStrides[1];
        const A outer = static_cast<A>(p.weights[at0 + i]) * p.weights[at1 + j];
        #pragma unroll
        for (int k = 0; k < (TAPS > 0 ? TAPS : taps2); ++k) {
          const A weight = outer * p.weights[at2 + k];
          const Vector<T, V> values = source[row + static_cast<int64_t>(p.indices[at2 + k]) * p.slotStrides[2]];
          #pragma unroll
          for (int lane = 0; lane < V; ++lane) sums[lane] += weight * toAccumulator(values.lanes[lane]);
        }
      }
    }
  }
  Vector<T, V> result;
  #pragma unroll
  for (int lane = 0; lane < V; ++lane) result.lanes[lane] = fromAccumulator<T>(sums[lane]);
  *target = result;
}

#define TAPS_ENTRY(NAME, T, V, TAPS)                                                                                 \
  extern "C" __global__ void __launch_bounds__(256)                                                                  \
      taps##TAPS##_##NAME##_v##V(const __grid_constant__ TapsParams p) { beginKernel();                              \
    sampleTaps<T, V, TAPS>(p);                                                                                       \
  }

TAPS_ENTRY(float32, float, 1, 0)
TAPS_ENTRY(float32, float, 4, 0)
TAPS_ENTRY(float16, __half, 1, 0)
TAPS_ENTRY(float16, __half, 8, 0)
TAPS_ENTRY(bfloat16, __nv_bfloat16, 1, 0)
TAPS_ENTRY(bfloat16, __nv_bfloat16, 8, 0)
TAPS_ENTRY(float64, double, 1, 0)
TAPS_ENTRY(float32, float, 1, 2)
TAPS_ENTRY(float32, float, 4, 2)
TAPS_ENTRY(float16, __half, 1, 2)
TAPS_ENTRY(float16, __half, 8, 2)
TAPS_ENTRY(bfloat16, __nv_bfloat16, 1, 2)
TAPS_ENTRY(bfloat16, __nv_bfloat16, 8, 2)

// --- grid_sample: x [N, C, (D,) H, W] at the coordinates of grid [N, (D',) H', W', 2 or 3], innermost axis first.

constexpr int kSpatial = 3;
enum SampleMode : int { kNearest = 0, kLinear = 1, kCubic = 2 };
enum PaddingMode : int { kZeros = 0, kBorder = 1, kReflection = 2 };

// Folded back at both ends as often as it takes.
__device__ __forceinline__ float reflected(float x, float low, float high) {
  const float range = high - low;
  if (range <= 0.0f) return low;
  const float distance = x < low ? low - x : (x > high ? x - high : -1.0f);
  if (distance < 0.0f) return x;
  const float times = floorf(distance / range);
  const float rest = distance - times * range;
  const bool isEven = fmodf(times, 2.0f) == 0.0f;
  return (x < low) == isEven ? low + rest : high - rest;
}

// The element of an axis that stands at `position`; -1 for a zero.
__device__ __forceinline__ int elementAt(float position, int size, int padding, bool alignCorners) {
  if (padding == kReflection) {
    const float edge = alignCorners ? 0.0f : 0.5f;
    position = truncf(reflected(position, -edge, static_cast<float>(size - 1) + edge));
  }
  // Written so that NaN is outside, or the first element.
  if (!(position >= 0.0f)) return padding == kZeros ? -1 : 0;
  if (position > static_cast<float>(size - 1)) return padding == kZeros ? -1 : size - 1;
  return static_cast<int>(position);
}

struct AxisTaps {
  int elements[4];
  float weights[4];
  int count;
};

// Cubic convolution with a slope of -0.75, as ONNX and PyTorch have it.
__device__ __forceinline__ float cubicWeight(float distance) {
  const float a = -0.75f;
  const float x = fabsf(distance);
  if (x <= 1.0f) return ((a + 2.0f) * x - (a + 3.0f)) * x * x + 1.0f;
  if (x < 2.0f) return ((a * x - 5.0f * a) * x + 8.0f * a) * x - 4.0f * a;
  return 0.0f;
}

__device__ __forceinline__ AxisTaps tapsAt(float normalized, int size, const GridSampleParams& p) {
  const bool align = p.alignCorners != 0;
  const float last = static_cast<float>(size - 1);
  float x = align ? (normalized + 1.0f) * 0.5f * last : ((normalized + 1.0f) * static_cast<float>(size) - 1.0f) * 0.5f;
  if (p.mode == kNearest) x = rintf(x);
  const float edge = align ? 0.0f : 0.5f;
  if (x < -edge || x > last + edge) {
    if (p.padding == kBorder) x = fminf(fmaxf(x, 0.0f), last);
    if (p.padding == kReflection) x = reflected(x, -edge, last + edge);
  }
  AxisTaps taps;
  if (p.mode == kNearest) {
    taps.count = 1;
    // Reflection may end between two elements.
    taps.elements[0] = elementAt(rintf(x), size, p.padding, align);
    taps.weights[0] = 1.0f;
    return taps;
  }
  const float floorX = floorf(x);
  taps.count = p.mode == kLinear ? 2 : 4;
  const int first = p.mode == kLinear ? 0 : -1;
  #pragma unroll
  for (int i = 0; i < 4; ++i) {
    const float position = floorX + static_cast<float>(first + i);
    const float distance = x - position;
    taps.elements[i] = elementAt(position, size, p.padding, align);
    taps.weights[i] = p.mode == kLinear ? 1.0f - fabsf(distance) : cubicWeight(distance);
  }
  return taps;
}

extern "C" __global__ void __launch_bounds__(256) grid_sample(const __grid_constant__ GridSampleParams p) {
  beginKernel();
  const unsigned index = threadIndex();
  if (index >= static_cast<unsigned>(p.walk.count)) return;
  int64_t x = 0;
  int64_t y = 0;
  int64_t at = 0;
  walkTo(p.walk, index, [&](int walkAxis, int coordinate) {
    const int axis = p.axisOf[walkAxis];
    y += static_cast<int64_t>(coordinate) * p.yStrides[axis];
    if (axis < 2) x += static_cast<int64_t>(coordinate) * p.xStrides[axis];
    if (axis == 0) at += static_cast<int64_t>(coordinate) * p.gridStrides[0];
    if (axis > 1) at += static_cast<int64_t>(coordinate) * p.gridStrides[axis - 1];
  });
  const int64_t step = p.gridStrides[1 + kSpatial];
  const AxisTaps across = tapsAt(loadFloat(p.grid, at, p.gridType), p.sizes[2], p);
  const AxisTaps down = tapsAt(loadFloat(p.grid, at + step, p.gridType), p.sizes[1], p);
  AxisTaps deep;
  deep.count = 1;
  deep.elements[0] = 0;
  deep.weights[0] = 1.0f;
  if (p.spatial == 3) deep = tapsAt(loadFloat(p.grid, at + 2 * step, p.gridType), p.sizes[0], p);
  float sum = 0.0f;
  #pragma unroll
  for (int i = 0; i < 4; ++i) {
    if (i >= deep.count || deep.elements[i] < 0) continue;
    #pragma unroll
    for (int j = 0; j < 4; ++j) {
      if (j >= down.count || down.elements[j] < 0) continue;
      const int64_t row = x + static_cast<int64_t>(deep.elements[i]) * p.xStrides[2] +
                          static_cast<int64_t>(down.elements[j]) * p.xStrides[3];
      const float outer = deep.weights[i] * down.weights[j];
      #pragma unroll
      for (int k = 0; k < 4; ++k) {
        if (k >= across.count || across.elements[k] < 0) continue;
        const int64_t from = row + static_cast<int64_t>(across.elements[k]) * p.xStrides[4];
        sum += outer * across.weights[k] * loadFloat(p.x, from, p.xType);
      }
    }
  }
  storeFloat(p.y, y, p.yType, sum);
}

// --- col2im: columns [N, C × block, L] added up to an image [N, C, …]; each element sums what falls on it.

constexpr int kImageRank = 4;

extern "C" __global__ void __launch_bounds__(256) col2im(const __grid_constant__ Col2ImParams p) {
  beginKernel();
  const unsigned index = threadIndex();
  if (index >= static_cast<unsigned>(p.count)) return;
  int position[kImageRank];
  unsigned rest = index;
  #pragma unroll
  for (int axis = kImageRank - 1; axis >= 0; --axis) {
    position[axis] = static_cast<int>(rest % static_cast<unsigned>(p.imageSizes[axis])) + p.begins[axis];
    rest /= static_cast<unsigned>(p.imageSizes[axis]);
  }
  const int channel = static_cast<int>(rest % static_cast<unsigned>(p.channels));
  const int64_t base = static_cast<int64_t>(rest / static_cast<unsigned>(p.channels)) * p.columnStrides[0];
  float sum = 0.0f;
  for (int tap = 0; tap < p.area; ++tap) {
    int restTap = tap;
    int window = 0;
    int scale = 1;
    bool isHit = true;
    #pragma unroll
    for (int axis = kImageRank - 1; axis >= 0; --axis) {
      const int offset = position[axis] - (restTap % p.blockSizes[axis]) * p.dilations[axis];
      restTap /= p.blockSizes[axis];
      const int at = offset / p.strides[axis];
      isHit = isHit && offset >= 0 && offset % p.strides[axis] == 0 && at < p.windows[axis];
      window += at * scale;
      scale *= p.windows[axis];
    }
    if (!isHit) continue;
    const int64_t row = static_cast<int64_t>(channel) * p.area + tap;
    sum += loadFloat(p.columns, base + row * p.columnStrides[1] + static_cast<int64_t>(window) * p.columnStrides[2],
                     p.columnsType);
  }
  storeFloat(p.image, index, p.imageType, sum);
}
