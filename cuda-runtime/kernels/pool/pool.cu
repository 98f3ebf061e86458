// Pools: windows of neighbouring channels as vectors, any other layout and type one element at a time, whole images by
// a block each; and the inverse of a maximum, and pools over regions of interest.
// hot: pool_f16_*, pool_bf16_*, pool_f32_*, pool_s8_*, pool_u8_*
#include <type_traits>

#include "../common/launch.cuh"
#include "../common/vectors.cuh"
#include "unpool-roi.cuh"
#include "window.cuh"
#include "words.cuh"

template <int KIND, int WIDTH> struct Pooled {
  float v[WIDTH];

  __device__ __forceinline__ Pooled() {
#pragma unroll
    for (int i = 0; i < WIDTH; ++i) v[i] = KIND == kMax ? lowestOf<float>() : 0.0f;
  }
  __device__ __forceinline__ void add(const float (&x)[WIDTH], float power) {
#pragma unroll
    for (int i = 0; i < WIDTH; ++i) {
      if constexpr (KIND == kMax) v[i] = maxNan(x[i], v[i]);
      else v[i] += KIND == kLp ? powerOf(x[i], power) : x[i];
    }
  }
  // Two of them, already made of elements.
  __device__ __forceinline__ void join(const float (&other)[WIDTH]) {
#pragma unroll
    for (int i = 0; i < WIDTH; ++i) v[i] = KIND == kMax ? maxNan(other[i], v[i]) : v[i] + other[i];
  }
  __device__ __forceinline__ void finish(int count, float power) {
#pragma unroll
    for (int i = 0; i < WIDTH; ++i) {
      if constexpr (KIND == kAverage) v[i] = v[i] / static_cast<float>(count);
      if constexpr (KIND == kLp) v[i] = rootOf(v[i], power);
    }
  }
};

template <typename E, int WIDTH, int KIND> __device__ __forceinline__ void poolVectors(const PoolParams& p) {
  constexpr int kAtOnce = 4;
  const unsigned thread = blockIdx.x * 128 + threadIdx.x;
  const Spot spot = spotOf(p, thread, WIDTH);
  beginKernelEarly();
  if (thread >= static_cast<unsigned>(p.threads)) return;
  const E* x = static_cast<const E*>(p.x) + static_cast<int64_t>(spot.batch) * p.xBatch + spot.channel;
  Pooled<KIND, WIDTH> pooled;
  int count = 0;
#pragma unroll 1
  for (int kd = 0; kd < p.kernel[0]; ++kd) {
    const int depth = spot.at[0] * p.stride[0] - p.pad[0] + kd * p.dilation[0];
    if (static_cast<unsigned>(depth) >= static_cast<unsigned>(p.input[0])) continue;
#pragma unroll 1
    for (int kh = 0; kh < p.kernel[1]; ++kh) {
      const int height = spot.at[1] * p.stride[1] - p.pad[1] + kh * p.dilation[1];
      if (static_cast<unsigned>(height) >= static_cast<unsigned>(p.input[1])) continue;
      const E* row = x + static_cast<int64_t>(depth) * p.xAxes[0] + static_cast<int64_t>(height) * p.xAxes[1];
      const int first = spot.at[2] * p.stride[2] - p.pad[2];
      // Loads of positions that are none read the image's edge, so that no load waits for a branch.
#pragma unroll 1
      for (int kw = 0; kw < p.kernel[2]; kw += kAtOnce) {
        float v[kAtOnce][WIDTH];
#pragma unroll
        for (int i = 0; i < kAtOnce; ++i) {
          const int width = min(max(first + min(kw + i, p.kernel[2] - 1) * p.dilation[2], 0), p.input[2] - 1);
          loadAll<E, WIDTH>(v[i], row + static_cast<int64_t>(width) * p.xAxes[2]);
        }
#pragma unroll
        for (int i = 0; i < kAtOnce; ++i) {
          if (kw + i >= p.kernel[2]) break;
          if (static_cast<unsigned>(first + (kw + i) * p.dilation[2]) >= static_cast<unsigned>(p.input[2])) continue;
          pooled.add(v[i], p.power);
          ++count;
        }
      }
    }
  }
  pooled.finish(p.countPads ? countedPositions(p, spot) : count, p.power);
  E* y = static_cast<E*>(p.y) + static_cast<int64_t>(spot.batch) * p.yBatch + static_cast<int64_t>(spot.at[0]) * p.yAxes[0] +
         static_cast<int64_t>(spot.at[1]) * p.yAxes[1] + static_cast<int64_t>(spot.at[2]) * p.yAxes[2] + spot.channel;
  storeAll<E, WIDTH>(pooled.v, y);
}

