// Windows over spatial axes, and what is made of their elements.
#pragma once
#include "../common/scalar.cuh"
#include "../common/divisor.cuh"
#include "params.generated.cuh"

enum PoolKind : int { kMax = 0, kAverage = 1, kLp = 2 };

struct Spot {
  int batch, channel, at[3];
};

// `thread` counts outputs: batch, positions, pieces of channels, or batch, channels, positions.
__device__ __forceinline__ Spot spotOf(const PoolParams& p, unsigned thread, int perPiece) {
  Spot spot;
  unsigned rest = thread;
  const auto take = [&rest](const Divisor& by) {
    const unsigned quotient = quotientOf(rest, by);
    const int at = static_cast<int>(rest - quotient * by.size);
    rest = quotient;
    return at;
  };
  if (p.channelsLast) spot.channel = take(p.pieces) * perPiece;
  spot.at[2] = take(p.output[2]);
  spot.at[1] = take(p.output[1]);
  spot.at[0] = take(p.output[0]);
  if (!p.channelsLast) spot.channel = take(p.pieces) * perPiece;
  spot.batch = static_cast<int>(rest);
  return spot;
}

// How many positions an average divides by, if those in the padding count: all but those beyond the padding's end.
__device__ __forceinline__ int countedPositions(const PoolParams& p, const Spot& spot) {
  int count = 1;
#pragma unroll
  for (int axis = 0; axis < 3; ++axis) {
    const int first = spot.at[axis] * p.stride[axis] - p.pad[axis];
    const int room = p.input[axis] + p.padEnd[axis] - first;  // at least 1
    count *= min(p.kernel[axis], (room + p.dilation[axis] - 1) / p.dilation[axis]);
  }
  return count;
}

__device__ __forceinline__ float powerOf(float x, float power) {
  if (power == 1.0f) return fabsf(x);
  return power == 2.0f ? x * x : powf(fabsf(x), power);
}

__device__ __forceinline__ float rootOf(float x, float power) {
  if (power == 1.0f) return x;
  return power == 2.0f ? sqrtf(x) : powf(x, 1.0f / power);
}
