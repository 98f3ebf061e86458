// Matrix instructions of a warpgroup (sm_90a), and its share of registers, one function a PTX instruction. Both operands of
// a product are in shared memory.
#pragma once
#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <cstdint>

#if defined(__CUDA_ARCH_FEAT_SM90_ALL)
#define TC_LINT_WGMMA 1
#endif

// What all lanes have alike, and the compiler knows that they have. Wgmma takes its descriptors from uniform registers: of a value that might
// differ by lane each one is moved there by four R2UR, one product after another (machine code of CUDA 13.0).
__device__ __forceinline__ uint32_t alikeInWarp(uint32_t value) { return __shfl_sync(0xffffffff, value, 0); }

// Rows of BYTES (128: 64 halves along k), 16-byte chunks swizzled over them; `tile` is a multiple of 8 rows, rows of a tile
// lie one after another. PTX ISA, "Matrix-descriptor": the stride between groups of eight rows, and how wide the swizzle is.
template <int BYTES = 128>
__device__ __forceinline__ uint64_t describeTile(uint32_t tile) {
  static_assert(BYTES == 128 || BYTES == 64 || BYTES == 32, "a swizzle");
  const uint64_t strideOfEightRows = 8 * BYTES >> 4;
  const uint64_t swizzle = uint64_t(BYTES == 128 ? 1 : BYTES == 64 ? 2 : 3) << 62;
  return uint64_t((tile & 0x3FFFF) >> 4) | uint64_t(1) << 16 | strideOfEightRows << 32 | swizzle;
}

// Rows from `first` on, any row of what TMA has put at a multiple of 1,024 bytes, eight side by side and the next eight `pitch` rows further:
// where 16 bytes lie is swizzled by their address, not by the row of the tile (the base offset stays zero).
template <int BYTES>
__device__ __forceinline__ uint64_t describeRows(uint32_t first, int pitch) {
  constexpr uint64_t kStride = uint64_t(0x3FFF) << 32;
  return describeTile<BYTES>(first) & ~kStride | uint64_t(pitch * BYTES >> 4) << 32;
}

// Shared memory written by ordinary or asynchronous copies of this thread becomes visible to the Tensor Cores.
__device__ __forceinline__ void fenceForTensorCores() {
#if defined(TC_LINT_WGMMA)
  asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
#endif
}

// Before the first product that uses registers written by other instructions.
__device__ __forceinline__ void warpgroupArrive() {
#if defined(TC_LINT_WGMMA)
  asm volatile("wgmma.fence.sync.aligned;" ::: "memory");
#endif
}

__device__ __forceinline__ void warpgroupCommit() {
#if defined(TC_LINT_WGMMA)
  asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory");
#endif
}

// Waits until at most `PENDING` of the latest groups are under way.
template <int PENDING>
__device__ __forceinline__ void warpgroupWait() {
#if defined(TC_LINT_WGMMA)
  asm volatile("wgmma.wait_group.sync.aligned %0;" ::"n"(PENDING) : "memory");
#endif
}

// A warpgroup gives registers back beyond COUNT a thread …
template <int COUNT>
__device__ __forceinline__ void keepRegisters() {
#if defined(TC_LINT_WGMMA)
  asm volatile("setmaxnreg.dec.sync.aligned.u32 %0;" ::"n"(COUNT));
#endif
}

// … and another one takes them.
template <int COUNT>
__device__ __forceinline__ void takeRegisters() {
#if defined(TC_LINT_WGMMA)
  asm volatile("setmaxnreg.inc.sync.aligned.u32 %0;" ::"n"(COUNT));
#endif
}

// d = a b, plus d where `adds`: d 64xN, a 64x16, b 16xN; `d` as mma.m16n8k16 lays its blocks of eight columns out, 16 rows a
// warp. PTX counts operands: the sums first, then descriptors and flag.
#define WGMMA(N, T, TYPE, SUMS, OPERANDS, FLAG, ...)                                                            \
  __device__ __forceinline__ void wgmma64x##N(float (&d)[N / 8][4], uint64_t a, uint64_t b, int adds, T) {      \
    asm volatile("{\n.reg .pred p;\nsetp.ne.b32 p, " FLAG ", 0;\nwgmma.mma_async.sync.aligned.m64n" #N            \
                 "k16.f32." TYPE "." TYPE " {" SUMS "}, " OPERANDS ", p, 1, 1, 0, 0;\n}"                         \
                 : __VA_ARGS__                                                                                  \
                 : "l"(a), "l"(b), "r"(adds));                                                                  \
  }
