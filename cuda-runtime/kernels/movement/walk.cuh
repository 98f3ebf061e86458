// A walk over a tensor's elements, one thread each: `Walk` of kernels/movement/walk.ts.
#pragma once
#include <cstdint>
#include "../common/params.generated.cuh"

// Calls visit(axis, coordinate), innermost axis first.
template <typename Visit> __device__ __forceinline__ void walkTo(const Walk& walk, unsigned index, Visit visit) {
  unsigned rest = index;
  for (int axis = walk.rank - 1; axis > 0; --axis) {
    const unsigned quotient = (__umulhi(rest, walk.multipliers[axis]) + rest) >> walk.shifts[axis];
    visit(axis, static_cast<int>(rest - quotient * static_cast<unsigned>(walk.sizes[axis])));
    rest = quotient;
  }
  if (walk.rank > 0) visit(0, static_cast<int>(rest));
}

__device__ __forceinline__ unsigned threadIndex() { return blockIdx.x * blockDim.x + threadIdx.x; }
