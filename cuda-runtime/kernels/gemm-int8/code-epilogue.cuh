// What becomes of the sums of products of codes: as ONNX Runtime requantizes, in its order of operations. What is stored is
// known outside of all loops; a warp takes it through shared memory, and stores whole rows.
#pragma once
#include <cstdint>
#include <type_traits>
#include "../common/storage.cuh"
#include "code-tail.cuh"
#include "params.generated.cuh"

// Of the columns that a lane has of 32, as mma.m16n8k32 lays them out: 8 j + 2 t and the next one, at 2 j and 2 j + 1.
struct CodeColumns {
  int addend[8];
  int zeroB[8];
  float scale[8];
  float bias[8];

  __device__ __forceinline__ void load(const CodeProductParams& p, int n0) {
#pragma unroll
    for (int i = 0; i < 8; ++i) {
      const int n = n0 + i / 2 * 8 + (threadIdx.x & 3) * 2 + i % 2;
      const bool isInside = n < p.n;
      addend[i] = isInside && p.addend != nullptr ? p.addend[n] : 0;
      zeroB[i] = isInside && p.zeroB != nullptr ? p.zeroB[n] : 0;
      scale[i] = isInside && p.scale != nullptr ? p.scale[n * p.scaleStep] : 1.0f;
      bias[i] = isInside && p.bias != nullptr ? p.bias[n] : 0.0f;
    }
  }

  // Where a warp has no others.
  __device__ __forceinline__ const CodeColumns& of32(int) const { return *this; }

  __device__ __forceinline__ int whole(int i, int sum, int rowSum) const { return sum + addend[i] - zeroB[i] * rowSum; }
  __device__ __forceinline__ int whole(int, float sum, int) const { return static_cast<int>(sum); }

  // Products and sums are rounded one by one, as processors do.
  __device__ __forceinline__ float real(int i, int sum, int rowSum) const {
    return __fadd_rn(__fmul_rn(static_cast<float>(whole(i, sum, rowSum)), scale[i]), bias[i]);
  }
  // Where nothing is added behind the scale.
  __device__ __forceinline__ float scaled(int i, int sum, int rowSum) const {
    return __fmul_rn(static_cast<float>(whole(i, sum, rowSum)), scale[i]);
  }
  __device__ __forceinline__ float scaled(int i, float sum, int) const { return __fmul_rn(sum, scale[i]); }
  __device__ __forceinline__ float real(int i, float sum, int) const { return __fadd_rn(__fmul_rn(sum, scale[i]), bias[i]); }
};

struct CodeRows;