#define WGMMA_BOTH(N, SUMS, OPERANDS, FLAG, ...)                           \
  WGMMA(N, __half, "f16", SUMS, OPERANDS, FLAG, __VA_ARGS__)               \
  WGMMA(N, __nv_bfloat16, "bf16", SUMS, OPERANDS, FLAG, __VA_ARGS__)

#define SUMS_OF(J) "+f"(d[J][0]), "+f"(d[J][1]), "+f"(d[J][2]), "+f"(d[J][3])
#define SUMS_OF_4(J) SUMS_OF(J), SUMS_OF(J + 1), SUMS_OF(J + 2), SUMS_OF(J + 3)
#define SUMS_OF_16(J) SUMS_OF_4(J), SUMS_OF_4(J + 4), SUMS_OF_4(J + 8), SUMS_OF_4(J + 12)

#define NUMBERS_16 \
  "%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15"
#define NUMBERS_32 \
  NUMBERS_16 ", " "%16, %17, %18, %19, %20, %21, %22, %23, %24, %25, %26, %27, %28, %29, %30, %31"
#define NUMBERS_48 \
  NUMBERS_32 ", " "%32, %33, %34, %35, %36, %37, %38, %39, %40, %41, %42, %43, %44, %45, %46, %47"
#define NUMBERS_64 \
  NUMBERS_32 ", " "%32, %33, %34, %35, %36, %37, %38, %39, %40, %41, %42, %43, %44, %45, %46, %47, " \
  "%48, %49, %50, %51, %52, %53, %54, %55, %56, %57, %58, %59, %60, %61, %62, %63"
#define NUMBERS_80 \
  NUMBERS_64 ", " "%64, %65, %66, %67, %68, %69, %70, %71, %72, %73, %74, %75, %76, %77, %78, %79"
#define NUMBERS_96 \
  NUMBERS_80 ", " "%80, %81, %82, %83, %84, %85, %86, %87, %88, %89, %90, %91, %92, %93, %94, %95"
#define NUMBERS_112 \
  NUMBERS_96 ", " "%96, %97, %98, %99, %100, %101, %102, %103, %104, %105, %106, %107, %108, %109, %110, %111"
#define NUMBERS_128 \
  NUMBERS_112 ", " "%112, %113, %114, %115, %116, %117, %118, %119, %120, %121, %122, %123, %124, %125, %126, %127"

#if defined(TC_LINT_WGMMA)
WGMMA_BOTH(32, NUMBERS_16, "%16, %17", "%18", SUMS_OF_4(0))
WGMMA_BOTH(64, NUMBERS_32, "%32, %33", "%34", SUMS_OF_4(0), SUMS_OF_4(4))
WGMMA_BOTH(96, NUMBERS_48, "%48, %49", "%50", SUMS_OF_4(0), SUMS_OF_4(4), SUMS_OF_4(8))
WGMMA_BOTH(128, NUMBERS_64, "%64, %65", "%66", SUMS_OF_16(0))
WGMMA_BOTH(160, NUMBERS_80, "%80, %81", "%82", SUMS_OF_16(0), SUMS_OF_4(16))
WGMMA_BOTH(192, NUMBERS_96, "%96, %97", "%98", SUMS_OF_16(0), SUMS_OF_4(16), SUMS_OF_4(20))
WGMMA_BOTH(224, NUMBERS_112, "%112, %113", "%114", SUMS_OF_16(0), SUMS_OF_4(16), SUMS_OF_4(20), SUMS_OF_4(24))
WGMMA_BOTH(256, NUMBERS_128, "%128, %129", "%130", SUMS_OF_16(0), SUMS_OF_16(16))
#endif

template <int N, typename T>
__device__ __forceinline__ void wgmma64(float (&d)[N / 8][4], uint64_t a, uint64_t b, int adds) {
  static_assert(N == 32 || N == 64 || N == 96 || N == 128 || N == 160 || N == 192 || N == 224 || N == 256, "an instruction above");
#if defined(TC_LINT_WGMMA)
  if constexpr (N == 32) wgmma64x32(d, a, b, adds, T());
  else if constexpr (N == 64) wgmma64x64(d, a, b, adds, T());
  else if constexpr (N == 96) wgmma64x96(d, a, b, adds, T());
  else if constexpr (N == 128) wgmma64x128(d, a, b, adds, T());
  else if constexpr (N == 160) wgmma64x160(d, a, b, adds, T());
  else if constexpr (N == 192) wgmma64x192(d, a, b, adds, T());
  else if constexpr (N == 224) wgmma64x224(d, a, b, adds, T());
  else wgmma64x256(d, a, b, adds, T());
#else
  __trap();
#endif
}
