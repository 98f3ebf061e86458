// Depthwise convolutions on Tensor Cores (diagonal-sums.cuh). A block copies a tile of x with all that its taps see to shared memory, a
// warp eight channels of it; then it writes the results in whole lines.
#pragma once
#include "diagonal-sums.cuh"

// What of a tile this thread copies: 16 bytes of every 32nd column.
struct Part {
  int chunk, lane;

  __device__ __forceinline__ Part() : lane(threadIdx.x / (blockDim.x / 32)) { chunk = threadIdx.x - lane * (blockDim.x / 32); }
};

template <typename E, int TAPS, int STRIDE>
__device__ __forceinline__ void copyTile(const DepthwiseParams& p, const Tile& tile, const Part& part, const DiagonalLayout<TAPS, STRIDE>& layout,
                                         uint32_t shared) {
  const int firstHeight = tile.at.height * STRIDE - p.pad[1];
  const int firstWidth = tile.at.width * STRIDE - p.pad[2];
  const int rows = (tile.rows - 1) * STRIDE + TAPS;
  const int columns = (tile.columns - 1) * STRIDE + TAPS;
  const E* x = static_cast<const E*>(p.x) + static_cast<int64_t>(tile.at.batch) * p.xBatch + tile.filter + part.chunk * 8;
  for (int i = part.lane; i < columns; i += 32) {
    const int width = firstWidth + i;
    const bool isIn = static_cast<unsigned>(width) < static_cast<unsigned>(p.input[2]);
    const E* from = x + static_cast<int64_t>(firstHeight) * p.xAxes[1] + static_cast<int64_t>(width) * p.xAxes[2];
    uint32_t to = shared + layout.place(i, part.chunk);
#pragma unroll 4
    for (int j = 0; j < rows; ++j) {
      const bool isSeen = isIn && static_cast<unsigned>(firstHeight + j) < static_cast<unsigned>(p.input[1]);
      cpAsync<16>(to, isSeen ? from : static_cast<const E*>(p.x), isSeen ? 16 : 0);
      from += p.xAxes[1];
      to += layout.row;
    }
  }
}

template <typename E, class Layout>
__device__ __forceinline__ void storeTile(const DepthwiseParams& p, const Tile& tile, const Part& part, const Layout& layout, const char* from) {
  const int64_t first = offsetOf(p.to, tile.at) + tile.filter + part.chunk * 8;
  for (int i = part.lane; i < tile.columns; i += 32) {
    const char* at = from + layout.resultAt(i, part.chunk);
    E* to = static_cast<E*>(p.y) + first + static_cast<int64_t>(i) * p.to.axes[2];
#pragma unroll 4
    for (int j = 0; j < tile.rows; ++j) {
      *reinterpret_cast<uint4*>(to) = *reinterpret_cast<const uint4*>(at);
      at += layout.row;
      to += p.to.axes[1];
    }
  }
}

// Columns of one parity of a tile, and of both.
template <int TAPS, int STRIDE> __device__ __forceinline__ DiagonalLayout<TAPS, STRIDE> copiedLayout(const DepthwiseParams& p) {
  const int half = STRIDE == 1 ? p.wide + TAPS - 1 : p.wide + (TAPS - 1) / 2;
  return {p.pitch, STRIDE * half * p.pitch, half * p.pitch, 0, 0};
}

// sm_80 and later. Blocks that make several tiles, always of the same channels, have two of them in shared memory: one comes while the
// other is computed and stored.
template <typename E, int TAPS, int STRIDE, int HIGH>
__device__ __forceinline__ void diagonalDepthwise(const DepthwiseParams& p) {
#if !defined(__CUDA_ARCH__) || __CUDA_ARCH__ >= 800
  extern __shared__ __align__(128) char shared[];
  const auto layout = copiedLayout<TAPS, STRIDE>(p);
  const int warp = threadIdx.x / 32;
  const int chunks = blockDim.x / 32;
  const Part part;
  Tile tile(p, blockIdx.x, chunks);
  copyTile<E>(p, tile, part, layout, sharedAddress(shared));
  cpAsyncCommit();
  uint32_t taps[TAPS * TAPS];
  loadDiagonals<E, TAPS>(p, taps, tile.filter + warp * 8);
  int at[TAPS / 2 + 1];
  tapOffsets(at, layout, warp);
  Affine<2> affine;
  affine.load(p, tile.filter + warp * 8 + threadIdx.x % 4 * 2, 2);
  int stage = 0;
#pragma unroll 1
  for (unsigned next = blockIdx.x + gridDim.x;; next += gridDim.x) {
    const bool isLast = next >= static_cast<unsigned>(p.threads);
    const Tile behind(p, isLast ? blockIdx.x : next, chunks);
    if (!isLast) copyTile<E>(p, behind, part, layout, sharedAddress(shared) + (p.stage - stage));
    cpAsyncCommit();
    cpAsyncWait<1>();
    __syncthreads();
    computeTile<E, TAPS, STRIDE, HIGH>(p, tile, layout, taps, at, affine, shared + stage);
    __syncthreads();
    storeTile<E>(p, tile, part, layout, shared + stage);
    if (isLast) break;
    __syncthreads();
    stage = p.stage - stage;
    tile = behind;
  }
#else
  __trap();
#endif
}
