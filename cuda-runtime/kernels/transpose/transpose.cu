// Copies whose source and target have different innermost axes: tiles go through shared memory, so that both sides
// are read and written along their own memory. Tile rows are `x` of the source (its innermost axis), tile columns
// `y` (the target's innermost axis); all other axes are batch.
#include "../common/storage.cuh"

namespace {

constexpr int kTile = 64;
constexpr int kBatchAxes = 6;
constexpr int kThreadsX = 32;
constexpr int kThreadsY = 8;

struct Params {
  const void* from;
  void* to;
  int32_t sizeX;
  int32_t sizeY;
  // In elements: from row to row of the tile, on either side.
  int32_t fromStrideY;
  int32_t toStrideX;
  int32_t tilesX;
  int32_t tilesY;
  int32_t fromStrideX;
  int32_t toStrideY;
  // Outermost first; 1 where there are fewer.
  int32_t batchSizes[kBatchAxes];
  int32_t fromBatchStrides[kBatchAxes];
  int32_t toBatchStrides[kBatchAxes];
};
static_assert(sizeof(Params) == 120, "test/cuda-runtime/transpose.test.ts has this number");

template <typename To, typename From>
__device__ __forceinline__ To converted(From x) {
  return fromFloat<To>(toFloat(x));
}
template <> __device__ __forceinline__ uint8_t converted(uint8_t x) { return x; }
template <> __device__ __forceinline__ uint16_t converted(uint16_t x) { return x; }
template <> __device__ __forceinline__ uint32_t converted(uint32_t x) { return x; }
template <> __device__ __forceinline__ uint64_t converted(uint64_t x) { return x; }

template <typename From, typename To>
__device__ __forceinline__ void transpose(const Params& p) {
  // One element of padding a row, so that a column of the tile lies in different banks.
  __shared__ To tile[kTile][kTile + (sizeof(To) >= 4 ? 1 : 4 / sizeof(To))];
  int block = blockIdx.x;
  const int tileX = block % p.tilesX;
  block /= p.tilesX;
  const int tileY = block % p.tilesY;
  int batch = block / p.tilesY;
  int64_t fromOffset = 0;
  int64_t toOffset = 0;
#pragma unroll
  for (int axis = kBatchAxes - 1; axis >= 0; --axis) {
    const int outer = batch / p.batchSizes[axis];
    const int at = batch - outer * p.batchSizes[axis];
    fromOffset += static_cast<int64_t>(at) * p.fromBatchStrides[axis];
    toOffset += static_cast<int64_t>(at) * p.toBatchStrides[axis];
    batch = outer;
  }
  const From* from = static_cast<const From*>(p.from) + fromOffset;
  To* to = static_cast<To*>(p.to) + toOffset;
  const int x0 = tileX * kTile;
  const int y0 = tileY * kTile;
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

}  // namespace

#define TRANSPOSE(name, From, To)                                                            \
  extern "C" __global__ void __launch_bounds__(kThreadsX* kThreadsY)                         \
      transpose_##name(const __grid_constant__ Params p) {                                   \
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
