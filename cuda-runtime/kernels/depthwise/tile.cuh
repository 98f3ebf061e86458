// A thread makes WIDE x HIGH neighbouring positions of two neighbouring channels. Of each row of x that they see it reads
// every element once, AHEAD rows before it is wanted, and adds it to all rows of the tile that have a tap for it. Two
// channels are as many as leave registers for tiles this large; 32 lanes still read whole lines.
#pragma once
#include "../common/copy.cuh"
#include "params.cuh"

// 0 where not `isIn`. In PTX, since the branch that the compiler may make of it would wait for one load after another.
__device__ __forceinline__ void loadOrZero(uint32_t& v, const void* at, bool isIn) {
#ifdef __CUDA_ARCH__
  asm volatile("{.reg .pred p; setp.ne.b32 p, %2, 0; mov.b32 %0, 0; @p ld.global.b32 %0, [%1];}"
               : "=r"(v)
               : "l"(at), "r"(static_cast<int>(isIn)));
#else
  v = isIn ? *static_cast<const uint32_t*>(at) : 0;
#endif
}

__device__ __forceinline__ void loadOrZero(uint2& v, const void* at, bool isIn) {
#ifdef __CUDA_ARCH__
  asm volatile(
      "{.reg .pred p; setp.ne.b32 p, %3, 0; mov.b32 %0, 0; mov.b32 %1, 0; @p ld.global.v2.b32 {%0, %1}, [%2];}"
      : "=r"(v.x), "=r"(v.y)
      : "l"(at), "r"(static_cast<int>(isIn)));
#else
  v = isIn ? *static_cast<const uint2*>(at) : make_uint2(0, 0);
#endif
}

// Two channels of one position as they lie in memory.
template <typename E> struct Pair {
  using Raw = uint32_t;
};
template <> struct Pair<float> {
  using Raw = uint2;
};

template <typename E> __device__ __forceinline__ float2 floatsOf(typename Pair<E>::Raw raw) {
  if constexpr (sizeof(E) == 4) {
    return reinterpret_cast<const float2&>(raw);
  } else {
    alignas(4) E halves[2];
    reinterpret_cast<uint32_t&>(halves) = raw;
    return make_float2(toFloat(halves[0]), toFloat(halves[1]));
  }
}

// Rows of x that one tile sees in one plane, top to bottom.
template <typename E, int COLUMNS> struct TileRows {
  using Raw = typename Pair<E>::Raw;
  const E* next;
  int first;        // height of the first
  unsigned inside;  // as `columnsInside` says

  __device__ __forceinline__ bool has(const DepthwiseParams& p, int j) const {
    return static_cast<unsigned>(first + j) < static_cast<unsigned>(p.input[1]);
  }

  // The rows are read in order; `j` counts them.
  __device__ __forceinline__ void read(const DepthwiseParams& p, Raw (&row)[COLUMNS], int j) {
    const unsigned wanted = has(p, j) ? inside : 0;
#pragma unroll
    for (int i = 0; i < COLUMNS; ++i) {
      loadOrZero(row[i], next + static_cast<int64_t>(i) * p.xAxes[2], (wanted >> i & 1) != 0);
    }
    next += p.xAxes[1];
  }
};

// A bit a column from `first` on: whether x has it.
template <int COLUMNS> __device__ __forceinline__ unsigned columnsInside(int first, int size) {
  unsigned inside = 0;
#pragma unroll
  for (int i = 0; i < COLUMNS; ++i) {
    if (static_cast<unsigned>(first + i) < static_cast<unsigned>(size)) inside |= 1u << i;
  }
  return inside;
}

