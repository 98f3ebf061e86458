// Division by a number that the launch knows.
#pragma once
#include "params.generated.cuh"

__device__ __forceinline__ unsigned quotientOf(unsigned n, const Divisor& by) {
  return (__umulhi(n, by.multiplier) + n) >> by.shift;
}