// LANES neighbours as one load, and all loads of a window in flight at once. Positions outside the image read its edge: a maximum takes them, since a
// window has to hold one inside, an average does not. DEPTH of the window is 1.
template <typename E, int KIND, int HEIGHT, int WIDTH, int LANES> __device__ __forceinline__ void poolSquare(const PoolParams& p) {
  using Word = typename std::conditional<LANES * sizeof(E) == 16, uint4, unsigned>::type;
  static_assert(sizeof(Word) == LANES * sizeof(E), "one load");
  const unsigned thread = blockIdx.x * 128 + threadIdx.x;
  const Spot spot = spotOf(p, thread, LANES);
  const E* x = static_cast<const E*>(p.x) + static_cast<int64_t>(spot.batch) * p.xBatch + spot.channel +
               static_cast<int64_t>(min(max(spot.at[0] * p.stride[0] - p.pad[0], 0), p.input[0] - 1)) * p.xAxes[0];
  const int firstRow = spot.at[1] * p.stride[1] - p.pad[1], firstColumn = spot.at[2] * p.stride[2] - p.pad[2];
  beginKernelEarly();
  if (thread >= static_cast<unsigned>(p.threads)) return;
  Word loaded[HEIGHT * WIDTH];
#pragma unroll
  for (int kh = 0; kh < HEIGHT; ++kh) {
    const E* row = x + static_cast<int64_t>(min(max(firstRow + kh, 0), p.input[1] - 1)) * p.xAxes[1];
#pragma unroll
    for (int kw = 0; kw < WIDTH; ++kw) {
      const int width = min(max(firstColumn + kw, 0), p.input[2] - 1);
      loaded[kh * WIDTH + kw] = __ldg(reinterpret_cast<const Word*>(row + static_cast<int64_t>(width) * p.xAxes[2]));
    }
  }
  Word result;
  if constexpr (KIND == kMax) {
    result = loaded[0];
#pragma unroll
    for (int i = 1; i < HEIGHT * WIDTH; ++i) result = largerOf<E>(result, loaded[i]);
  } else {
    float sums[LANES] = {};
    int count = 0;
#pragma unroll
    for (int i = 0; i < HEIGHT * WIDTH; ++i) {
      const bool isRow = static_cast<unsigned>(firstRow + i / WIDTH) < static_cast<unsigned>(p.input[1]);
      const bool isIn = isRow && static_cast<unsigned>(firstColumn + i % WIDTH) < static_cast<unsigned>(p.input[2]);
      // Whole words become zeros, not each element.
      const Word word = isIn ? loaded[i] : Word{};
#pragma unroll
      for (int e = 0; e < LANES; ++e) sums[e] += toFloat(reinterpret_cast<const E*>(&word)[e]);
      count += isIn ? 1 : 0;
    }
    // One division of all: a half has no bits for what that changes.
    const float share = 1.0f / static_cast<float>(p.countPads ? countedPositions(p, spot) : count);
#pragma unroll
    for (int e = 0; e < LANES; ++e) reinterpret_cast<E*>(&result)[e] = fromFloat<E>(sums[e] * share);
  }
  E* y = static_cast<E*>(p.y) + static_cast<int64_t>(spot.batch) * p.yBatch + static_cast<int64_t>(spot.at[0]) * p.yAxes[0] +
         static_cast<int64_t>(spot.at[1]) * p.yAxes[1] + static_cast<int64_t>(spot.at[2]) * p.yAxes[2] + spot.channel;
  *reinterpret_cast<Word*>(y) = result;
}

#define SQUARE(NAME, E, KIND, SIZE, LANES, SUFFIX)                                                            \
  extern "C" __global__ void __launch_bounds__(128) pool_##NAME##_##SUFFIX(const __grid_constant__ PoolParams p) { \
    poolSquare<E, KIND, SIZE, SIZE, LANES>(p);                                                                \
  }
