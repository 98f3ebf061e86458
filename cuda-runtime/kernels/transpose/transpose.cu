// Copies whose source and target have different innermost axes: tiles go through shared memory, so that both sides
// are read and written along their own memory. Tile rows are `x` of the source (its innermost axis), tile columns
// `y` (the target's innermost axis); all other axes are batch.
#include "../common/launch.cuh"
#include "../common/storage.cuh"
#include "params.generated.cuh"

namespace {

constexpr int kTile = 64;
constexpr int kBatchAxes = 6;
constexpr int kThreadsX = 32;
constexpr int kThreadsY = 8;

template <typename To, typename From>
__device__ __forceinline__ To converted(From x) {
  return fromFloat<To>(toFloat(x));
}
template <> __device__ __forceinline__ uint8_t converted(uint8_t x) { return x; }
template <> __device__ __forceinline__ uint16_t converted(uint16_t x) { return x; }
template <> __device__ __forceinline__ uint32_t converted(uint32_t x) { return x; }
template <> __device__ __forceinline__ uint64_t converted(uint64_t x) { return x; }

// What a block copies: its corner, and where its batch starts on either side.
struct Tile {
  int x;
  int y;
  int64_t from;
  int64_t to;
};

__device__ __forceinline__ Tile tileOf(const TransposeParams& p) {
  int block = blockIdx.x;
  Tile tile = {};
  tile.x = block % p.tilesX * kTile;
  block /= p.tilesX;
  tile.y = block % p.tilesY * kTile;
  int batch = block / p.tilesY;
#pragma unroll
  for (int axis = kBatchAxes - 1; axis >= 0; --axis) {
    const int outer = batch / p.batchSizes[axis];
    const int at = batch - outer * p.batchSizes[axis];
    tile.from += static_cast<int64_t>(at) * p.fromBatchStrides[axis];
    tile.to += static_cast<int64_t>(at) * p.toBatchStrides[axis];
    batch = outer;
  }
  return tile;
}

template <typename From, typename To>
__device__ __forceinline__ void transpose(const TransposeParams& p) {
  // Padding of a row, so that a column of the tile lies in different banks.
  __shared__ To tile[kTile][kTile + (sizeof(To) >= 4 ? 1 : 4 / sizeof(To))];
  const Tile place = tileOf(p);
  beginKernelEarly();
  const From* from = static_cast<const From*>(p.from) + place.from;
  To* to = static_cast<To*>(p.to) + place.to;
  const int x0 = place.x;
  const int y0 = place.y;
#pragma unroll
  for (int row = 0; row < kTile; row += kThreadsY) {
    const int y = y0 + row + static_cast<int>(threadIdx.y);
#pragma unroll
    for (int column = 0; column < kTile; column += kThreadsX) {
      const int x = x0 + column + static_cast<int>(threadIdx.x);
      if (x < p.sizeX && y < p.sizeY) {
        const int64_t at = static_cast<int64_t>(y) * p.fromStrideY + static_cast<int64_t>(x) * p.fromStrideX;
        tile[row + threadIdx.y][column + threadIdx.x] = converted<To>(from[at]);
      }
    }
  }
  __syncthreads();
#pragma unroll
  for (int row = 0; row < kTile; row += kThreadsY) {
    const int x = x0 + row + static_cast<int>(threadIdx.y);
#pragma unroll
    for (int column = 0; column < kTile; column += kThreadsX) {
      const int y = y0 + column + static_cast<int>(threadIdx.x);
      if (x < p.sizeX && y < p.sizeY) {
        to[static_cast<int64_t>(x) * p.toStrideX + static_cast<int64_t>(y) * p.toStrideY] =
            tile[column + threadIdx.x][row + threadIdx.y];
      }
    }
  }
}

// Two neighbouring elements of 2 bytes at a time: sizes and strides are even, innermost strides are 1.
__device__ __forceinline__ void transposePairs(const TransposeParams& p) {
  __shared__ uint16_t tile[kTile][kTile + 2];
  const Tile place = tileOf(p);
  beginKernelEarly();
  const uint16_t* from = static_cast<const uint16_t*>(p.from) + place.from;
  uint16_t* to = static_cast<uint16_t*>(p.to) + place.to;
  const int pair = 2 * threadIdx.x;
#pragma unroll
  for (int row = 0; row < kTile; row += kThreadsY) {
    const int y = place.y + row + static_cast<int>(threadIdx.y);
    const int x = place.x + pair;
    if (x < p.sizeX && y < p.sizeY) {
      const uint32_t two = *reinterpret_cast<const uint32_t*>(from + static_cast<int64_t>(y) * p.fromStrideY + x);
      *reinterpret_cast<uint32_t*>(&tile[row + threadIdx.y][pair]) = two;
    }
  }
  __syncthreads();
#pragma unroll
  for (int row = 0; row < kTile; row += kThreadsY) {
    const int x = place.x + row + static_cast<int>(threadIdx.y);
    const int y = place.y + pair;
    if (x < p.sizeX && y < p.sizeY) {
      const uint32_t low = tile[pair][row + threadIdx.y];
      const uint32_t high = tile[pair + 1][row + threadIdx.y];
      *reinterpret_cast<uint32_t*>(to + static_cast<int64_t>(x) * p.toStrideX + y) = high << 16 | low;
    }
  }
}

}  // namespace

extern "C" __global__ void __launch_bounds__(kThreadsX* kThreadsY)
    transpose_b16_pairs(const __grid_constant__ TransposeParams p) {
  transposePairs(p);
}

#define TRANSPOSE(name, From, To)                                                            \
  extern "C" __global__ void __launch_bounds__(kThreadsX* kThreadsY)                         \
      transpose_##name(const __grid_constant__ TransposeParams p) {                                   \
    transpose<From, To>(p);                                                                  \
  }

TRANSPOSE(b8, uint8_t, uint8_t)
TRANSPOSE(b16, uint16_t, uint16_t)
TRANSPOSE(b32, uint32_t, uint32_t)
TRANSPOSE(b64, uint64_t, uint64_t)
TRANSPOSE(f32_f16, float, __half)
TRANSPOSE(f32_bf16, float, __nv_bfloat16)
TRANSPOSE(f16_f32, __half, float)
TRANSPOSE(bf16_f32, __nv_bfloat16, float)
