// One tile of a product in shared memory: rows of CHUNKS pieces of 16 bytes, swizzled so that neither copies nor
// ldmatrix meet in a bank, and the sums of one warp over it, on Tensor Cores or on CUDA cores.
#pragma once
#include "../common/copy.cuh"
#include "../common/mma.cuh"

struct HalfMath {
  using Element = __half;
  static constexpr bool isMatrix = true, isTf32 = false;
};
struct Bfloat16Math {
  using Element = __nv_bfloat16;
  static constexpr bool isMatrix = true, isTf32 = false;
};
struct Tf32Math {
  using Element = float;
  static constexpr bool isMatrix = true, isTf32 = true;
};
struct Float32Math {
  using Element = float;
  static constexpr bool isMatrix = false, isTf32 = false;
};

template <class MATH, int BM_, int BN_, int CHUNKS_, int STAGES_, int WARPS_M_, int WARPS_N_>
struct Tile {
  using Math = MATH;
  using Element = typename MATH::Element;
  static constexpr int BM = BM_, BN = BN_, CHUNKS = CHUNKS_, STAGES = STAGES_;
  static constexpr int WARPS_M = WARPS_M_, WARPS_N = WARPS_N_, THREADS = 32 * WARPS_M * WARPS_N;
  static constexpr int WM = BM / WARPS_M, WN = BN / WARPS_N;  // of one warp
  static constexpr int PITCH = 16 * CHUNKS;                   // bytes of a row
  static constexpr int STAGE_BYTES = (BM + BN) * PITCH;
  static constexpr int ROWS_A = BM * CHUNKS / THREADS, ROWS_B = BN * CHUNKS / THREADS;  // that one thread copies
  static constexpr int ROW_STEP = THREADS / CHUNKS;
  static constexpr int PER_CHUNK = 16 / sizeof(Element);
  static constexpr int STRIP_PITCH = WN + 8;  // floats of a row of the strip that a warp stages its sums in
  static_assert(CHUNKS == 4 || CHUNKS == 8, "the swizzle is made for these");
  static_assert(ROWS_A >= 1 && ROWS_B >= 1 && WM % 16 == 0 && WN % 16 == 0 && ROW_STEP % 8 == 0, "");
};

// Byte offset of a chunk. Rows that are a multiple of 8 apart have the same key.
template <int CHUNKS> __device__ __forceinline__ int keyOf(int row) { return CHUNKS == 8 ? row & 7 : (row >> 1) & 3; }
template <int CHUNKS> __device__ __forceinline__ int swizzled(int row, int chunk) {
  return 16 * (row * CHUNKS + (chunk ^ keyOf<CHUNKS>(row)));
}

template <class T, bool MATRIX = T::Math::isMatrix> struct WarpSums;

