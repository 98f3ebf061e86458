// From the sums of a block's warps to memory.
#pragma once
#include "epilogue.cuh"
#include "tile.cuh"

// Sums of one split, as they are: rows of filters rounded up to 8.
template <int COLUMNS>
__device__ __forceinline__ void storePartial(const ConvParams& p, const float* stage, int pitch, int row, int filter,
                                             int split, int group) {
  const int padded = (p.filters + 7) / 8 * 8;
  float* to = p.partial + (static_cast<int64_t>(split) * p.groups + group) * p.rows * padded;
#pragma unroll 1
  for (int i = threadIdx.x % 32; i < 16 * COLUMNS / 4; i += 32) {
    const int r = i / (COLUMNS / 4);
    const int c = i % (COLUMNS / 4) * 4;
    if (row + r >= p.rows || filter + c >= padded) continue;
    *reinterpret_cast<float4*>(to + static_cast<int64_t>(row + r) * padded + filter + c) =
        *reinterpret_cast<const float4*>(stage + r * pitch + c);
  }
}

// `shared` is free by now. `row` and `filter` (within its group) are the first of this warp.
template <class T, class SUMS>
__device__ __forceinline__ void storeSums(const ConvParams& p, const SUMS& sums, char* shared, int warp, int row,
                                          int filter, int split, int group) {
  float* stage = reinterpret_cast<float*>(shared) + warp * 16 * T::STRIP_PITCH;
  constexpr int strips = T::WM / 16;
  const int inAll = group * p.filters;  // filters of the groups before
  Affine<8> affine;
  const int column = threadIdx.x % (T::WN / 8) * 8;
  if (p.partial == nullptr && p.to.width == 8) affine.load(p, inAll + filter + column, p.filters - filter - column);
#pragma unroll 1
  for (int strip = 0; strip < strips; ++strip) {
#pragma unroll
    for (int s = 0; s < strips; ++s)
      if (s == strip) sums.stage(s, stage);
    __syncwarp();
    const int first = row + 16 * strip;
    if (p.partial != nullptr) {
      storePartial<T::WN>(p, stage, T::STRIP_PITCH, first, filter, split, group);
    } else if (p.to.width == 8) {
      finishEights<T::WN>(p, stage, T::STRIP_PITCH, first, inAll + filter, inAll + p.filters, affine);
    } else if (p.to.width == 2) {
      finishFew<T::WN, 2>(p, stage, T::STRIP_PITCH, first, inAll + filter, inAll + p.filters);
    } else {
      finishFew<T::WN, 1>(p, stage, T::STRIP_PITCH, first, inAll + filter, inAll + p.filters);
    }
    __syncwarp();
  }
}
