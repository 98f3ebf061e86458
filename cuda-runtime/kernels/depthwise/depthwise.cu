// Convolution where each filter sees one channel, channels last: bandwidth is all there is to win. A thread makes OUT
// neighbouring positions along the width of WIDTH neighbouring channels, so that what it reads serves several taps.
// hot: depthwise_f16_*, depthwise_bf16_*, depthwise_f32_*
#include "../common/launch.cuh"
#include "../conv/epilogue.cuh"

// Written by depthwise.ts, field by field. Strides are in elements; spatial axes are depth, height, width.
struct DepthwiseParams {
  const void* x;
  const float* w;  // [tap, filter]
  void* y;
  const void* residual;
  const float* scale;
  const float* bias;
  int threads;
  int filters;
  int outputWidth;
  int kernel[3], input[3], stride[3], dilation[3], pad[3];
  int xBatch, xAxes[3], xChannel;
  Divisor pieces;  // of WIDTH filters
  Divisor strips;  // of OUT positions along the width
  Divisor height, depth;
  Divisor filtersPerChannel;
  Placement to, from;
  Activation activation, last;
};
static_assert(sizeof(DepthwiseParams) == 288, "depthwise.ts writes this struct");

template <typename E, int WIDTH> __device__ __forceinline__ void loadAll(float (&v)[WIDTH], const E* from) {
  if constexpr (WIDTH == 1) {
    v[0] = toFloat(*from);
  } else if constexpr (sizeof(E) == 4) {
    const float4 all = *reinterpret_cast<const float4*>(from);
    v[0] = all.x, v[1] = all.y, v[2] = all.z, v[3] = all.w;
  } else {
    const uint4 all = *reinterpret_cast<const uint4*>(from);
    alignas(16) E halves[8];
    reinterpret_cast<uint4&>(halves) = all;
#pragma unroll
    for (int i = 0; i < 8; ++i) v[i] = toFloat(halves[i]);
  }
}

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

// Where one thread is: the first position of its strip, and its first filter.
struct Spot {
  Position at;
  int filter;

  template <int WIDTH, int OUT> static __device__ __forceinline__ Spot of(const DepthwiseParams& p, unsigned thread) {
    Spot spot;
    const unsigned strip = quotientOf(thread, p.pieces);
    spot.filter = (thread - strip * p.pieces.size) * WIDTH;
    const unsigned row = quotientOf(strip, p.strips);
    spot.at.width = (strip - row * p.strips.size) * OUT;
    const unsigned plane = quotientOf(row, p.height);
    spot.at.height = row - plane * p.height.size;
    spot.at.batch = quotientOf(plane, p.depth);
    spot.at.depth = plane - spot.at.batch * p.depth.size;
    return spot;
  }
};

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

// One row of taps whose width and stride are known: each element is read once.
template <typename E, int WIDTH, int OUT, int KERNEL, int STRIDE>
__device__ __forceinline__ void addRow(const DepthwiseParams& p, float (&sum)[OUT * WIDTH], const E* x, const float* w,
                                       int firstWidth) {
  float weights[KERNEL][WIDTH];
#pragma unroll
  for (int tap = 0; tap < KERNEL; ++tap) loadWeights(weights[tap], w + static_cast<int64_t>(tap) * p.filters);
#pragma unroll
  for (int i = 0; i < (OUT - 1) * STRIDE + KERNEL; ++i) {
    const int width = firstWidth + i;
    float v[WIDTH] = {};
    if (static_cast<unsigned>(width) < static_cast<unsigned>(p.input[2])) {
      loadAll<E, WIDTH>(v, x + static_cast<int64_t>(width) * p.xAxes[2]);
    }
#pragma unroll
    for (int o = 0; o < OUT; ++o) {
      const int tap = i - o * STRIDE;
      if (tap < 0 || tap >= KERNEL) continue;
#pragma unroll
      for (int c = 0; c < WIDTH; ++c) sum[o * WIDTH + c] = fmaf(v[c], weights[tap][c], sum[o * WIDTH + c]);
    }
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

// KERNEL 0: any taps, stride and dilation along the width.
template <typename E, int WIDTH, int OUT, int KERNEL, int STRIDE>
__device__ __forceinline__ void depthwise(const DepthwiseParams& p) {
  const unsigned thread = blockIdx.x * 128 + threadIdx.x;
  if (thread >= static_cast<unsigned>(p.threads)) return;
  const Spot spot = Spot::of<WIDTH, OUT>(p, thread);
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
      if constexpr (KERNEL > 0) addRow<E, WIDTH, OUT, KERNEL, STRIDE>(p, sum, row, w, firstWidth);
      else addAnyRow<E, WIDTH, OUT>(p, sum, row, w, firstWidth);
    }
  }
  storeStrip<WIDTH, OUT>(p, sum, spot);
}

#define DEPTHWISE(NAME, E, WIDTH, OUT, KERNEL, STRIDE, BLOCKS)                                                            \
  extern "C" __global__ void __launch_bounds__(128, BLOCKS) depthwise_##NAME(const __grid_constant__ DepthwiseParams p) { beginKernel(); \
    depthwise<E, WIDTH, OUT, KERNEL, STRIDE>(p);                                                                          \
  }
// A strip of 4 where there are positions enough to fill the GPU, else single positions.
#define OF_TYPE(NAME, E, WIDTH)                    \
  DEPTHWISE(NAME##_k3s1, E, WIDTH, 4, 3, 1, 4)     \
  DEPTHWISE(NAME##_k3s2, E, WIDTH, 4, 3, 2, 3)     \
  DEPTHWISE(NAME##_k5s1, E, WIDTH, 4, 5, 1, 3)     \
  DEPTHWISE(NAME##_k5s2, E, WIDTH, 4, 5, 2, 3)     \
  DEPTHWISE(NAME##_k7s1, E, WIDTH, 4, 7, 1, 3)     \
  DEPTHWISE(NAME##_k3s1_few, E, WIDTH, 1, 3, 1, 6) \
  DEPTHWISE(NAME##_k5s1_few, E, WIDTH, 1, 5, 1, 6) \
  DEPTHWISE(NAME##_k7s1_few, E, WIDTH, 1, 7, 1, 6) \
  DEPTHWISE(NAME##_any, E, WIDTH, 2, 0, 0, 5)      \
  DEPTHWISE(NAME##_single, E, 1, 4, 0, 0, 8)

OF_TYPE(f16, __half, 8)
OF_TYPE(bf16, __nv_bfloat16, 8)
OF_TYPE(f32, float, 4)
