// Loads from global memory that are issued where they stand, before what hides how long they take: the compiler moves none of them. Zeros unless
// `isThere`.
#pragma once
#include <cstdint>

__device__ __forceinline__ uint4 loadAhead16(const void* from, bool isThere) {
  uint4 v;
  asm volatile(
      "{.reg .pred p; setp.ne.b32 p, %5, 0; mov.b32 %0, 0; mov.b32 %1, 0; mov.b32 %2, 0; mov.b32 %3, 0; "
      "@p ld.global.nc.v4.b32 {%0, %1, %2, %3}, [%4];}"
      : "=r"(v.x), "=r"(v.y), "=r"(v.z), "=r"(v.w)
      : "l"(from), "r"(static_cast<int>(isThere)));
  return v;
}

__device__ __forceinline__ uint32_t loadAhead4(const void* from, bool isThere) {
  uint32_t v;
  asm volatile("{.reg .pred p; setp.ne.b32 p, %2, 0; mov.b32 %0, 0; @p ld.global.nc.b32 %0, [%1];}"
               : "=r"(v)
               : "l"(from), "r"(static_cast<int>(isThere)));
  return v;
}
