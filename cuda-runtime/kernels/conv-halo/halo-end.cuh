// The end of a tile of patches: a bias, limits or a formula, a residual; and the rows of 8 by 8 outputs to where they are in the image.
#pragma once
#include "../core/plain-end.cuh"
#include "params.generated.cuh"

// Of patch `index`: its first output, and its image; one that is not there is in an image that is not there.
struct PatchPlace {
  int x, y, image;

  __device__ __forceinline__ PatchPlace(const ConvHaloParams& params, int index) {
    x = index % params.patchesX * 8;
    index /= params.patchesX;
    y = index % params.patchesY * 8;
    image = index / params.patchesY;
  }
};

struct Tangent {
  static __device__ __forceinline__ float of(const GemmParams&, float x) { return tanhForHalf(x); }
};

// A group's sums: PATCHES of 64 outputs by BN filters, 16 outputs (two rows of eight) a warp.
template <typename T, int PATCHES, int BN>
struct HaloEnd {
  static constexpr int kColumns = BN < 64 ? BN : 64;
  using Columns = Part<T, kColumns>;
  using Pair = typename PairOf<T>::Type;
  static constexpr int kBytes = Columns::kBytes;
  static constexpr int kLanesOfRow = Columns::kLanesOfRow;

  // `first`: the group's first patch; `n`: its first filter. `own`: shared memory of this warp.
  static __device__ __forceinline__ void finish(const ConvHaloParams& params, const float (&sums)[PATCHES][BN / 8][4], int first, int n,
                                                unsigned char* own) {
    const GemmParams& p = params.p;
    if (p.residual != nullptr) {
      if (p.first.kind == kSilu) finishAs<Sigmoid, true>(params, sums, first, n, own);
      else finishAs<Limits, true>(params, sums, first, n, own);
    } else if (p.first.kind == kGelu) {
      finishAs<Gelu, false>(params, sums, first, n, own);
    } else if (p.first.kind == kTanh) {
      finishAs<Tangent, false>(params, sums, first, n, own);
    } else if (p.first.kind != kNone) {
      finishAs<Sigmoid, false>(params, sums, first, n, own);
    } else {
      finishAs<Limits, false>(params, sums, first, n, own);
    }
    __syncwarp();
  }

 private:
  template <typename Formula, bool ADDS>
  static __device__ __forceinline__ void finishAs(const ConvHaloParams& params, const float (&sums)[PATCHES][BN / 8][4], int first, int n,
                                                  unsigned char* own) {
    const GemmParams& p = params.p;
#pragma unroll
    for (int column = 0; column < BN; column += kColumns) {
      float2 bias[Columns::kBlocks];
      loadBias(p, n + column, bias);
#pragma unroll
      for (int i = 0; i < PATCHES; ++i) {
        const Rows rows(params, first + i);
        Columns part;
#pragma unroll
        for (int j = 0; j < Columns::kBlocks; ++j)
#pragma unroll
          for (int q = 0; q < 4; ++q) {
            part.v[j][q] = Formula::of(p, sums[i][column / 8 + j][q] + (q % 2 == 0 ? bias[j].x : bias[j].y));
          }
        if constexpr (ADDS) addResidual(p, part, rows, n + column);
        __syncwarp();
        part.put(own);
        __syncwarp();
        if (p.neighbours == 8) store(p, rows, n + column, own);
        else storeNarrow(p, rows, n + column, own);
      }
    }
  }

  // Of this lane's columns, all loads on their way together. There may be an odd number of filters.
  static __device__ __forceinline__ void loadBias(const GemmParams& p, int n, float2 (&bias)[Columns::kBlocks]) {
    n += (threadIdx.x & 3) * 2;
#pragma unroll
    for (int j = 0; j < Columns::kBlocks; ++j) {
      const float* from = p.bias + n + 8 * j;
      bias[j].x = p.bias != nullptr && n + 8 * j < p.n ? __ldg(from) : 0.0f;
      bias[j].y = p.bias != nullptr && n + 8 * j + 1 < p.n ? __ldg(from + 1) : 0.0f;
    }
  }

  // A warp's two rows of eight outputs.
  struct Rows {
    int64_t first;  // Position of the first one, of the whole output.
    int across, down;  // Outputs of a row that there are, and rows.
    int width;

