// Products of a warpgroup whose left operand is in registers and whose right one lies in shared memory by columns (sm_90a):
// what is multiplied with values in attention.
#pragma once
#include "../common/wgmma.cuh"

// Rows of 128 bytes along n, swizzled, eight of them a group, groups along k one after another; `panelBytes` from one piece of 64 columns to
// the next. PTX ISA, "Matrix-descriptor", MN-major.
__device__ __forceinline__ uint64_t describeColumns(uint32_t tile, int panelBytes) {
  return uint64_t((tile & 0x3FFFF) >> 4) | uint64_t(panelBytes >> 4) << 16 | uint64_t(1024 >> 4) << 32 | uint64_t(1) << 62;
}

// d += a b: d 64xN, a 64x16 as mma.m16n8k16 takes it, 16 rows a warp; b 16xN.
#define WGMMA_REGISTERS(N, T, TYPE, SUMS, OPERANDS, ...)                                                                     \
  __device__ __forceinline__ void wgmmaRegisters##N(float (&d)[N / 8][4], const uint32_t (&a)[4], uint64_t b, T) {           \
    asm volatile("{\n.reg .pred p;\nsetp.ne.b32 p, 1, 0;\nwgmma.mma_async.sync.aligned.m64n" #N                              \
                 "k16.f32." TYPE "." TYPE " {" SUMS "}, " OPERANDS ", p, 1, 1, 1;\n}"                                        \
                 : __VA_ARGS__                                                                                               \
                 : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "l"(b));                                                      \
  }
#define WGMMA_REGISTERS_BOTH(N, SUMS, OPERANDS, ...)                              \
  WGMMA_REGISTERS(N, __half, "f16", SUMS, OPERANDS, __VA_ARGS__)                  \
  WGMMA_REGISTERS(N, __nv_bfloat16, "bf16", SUMS, OPERANDS, __VA_ARGS__)

#define NUMBERS_24 NUMBERS_16 ", %16, %17, %18, %19, %20, %21, %22, %23"
#define NUMBERS_40 NUMBERS_32 ", %32, %33, %34, %35, %36, %37, %38, %39"
#define SUMS_OF_8(J) SUMS_OF_4(J), SUMS_OF_4(J + 4)

#if defined(TC_LINT_WGMMA)
WGMMA_REGISTERS_BOTH(48, NUMBERS_24, "{%24, %25, %26, %27}, %28", SUMS_OF_4(0), SUMS_OF(4), SUMS_OF(5))
WGMMA_REGISTERS_BOTH(64, NUMBERS_32, "{%32, %33, %34, %35}, %36", SUMS_OF_8(0))
WGMMA_REGISTERS_BOTH(80, NUMBERS_40, "{%40, %41, %42, %43}, %44", SUMS_OF_8(0), SUMS_OF(8), SUMS_OF(9))
WGMMA_REGISTERS_BOTH(96, NUMBERS_48, "{%48, %49, %50, %51}, %52", SUMS_OF_8(0), SUMS_OF_4(8))
WGMMA_REGISTERS_BOTH(128, NUMBERS_64, "{%64, %65, %66, %67}, %68", SUMS_OF_16(0))
#endif

template <int N, typename T>
__device__ __forceinline__ void wgmmaRegisters(float (&d)[N / 8][4], const uint32_t (&a)[4], uint64_t b) {
  static_assert(N == 48 || N == 64 || N == 80 || N == 96 || N == 128, "an instruction above");
#if defined(TC_LINT_WGMMA)
  if constexpr (N == 48) wgmmaRegisters48(d, a, b, T());
  else if constexpr (N == 64) wgmmaRegisters64(d, a, b, T());
  else if constexpr (N == 80) wgmmaRegisters80(d, a, b, T());
  else if constexpr (N == 96) wgmmaRegisters96(d, a, b, T());
  else wgmmaRegisters128(d, a, b, T());
#else
  __trap();
#endif
}
