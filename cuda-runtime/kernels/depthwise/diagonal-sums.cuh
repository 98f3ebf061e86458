// Sums of depthwise convolutions on Tensor Cores. Of 8 channels each tap is a diagonal matrix: 16 positions by 16 (8 channels at each of two
// taps) times 16 by 8 is two taps of all of them at once, in FP32, of operands that nobody converts. 7 of 8 products are with zeros, and
// still these are fewer instructions than multiply-adds on CUDA cores, a fifth for 3x3 and a tenth for 7x7.
//
// A warp reads eight channels of a tile in shared memory, which nobody else does: it puts its results where what they were made of lies.
#pragma once
#include "../common/copy.cuh"
#include "../common/mma.cuh"
#include "params.cuh"

// d += a b: d 16x8, a 16x8, b 8x8.
__device__ __forceinline__ void mma1688(float (&d)[4], const uint32_t (&a)[2], uint32_t b, __half) {
  asm volatile("mma.sync.aligned.m16n8k8.row.col.f32.f16.f16.f32 {%0,%1,%2,%3}, {%4,%5}, {%6}, {%0,%1,%2,%3};"
               : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3]) : "r"(a[0]), "r"(a[1]), "r"(b));
}

// sm_80 and later.
__device__ __forceinline__ void mma1688(float (&d)[4], const uint32_t (&a)[2], uint32_t b, __nv_bfloat16) {
#if __CUDA_ARCH__ >= 800
  asm volatile("mma.sync.aligned.m16n8k8.row.col.f32.bf16.bf16.f32 {%0,%1,%2,%3}, {%4,%5}, {%6}, {%0,%1,%2,%3};"
               : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3]) : "r"(a[0]), "r"(a[1]), "r"(b));
#else
  __trap();
#endif
}

__device__ __forceinline__ __half2 halvesOf(float a, float b, __half) { return __floats2half2_rn(a, b); }
__device__ __forceinline__ __nv_bfloat162 halvesOf(float a, float b, __nv_bfloat16) { return __floats2bfloat162_rn(a, b); }
template <typename E> using HalvesOf = decltype(halvesOf(0.0f, 0.0f, E()));

// How positions lie in shared memory: `pitch` bytes apart, `row` bytes from a row of x to the next. Of stride 2, columns of one parity are
// neighbours, the odd ones `odd` bytes behind the even ones: what one tap reads are neighbours. Eight of them lie in different banks: a
// pitch is an odd number of 16 bytes, or TMA has swizzled rows of 2, 4 or 8 of them by the position: by `mask` behind `shift`.
template <int TAPS, int STRIDE> struct DiagonalLayout {
  int pitch, row, odd, shift, mask;

  // 16 bytes of a column of x.
  __device__ __forceinline__ int place(int column, int chunk) const {
    const int behind = STRIDE == 2 && (column & 1) != 0 ? odd : 0;
    return behind + resultAt(STRIDE == 1 ? column : column >> 1, chunk);
  }

  // Results lie as neighbours, whatever the stride.
  __device__ __forceinline__ int resultAt(int column, int chunk) const { return column * pitch + (chunk ^ (column >> shift & mask)) * 16; }
};

// What one block makes at a time, of 8 channels for each of `chunks`.
struct Tile {
  Position at;
  int filter, rows, columns;

  __device__ __forceinline__ Tile(const DepthwiseParams& p, unsigned index, int chunks) {
    const unsigned tile = quotientOf(index, p.pieces);
    const unsigned strip = quotientOf(tile, p.strips);
    filter = (index - tile * p.pieces.size) * 8 * chunks;
    at.batch = quotientOf(strip, p.height);
    at.depth = 0;
    at.height = (strip - at.batch * p.height.size) * p.high;
    at.width = (tile - strip * p.strips.size) * p.wide;
    rows = min(p.high, p.outputHeight - at.height);
    columns = min(p.wide, p.outputWidth - at.width);
  }
};