    __device__ __forceinline__ Rows(const ConvHaloParams& params, int patch) : width(params.width) {
      const PatchPlace at(params, patch);
      const int y = at.y + threadIdx.x / 32 % 4 * 2;
      first = ((int64_t)at.image * params.height + y) * width + at.x;
      across = params.width - at.x;
      down = patch < params.p.m ? params.height - y : 0;
    }

    __device__ __forceinline__ bool has(int row) const { return row % 8 < across && row / 8 < down; }
    __device__ __forceinline__ int64_t position(int row) const { return first + row / 8 * width + row % 8; }
  };

  // Sixteen bytes a lane.
  static __device__ __forceinline__ void store(const GemmParams& p, const Rows& rows, int n, const unsigned char* own) {
    const int lane = threadIdx.x & 31;
    const int column = n + lane % kLanesOfRow * 8;
#pragma unroll
    for (int by = 0; by < 16; by += Columns::kRowsAtOnce) {
      const int row = by + lane / kLanesOfRow;
      const uint4 eight = *reinterpret_cast<const uint4*>(own + row * Columns::kPitch + lane % kLanesOfRow * 16);
      if (rows.has(row) && column < p.n) *reinterpret_cast<uint4*>(static_cast<T*>(p.d) + rows.position(row) * p.dM + column) = eight;
    }
  }

  // Where rows are off sixteen bytes: a word a lane, or its two elements.
  static __device__ __forceinline__ void storeNarrow(const GemmParams& p, const Rows& rows, int n, const unsigned char* own) {
    if (p.neighbours == 2) storePairs<false>(p, rows, n, own);
    else storePairs<true>(p, rows, n, own);
  }

  // All are loaded before one is stored; each store has a predicate of its own, for rows would wait for branches.
  template <bool APART>
  static __device__ __forceinline__ void storePairs(const GemmParams& p, const Rows& rows, int n, const unsigned char* own) {
    constexpr int kPairs = kColumns / 2, kRowsAtOnce = 32 / kPairs;
    const int lane = threadIdx.x & 31;
    const int column = n + lane % kPairs * 2, upper = lane / kPairs;
    uint32_t words[16 / kRowsAtOnce];
#pragma unroll
    for (int by = 0; by < 16; by += kRowsAtOnce)
      words[by / kRowsAtOnce] = *reinterpret_cast<const uint32_t*>(own + (by + upper) * Columns::kPitch + lane % kPairs * 4);
    uint16_t* const first = static_cast<uint16_t*>(p.d) + rows.first * p.dM + column;
#pragma unroll
    for (int by = 0; by < 16; by += kRowsAtOnce) {
      const int row = by + upper;
      const uint32_t word = words[by / kRowsAtOnce];
      uint16_t* to = first + (row / 8 * rows.width + row % 8) * p.dM;
      const bool isThere = rows.has(row) && column < p.n;
      if constexpr (APART) {
        if (isThere) to[0] = static_cast<uint16_t>(word);
        if (isThere && column + 1 < p.n) to[1] = static_cast<uint16_t>(word >> 16);
      } else {
        if (isThere) *reinterpret_cast<uint32_t*>(to) = word;
      }
    }
  }

  static __device__ __forceinline__ void addResidual(const GemmParams& p, Columns& part, const Rows& rows, int n) {
    const int lane = threadIdx.x & 31;
    n += lane % 4 * 2;
#pragma unroll
    for (int half = 0; half < 2; ++half) {
      const int row = lane / 4 + 8 * half;
      const T* from = static_cast<const T*>(p.residual) + rows.position(row) * p.rM + n;
#pragma unroll
      for (int j = 0; j < Columns::kBlocks; ++j) {
        float2 r = make_float2(0.0f, 0.0f);
        if (rows.has(row) && n + 8 * j < p.n) r = PairOf<T>::to(*reinterpret_cast<const Pair*>(from + 8 * j));
        part.v[j][2 * half] = atMost(atLeast(part.v[j][2 * half] + r.x, p.lastLow), p.lastHigh);
        part.v[j][2 * half + 1] = atMost(atLeast(part.v[j][2 * half + 1] + r.y, p.lastLow), p.lastHigh);
      }
    }
  }
};
