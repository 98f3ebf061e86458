// Convolution where each filter sees one channel, channels last: on Tensor Cores or in tiles where taps and strides allow it,
// else in strips along the width whose taps are read from memory at each use.
// hot: depthwise_f16_*, depthwise_bf16_*, depthwise_f32_*
#include "../common/launch.cuh"
#include "../common/vectors.cuh"
#include "diagonal.cuh"
#include "tile.cuh"

template <int WIDTH> __device__ __forceinline__ void loadWeights(float (&v)[WIDTH], const float* from) {
  if constexpr (WIDTH == 1) {
    v[0] = __ldg(from);
  } else {
#pragma unroll
    for (int i = 0; i < WIDTH; i += 4) {
      const float4 all = __ldg(reinterpret_cast<const float4*>(from + i));
      v[i] = all.x, v[i + 1] = all.y, v[i + 2] = all.z, v[i + 3] = all.w;
    }
  }
}

// One position after another, the sums moving up: the formulas stand in the program once, and no register is indexed.
template <int WIDTH, int OUT>
__device__ __forceinline__ void storeStrip(const DepthwiseParams& p, float (&sum)[OUT * WIDTH], const Spot& spot) {
  Affine<WIDTH> affine;
  affine.load(p, spot.filter, WIDTH);
  int64_t to = offsetOf(p.to, spot.at) + static_cast<int64_t>(spot.filter) * p.to.channel;
  int64_t from = offsetOf(p.from, spot.at);
#pragma unroll 1
  for (int o = min(OUT, p.outputWidth - spot.at.width); o > 0; --o) {
    float v[WIDTH];
#pragma unroll
    for (int i = 0; i < WIDTH; ++i) v[i] = sum[i] * affine.scale[i] + affine.bias[i];
#pragma unroll 1
    for (int round = 0; round < 2; ++round) {
      activateAll(v, round == 0 ? p.activation : p.last);
      if (round == 0 && p.residual != nullptr) addResidual<WIDTH>(p, v, from, spot.filter);
    }
    storeFloats<WIDTH>(v, p.y, to, p.to.type);
    to += p.to.axes[2];
    from += p.from.axes[2];
#pragma unroll
    for (int i = 0; i < (OUT - 1) * WIDTH; ++i) sum[i] = sum[i + WIDTH];
  }
}

template <typename E, int WIDTH, int OUT>
__device__ __forceinline__ void addAnyRow(const DepthwiseParams& p, float (&sum)[OUT * WIDTH], const E* x, const float* w,
                                          int firstWidth) {
#pragma unroll 2
  for (int tap = 0; tap < p.kernel[2]; ++tap) {
    float weights[WIDTH];
    loadWeights(weights, w + static_cast<int64_t>(tap) * p.filters);
#pragma unroll
    for (int o = 0; o < OUT; ++o) {
      const int width = firstWidth + o * p.stride[2] + tap * p.dilation[2];
      if (static_cast<unsigned>(width) >= static_cast<unsigned>(p.input[2])) continue;
      float v[WIDTH];
      loadAll<E, WIDTH>(v, x + static_cast<int64_t>(width) * p.xAxes[2]);
#pragma unroll
      for (int c = 0; c < WIDTH; ++c) sum[o * WIDTH + c] = fmaf(v[c], weights[c], sum[o * WIDTH + c]);
    }
  }
}

template <typename E, int WIDTH, int OUT>
__device__ __forceinline__ void anyDepthwise(const DepthwiseParams& p) {
  const unsigned thread = blockIdx.x * 128 + threadIdx.x;
  if (thread >= static_cast<unsigned>(p.threads)) return;
  const unsigned strip = quotientOf(thread, p.pieces);
  const Spot spot = Spot::of<OUT, 1>(p, strip, (thread - strip * p.pieces.size) * WIDTH);
  const int channel = quotientOf(spot.filter, p.filtersPerChannel);
  const E* x = static_cast<const E*>(p.x) + static_cast<int64_t>(spot.at.batch) * p.xBatch +
               static_cast<int64_t>(channel) * p.xChannel;
  float sum[OUT * WIDTH] = {};
  const int firstWidth = spot.at.width * p.stride[2] - p.pad[2];
#pragma unroll 1
  for (int kd = 0; kd < p.kernel[0]; ++kd) {
    const int depth = spot.at.depth * p.stride[0] - p.pad[0] + kd * p.dilation[0];
    if (static_cast<unsigned>(depth) >= static_cast<unsigned>(p.input[0])) continue;
#pragma unroll 1
    for (int kh = 0; kh < p.kernel[1]; ++kh) {
      const int height = spot.at.height * p.stride[1] - p.pad[1] + kh * p.dilation[1];
      if (static_cast<unsigned>(height) >= static_cast<unsigned>(p.input[1])) continue;
      const E* row = x + static_cast<int64_t>(depth) * p.xAxes[0] + static_cast<int64_t>(height) * p.xAxes[1];
      const float* w = p.w + static_cast<int64_t>(kd * p.kernel[1] + kh) * p.kernel[2] * p.filters + spot.filter;
      addAnyRow<E, WIDTH, OUT>(p, sum, row, w, firstWidth);
    }
  }
  storeStrip<WIDTH, OUT>(p, sum, spot);
}

