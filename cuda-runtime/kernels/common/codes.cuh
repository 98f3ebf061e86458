// Real numbers to codes of a byte as QuantizeLinear rounds them. `Codes` has scale, inverse, rest, low, high and zeros (CodeTail, CodeQuotient).
#pragma once
#include <cstdint>

// v / scale as division rounds it: a first quotient that is off by less than its last place, then one step with the exact rest
// (Markstein). Scales are from 2^-60 to 2^60, and v between the numbers of the least code and the largest.
template <typename Codes> __device__ __forceinline__ float quotientOf(float v, const Codes& t) {
  const float quotient = __fmaf_rn(v, t.inverse, __fmul_rn(v, t.rest));
  return __fmaf_rn(__fmaf_rn(-t.scale, quotient, v), t.inverse, quotient);
}

// Four codes: bounded, to the nearest whole number, ties to even, as digits of 3 * 2^22 and it; then the zero point, byte by byte.
template <typename Codes> __device__ __forceinline__ uint32_t codesOf(const float (&v)[4], const Codes& t) {
  uint32_t whole[4];
#pragma unroll
  for (int i = 0; i < 4; ++i)
    whole[i] = __float_as_uint(__fadd_rn(quotientOf(fminf(fmaxf(v[i], t.low), t.high), t), 12582912.0f));
  const uint32_t codes = __byte_perm(__byte_perm(whole[0], whole[1], 0x0040), __byte_perm(whole[2], whole[3], 0x0040), 0x5410);
  constexpr uint32_t kLast = 0x7f7f7f7fu;
  return ((codes & kLast) + (t.zeros & kLast)) ^ ((codes ^ t.zeros) & ~kLast);
}
