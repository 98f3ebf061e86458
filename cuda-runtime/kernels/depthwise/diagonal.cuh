// On Tensor Cores. Of 8 channels each tap is a diagonal matrix: 16 positions by 16 (8 channels at each of two taps) times 16 by 8
// is two taps of all of them at once, in FP32, of operands that nobody converts. 7 of 8 products are with zeros, and still
// these are fewer instructions than multiply-adds on CUDA cores, a fifth for 3x3 and a tenth for 7x7.
//
// A block copies a tile of x with all that its taps see to shared memory, a warp eight channels of it. A warp reads its
// channels and nobody else does: it puts its results where what they were made of lies. Then the block writes whole lines.
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

// How positions lie in shared memory: `pitch` bytes apart, an odd number of 16 bytes, so that eight neighbours lie in different
// banks. Of stride 2 even columns come first, then odd ones: what one tap reads are neighbours.
template <int TAPS, int STRIDE> struct Layout {
  int pitch;
  int half;  // Columns of either parity.

  __device__ __forceinline__ explicit Layout(const DepthwiseParams& p)
      : pitch(p.pitch), half(STRIDE == 1 ? p.wide + TAPS - 1 : p.wide + (TAPS - 1) / 2) {}

  __device__ __forceinline__ int row() const { return STRIDE * half * pitch; }
  __device__ __forceinline__ int column(int i) const {
    return (STRIDE == 1 ? i : (i & 1) * half + (i >> 1)) * pitch;
  }
  // From one tap to the next, and to the one after that.
  __device__ __forceinline__ int next() const { return STRIDE == 1 ? pitch : half * pitch; }
  __device__ __forceinline__ int second() const { return STRIDE == 1 ? 2 * pitch : pitch; }
};

// What one block makes, and what of it this thread copies: 16 bytes of every 32nd column.
struct Tile {
  Position at;
  int filter, rows, columns;
  int chunk, lane;

  __device__ __forceinline__ Tile(const DepthwiseParams& p, unsigned index) {
    const int chunks = blockDim.x / 32;
    const unsigned tile = quotientOf(index, p.pieces);
    const unsigned strip = quotientOf(tile, p.strips);
    lane = threadIdx.x / chunks;
    chunk = threadIdx.x - lane * chunks;
    filter = (index - tile * p.pieces.size) * 8 * chunks;
    at.batch = quotientOf(strip, p.height);
    at.depth = 0;
    at.height = (strip - at.batch * p.height.size) * p.high;
    at.width = (tile - strip * p.strips.size) * p.wide;
    rows = min(p.high, p.outputHeight - at.height);
    columns = min(p.wide, p.outputWidth - at.width);
  }
};

template <typename E, int TAPS, int STRIDE>
__device__ __forceinline__ void copyTile(const DepthwiseParams& p, const Tile& tile, const Layout<TAPS, STRIDE>& layout,
                                         uint32_t shared) {
  const int firstHeight = tile.at.height * STRIDE - p.pad[1];
  const int firstWidth = tile.at.width * STRIDE - p.pad[2];
  const int rows = (tile.rows - 1) * STRIDE + TAPS;
  const int columns = (tile.columns - 1) * STRIDE + TAPS;
  const E* x = static_cast<const E*>(p.x) + static_cast<int64_t>(tile.at.batch) * p.xBatch + tile.filter + tile.chunk * 8;
  for (int i = tile.lane; i < columns; i += 32) {
    const int width = firstWidth + i;
    const bool isIn = static_cast<unsigned>(width) < static_cast<unsigned>(p.input[2]);
    const E* from = x + static_cast<int64_t>(firstHeight) * p.xAxes[1] + static_cast<int64_t>(width) * p.xAxes[2];
    uint32_t to = shared + layout.column(i) + tile.chunk * 16;
#pragma unroll 4
    for (int j = 0; j < rows; ++j) {
      const bool isSeen = isIn && static_cast<unsigned>(firstHeight + j) < static_cast<unsigned>(p.input[1]);
      cpAsync<16>(to, isSeen ? from : static_cast<const E*>(p.x), isSeen ? 16 : 0);
      from += p.xAxes[1];
      to += layout.row();
    }
  }
}

