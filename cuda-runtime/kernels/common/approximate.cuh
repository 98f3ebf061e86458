// Instructions of the special function unit.
#pragma once

// One instruction each, of the special function unit: ex2 within 2 ulp, rcp within 1. Below 2^-126 they are 0; infinities and NaN go
// through as they should. Without .ftz there are about five instructions more, which scale subnormal arguments.
__device__ __forceinline__ float exp2Fast(float x) {
  float y;
  asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(y) : "f"(x));
  return y;
}
__device__ __forceinline__ float reciprocalFast(float x) {
  float y;
  asm("rcp.approx.ftz.f32 %0, %1;" : "=f"(y) : "f"(x));
  return y;
}
