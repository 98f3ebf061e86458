// The one parameter of the convolutions of this family, and how a row of the product is found in memory.
#pragma once
#include "../common/activation.cuh"
#include "../common/storage.cuh"
#include "../common/divisor.cuh"
#include "params.generated.cuh"

struct Position {
  int batch, depth, height, width;
};

__device__ __forceinline__ Position positionOf(const ConvParams& p, unsigned row) {
  const unsigned byWidth = quotientOf(row, p.output[2]);
  const unsigned byHeight = quotientOf(byWidth, p.output[1]);
  const unsigned byDepth = quotientOf(byHeight, p.output[0]);
  Position at;
  at.width = row - byWidth * p.output[2].size;
  at.height = byWidth - byHeight * p.output[1].size;
  at.depth = byHeight - byDepth * p.output[0].size;
  at.batch = byDepth;
  return at;
}

__device__ __forceinline__ int64_t offsetOf(const Placement& in, const Position& at) {
  return static_cast<int64_t>(at.batch) * in.batch + static_cast<int64_t>(at.depth) * in.axes[0] +
         static_cast<int64_t>(at.height) * in.axes[1] + static_cast<int64_t>(at.width) * in.axes[2];
}
