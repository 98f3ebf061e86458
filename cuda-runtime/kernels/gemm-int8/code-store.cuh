// A warp's sums, as wgmma and mma.m16n8k32 lay them out, to where they belong: through its slab of shared memory, which it stores whole rows
// from. Pieces of 16 rows by 32 columns are taken one after another by the same instructions, which stay where multiprocessors
// fetch them from at once: unrolled, they waited a third of their time for instructions.
#pragma once
#include "code-epilogue.cuh"

// Of a warp, for what it stores at once: 16 rows of 128 bytes, and what keeps them in banks of their own.
constexpr int kCodeSlabBytes = 16 * (128 + 32);

template <typename Output>
constexpr bool kHasSums = std::is_same_v<typename Output::Rows, TailRows<uint8_t>>;

// Of COLUMNS of a tile: those that are staged at once. What is added to them waits in registers, of which there are few.
template <typename Output>
constexpr int kMostColumns = kHasSums<Output> ? 64 : 128 / Output::kBytes;
template <typename Output, int COLUMNS>
constexpr int kSlabColumns = COLUMNS < kMostColumns<Output> ? COLUMNS : kMostColumns<Output>;

// Index `at` of registers, which have none while a kernel runs: `work` gets it as a constant.
template <int COUNT, typename Work>
__device__ __forceinline__ void withIndex(int at, Work work) {
#pragma unroll
  for (int each = 0; each < COUNT; ++each)
    if (each == at) work(each);
}

// What is added to a slab of 16 rows, where a lane can hold it before there is anything to add it to.
template <typename Output, int COLUMNS, bool = kHasSums<Output>>
struct AddedAhead {
  __device__ __forceinline__ void fetch(const typename Output::Rows&, int, int) {}
  __device__ __forceinline__ void stage(const typename Output::Rows&, unsigned char*) const {}
};
template <typename Output, int COLUMNS>
struct AddedAhead<Output, COLUMNS, true> {
  static constexpr int kColumns = kSlabColumns<Output, COLUMNS>;
  AddedVectors<kColumns / 32> of;

  __device__ __forceinline__ void fetch(const typename Output::Rows& rows, int row, int n) { rows.template fetch<kColumns>(of, row, n); }
  __device__ __forceinline__ void stage(const typename Output::Rows& rows, unsigned char* own) const {
    rows.template stage<kColumns, kColumns + 16>(own, of);
  }
};

// A piece's numbers to the slab, from `at` on; with codes that lie there added, where `isSum`. `piece`: of the columns.
template <int PITCH, typename Output, typename Columns, typename Sum>
__device__ __forceinline__ void putPiece(const Output& output, const Columns& columns, int piece, const Sum (&v)[4][4],
                                         const int (&rowSums)[2], const CodeTail& tail, bool isSum, unsigned char* at) {
  const int g = threadIdx.x / 4 & 7, t = threadIdx.x & 3;
  unsigned char* own = at + g * PITCH + 2 * t * Output::kBytes;
#pragma unroll
  for (int j = 0; j < 4; ++j) {
    const ColumnPair of = columns.pairOf(piece, j);
    unsigned char* to[2] = {own + 8 * j * Output::kBytes, own + 8 * j * Output::kBytes + 8 * PITCH};
    if constexpr (kHasSums<Output>) {
      if (isSum) {
        const uint16_t added[2] = {*reinterpret_cast<const uint16_t*>(to[0]), *reinterpret_cast<const uint16_t*>(to[1])};
#pragma unroll
        for (int half = 0; half < 2; ++half)
          *reinterpret_cast<uint16_t*>(to[half]) =
              output.pairWith(of, v[j][2 * half], v[j][2 * half + 1], rowSums[half], added[half], tail);
        continue;
      }
    }
#pragma unroll
    for (int half = 0; half < 2; ++half) {
      const auto pair = output.pair(of, v[j][2 * half], v[j][2 * half + 1], rowSums[half]);
      *reinterpret_cast<std::remove_const_t<decltype(pair)>*>(to[half]) = pair;
    }
  }
}

// `ahead` holds the first slab's. UNROLLED: where registers are too few to hold a piece twice. BLOCKS_M blocks of 16 rows, `step` apart from `row` on, by 8 BLOCKS_N columns from n on.
template <bool UNROLLED, typename Output, typename Columns, typename Sum, int BLOCKS_M, int BLOCKS_N, int SUMS>
__device__ __forceinline__ void storeSums(const Output& output, const Columns& columns, const typename Output::Rows& rows,
                                          const CodeProductParams& p, int row, int step, int n,
                                          const Sum (&sums)[BLOCKS_M][BLOCKS_N][4], const int (&rowSums)[BLOCKS_M][SUMS],
                                          unsigned char* own, AddedAhead<Output, BLOCKS_N * 8>& ahead) {
  constexpr int kBytes = Output::kBytes;
  constexpr int kColumns = kSlabColumns<Output, BLOCKS_N * 8>;
  constexpr int kPitch = kColumns * kBytes + (kBytes == 4 ? 32 : 16);
  constexpr int kPieces = BLOCKS_N / 4, kPiecesOfSlab = kColumns / 32;
  constexpr int kAhead = UNROLLED ? 1 : 4;
  static_assert(BLOCKS_N % 4 == 0 && 16 * kPitch <= kCodeSlabBytes, "a slab");
  bool isSum = false;
  if constexpr (kHasSums<Output>) isSum = rows.hasSums();
#pragma unroll(UNROLLED ? BLOCKS_M * kPieces : 1)
  for (int index = 0; index < BLOCKS_M * kPieces; ++index) {
    const int piece = index % kPieces, within = piece % kPiecesOfSlab;
    const int top = row + index / kPieces * step;
    Sum v[4][4];
    int sumsOfRows[2];
    withIndex<BLOCKS_M * kPieces>(index, [&](int each) {
#pragma unroll
      for (int i = 0; i < 16; ++i) v[i / 4][i % 4] = sums[each / kPieces][each % kPieces * 4 + i / 4][i % 4];
      sumsOfRows[0] = rowSums[each / kPieces][0];
      sumsOfRows[1] = rowSums[each / kPieces][SUMS / 2];
    });
    if (isSum && within == 0) {
      ahead.stage(rows, own);
      // The next slab's is on its way meanwhile.
      const int next = index + kPiecesOfSlab;
      if (next < BLOCKS_M * kPieces) ahead.fetch(rows, row + next / kPieces * step, n + next % kPieces * 32);
      __syncwarp();
    }
    putPiece<kPitch>(output, columns, piece, v, sumsOfRows, p.tail, isSum, own + within * 32 * kBytes);
    if (within < kPiecesOfSlab - 1) continue;
    const int first = n + (piece - within) * 32;
    __syncwarp();
    if constexpr (kHasSums<Output>) {
      if (isSum) rows.template storeStaged<kColumns, kPitch>(own, top, first);
      else rows.template store<kColumns, kPitch, kAhead>(own, top, first);
    } else if constexpr (std::is_same_v<typename Output::Rows, TailRows<float>>) {
      rows.template store<kColumns, kPitch, kAhead>(own, top, first);
    } else {
      rows.template store<kBytes, kColumns, kPitch>(own, top, first);
    }
    __syncwarp();
  }
}
