// Matrix instructions of one warp over codes of a byte, one function a PTX instruction: integers with int32 sums, 8-bit
// floats with FP32 sums. Fragments are laid out as the PTX ISA says for mma.m16n8k32; lane = 4 g + t, four codes a register.
#pragma once
#include <cstdint>

// What codes are, and what sums of their products are.
struct S8 { using Sum = int; };
struct U8 { using Sum = int; };
struct E4M3 { using Sum = float; };
struct E5M2 { using Sum = float; };

// sm_80 and later: 16x8 by 32. Before: four of 8x8 by 16.
#define CODE_MMA(A, B, AT, BT)                                                                                          \
  __device__ __forceinline__ void mma16832(int (&d)[4], const uint32_t (&a)[4], uint32_t b0, uint32_t b1, A, B) {       \
    CODE_MMA_BODY(AT, BT)                                                                                               \
  }
#if __CUDA_ARCH__ >= 800
#define CODE_MMA_BODY(AT, BT)                                                                                           \
  asm volatile("mma.sync.aligned.m16n8k32.row.col.s32." AT "." BT ".s32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, {%0,%1,%2,%3};" \
               : "+r"(d[0]), "+r"(d[1]), "+r"(d[2]), "+r"(d[3])                                                         \
               : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0), "r"(b1));
#else
#define CODE_MMA_BODY(AT, BT)                                                                                           \
  _Pragma("unroll") for (int half = 0; half < 2; ++half) {                                                              \
    _Pragma("unroll") for (int i = 0; i < 2; ++i) {                                                                     \
      asm volatile("mma.sync.aligned.m8n8k16.row.col.s32." AT "." BT ".s32 {%0,%1}, {%2}, {%3}, {%0,%1};"               \
                   : "+r"(d[2 * i]), "+r"(d[2 * i + 1])                                                                 \
                   : "r"(a[2 * half + i]), "r"(half == 0 ? b0 : b1));                                                   \
    }                                                                                                                   \
  }
#endif
CODE_MMA(S8, S8, "s8", "s8")
CODE_MMA(U8, S8, "u8", "s8")
CODE_MMA(S8, U8, "s8", "u8")
CODE_MMA(U8, U8, "u8", "u8")

// sm_89 and later.
#if __CUDA_ARCH__ >= 890
#define FLOAT8_MMA_BODY(AT, BT)                                                                                         \
  asm volatile("mma.sync.aligned.m16n8k32.row.col.f32." AT "." BT ".f32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, {%0,%1,%2,%3};" \
               : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])                                                         \
               : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0), "r"(b1));
#else
#define FLOAT8_MMA_BODY(AT, BT) __trap();
#endif
#define FLOAT8_MMA(A, B, AT, BT)                                                                                        \
  __device__ __forceinline__ void mma16832(float (&d)[4], const uint32_t (&a)[4], uint32_t b0, uint32_t b1, A, B) {     \
    FLOAT8_MMA_BODY(AT, BT)                                                                                             \
  }
FLOAT8_MMA(E4M3, E4M3, "e4m3", "e4m3")
FLOAT8_MMA(E5M2, E4M3, "e5m2", "e4m3")
FLOAT8_MMA(E4M3, E5M2, "e4m3", "e5m2")
FLOAT8_MMA(E5M2, E5M2, "e5m2", "e5m2")