template <typename E>
__device__ __forceinline__ void storeTile(const DepthwiseParams& p, const Tile& tile, const char* from, int row) {
  const int64_t first = offsetOf(p.to, tile.at) + tile.filter + tile.chunk * 8;
  for (int i = tile.lane; i < tile.columns; i += 32) {
    const char* at = from + i * p.pitch + tile.chunk * 16;
    E* to = static_cast<E*>(p.y) + first + static_cast<int64_t>(i) * p.to.axes[2];
#pragma unroll 4
    for (int j = 0; j < tile.rows; ++j) {
      *reinterpret_cast<uint4*>(to) = *reinterpret_cast<const uint4*>(at);
      at += row;
      to += p.to.axes[1];
    }
  }
}

// Zeros of a diagonal times an infinity of a neighbouring channel are no numbers: what of a stored tile is none is computed once more, by itself.
template <typename E, int TAPS, int STRIDE>
__device__ __forceinline__ void storeAgain(const DepthwiseParams& p, const Tile& tile, const char* from, int row) {
  const E* x = static_cast<const E*>(p.x) + static_cast<int64_t>(tile.at.batch) * p.xBatch;
  const int64_t first = offsetOf(p.to, tile.at);
  const int elements = tile.rows * 8;
#pragma unroll 1
  for (int i = tile.lane; i < tile.columns; i += 32) {
#pragma unroll 1
    for (int e = 0; e < elements; ++e) {
      const int j = e / 8, channel = tile.chunk * 8 + e % 8, filter = tile.filter + channel;
      if (!isnan(toFloat(reinterpret_cast<const E*>(from + j * row + i * p.pitch)[channel]))) continue;
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
      static_cast<E*>(p.y)[first + static_cast<int64_t>(i) * p.to.axes[2] + static_cast<int64_t>(j) * p.to.axes[1] + filter] =
          fromFloat<E>(v[0]);
    }
  }
}

// Of each tap this lane's part of the diagonal of eight filters.
template <typename E, int TAPS>
__device__ __forceinline__ void loadDiagonals(const DepthwiseParams& p, uint32_t (&taps)[TAPS * TAPS], int filter) {
  const int column = threadIdx.x % 32 / 4;
  const bool isOn = column / 2 == threadIdx.x % 4;
  const float* w = p.w + filter + column;
#pragma unroll
  for (int i = 0; i < TAPS * TAPS; ++i) {
    const float v = isOn ? w[static_cast<int64_t>(i) * p.filters] : 0.0f;
    alignas(4) const E pair[2] = {fromFloat<E>(column % 2 == 0 ? v : 0.0f), fromFloat<E>(column % 2 == 0 ? 0.0f : v)};
    taps[i] = reinterpret_cast<const uint32_t&>(pair);
  }
}

// HIGH rows of 16 columns, from the row of x at `from` on, which is each lane's own address of ldmatrix.
template <typename E, int TAPS, int STRIDE, int HIGH>
__device__ __forceinline__ void multiply(float (&sum)[HIGH][4], const uint32_t (&taps)[TAPS * TAPS],
                                         const Layout<TAPS, STRIDE>& layout, uint32_t from) {
  constexpr int pairs = TAPS / 2;
#pragma unroll
  for (int j = 0; j < (HIGH - 1) * STRIDE + TAPS; ++j) {
    uint32_t x[pairs][4], last[2];
#pragma unroll
    for (int i = 0; i < pairs; ++i) ldmatrix4(x[i], from + i * layout.second());
    ldmatrix2(last, from + pairs * layout.second());
#pragma unroll
    for (int r = 0; r < HIGH; ++r) {
      const int kh = j - r * STRIDE;
      if (kh < 0 || kh >= TAPS) continue;
#pragma unroll
      for (int i = 0; i < pairs; ++i) mma16816(sum[r], x[i], taps[kh * TAPS + 2 * i], taps[kh * TAPS + 2 * i + 1], E());
      mma1688(sum[r], last, taps[kh * TAPS + TAPS - 1], E());
    }
    from += layout.row();
  }
}

template <int COUNT> __device__ __forceinline__ void activateSums(float (&v)[COUNT], const Activation& f) {
  if (f.kind == kClip) {
#pragma unroll
    for (int i = 0; i < COUNT; ++i) v[i] = atMost(atLeast(v[i], f.a), f.b);
  } else if (f.kind == kHardSwish) {
#pragma unroll
    for (int i = 0; i < COUNT; ++i) v[i] *= atMost(atLeast(f.a * v[i] + f.b, 0.0f), 1.0f);
  } else {
    activateAll(v, f);
  }
}