template <class T> struct WarpSums<T, true> {
  static constexpr int MT = T::WM / 16, NT = T::WN / 8;
  float sum[MT][NT][4];
  int lane, rowA, rowB;

  __device__ __forceinline__ WarpSums(int warp) {
    lane = threadIdx.x % 32;
    rowA = warp / T::WARPS_N * T::WM + lane % 16;
    rowB = warp % T::WARPS_N * T::WN + lane / 16 * 8 + lane % 8;
#pragma unroll
    for (int m = 0; m < MT; ++m)
#pragma unroll
      for (int n = 0; n < NT; ++n)
#pragma unroll
        for (int i = 0; i < 4; ++i) sum[m][n][i] = 0.0f;
  }

  __device__ __forceinline__ void add(uint32_t a, uint32_t b) {
#pragma unroll
    for (int step = 0; step < T::CHUNKS / 2; ++step) {
      uint32_t fromA[MT][4], fromB[NT / 2][4];
      const uint32_t atA = a + swizzled<T::CHUNKS>(rowA, 2 * step + lane / 16);
      const uint32_t atB = b + swizzled<T::CHUNKS>(rowB, 2 * step + lane / 8 % 2);
#pragma unroll
      for (int m = 0; m < MT; ++m) ldmatrix4(fromA[m], atA + m * 16 * T::PITCH);
#pragma unroll
      for (int n = 0; n < NT / 2; ++n) ldmatrix4(fromB[n], atB + n * 16 * T::PITCH);
      if constexpr (T::Math::isTf32) {
#pragma unroll
        for (int m = 0; m < MT; ++m)
#pragma unroll
          for (int i = 0; i < 4; ++i) fromA[m][i] = roundToTf32(fromA[m][i]);
      }
#pragma unroll
      for (int m = 0; m < MT; ++m)
#pragma unroll
        for (int n = 0; n < NT; ++n) {
          const uint32_t b0 = fromB[n / 2][n % 2 * 2], b1 = fromB[n / 2][n % 2 * 2 + 1];
          if constexpr (T::Math::isTf32) mma1688Tf32(sum[m][n], fromA[m], b0, b1);
          else mma16816(sum[m][n], fromA[m], b0, b1, typename T::Element{});
        }
    }
  }

  // Rows 16 `strip` … of this warp.
  __device__ __forceinline__ void stage(int strip, float* to) const {
    const int row = lane / 4, column = lane % 4 * 2;
#pragma unroll
    for (int n = 0; n < NT; ++n) {
      *reinterpret_cast<float2*>(to + row * T::STRIP_PITCH + 8 * n + column) = make_float2(sum[strip][n][0], sum[strip][n][1]);
      *reinterpret_cast<float2*>(to + (row + 8) * T::STRIP_PITCH + 8 * n + column) =
          make_float2(sum[strip][n][2], sum[strip][n][3]);
    }
  }
};

template <class T> struct WarpSums<T, false> {
  static constexpr int MT = T::WM / 8, NT = T::WN / 4;
  float sum[MT][NT];
  int lane, rowA, rowB;

  __device__ __forceinline__ WarpSums(int warp) {
    lane = threadIdx.x % 32;
    rowA = warp / T::WARPS_N * T::WM + lane / 4;
    rowB = warp % T::WARPS_N * T::WN + lane % 4;
#pragma unroll
    for (int m = 0; m < MT; ++m)
#pragma unroll
      for (int n = 0; n < NT; ++n) sum[m][n] = 0.0f;
  }

  __device__ __forceinline__ void add(uint32_t a, uint32_t b) {
#pragma unroll 2
    for (int chunk = 0; chunk < T::CHUNKS; ++chunk) {
      float4 fromB[NT];
#pragma unroll
      for (int n = 0; n < NT; ++n) fromB[n] = loadSharedFloats(b + swizzled<T::CHUNKS>(rowB + 4 * n, chunk));
#pragma unroll
      for (int m = 0; m < MT; ++m) {
        const float4 fromA = loadSharedFloats(a + swizzled<T::CHUNKS>(rowA + 8 * m, chunk));
#pragma unroll
        for (int n = 0; n < NT; ++n) {
          sum[m][n] = fmaf(fromA.x, fromB[n].x, sum[m][n]);
          sum[m][n] = fmaf(fromA.y, fromB[n].y, sum[m][n]);
          sum[m][n] = fmaf(fromA.z, fromB[n].z, sum[m][n]);
          sum[m][n] = fmaf(fromA.w, fromB[n].w, sum[m][n]);
        }
      }
    }
  }

  __device__ __forceinline__ void stage(int strip, float* to) const {
#pragma unroll
    for (int m = 0; m < 2; ++m)
#pragma unroll
      for (int n = 0; n < NT; ++n) to[(lane / 4 + 8 * m) * T::STRIP_PITCH + lane % 4 + 4 * n] = sum[2 * strip + m][n];
  }

 private:
  static __device__ __forceinline__ float4 loadSharedFloats(uint32_t from) {
    float4 v;
    asm volatile("ld.shared.v4.f32 {%0, %1, %2, %3}, [%4];" : "=f"(v.x), "=f"(v.y), "=f"(v.z), "=f"(v.w) : "r"(from) : "memory");
    return v;
  }
};