// Begins to copy weights to [kernel depth, kernel height, two taps, lane], two taps of two channels each.
template <int TAPS> __device__ __forceinline__ void stageWeights(const DepthwiseParams& p, uint32_t taps, int filter) {
  const int rows = filter < p.filters ? p.kernel[0] * p.kernel[1] : 0;
  for (int row = threadIdx.y; row < rows; row += blockDim.y) {
    const float* w = p.w + static_cast<int64_t>(row) * TAPS * p.filters + filter;
#pragma unroll
    for (int i = 0; i < TAPS; ++i) {
      const uint32_t to = (row * ((TAPS + 1) / 2) + i / 2) * blockDim.x + threadIdx.x;
      cpAsync<8>(taps + to * 16 + i % 2 * 8, w + static_cast<int64_t>(i) * p.filters, 8);
    }
  }
  cpAsyncCommit();
}

template <int TAPS, int STRIDE, int WIDE, int COLUMNS>
__device__ __forceinline__ void addTaps(float2 (&sum)[WIDE], const float2 (&x)[COLUMNS], const float4* taps) {
#pragma unroll
  for (int i = 0; i < TAPS; i += 2) {
    const float4 w = taps[i / 2 * blockDim.x];
#pragma unroll
    for (int o = 0; o < WIDE; ++o) {
      sum[o].x = fmaf(x[o * STRIDE + i].x, w.x, sum[o].x);
      sum[o].y = fmaf(x[o * STRIDE + i].y, w.y, sum[o].y);
      if (i + 1 == TAPS) continue;
      sum[o].x = fmaf(x[o * STRIDE + i + 1].x, w.z, sum[o].x);
      sum[o].y = fmaf(x[o * STRIDE + i + 1].y, w.w, sum[o].y);
    }
  }
}

// `count` rows of x against one plane of taps. The loop is unrolled by what is read ahead, so that rows move up without
// moves. The weights are waited for when the first rows are under way: by every thread of the block, `isFirst`.
template <typename E, int TAPS, int STRIDE, int WIDE, int HIGH, int AHEAD, int COLUMNS>
__device__ __forceinline__ void addPlane(const DepthwiseParams& p, float2 (&sum)[HIGH][WIDE],
                                         TileRows<E, COLUMNS> rows, const float4* taps, int count, bool isFirst) {
  constexpr int pairs = (TAPS + 1) / 2;
  typename Pair<E>::Raw ahead[AHEAD][COLUMNS];
#pragma unroll
  for (int i = 0; i < AHEAD; ++i) rows.read(p, ahead[i], i);
  if (isFirst) {
    cpAsyncWait<0>();
    __syncthreads();
  }
#pragma unroll AHEAD
  for (int j = 0; j < count; ++j) {
    float2 x[COLUMNS];
#pragma unroll
    for (int i = 0; i < COLUMNS; ++i) x[i] = floatsOf<E>(ahead[0][i]);
#pragma unroll
    for (int i = 0; i + 1 < AHEAD; ++i) {
#pragma unroll
      for (int c = 0; c < COLUMNS; ++c) ahead[i][c] = ahead[i + 1][c];
    }
    if (j + AHEAD < count) rows.read(p, ahead[AHEAD - 1], j + AHEAD);
    if (!rows.has(p, j)) continue;
#pragma unroll
    for (int r = 0; r < HIGH; ++r) {
      const int kh = j - r * p.stride[1];
      if (static_cast<unsigned>(kh) >= static_cast<unsigned>(p.kernel[1])) continue;
      addTaps<TAPS, STRIDE>(sum[r], x, taps + kh * pairs * blockDim.x);
    }
  }
}