// Zeros of a diagonal times an infinity of a neighbouring channel are no numbers: what of this warp's results is none is computed once more,
// by itself.
template <typename E, int TAPS, int STRIDE>
__device__ __forceinline__ void remake(const DepthwiseParams& p, const Tile& tile, const DiagonalLayout<TAPS, STRIDE>& layout, char* results) {
  const E* x = static_cast<const E*>(p.x) + static_cast<int64_t>(tile.at.batch) * p.xBatch;
  const int chunk = threadIdx.x / 32, elements = tile.rows * 8;
#pragma unroll 1
  for (int i = threadIdx.x % 32; i < tile.columns; i += 32) {
#pragma unroll 1
    for (int e = 0; e < elements; ++e) {
      const int j = e / 8, filter = tile.filter + chunk * 8 + e % 8;
      E& result = reinterpret_cast<E*>(results + j * layout.row + layout.resultAt(i, chunk))[e % 8];
      if (!isnan(toFloat(result))) continue;
      float v[1] = {0.0f};
#pragma unroll 1
      for (int tap = 0; tap < TAPS * TAPS; ++tap) {
        const int height = (tile.at.height + j) * STRIDE - p.pad[1] + tap / TAPS;
        const int width = (tile.at.width + i) * STRIDE - p.pad[2] + tap % TAPS;
        if (static_cast<unsigned>(height) >= static_cast<unsigned>(p.input[1])) continue;
        if (static_cast<unsigned>(width) >= static_cast<unsigned>(p.input[2])) continue;
        const E read = x[static_cast<int64_t>(height) * p.xAxes[1] + static_cast<int64_t>(width) * p.xAxes[2] + filter];
        v[0] = fmaf(toFloat(read), toFloat(fromFloat<E>(p.w[static_cast<int64_t>(tap) * p.filters + filter])), v[0]);
      }
      Affine<1> affine;
      affine.load(p, filter, 1);
      v[0] = v[0] * affine.scale[0] + affine.bias[0];
      activateAll(v, p.activation);
      result = fromFloat<E>(v[0]);
    }
  }
}

// Of each tap this lane's part of the diagonal of eight filters.
template <typename E, int TAPS>
__device__ __forceinline__ void loadDiagonals(const DepthwiseParams& p, uint32_t (&taps)[TAPS * TAPS], int filter) {
  const int column = threadIdx.x % 32 / 4;
  const bool isOn = column / 2 == threadIdx.x % 4 && filter + column < p.filters;
  const float* w = p.w + min(filter + column, p.filters - 1);
  const int step = p.filters;
  float v[TAPS * TAPS];
  // All lanes, so that no load waits for a branch.
#pragma unroll
  for (int i = 0; i < TAPS * TAPS; ++i, w += step) v[i] = __ldg(w);
#pragma unroll
  for (int i = 0; i < TAPS * TAPS; ++i) {
    const float on = isOn ? v[i] : 0.0f;
    const auto pair = halvesOf(column % 2 == 0 ? on : 0.0f, column % 2 == 0 ? 0.0f : on, E());
    taps[i] = reinterpret_cast<const uint32_t&>(pair);
  }
}

// Where this lane's addresses of ldmatrix begin in a row of x, in the channels of this warp: of two taps each, then of the last.
template <int TAPS, int STRIDE>
__device__ __forceinline__ void tapOffsets(int (&at)[TAPS / 2 + 1], const DiagonalLayout<TAPS, STRIDE>& layout, int chunk) {
  const int lane = threadIdx.x % 32;
#pragma unroll
  for (int i = 0; i <= TAPS / 2; ++i) {
    const int tap = i == TAPS / 2 ? TAPS - 1 : 2 * i + lane / 16;
    at[i] = layout.place(lane % 8 * STRIDE + tap, chunk);
  }
}

// HIGH rows of 16 columns, from the row of x at `from` on. Neighbouring products are of different sums.
template <typename E, int TAPS, int STRIDE, int HIGH>
__device__ __forceinline__ void multiply(float (&sum)[HIGH][4], const uint32_t (&taps)[TAPS * TAPS], const int (&at)[TAPS / 2 + 1],
                                         uint32_t from, int row) {
  constexpr int pairs = TAPS / 2;
#pragma unroll
  for (int j = 0; j < (HIGH - 1) * STRIDE + TAPS; ++j) {
    uint32_t x[pairs][4], last[2];
#pragma unroll
    for (int i = 0; i < pairs; ++i) ldmatrix4(x[i], from + at[i]);
    ldmatrix2(last, from + at[pairs]);
#pragma unroll
    for (int i = 0; i <= pairs; ++i) {
#pragma unroll
      for (int r = 0; r < HIGH; ++r) {
        const int kh = j - r * STRIDE;
        if (kh < 0 || kh >= TAPS) continue;
        if (i == pairs) mma1688(sum[r], last, taps[kh * TAPS + TAPS - 1], E());
        else mma16816(sum[r], x[i], taps[kh * TAPS + 2 * i], taps[kh * TAPS + 2 * i + 1], E());
      }
    }
    from += row;
  }
}


// Limits of rounded values are rounded limits: two at a time.
template <typename E, int COUNT> __device__ __forceinline__ void limitAll(HalvesOf<E> (&v)[COUNT], float low, float high) {
  const HalvesOf<E> least = halvesOf(low, low, E()), most = halvesOf(high, high, E());
#pragma unroll
  for (int i = 0; i < COUNT; ++i) v[i] = __hmin2_nan(__hmax2_nan(v[i], least), most);
}

