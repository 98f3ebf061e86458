// What becomes of the sums of products of codes: as ONNX Runtime requantizes, in its order of operations. What is stored is
// known outside of all loops; a warp takes it through shared memory, and stores whole rows.
#pragma once
#include <cstdint>
#include <type_traits>
#include "../common/storage.cuh"
#include "code-tail.cuh"
#include "params.generated.cuh"

// Of two columns beside each other.
struct ColumnPair {
  int addend[2];
  int zeroB[2];
  float scale[2];
  float bias[2];

  __device__ __forceinline__ int whole(int i, int sum, int rowSum) const { return sum + addend[i] - zeroB[i] * rowSum; }
  __device__ __forceinline__ int whole(int, float sum, int) const { return static_cast<int>(sum); }

  // Where nothing is added behind the scale.
  __device__ __forceinline__ float scaled(int i, int sum, int rowSum) const {
    return __fmul_rn(static_cast<float>(whole(i, sum, rowSum)), scale[i]);
  }
  __device__ __forceinline__ float scaled(int i, float sum, int) const { return __fmul_rn(sum, scale[i]); }
  // Products and sums are rounded one by one, as processors do.
  template <typename Sum> __device__ __forceinline__ float real(int i, Sum sum, int rowSum) const {
    return __fadd_rn(scaled(i, sum, rowSum), bias[i]);
  }
};

// Of the columns that a lane has of 32, as mma.m16n8k32 lays them out: 8 j + 2 t and the next one.
struct CodeColumns {
  ColumnPair of[4];

  __device__ __forceinline__ void load(const CodeProductParams& p, int n0) {
#pragma unroll
    for (int i = 0; i < 8; ++i) {
      const int n = n0 + i / 2 * 8 + (threadIdx.x & 3) * 2 + i % 2;
      const bool isInside = n < p.n;
      ColumnPair& to = of[i / 2];
      to.addend[i % 2] = isInside && p.addend != nullptr ? p.addend[n] : 0;
      to.zeroB[i % 2] = isInside && p.zeroB != nullptr ? p.zeroB[n] : 0;
      to.scale[i % 2] = isInside && p.scale != nullptr ? p.scale[n * p.scaleStep] : 1.0f;
      to.bias[i % 2] = isInside && p.bias != nullptr ? p.bias[n] : 0.0f;
    }
  }

  // Where a warp has no others than one piece's.
  __device__ __forceinline__ const ColumnPair& pairOf(int, int j) const { return of[j]; }
};

struct CodeRows;

// What is staged: elements of kBytes; `pair` makes two neighbours of one row of their sums. `Rows` takes them to where they belong.
struct AsSums {
  using Rows = CodeRows;
  static constexpr int kBytes = 4;
  template <typename Sum>
  __device__ __forceinline__ int2 pair(const ColumnPair& of, Sum first, Sum second, int rowSum) const {
    return make_int2(of.whole(0, first, rowSum), of.whole(1, second, rowSum));
  }
};

__device__ __forceinline__ float2 pairOf(float first, float second, float) { return make_float2(first, second); }
__device__ __forceinline__ __half2 pairOf(float first, float second, __half) { return __floats2half2_rn(first, second); }
__device__ __forceinline__ __nv_bfloat162 pairOf(float first, float second, __nv_bfloat16) {
  return __floats2bfloat162_rn(first, second);
}

template <typename T, typename To = CodeRows>
struct AsFloats {
  using Rows = To;
  static constexpr int kBytes = sizeof(T);
  template <typename Sum>
  __device__ __forceinline__ auto pair(const ColumnPair& of, Sum first, Sum second, int rowSum) const {
    return pairOf(of.real(0, first, rowSum), of.real(1, second, rowSum), T());
  }
};

template <typename To>
struct AsCodes {
  using Rows = To;
  static constexpr int kBytes = 1;
  int zero = 0;
  float low, high;

  __device__ __forceinline__ AsCodes(const CodeProductParams& p) {
    if (p.zeroOut != nullptr) {
      zero = p.codeType == kInt8 ? static_cast<int>(*static_cast<const int8_t*>(p.zeroOut))
                              : static_cast<int>(*static_cast<const uint8_t*>(p.zeroOut));
    }
    low = static_cast<float>(p.low - zero);
    high = static_cast<float>(p.high - zero);
  }

  // Bounded first, as floats, then to the nearest whole number, ties to even: floats from 3 * 2^22 on have no fraction, and
  // their last bits count.
  __device__ __forceinline__ int codeOf(float real) const {
    return __float_as_int(__fadd_rn(fminf(fmaxf(real, low), high), 12582912.0f)) + zero;
  }

  template <typename Sum>
  __device__ __forceinline__ uint16_t pair(const ColumnPair& of, Sum first, Sum second, int rowSum) const {
    const int codes[2] = {codeOf(of.real(0, first, rowSum)), codeOf(of.real(1, second, rowSum))};
    return static_cast<uint16_t>(__byte_perm(codes[0], codes[1], 0x40));
  }

