// What becomes of the sums of products of codes: as ONNX Runtime requantizes, in its order of operations.
#pragma once
#include <cstdint>
#include "../common/storage.cuh"
#include "params.generated.cuh"

// One column's part of it, in registers.
struct CodeColumn {
  int addend = 0;
  int zeroB = 0;
  float scale = 1.0f;
  float bias = 0.0f;

  __device__ __forceinline__ CodeColumn(const CodeProductParams& p, int n) {
    if (n >= p.n) return;
    if (p.addend != nullptr) addend = p.addend[n];
    if (p.zeroB != nullptr) zeroB = p.zeroB[n];
    if (p.scale != nullptr) scale = p.scale[static_cast<int64_t>(n) * p.scaleStep];
    if (p.bias != nullptr) bias = p.bias[n];
  }

  __device__ __forceinline__ int whole(int sum, int rowSum) const { return sum + addend - zeroB * rowSum; }

  // Products and sums are rounded one by one, as processors do.
  __device__ __forceinline__ float real(int sum, int rowSum) const {
    return __fadd_rn(__fmul_rn(static_cast<float>(whole(sum, rowSum)), scale), bias);
  }
  __device__ __forceinline__ float real(float sum, int) const { return __fadd_rn(__fmul_rn(sum, scale), bias); }
};

__device__ __forceinline__ bool isCode(int type) { return type == kInt8 || type == kUint8; }

__device__ __forceinline__ int zeroOutOf(const CodeProductParams& p) {
  if (p.zeroOut == nullptr) return 0;
  return p.dType == kInt8 ? static_cast<int>(*static_cast<const int8_t*>(p.zeroOut))
                          : static_cast<int>(*static_cast<const uint8_t*>(p.zeroOut));
}

// Bounded first, as floats, then to the nearest whole number, ties to even.
__device__ __forceinline__ int codeOf(const CodeProductParams& p, float real, int zeroOut) {
  const float bounded = fminf(fmaxf(real, static_cast<float>(p.low - zeroOut)), static_cast<float>(p.high - zeroOut));
  return __float2int_rn(bounded) + zeroOut;
}

__device__ __forceinline__ int wholeOf(const CodeColumn& column, int sum, int rowSum) { return column.whole(sum, rowSum); }
__device__ __forceinline__ int wholeOf(const CodeColumn&, float sum, int) { return static_cast<int>(sum); }

// Two neighbouring columns n and n + 1 of one row, not codes.
template <typename Sum>
__device__ __forceinline__ void storePair(const CodeProductParams& p, int64_t at, int n, const CodeColumn (&column)[2],
                                          Sum first, Sum second, int rowSum) {
  const Sum sums[2] = {first, second};
#pragma unroll
  for (int i = 0; i < 2; ++i) {
    if (n + i >= p.n) break;
    if (p.scale == nullptr) static_cast<int*>(p.d)[at + i] = wholeOf(column[i], sums[i], rowSum);
    else storeFloat(p.d, at + i, p.dType, column[i].real(sums[i], rowSum));
  }
}

// Codes of 32 neighbouring columns of one row, which four lanes hold in pairs, eight columns apart: each ends with eight
// in a row, which it stores at once where they lie so. `pairs[j]`: columns 8 j + 2 t and the next in the low bytes.
__device__ __forceinline__ void storeCodes(const CodeProductParams& p, int64_t row, int n, const uint32_t (&pairs)[4]) {
  const int t = threadIdx.x & 3;
  // Lane t wants block t of every lane: in round r it hands block t ^ r to lane t ^ r.
  uint32_t words[2] = {0, 0};
#pragma unroll
  for (int round = 0; round < 4; ++round) {
    const int other = t ^ round;
    uint32_t mine = 0;
#pragma unroll
    for (int j = 0; j < 4; ++j) mine = other == j ? pairs[j] : mine;
    const uint32_t theirs = __shfl_xor_sync(0xffffffffu, mine, round) & 0xffffu;
    words[other >> 1] |= theirs << (16 * (other & 1));
  }
  if (row < 0) return;
  const int column = n + 8 * t;
  uint8_t* to = static_cast<uint8_t*>(p.d) + row + column;
  if (column + 8 <= p.n && (reinterpret_cast<uintptr_t>(to) & 7) == 0) {
    *reinterpret_cast<uint2*>(to) = make_uint2(words[0], words[1]);
    return;
  }
#pragma unroll
  for (int i = 0; i < 8; ++i) {
    if (column + i < p.n) to[i] = static_cast<uint8_t>(words[i >> 2] >> (8 * (i & 3)));
  }
}

// 16 rows by 8 BLOCKS columns that a warp holds as mma.m16n8k32 lays them out: `row` and `row + 8` of this lane.
template <typename Sum, int BLOCKS>
__device__ __forceinline__ void storeSums(const CodeProductParams& p, int64_t base, int row, int n,
                                          const Sum (&sums)[BLOCKS][4], const int (&rowSums)[2]) {
  const int t = threadIdx.x & 3;
  const bool toCodes = isCode(p.dType);
  const int zeroOut = toCodes ? zeroOutOf(p) : 0;
  const int64_t rows[2] = {row < p.m ? base + static_cast<int64_t>(row) * p.dM : -1,
                           row + 8 < p.m ? base + static_cast<int64_t>(row + 8) * p.dM : -1};
#pragma unroll
  for (int group = 0; group < BLOCKS / 4; ++group) {
    uint32_t pairs[2][4];
#pragma unroll
    for (int j = 0; j < 4; ++j) {
      const int column = n + 32 * group + 8 * j + 2 * t;
      const CodeColumn columns[2] = {CodeColumn(p, column), CodeColumn(p, column + 1)};
      const Sum(&own)[4] = sums[4 * group + j];
#pragma unroll
      for (int half = 0; half < 2; ++half) {
        const Sum first = own[2 * half], second = own[2 * half + 1];
        if (toCodes) {
          const int low = codeOf(p, columns[0].real(first, rowSums[half]), zeroOut);
          const int high = codeOf(p, columns[1].real(second, rowSums[half]), zeroOut);
          pairs[half][j] = (low & 255) | (high & 255) << 8;
        } else if (rows[half] >= 0) {
          storePair(p, rows[half] + column, column, columns, first, second, rowSums[half]);
        }
      }
    }
    if (toCodes) {
      storeCodes(p, rows[0], n + 32 * group, pairs[0]);
      storeCodes(p, rows[1], n + 32 * group, pairs[1]);
    }
  }
}
