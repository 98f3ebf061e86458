// The end of a convolution of codes over planes: sums scaled and rounded to codes, step by step as processors do (code-epilogue.cuh).
#pragma once
#include <cstdint>
#include "end.cuh"

template <int COLUMNS>
struct PlanesCodeEnd {
  static constexpr bool kIsOfCodes = true;
  // Sixteen bytes more keep the rows of a block in banks of their own.
  static constexpr int kPitch = COLUMNS + 16;
  static constexpr int kBytes = 16 * kPitch;
  static constexpr int kPieces = COLUMNS / 16;
  static constexpr int kBlocks = 2;
  using Piece = float[kBlocks][4];

  // Before `affine`, behind the barriers of the stages.
  static __device__ __forceinline__ const int* zeroAt(const float* affine) { return reinterpret_cast<const int*>(affine) - 8; }

  // Scales, and what is added to sums: no number where a float does not hold it.
  static __device__ __forceinline__ void load(const PlanesParams& p, float* to, int n0) {
    const PlaneCodes& codes = p.codes;
    for (int i = threadIdx.x; i < COLUMNS; i += blockDim.x) {
      const bool isThere = n0 + i < p.filters;
      to[i] = isThere ? p.scale[(n0 + i) * codes.scaleStep] : 1.0f;
      const int addend = isThere && codes.addend != nullptr ? codes.addend[n0 + i] : 0;
      to[COLUMNS + i] = abs(addend) <= 1 << 24 ? static_cast<float>(addend) : __int_as_float(0x7fffffff);
    }
    if (threadIdx.x != 0) return;
    int zero = 0;
    if (codes.zeroOut != nullptr)
      zero = codes.isSigned ? static_cast<int>(*static_cast<const int8_t*>(codes.zeroOut)) : static_cast<int>(*static_cast<const uint8_t*>(codes.zeroOut));
    const_cast<int*>(zeroAt(to))[0] = zero;
  }

  template <bool>
  static __device__ __forceinline__ void put(const PlanesParams& p, Piece& v, int piece, const float* affine, uint32_t own) {
    const int lane = threadIdx.x & 31, column = piece * 16 + (lane & 3) * 2;
    const int zero = *zeroAt(affine);
    const float low = static_cast<float>(p.codes.low - zero), high = static_cast<float>(p.codes.high - zero);
#pragma unroll
    for (int j = 0; j < kBlocks; ++j) {
      const float2 factor = *reinterpret_cast<const float2*>(affine + column + 8 * j);
      const float2 addend = *reinterpret_cast<const float2*>(affine + COLUMNS + column + 8 * j);
      int codes[4];
#pragma unroll
      for (int i = 0; i < 4; ++i) {
        const float whole = i % 2 == 0 ? addWhole(p, v[j][i], addend.x, column + 8 * j) : addWhole(p, v[j][i], addend.y, column + 8 * j + 1);
        const float real = __fmul_rn(whole, i % 2 == 0 ? factor.x : factor.y);
        // 3 * 2^22: floats from there on have no fraction, and their last bits count.
        codes[i] = __float_as_int(__fadd_rn(fminf(fmaxf(real, low), high), 12582912.0f)) + zero;
      }
      const uint32_t to = own + lane / 4 * kPitch + column + 8 * j;
      putPair(to, __byte_perm(codes[0], codes[1], 0x40));
      putPair(to + 8 * kPitch, __byte_perm(codes[2], codes[3], 0x40));
    }
  }

  static __device__ __forceinline__ void store(const PlanesParams& p, int m0, int n0, uint32_t own) {
    storeRows<uint8_t, COLUMNS, kPitch>(p, m0, n0, own);
  }

 private:
  // Sums are whole and below 2^24.
  static __device__ __forceinline__ float addWhole(const PlanesParams& p, float sum, float addend, int column) {
    if (addend == addend) return __fadd_rn(sum, addend);
    return static_cast<float>(static_cast<int>(sum) + p.codes.addend[blockIdx.y * COLUMNS + column]);
  }

  static __device__ __forceinline__ void putPair(uint32_t to, uint32_t pair) {
    asm volatile("st.shared.u16 [%0], %1;" ::"r"(to), "h"(static_cast<unsigned short>(pair)) : "memory");
  }
};