// One row after another, the sums moving up: the formulas stand in the program once, and no register is indexed.
template <int WIDE, int HIGH>
__device__ __forceinline__ void storeTile(const DepthwiseParams& p, float2 (&sum)[HIGH][WIDE], const Spot& spot) {
  Affine<2> affine;
  affine.load(p, spot.filter, 2);
  int64_t to = offsetOf(p.to, spot.at) + static_cast<int64_t>(spot.filter) * p.to.channel;
  int64_t from = offsetOf(p.from, spot.at);
  const int columns = p.outputWidth - spot.at.width;
#pragma unroll 1
  for (int rows = min(HIGH, p.outputHeight - spot.at.height); rows > 0; --rows) {
    float v[2 * WIDE];
#pragma unroll
    for (int o = 0; o < WIDE; ++o) {
      v[2 * o] = sum[0][o].x * affine.scale[0] + affine.bias[0];
      v[2 * o + 1] = sum[0][o].y * affine.scale[1] + affine.bias[1];
    }
    activateAll(v, p.activation);
    if (p.residual != nullptr) {
#pragma unroll
      for (int o = 0; o < WIDE; ++o) {
        float pair[2] = {v[2 * o], v[2 * o + 1]};
        if (o < columns) addResidual<2>(p, pair, from + static_cast<int64_t>(o) * p.from.axes[2], spot.filter);
        v[2 * o] = pair[0], v[2 * o + 1] = pair[1];
      }
    }
    activateAll(v, p.last);
#pragma unroll
    for (int o = 0; o < WIDE; ++o) {
      const float pair[2] = {v[2 * o], v[2 * o + 1]};
      if (o < columns) storeFloats<2>(pair, p.y, to + static_cast<int64_t>(o) * p.to.axes[2], p.to.type);
    }
    to += p.to.axes[1];
    from += p.from.axes[1];
#pragma unroll
    for (int r = 0; r + 1 < HIGH; ++r) {
#pragma unroll
      for (int o = 0; o < WIDE; ++o) sum[r][o] = sum[r + 1][o];
    }
  }
}

// A block is [lanes, tiles]: lanes are pairs of channels, whose weights the block holds in shared memory.
template <typename E, int TAPS, int STRIDE, int WIDE, int HIGH, int AHEAD>
__device__ __forceinline__ void tiledDepthwise(const DepthwiseParams& p) {
  constexpr int columns = (WIDE - 1) * STRIDE + TAPS;
  extern __shared__ __align__(128) char shared[];
  float4* taps = reinterpret_cast<float4*>(shared);
  const unsigned tile = blockIdx.x * blockDim.y + threadIdx.y;
  const int filter = 2 * (blockIdx.y * blockDim.x + threadIdx.x);
  const bool isIn = tile < static_cast<unsigned>(p.threads) && filter < p.filters;
  stageWeights<TAPS>(p, sharedAddress(shared), filter);
  const Spot spot = Spot::of<WIDE, HIGH>(p, tile, filter);
  const int firstWidth = spot.at.width * STRIDE - p.pad[2];
  const int firstHeight = spot.at.height * p.stride[1] - p.pad[1];
  const unsigned inside = isIn ? columnsInside<columns>(firstWidth, p.input[2]) : 0;
  const E* x = static_cast<const E*>(p.x) + static_cast<int64_t>(spot.at.batch) * p.xBatch + filter +
               static_cast<int64_t>(firstHeight) * p.xAxes[1] + static_cast<int64_t>(firstWidth) * p.xAxes[2];
  float2 sum[HIGH][WIDE] = {};
#pragma unroll 1
  for (int kd = 0; kd < p.kernel[0]; ++kd) {
    const int depth = spot.at.depth * p.stride[0] - p.pad[0] + kd * p.dilation[0];
    const bool isSeen = isIn && static_cast<unsigned>(depth) < static_cast<unsigned>(p.input[0]);
    const TileRows<E, columns> rows = {x + static_cast<int64_t>(depth) * p.xAxes[0], firstHeight, isSeen ? inside : 0};
    const int count = isSeen ? (HIGH - 1) * p.stride[1] + p.kernel[1] : 0;
    const int plane = kd * p.kernel[1] * ((TAPS + 1) / 2) * blockDim.x;
    addPlane<E, TAPS, STRIDE, WIDE, HIGH, AHEAD>(p, sum, rows, taps + plane + threadIdx.x, count, kd == 0);
  }
  if (isIn) storeTile<WIDE, HIGH>(p, sum, spot);
}
