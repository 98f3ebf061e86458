// The one parameter of depthwise convolutions, and where a thread of theirs is.
#pragma once
#include "../conv/epilogue.cuh"

// Written by depthwise.ts, field by field. Strides are in elements; spatial axes are depth, height, width.
struct DepthwiseParams {
  const void* x;
  const float* w;  // [tap, filter]
  void* y;
  const void* residual;
  const float* scale;
  const float* bias;
  int threads;  // of tiles: how many tiles one pair of channels has
  int filters;
  int outputWidth, outputHeight;
  int kernel[3], input[3], stride[3], dilation[3], pad[3];
  int xBatch, xAxes[3], xChannel;
  Divisor pieces;  // of the filters that one thread makes
  Divisor strips;  // of the positions along the width that one thread makes
  Divisor height;  // in rows of the output, or in as many as a tile has
  Divisor depth;
  Divisor filtersPerChannel;
  Placement to, from;
  Activation activation, last;
};
static_assert(sizeof(DepthwiseParams) == 296, "depthwise.ts writes this struct");

// Where one thread is: its first position and its first filter.
struct Spot {
  Position at;
  int filter;

  // `strip` counts WIDTH positions along the width, then HEIGHT rows.
  template <int WIDTH, int HEIGHT>
  static __device__ __forceinline__ Spot of(const DepthwiseParams& p, unsigned strip, int filter) {
    Spot spot;
    spot.filter = filter;
    const unsigned row = quotientOf(strip, p.strips);
    spot.at.width = (strip - row * p.strips.size) * WIDTH;
    const unsigned plane = quotientOf(row, p.height);
    spot.at.height = (row - plane * p.height.size) * HEIGHT;
    spot.at.batch = quotientOf(plane, p.depth);
    spot.at.depth = plane - spot.at.batch * p.depth.size;
    return spot;
  }
};
