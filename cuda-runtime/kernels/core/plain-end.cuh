// The end of a tile of halves that asks for nothing but a bias, and limits or one of three formulas, which is most of them. The other ends
// (register-epilogue.cuh) have branches around what is not asked for, part by part: warps ran through 100 KB of machine code and waited for
// it two fifths of a tile's end (an H200, 25088x1536x384: Nsight Compute's samples). This one is a run of instructions for each formula.
#pragma once
#include "register-epilogue.cuh"

// Columns of a warp's 16 rows that go out together.
template <typename T, int COLUMNS>
struct PlainPart {
  using Columns = Part<T, COLUMNS>;
  static constexpr int kLanesOfRow = Columns::kLanesOfRow;
  static constexpr int kRowsAtOnce = Columns::kRowsAtOnce;

  // `first`: this lane's first row and eight columns in memory. Rows and columns that do not exist are not written.
  template <typename Formula>
  static __device__ __forceinline__ void finish(const GemmParams& p, const float (*sums)[4], const float2* bias, T* first, int rows,
                                                bool isColumn, unsigned char* own) {
    Columns part;
#pragma unroll
    for (int j = 0; j < Columns::kBlocks; ++j)
#pragma unroll
      for (int q = 0; q < 4; ++q) part.v[j][q] = Formula::of(p, sums[j][q] + (q % 2 == 0 ? bias[j].x : bias[j].y));
    __syncwarp();
    part.put(own);
    __syncwarp();
    const int lane = threadIdx.x & 31;
    const unsigned char* from = own + lane / kLanesOfRow * Columns::kPitch + lane % kLanesOfRow * 16;
#pragma unroll
    for (int row = 0; row < 16; row += kRowsAtOnce) {
      const uint4 eight = *reinterpret_cast<const uint4*>(from + row * Columns::kPitch);
      if (isColumn && row < rows) *reinterpret_cast<uint4*>(first + (int64_t)row * p.dM) = eight;
    }
  }
};

struct Nothing {
  static __device__ __forceinline__ float of(const GemmParams&, float x) { return x; }
};
struct Limits {
  static __device__ __forceinline__ float of(const GemmParams& p, float x) { return atMost(atLeast(x, p.firstLow), p.firstHigh); }
};
struct Gelu {
  static __device__ __forceinline__ float of(const GemmParams&, float x) { return geluForHalf(x); }
};
// SiLU, and GELU with tanh.
struct Sigmoid {
  static __device__ __forceinline__ float of(const GemmParams& p, float x) {
    return x * sigmoidOf(p.first.kind == kSilu ? p.first.a * x : geluTanhSlope(x));
  }
};

// FORMULAS: GELU, GELU with tanh and SiLU as well.
template <typename T, int BLOCKS_M, int BN, bool FORMULAS>
struct PlainEnd {
  static constexpr int kColumns = BN < 64 ? BN : 64;
  static constexpr int kWide = BN / kColumns * kColumns;

  // Halves of the operands' type, eight side by side.
  static __device__ __forceinline__ bool suits(const GemmParams& p) {
    return p.dType == PairOf<T>::kCode && p.neighbours == 8 && !p.channelOnM && p.scale == nullptr && p.alpha == 1.0f &&
           p.residual == nullptr && knows(p) && p.last.kind == kNone && p.lastLow == -INFINITY &&
           p.lastHigh == INFINITY;
  }

  static __device__ __forceinline__ bool knows(const GemmParams& p) {
    if constexpr (FORMULAS) {
      const bool isKnown = p.first.kind == kGelu || p.first.kind == kGeluTanh || p.first.kind == kSilu;
      if (isKnown && !limits(p)) return true;
    }
    return p.first.kind == kNone;
  }

  static __device__ __forceinline__ bool limits(const GemmParams& p) { return p.firstLow > -INFINITY || p.firstHigh < INFINITY; }

  // `m`: this warp's first row. `own`: shared memory of this warp.
  static __device__ __forceinline__ void finish(const GemmParams& p, const Place& at, const float (&sums)[BLOCKS_M][BN / 8][4], int m,
                                                unsigned char* own) {
    if constexpr (FORMULAS) {
      if (p.first.kind == kGelu) return finishAs<Gelu>(p, at, sums, m, own);
      if (p.first.kind != kNone) return finishAs<Sigmoid>(p, at, sums, m, own);
    }
    if (limits(p)) finishAs<Limits>(p, at, sums, m, own);
    else finishAs<Nothing>(p, at, sums, m, own);
  }

  // Of this lane's columns from n0 on, all loads on their way together; zeros without one.
  template <int COLUMNS>
  static __device__ __forceinline__ void loadBias(const GemmParams& p, int n0, float2 (&bias)[COLUMNS / 8]) {
    const int n = n0 + (threadIdx.x & 3) * 2;
    if (p.bias == nullptr) {
#pragma unroll
      for (int j = 0; j < COLUMNS / 8; ++j) bias[j] = make_float2(0.0f, 0.0f);
      return;
    }
    // It may lie at an odd element.
    const float* from = p.bias + n;
#pragma unroll
    for (int j = 0; j < COLUMNS / 8; ++j) {
      bias[j] = n + 8 * j < p.n ? make_float2(__ldg(from + 8 * j), __ldg(from + 8 * j + 1)) : make_float2(0.0f, 0.0f);
    }
  }

 private:
  template <typename Formula>
  static __device__ __forceinline__ void finishAs(const GemmParams& p, const Place& at, const float (&sums)[BLOCKS_M][BN / 8][4], int m,
                                                  unsigned char* own) {
#pragma unroll
    for (int i = 0; i < BLOCKS_M; ++i) {
      finishColumns<Formula, kColumns, 0, kWide>(p, at, sums[i], m + i * 64, own);
      if constexpr (kWide < BN) finishColumns<Formula, BN - kWide, kWide, BN>(p, at, sums[i], m + i * 64, own);
    }
  }

  template <typename Formula, int COLUMNS, int FROM, int TO>
  static __device__ __forceinline__ void finishColumns(const GemmParams& p, const Place& at, const float (&sums)[BN / 8][4], int m,
                                                       unsigned char* own) {
    float2 bias[(TO - FROM) / 8];
    loadBias<TO - FROM>(p, at.tileN * BN + FROM, bias);
    using Columns = PlainPart<T, COLUMNS>;
    const int lane = threadIdx.x & 31;
    const int row = m + lane / Columns::kLanesOfRow;
    const int n = at.tileN * BN + FROM + lane % Columns::kLanesOfRow * 8;
    T* first = static_cast<T*>(p.d) + at.d + (int64_t)row * p.dM + n;
#pragma unroll
    for (int column = FROM; column < TO; column += COLUMNS) {
      const int by = column - FROM;
      Columns::template finish<Formula>(p, sums + column / 8, bias + by / 8, first + by, p.m - row, n + by < p.n, own);
    }
  }
};
