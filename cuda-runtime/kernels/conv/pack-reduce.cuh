// Before and after the products: weights in the order that they are read in, and the sum of the splits.
#pragma once
#include "../common/launch.cuh"
#include "epilogue.cuh"
#include "../common/mma.cuh"

extern "C" __global__ void __launch_bounds__(256) conv_pack(const __grid_constant__ PackParams p) {
  beginKernel();
  const int at = blockIdx.x * 256 + threadIdx.x;
  if (at >= p.count) return;
  const int filter = at / p.pitch;
  const int k = at - filter * p.pitch;
  const int taps = p.kernel[0] * p.kernel[1] * p.kernel[2];
  const int tap = p.tapPitch > 0 ? k / p.tapPitch : k % taps;
  const int merged = p.tapPitch > 0 ? k % p.tapPitch : k / taps;
  const int member = merged / p.channels;
  float v = 0.0f;
  if (tap < taps && member < p.merge && filter / p.filters % p.merge == member) {
    const int width = tap % p.kernel[2], height = tap / p.kernel[2] % p.kernel[1], depth = tap / p.kernel[2] / p.kernel[1];
    const int64_t from = static_cast<int64_t>(filter) * p.wFilter + static_cast<int64_t>(merged - member * p.channels) * p.wChannel +
                         static_cast<int64_t>(depth) * p.wAxes[0] + static_cast<int64_t>(height) * p.wAxes[1] +
                         static_cast<int64_t>(width) * p.wAxes[2];
    v = loadFloat(p.w, from, p.type);
  }
  if (p.isTf32) v = __uint_as_float(roundToTf32(__float_as_uint(v)));
  storeFloat(p.to, at, p.toType, v);
}

// One column of one row a thread. PITCH: channels of a column that are stored at once; 0 for one by one.
template <int PITCH> __device__ __forceinline__ void widenRows(const WidenParams& p) {
  const unsigned at = blockIdx.x * 256 + threadIdx.x;
  if (at >= static_cast<unsigned>(p.count)) return;
  const unsigned row = quotientOf(at, p.columns), slice = quotientOf(row, p.height), image = quotientOf(slice, p.depth);
  const int column = static_cast<int>(at - row * p.columns.size) - p.pad;
  const int64_t from = static_cast<int64_t>(image) * p.xBatch + static_cast<int64_t>(slice - image * p.depth.size) * p.xAxes[0] +
                       static_cast<int64_t>(row - slice * p.height.size) * p.xAxes[1] + static_cast<int64_t>(column) * p.xAxes[2];
  const bool isInside = column >= 0 && column < p.width;
  const auto channel = [&](int c) {
    return isInside && c < p.channels ? loadFloat(p.x, from + static_cast<int64_t>(c) * p.xChannel, p.type) : 0.0f;
  };
  if constexpr (PITCH == 0) {
    for (int c = 0; c < p.pitch; ++c) storeFloat(p.to, static_cast<int64_t>(at) * p.pitch + c, p.toType, channel(c));
  } else {
    union { uint16_t halves[PITCH]; uint2 fours[PITCH / 4]; } all;
#pragma unroll
    for (int c = 0; c < PITCH; ++c) storeFloat(all.halves, c, p.toType, channel(c));
#pragma unroll
    for (int i = 0; i < PITCH / 4; ++i) static_cast<uint2*>(p.to)[static_cast<int64_t>(at) * (PITCH / 4) + i] = all.fours[i];
  }
}

extern "C" __global__ void __launch_bounds__(256) conv_widen_any(const __grid_constant__ WidenParams p) {
  beginKernel();
  widenRows<0>(p);
}
extern "C" __global__ void __launch_bounds__(256) conv_widen_4(const __grid_constant__ WidenParams p) {
  beginKernel();
  widenRows<4>(p);
}
extern "C" __global__ void __launch_bounds__(256) conv_widen_8(const __grid_constant__ WidenParams p) {
  beginKernel();
  widenRows<8>(p);
}

template <int WIDTH> __device__ __forceinline__ void sumSplits(const ConvParams& p) {
  const int perRow = (p.filters + WIDTH - 1) / WIDTH;
  const int padded = (p.filters + 7) / 8 * 8;
  const int64_t at = static_cast<int64_t>(blockIdx.x) * blockDim.x + threadIdx.x;
  if (at >= static_cast<int64_t>(p.rows) * perRow) return;
  const int row = static_cast<int>(at / perRow);
  const int filter = static_cast<int>(at % perRow) * WIDTH;
  const int group = blockIdx.y;
  const int64_t step = static_cast<int64_t>(p.groups) * p.rows * padded;
  const float* from = p.partial + (static_cast<int64_t>(group) * p.rows + row) * padded + filter;
  float v[WIDTH] = {};
#pragma unroll 4
  for (int split = 0; split < p.splits; ++split, from += step) {
    if constexpr (WIDTH == 4) {
      const float4 part = *reinterpret_cast<const float4*>(from);
      v[0] += part.x, v[1] += part.y, v[2] += part.z, v[3] += part.w;
    } else {
      v[0] += from[0];
    }
  }
  Affine<WIDTH> affine;
  affine.load(p, group * p.filters + filter, p.filters - filter);
  finish<WIDTH>(p, v, affine, row, group * p.filters + filter);
}

extern "C" __global__ void __launch_bounds__(128) conv_sum_splits(const __grid_constant__ ConvParams p) {
  beginKernel();
  if (p.to.width == 8) sumSplits<4>(p);
  else sumSplits<1>(p);
}