#define SQUARES_OF_HALVES(NAME, E)                      \
  SQUARE(NAME, E, kMax, 2, 8, max_2x2)                  \
  SQUARE(NAME, E, kMax, 3, 8, max_3x3)                  \
  SQUARE(NAME, E, kMax, 2, 2, max_2x2_pairs)            \
  SQUARE(NAME, E, kMax, 3, 2, max_3x3_pairs)            \
  SQUARE(NAME, E, kAverage, 2, 8, average_2x2)          \
  SQUARE(NAME, E, kAverage, 3, 8, average_3x3)          \
  SQUARE(NAME, E, kAverage, 2, 2, average_2x2_pairs)    \
  SQUARE(NAME, E, kAverage, 3, 2, average_3x3_pairs)
SQUARES_OF_HALVES(f16, __half)
SQUARES_OF_HALVES(bf16, __nv_bfloat16)
SQUARE(s8, int8_t, kMax, 2, 16, max_2x2)
SQUARE(s8, int8_t, kMax, 3, 16, max_3x3)
SQUARE(u8, uint8_t, kMax, 2, 16, max_2x2)
SQUARE(u8, uint8_t, kMax, 3, 16, max_3x3)

// Codes of a byte, 16 channels a thread, windows of any size.
template <typename E> __device__ __forceinline__ void poolCodes(const PoolParams& p) {
  const unsigned thread = blockIdx.x * 128 + threadIdx.x;
  if (thread >= static_cast<unsigned>(p.threads)) return;
  const Spot spot = spotOf(p, thread, 16);
  const E* x = static_cast<const E*>(p.x) + static_cast<int64_t>(spot.batch) * p.xBatch + spot.channel;
  constexpr unsigned kLeast = std::is_same_v<E, int8_t> ? 0x80808080u : 0u;
  uint4 largest = make_uint4(kLeast, kLeast, kLeast, kLeast);
#pragma unroll 1
  for (int kd = 0; kd < p.kernel[0]; ++kd) {
    const int depth = spot.at[0] * p.stride[0] - p.pad[0] + kd * p.dilation[0];
    if (static_cast<unsigned>(depth) >= static_cast<unsigned>(p.input[0])) continue;
#pragma unroll 1
    for (int kh = 0; kh < p.kernel[1]; ++kh) {
      const int height = spot.at[1] * p.stride[1] - p.pad[1] + kh * p.dilation[1];
      if (static_cast<unsigned>(height) >= static_cast<unsigned>(p.input[1])) continue;
      const E* row = x + static_cast<int64_t>(depth) * p.xAxes[0] + static_cast<int64_t>(height) * p.xAxes[1];
      const int first = spot.at[2] * p.stride[2] - p.pad[2];
#pragma unroll 1
      for (int kw = 0; kw < p.kernel[2]; ++kw) {
        const int width = first + kw * p.dilation[2];
        if (static_cast<unsigned>(width) >= static_cast<unsigned>(p.input[2])) continue;
        largest = largerOf<E>(largest, __ldg(reinterpret_cast<const uint4*>(row + static_cast<int64_t>(width) * p.xAxes[2])));
      }
    }
  }
  E* y = static_cast<E*>(p.y) + static_cast<int64_t>(spot.batch) * p.yBatch + static_cast<int64_t>(spot.at[0]) * p.yAxes[0] +
         static_cast<int64_t>(spot.at[1]) * p.yAxes[1] + static_cast<int64_t>(spot.at[2]) * p.yAxes[2] + spot.channel;
  *reinterpret_cast<uint4*>(y) = largest;
}

#define CODES(NAME, E)                                                                                             \
  extern "C" __global__ void __launch_bounds__(128) pool_##NAME##_max(const __grid_constant__ PoolParams p) {      \
    beginKernel();                                                                                                 \
    poolCodes<E>(p);                                                                                               \
  }
CODES(s8, int8_t)
CODES(u8, uint8_t)