template <typename E> __device__ __forceinline__ uint32_t pairOf(float a, float b) {
  alignas(4) const E pair[2] = {fromFloat<E>(a), fromFloat<E>(b)};
  return reinterpret_cast<const uint32_t&>(pair);
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

// All units of a tile in eight channels, which begin at `mine`. Whether a sum of this lane's is no number.
template <typename E, int TAPS, int STRIDE, int HIGH>
__device__ __forceinline__ bool computeTile(const DepthwiseParams& p, const Tile& tile, const uint32_t (&taps)[TAPS * TAPS],
                                            const Affine<2>& affine, uint32_t mine) {
  const Layout<TAPS, STRIDE> layout(p);
  const int lane = threadIdx.x % 32;
  const int columns = (tile.columns + 7) / 8;
  const int units = (tile.rows + HIGH - 1) / HIGH * columns;
  const uint32_t first = mine + lane % 8 * layout.pitch + (lane >= 16 ? layout.next() : 0);
  const uint32_t result = mine + lane / 4 * layout.pitch + lane % 4 * 4;
  Unit even = {0, 0};
  float all = 0.0f;
#pragma unroll 1
  for (int i = 0; i < units; i += 2) {
    // The last one may be alone: it is made twice.
    Unit odd = even;
    odd.advance(i + 1 < units ? 1 : 0, columns);
    const Unit own = lane / 8 % 2 == 0 ? even : odd;
    float sum[HIGH][4] = {};
    multiply<E, TAPS, STRIDE, HIGH>(sum, taps, layout, first + own.row * HIGH * STRIDE * layout.row() + own.column * 8 * layout.pitch);
    float v[4 * HIGH];
#pragma unroll
    for (int e = 0; e < 4 * HIGH; ++e) v[e] = sum[e / 4][e % 4] * affine.scale[e % 2] + affine.bias[e % 2];
#pragma unroll
    for (int e = 0; e < 4 * HIGH; ++e) all = fmaf(v[e], 0.0f, all);
    activateSums(v, p.activation);
    __syncwarp();
    // Rows behind the tile's last have a place as well.
    uint32_t toEven = result + even.row * HIGH * layout.row() + even.column * 8 * layout.pitch;
    uint32_t toOdd = result + odd.row * HIGH * layout.row() + odd.column * 8 * layout.pitch;
#pragma unroll
    for (int r = 0; r < HIGH; ++r) {
      storeShared4(toEven, pairOf<E>(v[4 * r], v[4 * r + 1]));
      storeShared4(toOdd, pairOf<E>(v[4 * r + 2], v[4 * r + 3]));
      toEven += layout.row();
      toOdd += layout.row();
    }
    __syncwarp();
    even = odd;
    even.advance(1, columns);
  }
  // An infinity as well: what it is of is looked at then.
  return isnan(all);
}

// sm_80 and later. Blocks that make several tiles, always of the same channels, have two of them in shared memory: one comes while the
// other is computed and stored.
template <typename E, int TAPS, int STRIDE, int HIGH>
__device__ __forceinline__ void diagonalDepthwise(const DepthwiseParams& p) {
#if !defined(__CUDA_ARCH__) || __CUDA_ARCH__ >= 800
  extern __shared__ __align__(128) char shared[];
  const Layout<TAPS, STRIDE> layout(p);
  const int warp = threadIdx.x / 32;
  Tile tile(p, blockIdx.x);
  copyTile<E>(p, tile, layout, sharedAddress(shared));
  cpAsyncCommit();
  uint32_t taps[TAPS * TAPS];
  loadDiagonals<E, TAPS>(p, taps, tile.filter + warp * 8);
  Affine<2> affine;
  affine.load(p, tile.filter + warp * 8 + threadIdx.x % 4 * 2, 2);
  int stage = 0;
#pragma unroll 1
  for (unsigned next = blockIdx.x + gridDim.x;; next += gridDim.x) {
    const bool isLast = next >= static_cast<unsigned>(p.threads);
    const Tile behind(p, isLast ? blockIdx.x : next);
    if (!isLast) copyTile<E>(p, behind, layout, sharedAddress(shared) + (p.stage - stage));
    cpAsyncCommit();
    cpAsyncWait<1>();
    __syncthreads();
    const bool isOff = __syncthreads_or(
        computeTile<E, TAPS, STRIDE, HIGH>(p, tile, taps, affine, sharedAddress(shared) + stage + warp * 16));
    storeTile<E>(p, tile, shared + stage, layout.row());
    if (isOff) storeAgain<E, TAPS, STRIDE>(p, tile, shared + stage, layout.row());
    if (isLast) break;
    __syncthreads();
    stage = p.stage - stage;
    tile = behind;
  }
#else
  __trap();
#endif
}
