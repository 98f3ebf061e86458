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

// WIDTH neighbouring filters of one row a thread. A block's rows of threads have a run of the splits each, which are added up in order.
template <int WIDTH> struct SplitSum {
  static constexpr int kAtOnce = 8;
  static constexpr int kWays = 4;
  static constexpr int kItems = 32;

  static __device__ __forceinline__ void load(float (&v)[WIDTH], const float* from) {
    if constexpr (WIDTH == 4) *reinterpret_cast<float4*>(v) = *reinterpret_cast<const float4*>(from);
    else v[0] = from[0];
  }

  // All loads of a round are in flight before its first sum.
  static __device__ __forceinline__ void add(float (&v)[WIDTH], const float* from, int64_t step, int count) {
#pragma unroll 1
    for (; count > 0; count -= kAtOnce, from += kAtOnce * step) {
      float parts[kAtOnce][WIDTH] = {};
#pragma unroll
      for (int i = 0; i < kAtOnce; ++i)
        if (i < count) load(parts[i], from + i * step);
#pragma unroll
      for (int i = 0; i < kAtOnce; ++i)
#pragma unroll
        for (int j = 0; j < WIDTH; ++j) v[j] += parts[i][j];
    }
  }

  // False for all but the first row of threads, which gets what the others have.
  static __device__ __forceinline__ bool gather(float (&v)[WIDTH]) {
    if (blockDim.y == 1) return true;
    __shared__ float4 parts[kWays - 1][kItems];
    if (threadIdx.y > 0) {
      float* to = reinterpret_cast<float*>(&parts[threadIdx.y - 1][threadIdx.x]);
#pragma unroll
      for (int j = 0; j < WIDTH; ++j) to[j] = v[j];
    }
    __syncthreads();
    if (threadIdx.y > 0) return false;
#pragma unroll
    for (int way = 0; way < kWays - 1; ++way) {
      const float* from = reinterpret_cast<const float*>(&parts[way][threadIdx.x]);
#pragma unroll
      for (int j = 0; j < WIDTH; ++j) v[j] += from[j];
    }
    return true;
  }

  static __device__ __forceinline__ void run(const ConvParams& p) {
    const unsigned perRow = (p.filters + WIDTH - 1) / WIDTH;
    const int padded = (p.filters + 7) / 8 * 8;
    const unsigned at = blockIdx.x * blockDim.x + threadIdx.x;
    const int row = static_cast<int>(at / perRow);
    const int filter = static_cast<int>(at - row * perRow) * WIDTH;
    const int group = blockIdx.y;
    const bool exists = row < p.rows;
    Affine<WIDTH> affine;
    affine.load(p, group * p.filters + filter, exists ? p.filters - filter : 0);
    const int perWay = (p.splits + blockDim.y - 1) / blockDim.y;
    const int first = threadIdx.y * perWay;
    const int64_t step = static_cast<int64_t>(p.groups) * p.rows * padded;
    const float* from = p.partial + first * step + (static_cast<int64_t>(group) * p.rows + row) * padded + filter;
    float v[WIDTH] = {};
    add(v, from, step, exists ? min(perWay, p.splits - first) : 0);
    if (gather(v) && exists) finish<WIDTH>(p, v, affine, row, group * p.filters + filter);
  }
};

extern "C" __global__ void __launch_bounds__(128) conv_sum_splits(const __grid_constant__ ConvParams p) {
  beginKernel();
  if (p.to.width == 8) SplitSum<4>::run(p);
  else SplitSum<1>::run(p);
}