// What is staged: elements of kBytes; `pair` makes two neighbours of one row of their sums. `Rows` takes them to where they belong.
struct AsSums {
  using Rows = CodeRows;
  static constexpr int kBytes = 4;
  template <typename Sum>
  __device__ __forceinline__ int2 pair(const CodeColumns& of, int i, Sum first, Sum second, int rowSum) const {
    return make_int2(of.whole(i, first, rowSum), of.whole(i + 1, second, rowSum));
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
  __device__ __forceinline__ auto pair(const CodeColumns& of, int i, Sum first, Sum second, int rowSum) const {
    return pairOf(of.real(i, first, rowSum), of.real(i + 1, second, rowSum), T());
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
  __device__ __forceinline__ uint16_t pair(const CodeColumns& of, int i, Sum first, Sum second, int rowSum) const {
    const int codes[2] = {codeOf(of.real(i, first, rowSum)), codeOf(of.real(i + 1, second, rowSum))};
    return static_cast<uint16_t>(__byte_perm(codes[0], codes[1], 0x40));
  }

  // The same with two codes added, flipped; `sum` has been tried with every pair of codes.
  template <typename Sum>
  __device__ __forceinline__ uint16_t pairWith(const CodeColumns& of, int i, Sum first, Sum second, int rowSum, uint16_t added,
                                               const CodeTail& t) const {
    const int codes[2] = {sumOf(of.scaled(i, first, rowSum), added, 0, t), sumOf(of.scaled(i + 1, second, rowSum), added, 1, t)};
    return static_cast<uint16_t>(__byte_perm(codes[0], codes[1], 0x40));
  }

 private:
  __device__ __forceinline__ int sumOf(float real, uint32_t added, int byte, const CodeTail& t) const {
    const float own = __fadd_rn(__fadd_rn(fminf(fmaxf(real, low), high), 12582912.0f), -12582912.0f);
    const float other = __fmul_rn(differenceOf(added, byte, t.added.base), t.sum.other);
    return __float_as_int(__fadd_rn(fminf(fmaxf(__fmaf_rn(own, t.sum.own, other), t.sum.low), t.sum.high), t.sum.whole));
  }
};

// What a kernel's launches store where they have no tail: codes; codes or floats of four bytes; whatever there is.
enum class Stored { codes, codesAndFloats, all };

// `work` gets what a launch stages.
template <bool HAS_TAIL, Stored STORED = Stored::all, typename Work>
__device__ __forceinline__ void withOutput(const CodeProductParams& p, Work work) {
  if constexpr (HAS_TAIL) {
    if (p.tail.kind == kTailOfCodes) return work(AsCodes<TailRows<uint8_t>>(p));
    if (p.tail.kind == kTailOfFloats) return work(AsFloats<float, TailRows<float>>());
  }
  if constexpr (STORED == Stored::all) {
    if (p.scale == nullptr) return work(AsSums());
    if (p.dType == kFloat16) return work(AsFloats<__half>());
    if (p.dType == kBFloat16) return work(AsFloats<__nv_bfloat16>());
  }
  if constexpr (STORED != Stored::codes) {
    if (p.dType == kFloat32) return work(AsFloats<float>());
  }
  work(AsCodes<CodeRows>(p));
}

// The result's rows as bytes. `grain`: what all of their ends are multiples of, 16 or less.
struct CodeRows {
  unsigned char* to;
  int64_t pitch;
  int rows;
  int rowBytes;
  int grain;

  // `grain`: what grainOf says.
  __device__ __forceinline__ CodeRows(const CodeProductParams& p, int batch, int bytes, int grain)
      : to(static_cast<unsigned char*>(p.d) + batch * p.dBatch * bytes),
        pitch(static_cast<int64_t>(p.dM) * bytes),
        rows(p.m),
        rowBytes(p.n * bytes),
        grain(grain) {}

  // Of all of a batch: counted once, outside of loops.
  static __device__ __forceinline__ int grainOf(const CodeProductParams& p, int bytes) {
    const int ofBatch = p.batch > 1 ? static_cast<int>(p.dBatch) : 0;
    const int ends = static_cast<int>(reinterpret_cast<uintptr_t>(p.d)) | (ofBatch | p.dM | p.n) * bytes | 16;
    return ends & -ends;
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

// Of a warp, for what it stores at once: 16 rows of 128 bytes, and what keeps them in banks of their own.
constexpr int kCodeSlabBytes = 16 * (128 + 32);

// Of 8 BLOCKS columns: those that are staged at once.
template <typename Output, int BLOCKS>
constexpr int kSlabColumns = BLOCKS * 8 < 128 / Output::kBytes ? BLOCKS * 8 : 128 / Output::kBytes;

// What results of 16 rows by 8 BLOCKS columns are added to, where a lane can hold it before there are any.
template <typename Output, int BLOCKS, bool = std::is_same_v<typename Output::Rows, TailRows<uint8_t>>>
struct AddedAhead {
  __device__ __forceinline__ void fetch(const typename Output::Rows&, int, int) {}
};
template <typename Output, int BLOCKS>
struct AddedAhead<Output, BLOCKS, true> {
  static constexpr int kColumns = kSlabColumns<Output, BLOCKS>;
  AddedVectors<kColumns / 32> of[BLOCKS * 8 / kColumns];

  __device__ __forceinline__ void fetch(const typename Output::Rows& rows, int row, int n) {
#pragma unroll
    for (int slab = 0; slab < BLOCKS * 8 / kColumns; ++slab) rows.template fetch<kColumns>(of[slab], row, n + slab * kColumns);
  }
};

// As storeSums, of codes to which codes are added: they are staged first, and each lane's sums take their places.
template <typename Output, typename Columns, typename Sum, int BLOCKS>
__device__ __forceinline__ void storeWithAdded(const Output& output, const Columns& columns, const TailRows<uint8_t>& rows, int row,
                                               int n, const Sum (&sums)[BLOCKS][4], const int (&rowSums)[2], unsigned char* own,
                                               const AddedAhead<Output, BLOCKS>& ahead) {
  constexpr int kColumns = kSlabColumns<Output, BLOCKS>, kPitch = kColumns + 16;
  const int g = threadIdx.x / 4 & 7, t = threadIdx.x & 3;
#pragma unroll
  for (int first = 0; first < BLOCKS * 8; first += kColumns) {
    rows.template stage<kColumns, kPitch>(own, ahead.of[first / kColumns]);
    __syncwarp();
#pragma unroll
    for (int column = 0; column < kColumns; column += 32) {
      const CodeColumns& of = columns.of32(first + column);
      // All are read before the first is written: what depends on nothing else is in flight together.
      const auto at = [&](int j, int half) {
        return reinterpret_cast<uint16_t*>(own + (g + 8 * half) * kPitch + column + 8 * j + 2 * t);
      };
      uint16_t added[4][2];
#pragma unroll
      for (int i = 0; i < 8; ++i) added[i / 2][i % 2] = *at(i / 2, i % 2);
#pragma unroll
      for (int i = 0; i < 8; ++i) {
        const int j = i / 2, half = i % 2;
        const Sum(&block)[4] = sums[(first + column) / 8 + j];
        *at(j, half) = output.pairWith(of, 2 * j, block[2 * half], block[2 * half + 1], rowSums[half], added[j][half], rows.p.tail);
      }
    }
    __syncwarp();
    rows.template storeStaged<kColumns, kPitch>(own, row, n + first);
    __syncwarp();
  }
}

// 16 rows by 8 BLOCKS columns of one warp, from `row` and column n on. `columns.of32(c)`: those from n + c on. `own`: the
// warp's slab.
template <typename Output, typename Columns, typename Sum, int BLOCKS>
__device__ __forceinline__ void storeSums(const Output& output, const Columns& columns, const typename Output::Rows& rows, int row,
                                          int n, const Sum (&sums)[BLOCKS][4], const int (&rowSums)[2], unsigned char* own,
                                          const AddedAhead<Output, BLOCKS>& ahead) {
  constexpr int kBytes = Output::kBytes;
  constexpr int kColumns = kSlabColumns<Output, BLOCKS>;
  constexpr int kPitch = kColumns * kBytes + (kBytes == 4 ? 32 : 16);
  static_assert(BLOCKS % 4 == 0 && 16 * kPitch <= kCodeSlabBytes, "a slab");
  const int g = threadIdx.x / 4 & 7, t = threadIdx.x & 3;
  constexpr bool kHasSums = std::is_same_v<typename Output::Rows, TailRows<uint8_t>>;
  if constexpr (kHasSums) {
    if (rows.hasSums()) return storeWithAdded(output, columns, rows, row, n, sums, rowSums, own, ahead);
  }
#pragma unroll
  for (int first = 0; first < BLOCKS * 8; first += kColumns) {
#pragma unroll
    for (int column = 0; column < kColumns; column += 32) {
      const CodeColumns& of = columns.of32(first + column);
#pragma unroll
      for (int j = 0; j < 4; ++j) {
        const Sum(&block)[4] = sums[(first + column) / 8 + j];
#pragma unroll
        for (int half = 0; half < 2; ++half) {
          const auto pair = output.pair(of, 2 * j, block[2 * half], block[2 * half + 1], rowSums[half]);
          unsigned char* to = own + (g + 8 * half) * kPitch + (column + 8 * j + 2 * t) * kBytes;
          *reinterpret_cast<std::remove_const_t<decltype(pair)>*>(to) = pair;
        }
      }
    }
    __syncwarp();
    if constexpr (kHasSums)
      rows.template store<kColumns, kPitch>(own, row, n + first, ahead.of[first / kColumns]);
    else if constexpr (std::is_same_v<typename Output::Rows, TailRows<float>>)
      rows.template store<kColumns, kPitch>(own, row, n + first, AddedVectors<kColumns / 32>());
    else
      rows.template store<kBytes, kColumns, kPitch>(own, row, n + first);
    __syncwarp();
  }
}

// How a lane may store a row, of all of a batch.
template <typename Output>
__device__ __forceinline__ int endsOf(const CodeProductParams& p, const Output&) {
  if constexpr (std::is_same_v<typename Output::Rows, CodeRows>) return CodeRows::grainOf(p, Output::kBytes);
  else return Output::Rows::vectorOf(p);
}
// What a tile's results are stored by. It refers to the launch's parameters: where it were copied, they would not be read as constants.
template <typename Output>
__device__ __forceinline__ typename Output::Rows rowsOf(const CodeProductParams& p, int batch, int ends, const Output&) {
  if constexpr (std::is_same_v<typename Output::Rows, CodeRows>) return CodeRows(p, batch, Output::kBytes, ends);
  else return typename Output::Rows(p, batch, ends);
}
