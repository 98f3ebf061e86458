// Neighbours in memory as floats: 16 bytes at a time, a pair of halves, or one element.
#pragma once
#include "storage.cuh"

template <typename E, int WIDTH> __device__ __forceinline__ void loadAll(float (&v)[WIDTH], const E* from) {
  static_assert(WIDTH == 1 || WIDTH * sizeof(E) == 16 || WIDTH * sizeof(E) == 4, "one load");
  if constexpr (WIDTH == 1) {
    v[0] = toFloat(*from);
  } else if constexpr (WIDTH == 2) {
    const unsigned both = *reinterpret_cast<const unsigned*>(from);
    v[0] = toFloat(reinterpret_cast<const E*>(&both)[0]), v[1] = toFloat(reinterpret_cast<const E*>(&both)[1]);
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
  static_assert(WIDTH == 1 || WIDTH * sizeof(E) == 16 || WIDTH * sizeof(E) == 4, "one store");
  if constexpr (WIDTH == 1) {
    *to = fromFloat<E>(v[0]);
  } else if constexpr (WIDTH == 2) {
    unsigned both;
    reinterpret_cast<E*>(&both)[0] = fromFloat<E>(v[0]), reinterpret_cast<E*>(&both)[1] = fromFloat<E>(v[1]);
    *reinterpret_cast<unsigned*>(to) = both;
  } else if constexpr (sizeof(E) == 4) {
    *reinterpret_cast<float4*>(to) = make_float4(v[0], v[1], v[2], v[3]);
  } else {
    alignas(16) E halves[8];
#pragma unroll
    for (int i = 0; i < 8; ++i) halves[i] = fromFloat<E>(v[i]);
    *reinterpret_cast<uint4*>(to) = reinterpret_cast<const uint4&>(halves);
  }
}
