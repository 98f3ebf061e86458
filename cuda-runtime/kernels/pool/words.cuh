// The larger of neighbours that lie in words: pairs of halves, of which NaN is the largest, and four codes.
#pragma once
#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <cstdint>
#include <type_traits>

template <typename E> __device__ __forceinline__ unsigned largerOf(unsigned a, unsigned b) {
  if constexpr (std::is_same_v<E, int8_t>) {
    return __vmaxs4(a, b);
  } else if constexpr (std::is_same_v<E, uint8_t>) {
    return __vmaxu4(a, b);
  } else {
    using Pair = std::conditional_t<std::is_same_v<E, __half>, __half2, __nv_bfloat162>;
    const Pair pair = __hmax2_nan(reinterpret_cast<const Pair&>(a), reinterpret_cast<const Pair&>(b));
    return reinterpret_cast<const unsigned&>(pair);
  }
}

template <typename E> __device__ __forceinline__ uint4 largerOf(const uint4& a, const uint4& b) {
  return make_uint4(largerOf<E>(a.x, b.x), largerOf<E>(a.y, b.y), largerOf<E>(a.z, b.z), largerOf<E>(a.w, b.w));
}