// The sum of a whole image in a block: threadIdx.x takes neighbouring channels, threadIdx.y positions in turn.
template <typename E, int WIDTH, int KIND> __device__ __forceinline__ void poolWhole(const PoolParams& p) {
  __shared__ float shared[512 * WIDTH];
  const int batch = blockIdx.y;
  const int channel = (blockIdx.x * blockDim.x + threadIdx.x) * WIDTH;
  const int positions = p.input[0] * p.input[1] * p.input[2];
  Pooled<KIND, WIDTH> pooled;
  if (channel < p.channels) {
    const E* x = static_cast<const E*>(p.x) + static_cast<int64_t>(batch) * p.xBatch +
                 static_cast<int64_t>(channel) * p.xChannel;
#pragma unroll 4
    for (int position = threadIdx.y; position < positions; position += blockDim.y) {
      // `output` divides by the input's sizes here.
      const unsigned row = quotientOf(position, p.output[2]);
      const unsigned depth = quotientOf(row, p.output[1]);
      const int64_t at = static_cast<int64_t>(depth) * p.xAxes[0] +
                         static_cast<int64_t>(row - depth * p.output[1].size) * p.xAxes[1] +
                         static_cast<int64_t>(position - row * p.output[2].size) * p.xAxes[2];
      float v[WIDTH];
      loadAll<E, WIDTH>(v, x + at);
      pooled.add(v, p.power);
    }
  }
  const int thread = threadIdx.y * blockDim.x + threadIdx.x;
  const int threads = blockDim.x * blockDim.y;
#pragma unroll
  for (int i = 0; i < WIDTH; ++i) shared[i * threads + thread] = pooled.v[i];
  for (int half = blockDim.y / 2; half > 0; half /= 2) {
    __syncthreads();
    if (threadIdx.y >= half) continue;
    float other[WIDTH];
#pragma unroll
    for (int i = 0; i < WIDTH; ++i) other[i] = shared[i * threads + thread + half * blockDim.x];
    pooled.join(other);
#pragma unroll
    for (int i = 0; i < WIDTH; ++i) shared[i * threads + thread] = pooled.v[i];
  }
  if (threadIdx.y > 0 || channel >= p.channels) return;
  pooled.finish(positions, p.power);
  E* y = static_cast<E*>(p.y) + static_cast<int64_t>(batch) * p.yBatch + static_cast<int64_t>(channel) * p.yChannel;
  storeAll<E, WIDTH>(pooled.v, y);
}

// Blocks on a multiprocessor. Before sm_90, sums of bfloat16 want more registers.
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ < 900
constexpr int kVectorBlocks = 7;
#else
constexpr int kVectorBlocks = 8;
#endif

#define VECTORS(NAME, E, WIDTH, KIND, SUFFIX)                                                                        \
  extern "C" __global__ void __launch_bounds__(128, kVectorBlocks) pool_##NAME##_##SUFFIX(const __grid_constant__ PoolParams p) { \
    poolVectors<E, WIDTH, KIND>(p);                                                                                  \
  }
#define WHOLE(NAME, E, WIDTH, KIND, SUFFIX)                                              \
  extern "C" __global__ void __launch_bounds__(512, 2)                                   \
      pool_##NAME##_whole_##SUFFIX(const __grid_constant__ PoolParams p) { beginKernel(); \
    poolWhole<E, WIDTH, KIND>(p);                                                        \
  }
#define OF_TYPE(NAME, E, WIDTH)                  \
  VECTORS(NAME, E, WIDTH, kMax, max)             \
  VECTORS(NAME, E, WIDTH, kAverage, average)     \
  WHOLE(NAME, E, WIDTH, kMax, max)               \
  WHOLE(NAME, E, WIDTH, kAverage, average)       \
  WHOLE(NAME, E, 1, kMax, max_single)            \
  WHOLE(NAME, E, 1, kAverage, average_single)    \
  WHOLE(NAME, E, 1, kLp, lp_single)

VECTORS(f16, __half, 2, kMax, max_pairs)
VECTORS(f16, __half, 2, kAverage, average_pairs)
VECTORS(bf16, __nv_bfloat16, 2, kMax, max_pairs)
VECTORS(bf16, __nv_bfloat16, 2, kAverage, average_pairs)
OF_TYPE(f16, __half, 8)
OF_TYPE(bf16, __nv_bfloat16, 8)
OF_TYPE(f32, float, 4)

