// The end of a convolution over planes: sixteen positions of one warp, of which those in the padding are not stored.
#pragma once
#include "../common/activation.cuh"
#include "../common/copy.cuh"
#include "../common/divisor.cuh"
#include "../common/mma.cuh"
#include "../core/register-epilogue.cuh"
#include "params.generated.cuh"

// Where a position is stored, in elements of y; -1 in the padding, and behind the last image.
__device__ __forceinline__ int placeOfPosition(const PlanesParams& p, unsigned m) {
  const unsigned line = quotientOf(m, p.columns), image = quotientOf(line, p.rows);
  const int x = m - line * p.columns.size, y = line - image * p.rows.size;
  const bool isStored = m < static_cast<unsigned>(p.positions) && x < p.size[1] && y < p.size[0];
  return isStored ? static_cast<int>(image) * p.yBatch + y * p.yAxes[0] + x * p.yAxes[1] : -1;
}

// Sixteen staged rows of a warp, sixteen bytes a lane: COLUMNS elements each, PITCH bytes apart. Each lane finds the place of one row, and
// tells the others.
template <typename T, int COLUMNS, int PITCH>
__device__ __forceinline__ void storeRows(const PlanesParams& p, int m0, int n0, uint32_t own) {
  constexpr int kOfLane = 16 / sizeof(T), kLanesOfRow = COLUMNS / kOfLane, kRowsAtOnce = 32 / kLanesOfRow;
  const int lane = threadIdx.x & 31;
  const int place = placeOfPosition(p, m0 + lane % 16);
  const int first = lane / kLanesOfRow, column = lane % kLanesOfRow * kOfLane;
  const bool hasColumns = first < kRowsAtOnce && n0 + column < p.filters;
  T* to = static_cast<T*>(p.y) + n0 + column;
  __syncwarp();
#pragma unroll
  for (int row = 0; row < 16; row += kRowsAtOnce) {
    const int at = __shfl_sync(0xFFFFFFFF, place, (row + first) % 16);
    if (at < 0 || !hasColumns) continue;
    *reinterpret_cast<uint4*>(to + at) = loadShared16(own + (row + first) * PITCH + column * static_cast<int>(sizeof(T)));
  }
  __syncwarp();
}

// The same where rows of y are off sixteen bytes: two elements a lane, in a word or apart. All of a part are loaded before one is stored; each store
// has a predicate of its own, for rows would wait for branches.
template <int COLUMNS, int PITCH, bool APART>
__device__ __forceinline__ void storeNarrowRows(const PlanesParams& p, int m0, int n0, uint32_t own) {
  constexpr int kPairs = COLUMNS / 2, kAtOnce = 4;
  const int lane = threadIdx.x & 31;
  const int place = placeOfPosition(p, m0 + lane % 16);
  __syncwarp();
#pragma unroll 1
  for (int from = 0; from < 16 * kPairs; from += kAtOnce * 32) {
    uint32_t words[kAtOnce];
    int places[kAtOnce];
#pragma unroll
    for (int i = 0; i < kAtOnce; ++i) {
      const int index = from + i * 32 + lane, row = index / kPairs, column = index % kPairs * 2;
      words[i] = loadShared4(own + row * PITCH + column * 2);
      places[i] = __shfl_sync(0xFFFFFFFF, place, row);
    }
#pragma unroll
    for (int i = 0; i < kAtOnce; ++i) {
      const int column = n0 + (from + i * 32 + lane) % kPairs * 2;
      uint16_t* to = static_cast<uint16_t*>(p.y) + places[i] + column;
      const bool isThere = places[i] >= 0 && column < p.filters;
      if constexpr (APART) {
        if (isThere) to[0] = static_cast<uint16_t>(words[i]);
        if (isThere && column + 1 < p.filters) to[1] = static_cast<uint16_t>(words[i] >> 16);
      } else {
        if (isThere) *reinterpret_cast<uint32_t*>(to) = words[i];
      }
    }
  }
  __syncwarp();
}

// 16 rows by COLUMNS, as wgmma has them: lane 4 g + t has columns 8 j + 2 t and the next one, of rows g and g + 8.
template <typename T, int COLUMNS>
struct PlanesEnd {
  // Sixteen bytes more keep the rows of a block in banks of their own.
  static constexpr int kPitch = COLUMNS * sizeof(T) + 16;
  static constexpr int kBytes = 16 * kPitch;
  static constexpr bool kIsOfCodes = false;
  // What registers hold beside the sums: pieces of 16 columns.
  static constexpr int kPieces = COLUMNS / 16;
  static constexpr int kBlocks = 2;
  using Pair = typename PairOf<T>::Type;
  using Piece = float[kBlocks][4];