#define ANY(NAME, E, WIDTH, OUT, BLOCKS)                                                               \
  extern "C" __global__ void __launch_bounds__(128, BLOCKS)                                            \
      depthwise_##NAME(const __grid_constant__ DepthwiseParams p) {                                    \
    beginKernel();                                                                                     \
    anyDepthwise<E, WIDTH, OUT>(p);                                                                    \
  }
#define TILE(NAME, E, TAPS, STRIDE, WIDE, HIGH, AHEAD, BLOCKS)                                         \
  extern "C" __global__ void __launch_bounds__(128, BLOCKS)                                            \
      depthwise_##NAME##_k##TAPS##s##STRIDE##_##WIDE##x##HIGH(const __grid_constant__ DepthwiseParams p) { \
    beginKernel();                                                                                     \
    tiledDepthwise<E, TAPS, STRIDE, WIDE, HIGH, AHEAD>(p);                                             \
  }

#define TILES(NAME, E, FEWER)                         \
  TILE(NAME, E, 3, 1, 7, 4, 2, 4 - FEWER)             \
  TILE(NAME, E, 3, 1, 7, 2, 2 - FEWER, 5 - FEWER)     \
  TILE(NAME, E, 3, 1, 4, 1, 3, 5 - FEWER)             \
  TILE(NAME, E, 3, 1, 2, 1, 3, 6 - FEWER)             \
  TILE(NAME, E, 5, 1, 7, 4, 1, 4 - FEWER)             \
  TILE(NAME, E, 5, 1, 7, 2, 1, 5 - FEWER)             \
  TILE(NAME, E, 5, 1, 4, 1, 3 - FEWER, 5 - FEWER)     \
  TILE(NAME, E, 5, 1, 2, 1, 4 - 2 * FEWER, 5 - FEWER) \
  TILE(NAME, E, 7, 1, 7, 4, 1, 4 - FEWER)             \
  TILE(NAME, E, 7, 1, 7, 2, 1, 4 - FEWER)             \
  TILE(NAME, E, 7, 1, 4, 1, 3 - FEWER, 4 - FEWER)     \
  TILE(NAME, E, 7, 1, 2, 1, 4 - 2 * FEWER, 5 - FEWER) \
  TILE(NAME, E, 3, 2, 7, 2, 1, 4 - FEWER)             \
  TILE(NAME, E, 3, 2, 4, 1, 2, 5 - FEWER)             \
  TILE(NAME, E, 3, 2, 2, 1, 3, 6 - FEWER)             \
  TILE(NAME, E, 5, 2, 7, 2, 1, 4 - FEWER)             \
  TILE(NAME, E, 5, 2, 4, 1, 2, 4 - FEWER)             \
  TILE(NAME, E, 5, 2, 2, 1, 4 - 2 * FEWER, 5 - FEWER) \
  TILE(NAME, E, 7, 2, 7, 2, 1, 4 - FEWER)             \
  TILE(NAME, E, 7, 2, 4, 1, 2, 4 - FEWER)             \
  TILE(NAME, E, 7, 2, 2, 1, 4 - 2 * FEWER, 5 - FEWER)

#define OF_TYPE(NAME, E, WIDTH, FEWER) \
  TILES(NAME, E, FEWER)                \
  ANY(NAME##_any, E, WIDTH, 2, 5)     \
  ANY(NAME##_single, E, 1, 4, 8)

OF_TYPE(f16, __half, 8, 0)
OF_TYPE(bf16, __nv_bfloat16, 8, 0)
OF_TYPE(f32, float, 4, 1)

#define DIAGONAL(NAME, E, TAPS, STRIDE, HIGH, BLOCKS)                                                  \
  extern "C" __global__ void __launch_bounds__(256, BLOCKS)                                            \
      depthwise_##NAME##_diagonal_k##TAPS##s##STRIDE##_##HIGH(const __grid_constant__ DepthwiseParams p) { \
    beginKernel();                                                                                     \
    diagonalDepthwise<E, TAPS, STRIDE, HIGH>(p);                                                       \
  }

#define DIAGONALS(NAME, E)      \
  DIAGONAL(NAME, E, 7, 1, 4, 2) \
  DIAGONAL(NAME, E, 7, 1, 7, 2) \
  DIAGONAL(NAME, E, 7, 2, 4, 2) \
  DIAGONAL(NAME, E, 7, 2, 7, 2)

DIAGONALS(f16, __half)
DIAGONALS(bf16, __nv_bfloat16)