// Pairs of the results of `sum`.
template <typename E, int HIGH>
__device__ __forceinline__ void activateSums(HalvesOf<E> (&result)[2 * HIGH], float (&sum)[HIGH][4], const Affine<2>& affine,
                                             const Activation& f) {
  float v[4 * HIGH];
#pragma unroll
  for (int e = 0; e < 4 * HIGH; ++e) v[e] = sum[e / 4][e % 4] * affine.scale[e % 2] + affine.bias[e % 2];
  const bool isLimit = f.kind == kClip || f.kind == kRelu;
  if (f.kind == kHardSwish) {
#pragma unroll
    for (int i = 0; i < 4 * HIGH; ++i) v[i] *= atMost(atLeast(f.a * v[i] + f.b, 0.0f), 1.0f);
  } else if (!isLimit) {
    activateAll(v, f);
  }
#pragma unroll
  for (int i = 0; i < 2 * HIGH; ++i) result[i] = halvesOf(v[2 * i], v[2 * i + 1], E());
  if (isLimit) limitAll<E>(result, f.kind == kRelu ? 0.0f : f.a, f.kind == kRelu ? INFINITY : f.b);
}

// HIGH rows of 8 columns: the units that a warp takes two at a time, left to right, then down.
struct Unit {
  int row, column;

  __device__ __forceinline__ void advance(int by, int columns) {
    column += by;
    while (column >= columns) {
      column -= columns;
      ++row;
    }
  }
};

// Becomes no number where one of every second result is, from FIRST on: every activation of none is none. An infinity times zero is as well,
// which is looked at then. Columns that no tile has hold what happened to lie there.
template <typename E, int FIRST, int COUNT>
__device__ __forceinline__ void addAll(HalvesOf<E>& all, const HalvesOf<E> (&v)[COUNT], bool isIn) {
  const HalvesOf<E> zeros = halvesOf(0.0f, 0.0f, E());
  if (!isIn) return;
#pragma unroll
  for (int i = 0; i < COUNT / 2; ++i) all = __hfma2(v[2 * i + FIRST], zeros, all);
}

// All units of a tile in eight channels of this warp, whose results lie in shared memory then.
template <typename E, int TAPS, int STRIDE, int HIGH>
__device__ __forceinline__ void computeTile(const DepthwiseParams& p, const Tile& tile, const DiagonalLayout<TAPS, STRIDE>& layout,
                                            const uint32_t (&taps)[TAPS * TAPS], const int (&at)[TAPS / 2 + 1],
                                            const Affine<2>& affine, char* shared) {
  const int lane = threadIdx.x % 32;
  const int columns = (tile.columns + 7) / 8;
  const int units = (tile.rows + HIGH - 1) / HIGH * columns;
  const int unitRow = HIGH * layout.row, unitColumn = 8 * layout.pitch;
  const uint32_t x = sharedAddress(shared);
  const uint32_t result = x + layout.resultAt(lane / 4, threadIdx.x / 32) + lane % 4 * 4;
  HalvesOf<E> all = halvesOf(0.0f, 0.0f, E());
  Unit even = {0, 0};
#pragma unroll 1
  for (int i = 0; i < units; i += 2) {
    // The last one may be alone: it is made twice.
    Unit odd = even;
    odd.advance(i + 1 < units ? 1 : 0, columns);
    const Unit own = lane / 8 % 2 == 0 ? even : odd;
    float sum[HIGH][4] = {};
    multiply<E, TAPS, STRIDE, HIGH>(sum, taps, at, x + own.row * STRIDE * unitRow + own.column * unitColumn, layout.row);
    HalvesOf<E> v[2 * HIGH];
    activateSums<E, HIGH>(v, sum, affine, p.activation);
    __syncwarp();
    // Rows behind the tile's last have a place as well.
    uint32_t toEven = result + even.row * unitRow + even.column * unitColumn;
    uint32_t toOdd = result + odd.row * unitRow + odd.column * unitColumn;
#pragma unroll
    for (int r = 0; r < HIGH; ++r) {
      storeShared4(toEven, reinterpret_cast<const uint32_t&>(v[2 * r]));
      storeShared4(toOdd, reinterpret_cast<const uint32_t&>(v[2 * r + 1]));
      toEven += layout.row;
      toOdd += layout.row;
    }
    addAll<E, 0>(all, v, even.column * 8 + lane / 4 < tile.columns);
    addAll<E, 1>(all, v, odd.column * 8 + lane / 4 < tile.columns);
    __syncwarp();
    even = odd;
    even.advance(1, columns);
  }
  if (__any_sync(0xffffffffu, __hisnan(all.x) || __hisnan(all.y))) remake<E>(p, tile, layout, shared);
}