  // The same with two codes added, flipped; `sum` has been tried with every pair of codes.
  template <typename Sum>
  __device__ __forceinline__ uint16_t pairWith(const ColumnPair& of, Sum first, Sum second, int rowSum, uint16_t added,
                                               const CodeTail& t) const {
    const int codes[2] = {sumOf(of.scaled(0, first, rowSum), added, 0, t), sumOf(of.scaled(1, second, rowSum), added, 1, t)};
    return static_cast<uint16_t>(__byte_perm(codes[0], codes[1], 0x40));
  }

 private:
  __device__ __forceinline__ int sumOf(float real, uint32_t added, int byte, const CodeTail& t) const {
    const float own = __fadd_rn(__fadd_rn(fminf(fmaxf(real, low), high), 12582912.0f), -12582912.0f);
    const float other = __fmul_rn(differenceOf(added, byte, t.added.base), t.sum.other);
    return __float_as_int(__fadd_rn(fminf(fmaxf(__fmaf_rn(own, t.sum.own, other), t.sum.low), t.sum.high), t.sum.whole));
  }
};

// `work` gets what a launch stages. ONLY_CODES: or floats, by a tail.
template <bool HAS_TAIL, bool ONLY_CODES = false, typename Work>
__device__ __forceinline__ void withOutput(const CodeProductParams& p, Work work) {
  if constexpr (HAS_TAIL) {
    if (p.tail.kind == kTailOfCodes) return work(AsCodes<TailRows<uint8_t>>(p));
    if (p.tail.kind == kTailOfFloats) return work(AsFloats<float, TailRows<float>>());
  }
  if constexpr (ONLY_CODES) return work(AsCodes<CodeRows>(p));
  else if (p.scale == nullptr) work(AsSums());
  else if (p.dType == kFloat16) work(AsFloats<__half>());
  else if (p.dType == kBFloat16) work(AsFloats<__nv_bfloat16>());
  else if (p.dType == kFloat32) work(AsFloats<float>());
  else work(AsCodes<CodeRows>(p));
}

// The result's rows as bytes. `grain`: what all of their ends are multiples of, 16 or less.
struct CodeRows {
  unsigned char* to;
  int64_t pitch;
  int rows;
  int rowBytes;
  int grain;

  __device__ __forceinline__ CodeRows(const CodeProductParams& p, int batch, int bytes)
      : to(static_cast<unsigned char*>(p.d) + batch * p.dBatch * bytes),
        pitch(static_cast<int64_t>(p.dM) * bytes),
        rows(p.m),
        rowBytes(p.n * bytes) {
    const int ends = static_cast<int>(reinterpret_cast<uintptr_t>(to)) | static_cast<int>(pitch) | rowBytes | 16;
    grain = ends & -ends;
  }

  // 16 rows from `row` on, COLUMNS of each from n on, which lie PITCH bytes apart in shared memory.
  template <int ELEMENT, int COLUMNS, int PITCH>
  __device__ __forceinline__ void store(const unsigned char* own, int row, int n) const {
    constexpr int BYTES = COLUMNS * ELEMENT;
    const int column = n * ELEMENT;
    if (grain == 16) storeBy<uint4, BYTES, PITCH>(own, row, column);
    else if (grain == 8) storeBy<uint2, BYTES, PITCH>(own, row, column);
    else if (ELEMENT == 4 || grain == 4) storeBy<uint32_t, BYTES, PITCH>(own, row, column);
    else if (ELEMENT == 2 || grain == 2) storeBy<uint16_t, BYTES, PITCH>(own, row, column);
    else storeBy<uint8_t, BYTES, PITCH>(own, row, column);
  }

 private:
  template <typename Word, int BYTES, int PITCH>
  __device__ __forceinline__ void storeBy(const unsigned char* own, int row, int column) const {
    constexpr int kWords = BYTES / sizeof(Word);
    constexpr int kRounds = 16 * kWords / 32;
#pragma unroll(kRounds < 4 ? kRounds : 4)
    for (int round = 0; round < kRounds; ++round) {
      const int index = round * 32 + (threadIdx.x & 31);
      const int below = index / kWords, beside = index % kWords * static_cast<int>(sizeof(Word));
      const Word word = *reinterpret_cast<const Word*>(own + below * PITCH + beside);
      if (row + below >= rows || column + beside >= rowBytes) continue;
      *reinterpret_cast<Word*>(to + (row + below) * pitch + column + beside) = word;
    }
  }
};

// What a tile's results are stored by.
template <typename Output>
__device__ __forceinline__ typename Output::Rows rowsOf(const CodeProductParams& p, int batch, const Output&) {
  if constexpr (std::is_same_v<typename Output::Rows, CodeRows>) return CodeRows(p, batch, Output::kBytes);
  else return typename Output::Rows(p, batch);
}