// Any layout. Acc holds every value of the type: float for halves, 64 bits for integers.
template <typename Acc> __device__ __forceinline__ void poolAny(const PoolParams& p, const Spot& spot) {
  const int64_t base = static_cast<int64_t>(spot.batch) * p.xBatch + static_cast<int64_t>(spot.channel) * p.xChannel;
  Acc pooled = p.kind == kMax ? lowestOf<Acc>() : Acc(0);
  int count = 0, bestDepth = 0, bestHeight = 0, bestWidth = 0;
#pragma unroll 1
  for (int kd = 0; kd < p.kernel[0]; ++kd) {
    const int depth = spot.at[0] * p.stride[0] - p.pad[0] + kd * p.dilation[0];
    if (static_cast<unsigned>(depth) >= static_cast<unsigned>(p.input[0])) continue;
#pragma unroll 1
    for (int kh = 0; kh < p.kernel[1]; ++kh) {
      const int height = spot.at[1] * p.stride[1] - p.pad[1] + kh * p.dilation[1];
      if (static_cast<unsigned>(height) >= static_cast<unsigned>(p.input[1])) continue;
#pragma unroll 1
      for (int kw = 0; kw < p.kernel[2]; ++kw) {
        const int width = spot.at[2] * p.stride[2] - p.pad[2] + kw * p.dilation[2];
        if (static_cast<unsigned>(width) >= static_cast<unsigned>(p.input[2])) continue;
        const int64_t at = base + static_cast<int64_t>(depth) * p.xAxes[0] + static_cast<int64_t>(height) * p.xAxes[1] +
                           static_cast<int64_t>(width) * p.xAxes[2];
        const Acc x = loadAs<Acc>(p.x, at, p.type);
        const bool isFirst = count++ == 0;
        if (p.kind == kMax) {
          // The first of equal ones; NaN, once found, stays.
          if (isFirst || x > pooled || (x != x && pooled == pooled)) {
            pooled = x;
            bestDepth = depth, bestHeight = height, bestWidth = width;
          }
        } else if (p.kind == kAverage) {
          pooled += x;
        } else {
          pooled += static_cast<Acc>(powerOf(static_cast<float>(x), p.power));
        }
      }
    }
  }
  if (p.kind == kAverage) pooled = pooled / static_cast<Acc>(p.countPads ? countedPositions(p, spot) : count);
  if (p.kind == kLp) pooled = static_cast<Acc>(rootOf(static_cast<float>(pooled), p.power));
  storeAs<Acc>(p.y, static_cast<int64_t>(spot.batch) * p.yBatch + static_cast<int64_t>(spot.channel) * p.yChannel +
                        static_cast<int64_t>(spot.at[0]) * p.yAxes[0] + static_cast<int64_t>(spot.at[1]) * p.yAxes[1] +
                        static_cast<int64_t>(spot.at[2]) * p.yAxes[2],
               p.type, pooled);
  if (p.indices == nullptr) return;
  const int64_t within = p.columnMajor
                             ? bestDepth + static_cast<int64_t>(p.input[0]) * (bestHeight + static_cast<int64_t>(p.input[1]) * bestWidth)
                             : (static_cast<int64_t>(bestDepth) * p.input[1] + bestHeight) * p.input[2] + bestWidth;
  const int64_t image = static_cast<int64_t>(p.input[0]) * p.input[1] * p.input[2];
  p.indices[static_cast<int64_t>(spot.batch) * p.iBatch + static_cast<int64_t>(spot.channel) * p.iChannel +
            static_cast<int64_t>(spot.at[0]) * p.iAxes[0] + static_cast<int64_t>(spot.at[1]) * p.iAxes[1] +
            static_cast<int64_t>(spot.at[2]) * p.iAxes[2]] =
      (static_cast<int64_t>(spot.batch) * p.channels + spot.channel) * image + within;
}

extern "C" __global__ void __launch_bounds__(128) pool_any(const __grid_constant__ PoolParams p) {
  beginKernel();
  const unsigned thread = blockIdx.x * 128 + threadIdx.x;
  if (thread >= static_cast<unsigned>(p.threads)) return;
  const Spot spot = spotOf(p, thread, 1);
  if (p.type == kFloat64) poolAny<double>(p, spot);
  else if (p.type <= kBFloat16) poolAny<float>(p, spot);
  else if (isUnsignedCode(p.type)) poolAny<uint64_t>(p, spot);
  else poolAny<int64_t>(p, spot);
}
