// Matrix instructions of a warpgroup (sm_90a) over codes of a byte: d = a b, plus d where `adds`; d 64xN, a 64x32, b 32xN, both
// in shared memory, rows of 128 bytes swizzled as for halves. `d` as mma.m16n8k32 lays its blocks of eight columns out.
#pragma once
#include "../common/wgmma.cuh"
#include "../gemm-int8/code-mma.cuh"

#define INTS_OF(J) "+r"(d[J][0]), "+r"(d[J][1]), "+r"(d[J][2]), "+r"(d[J][3])
#define INTS_OF_4(J) INTS_OF(J), INTS_OF(J + 1), INTS_OF(J + 2), INTS_OF(J + 3)
#define INTS_OF_16(J) INTS_OF_4(J), INTS_OF_4(J + 4), INTS_OF_4(J + 8), INTS_OF_4(J + 12)

// PTX counts operands: the sums first, then descriptors and flag. Floats have two more, the signs of both operands.
#define CODE_WGMMA(N, SUM, A, B, TYPES, TAIL, SUMS, OPERANDS, FLAG, ...)                                            \
  __device__ __forceinline__ void codeWgmma(SUM (&d)[N / 8][4], uint64_t a, uint64_t b, int adds, A, B) {           \
    asm volatile("{\n.reg .pred p;\nsetp.ne.b32 p, " FLAG ", 0;\nwgmma.mma_async.sync.aligned.m64n" #N              \
                 "k32." TYPES " {" SUMS "}, " OPERANDS ", p" TAIL ";\n}"                                              \
                 : __VA_ARGS__                                                                                      \
                 : "l"(a), "l"(b), "r"(adds));                                                                      \
  }
#define INTEGER_WGMMA(N, SUMS, OPERANDS, FLAG, ...)                              \
  CODE_WGMMA(N, int, S8, S8, "s32.s8.s8", "", SUMS, OPERANDS, FLAG, __VA_ARGS__) \
  CODE_WGMMA(N, int, U8, S8, "s32.u8.s8", "", SUMS, OPERANDS, FLAG, __VA_ARGS__) \
  CODE_WGMMA(N, int, S8, U8, "s32.s8.u8", "", SUMS, OPERANDS, FLAG, __VA_ARGS__) \
  CODE_WGMMA(N, int, U8, U8, "s32.u8.u8", "", SUMS, OPERANDS, FLAG, __VA_ARGS__)
#define FLOAT8_WGMMA(N, SUMS, OPERANDS, FLAG, ...)                                            \
  CODE_WGMMA(N, float, E4M3, E4M3, "f32.e4m3.e4m3", ", 1, 1", SUMS, OPERANDS, FLAG, __VA_ARGS__) \
  CODE_WGMMA(N, float, E5M2, E4M3, "f32.e5m2.e4m3", ", 1, 1", SUMS, OPERANDS, FLAG, __VA_ARGS__) \
  CODE_WGMMA(N, float, E4M3, E5M2, "f32.e4m3.e5m2", ", 1, 1", SUMS, OPERANDS, FLAG, __VA_ARGS__) \
  CODE_WGMMA(N, float, E5M2, E5M2, "f32.e5m2.e5m2", ", 1, 1", SUMS, OPERANDS, FLAG, __VA_ARGS__)

#if defined(TC_LINT_WGMMA)
INTEGER_WGMMA(32, NUMBERS_16, "%16, %17", "%18", INTS_OF_4(0))
INTEGER_WGMMA(64, NUMBERS_32, "%32, %33", "%34", INTS_OF_4(0), INTS_OF_4(4))
INTEGER_WGMMA(128, NUMBERS_64, "%64, %65", "%66", INTS_OF_16(0))
INTEGER_WGMMA(256, NUMBERS_128, "%128, %129", "%130", INTS_OF_16(0), INTS_OF_16(16))
FLOAT8_WGMMA(32, NUMBERS_16, "%16, %17", "%18", SUMS_OF_4(0))
FLOAT8_WGMMA(64, NUMBERS_32, "%32, %33", "%34", SUMS_OF_4(0), SUMS_OF_4(4))
FLOAT8_WGMMA(128, NUMBERS_64, "%64, %65", "%66", SUMS_OF_16(0))
FLOAT8_WGMMA(256, NUMBERS_128, "%128, %129", "%130", SUMS_OF_16(0), SUMS_OF_16(16))
#endif
