// Neighbours in memory as floats, 16 bytes at a time or one element.
#pragma once
#include "storage.cuh"

template <typename E, int WIDTH> __device__ __forceinline__ void loadAll(float (&v)[WIDTH], const E* from) {
  if constexpr (WIDTH == 1) {
    v[0] = toFloat(*from);
  } else if constexpr (sizeof(E) == 4) {
    const float4 all = *reinterpret_cast<const float4*>(from);
    v[0] = all.x, v[1] = all.y, v[2] = all.z, v[3] = all.w;
  } else {
    const uint4 all = *reinterpret_cast<const uint4*>(from);
    alignas(16) E halves[8];
    reinterpret_cast<uint4&>(halves) = all;
#pragma unroll
    for (int i = 0; i < 8; ++i) v[i] = toFloat(halves[i]);
  }
}

template <typename E, int WIDTH> __device__ __forceinline__ void storeAll(const float (&v)[WIDTH], E* to) {
  if constexpr (WIDTH == 1) {
    *to = fromFloat<E>(v[0]);
  } else if constexpr (sizeof(E) == 4) {
    *reinterpret_cast<float4*>(to) = make_float4(v[0], v[1], v[2], v[3]);
  } else {
    alignas(16) E halves[8];
#pragma unroll
    for (int i = 0; i < 8; ++i) halves[i] = fromFloat<E>(v[i]);
    *reinterpret_cast<uint4*>(to) = reinterpret_cast<const uint4&>(halves);
  }
}
