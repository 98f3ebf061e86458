// The one parameter of depthwise convolutions, and where a thread of theirs is.
#pragma once
#include "../conv/epilogue.cuh"
#include "params.generated.cuh"

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