  // A piece's values to shared memory of this warp. `affine`: there too, scales and then biases of the columns.
  template <bool ACTIVATES>
  static __device__ __forceinline__ void put(const PlanesParams& p, Piece& v, int piece, const float* affine, uint32_t own) {
    scale(p, v, affine + piece * 16);
    if (p.low > -INFINITY) forAll(v, [&](float x) { return clipOf(x, p.low, INFINITY); });
    if (p.high < INFINITY) forAll(v, [&](float x) { return clipOf(x, -INFINITY, p.high); });
    if (ACTIVATES) activateAll(p.activation, v);
    putHalves(v, own + piece * 16 * static_cast<int>(sizeof(T)));
  }

  static __device__ __forceinline__ void store(const PlanesParams& p, int m0, int n0, uint32_t own) {
    if (p.storeWidth == 8) storeRows<T, COLUMNS, kPitch>(p, m0, n0, own);
    else if (p.storeWidth == 2) storeNarrowRows<COLUMNS, kPitch, false>(p, m0, n0, own);
    else storeNarrowRows<COLUMNS, kPitch, true>(p, m0, n0, own);
  }

  // Scales and then biases of a tile's filters.
  static __device__ __forceinline__ void load(const PlanesParams& p, float* to, int n0) {
    for (int i = threadIdx.x; i < COLUMNS; i += blockDim.x) {
      const bool isThere = n0 + i < p.filters;
      to[i] = isThere && p.scale != nullptr ? p.scale[n0 + i] : 1.0f;
      to[COLUMNS + i] = isThere && p.bias != nullptr ? p.bias[n0 + i] : 0.0f;
    }
  }

 private:
  static __device__ __forceinline__ int lane() { return threadIdx.x & 31; }

  static __device__ __forceinline__ void scale(const PlanesParams& p, Piece& v, const float* affine) {
    const float* from = affine + (threadIdx.x & 3) * 2;
#pragma unroll
    for (int j = 0; j < kBlocks; ++j) {
      const float2 bias = *reinterpret_cast<const float2*>(from + COLUMNS + 8 * j);
      const float2 factor = p.scale == nullptr ? make_float2(1.0f, 1.0f) : *reinterpret_cast<const float2*>(from + 8 * j);
#pragma unroll
      for (int i = 0; i < 4; ++i) v[j][i] = fmaf(v[j][i], i % 2 == 0 ? factor.x : factor.y, i % 2 == 0 ? bias.x : bias.y);
    }
  }

  template <typename Formula> static __device__ __forceinline__ void forAll(Piece& v, Formula formula) {
#pragma unroll
    for (int j = 0; j < kBlocks; ++j)
#pragma unroll
      for (int i = 0; i < 4; ++i) v[j][i] = formula(v[j][i]);
  }

  // What stems have stands side by side for all elements; the others once in the program, in a loop that rotates the array.
  static __device__ __forceinline__ void activateAll(const Activation& f, Piece& v) {
    if (f.kind == kSilu) {
      forAll(v, [&](float x) { return x * sigmoidOf(f.a * x); });
    } else if (f.kind == kHardSwish) {
      forAll(v, [&](float x) { return x * clipOf(f.a * x + f.b, 0.0f, 1.0f); });
    } else if (f.kind == kLeakyRelu) {
      forAll(v, [&](float x) { return x < 0.0f ? f.a * x : x; });
    } else if (f.kind == kGelu) {
      forAll(v, [](float x) { return geluOf(x); });
    } else if (f.kind == kTanh) {
      forAll(v, [](float x) { return tanhForHalf(x); });
    } else {
      activateEach(f, v);
    }
  }

  static __device__ __forceinline__ void activateEach(const Activation& f, Piece& v) {
#pragma unroll 1
    for (int round = 0; round < kBlocks; ++round) {
      float done[4];
#pragma unroll
      for (int i = 0; i < 4; ++i) done[i] = activate(v[0][i], f);
#pragma unroll
      for (int j = 0; j + 1 < kBlocks; ++j)
#pragma unroll
        for (int i = 0; i < 4; ++i) v[j][i] = v[j + 1][i];
#pragma unroll
      for (int i = 0; i < 4; ++i) v[kBlocks - 1][i] = done[i];
    }
  }

  static __device__ __forceinline__ uint32_t packed(float low, float high) {
    const Pair pair = PairOf<T>::from(make_float2(low, high));
    return reinterpret_cast<const uint32_t&>(pair);
  }

  static __device__ __forceinline__ void putHalves(const Piece& v, uint32_t own) {
    const uint32_t to = own + lane() % 16 * kPitch + lane() / 16 * 16;
#pragma unroll
    for (int j = 0; j < kBlocks; j += 2) {
      const uint32_t blocks[4] = {packed(v[j][0], v[j][1]), packed(v[j][2], v[j][3]),  //
                                  packed(v[j + 1][0], v[j + 1][1]), packed(v[j + 1][2], v[j + 1][3])};
      stmatrix4(to + 16 * j, blocks);
    }
  }
};
