// The one parameter of the convolutions of this family, and how a row of the product is found in memory.
#pragma once
#include "../common/activation.cuh"
#include "../common/storage.cuh"

// q = (high(n * multiplier) + n) >> shift divides n < 2^31 by `size`.
struct Divisor {
  int size;
  unsigned multiplier;
  int shift;
};

__device__ __forceinline__ unsigned quotientOf(unsigned n, const Divisor& by) {
  return (__umulhi(n, by.multiplier) + n) >> by.shift;
}

// Where a tensor of the output's shape lies. Strides are in elements; spatial axes are depth, height, width.
struct Placement {
  int batch;
  int axes[3];
  int channel;
  int position;  // between neighbouring output positions, where one stride says it all; else 0
  int type;
  int width;     // channels that may be read or written at once: 8, 2 or 1
};

// Written by params.ts, field by field. A convolution as a product: rows are output positions (batch, depth, height,
// width), columns filters of one group, and what is summed over goes tap by tap, in chunks of 16 bytes.
struct ConvParams {
  const void* x;
  const void* w;  // [group, filter, chunk] of 16 bytes
  void* y;
  const void* residual;
  const float* scale;
  const float* bias;
  float* partial;    // sums of each split, [split, group, row, filters rounded up to 8]; null for one split
  const int2* table;  // gathering kernels: of each summed element, its offset in x and its tap (see gather.cuh)
  int rows;
  int filters, channels;  // of one group
  int groups;
  int chunks, chunksPerTap;
  int splits, chunksPerSplit;
  int tilesN;
  int kernel[3], input[3], stride[3], dilation[3], pad[3];
  int xBatch, xAxes[3], xGroup;
  Divisor output[3];
  Placement to, from;  // of y and of the residual
  Activation activation, last;
};
static_assert(sizeof(ConvParams) == 304, "params.ts writes this struct");

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
