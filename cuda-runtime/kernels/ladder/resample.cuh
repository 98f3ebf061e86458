// Rows between two source times by linear interpolation, in BF16. The times of a batch ascend.
#pragma once
#include <cuda_bf16.h>
#include "params.generated.cuh"

// The source row in front of a target time, and how much of the next one is in it.
struct Place {
  int low;
  float weight;
};

// Of `count` source times that are not behind the target.
__device__ __forceinline__ Place placeOf(const float* times, int source, float target, int count) {
  const int low = min(max(count - 1, 0), source - 2);
  const float weight = (target - times[low]) / (times[low + 1] - times[low]);
  return {low, fminf(fmaxf(weight, 0), 1)};
}

// By halves: each load waits for the one before.
__device__ __forceinline__ int countByHalves(const float* times, int source, float target) {
  int begin = 0, end = source;
  while (begin < end) {
    const int middle = (begin + end) / 2;
    if (times[middle] <= target) begin = middle + 1;
    else end = middle;
  }
  return begin;
}

// By all lanes, which ask at once: their votes leave one part in 33.
__device__ __forceinline__ int countByLanes(const float* times, int source, float target) {
  const int lane = threadIdx.x % 32;
  int begin = 0, end = source;
  while (begin < end) {
    const int step = (end - begin + 31) / 32;
    const int at = begin + (lane + 1) * step - 1;
    const int parts = __popc(__ballot_sync(~0u, at < end && times[at] <= target));
    // Behind the last that counts, in front of the first that does not.
    end = min(end, begin + (parts + 1) * step - 1);
    begin += parts * step;
  }
  return begin;
}

// Elements of one access.
template <int WIDTH> struct alignas(2 * WIDTH) Elements {
  __nv_bfloat16 at[WIDTH];
};

template <int WIDTH>
__device__ __forceinline__ void blend(const __nv_bfloat16* low, const __nv_bfloat16* high, float weight, __nv_bfloat16* to) {
  const auto a = *reinterpret_cast<const Elements<WIDTH>*>(low), b = *reinterpret_cast<const Elements<WIDTH>*>(high);
  Elements<WIDTH> y;
#pragma unroll
  for (int e = 0; e < WIDTH; e++) {
    const float from = __bfloat162float(a.at[e]);
    y.at[e] = __float2bfloat16_rn(from + weight * (__bfloat162float(b.at[e]) - from));
  }
  *reinterpret_cast<Elements<WIDTH>*>(to) = y;
}

// Rung 1: a thread an element.
extern "C" __global__ void __launch_bounds__(256) ladder_resample_element(const __grid_constant__ LadderResampleParams p) {
  beginKernel();
  const int index = blockIdx.x * 256 + threadIdx.x;
  const int row = index / p.features, feature = index % p.features;
  if (row >= p.rows) return;
  const int batch = row / p.target;
  const float* times = static_cast<const float*>(p.times) + batch * p.source;
  const float target = static_cast<const float*>(p.targets)[row];
  const Place place = placeOf(times, p.source, target, countByHalves(times, p.source, target));
  const __nv_bfloat16* low = static_cast<const __nv_bfloat16*>(p.x) + (batch * p.source + place.low) * p.features + feature;
  blend<1>(low, low + p.features, place.weight, static_cast<__nv_bfloat16*>(p.y) + index);
}

// The other rungs: a warp a target row, WIDTH elements a lane at a time.
template <int WIDTH, bool TOGETHER> __device__ __forceinline__ void resampleRow(const LadderResampleParams& p) {
  const int row = blockIdx.x * 8 + threadIdx.x / 32;
  if (row >= p.rows) return;
  const int batch = row / p.target;
  const float* times = static_cast<const float*>(p.times) + batch * p.source;
  const float target = static_cast<const float*>(p.targets)[row];
  const int count = TOGETHER ? countByLanes(times, p.source, target) : countByHalves(times, p.source, target);
  const Place place = placeOf(times, p.source, target, count);
  const __nv_bfloat16* low = static_cast<const __nv_bfloat16*>(p.x) + (batch * p.source + place.low) * p.features;
  __nv_bfloat16* y = static_cast<__nv_bfloat16*>(p.y) + row * p.features;
  for (int at = threadIdx.x % 32 * WIDTH; at < p.features; at += 32 * WIDTH)
    blend<WIDTH>(low + at, low + p.features + at, place.weight, y + at);
}

extern "C" __global__ void __launch_bounds__(256) ladder_resample_row(const __grid_constant__ LadderResampleParams p) {
  beginKernel();
  resampleRow<1, false>(p);
}

extern "C" __global__ void __launch_bounds__(256) ladder_resample_vectors(const __grid_constant__ LadderResampleParams p) {
  beginKernel();
  resampleRow<8, false>(p);
}

extern "C" __global__ void __launch_bounds__(256) ladder_resample_lanes(const __grid_constant__ LadderResampleParams p) {
  beginKernel();
  resampleRow<8, true>(p);
}
