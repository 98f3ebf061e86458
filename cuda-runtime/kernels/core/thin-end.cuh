// The end of a warp's 16 rows by W columns: what is done to them, then shared memory of its own, from where they leave while the warp
// goes on: by TMA where rows are at multiples of 16 bytes, else by its lanes, neighbours in a row side by side.
#pragma once
#include "../common/mma.cuh"
#include "../common/tensor-copy.cuh"
#include "register-epilogue.cuh"

template <typename T, int W>
struct ThinEnd {
  static constexpr int kBlocks = W / 8;
  // Of a box: as wide as a swizzle; else whole rows of the tile, whose length spreads them over the banks.
  static constexpr int kBoxColumns = W % 64 == 0 ? 64 : W % 32 == 0 ? 32 : W;
  static constexpr int kBoxes = W / kBoxColumns;
  static constexpr int kRowBytes = kBoxColumns * sizeof(T);
  static constexpr int kBoxBytes = 16 * kRowBytes;
  static constexpr int kBytes = kBoxes * kBoxBytes;
  // A residual's box has the rows of four warps.
  static constexpr int kResidualBytes = 4 * kBytes;
  using Pair = typename PairOf<T>::Type;
  using Values = float[kBlocks][4];

  static __device__ __forceinline__ int lane() { return threadIdx.x & 31; }

  // `m`, `n`: of the warp's first element; `own`: its shared memory; `residual`: its rows of the first box, or 0. `afterResidual` is called
  // once nobody of the warp reads it any more.
  template <typename Params, typename After>
  static __device__ __forceinline__ void finish(const Params& params, Values& v, int m, int n, uint32_t own, uint32_t residual,
                                                After afterResidual) {
    const GemmParams& p = params.p;
    formulate(p, v, residual, afterResidual);
    const bool isBoxed = p.neighbours == 8;
    if (isBoxed && lane() == 0) waitStoresRead();
    __syncwarp();
    put(v, own);
    if (isBoxed) {
      fenceForCopies();
      __syncwarp();
      if (lane() == 0) storeBoxes(params, m, n, own);
    } else {
      __syncwarp();
      storeSideBySide(p, static_cast<T*>(p.d), m, n, own);
    }
  }

  // What shared memory has of a warp's rows, neighbours in a row side by side: where they are not at multiples of 16 bytes. `d`: of the
  // batch; `width`: columns that shared memory has.
  static __device__ __forceinline__ void storeSideBySide(const GemmParams& p, T* d, int m, int n, uint32_t own, int width = W) {
#pragma unroll
    for (int from = 0; from < W; from += kPieceColumns) {
      const int columns = min(min(p.n - n, width) - from, kPieceColumns);
      if (p.neighbours == 1) storePiece<true>(p, d + n + from, m, own, from, columns);
      else storePiece<false>(p, d + n + from, m, own, from, columns);
    }
    __syncwarp();
  }

  static __device__ __forceinline__ bool hasFormula(const Activation& f) {
    switch (f.kind) {
      case kNone: case kGelu: case kGeluTanh: case kSilu: case kSigmoid: case kHardSwish: case kHardSigmoid: case kLeakyRelu: return true;
      default: return false;
    }
  }

  // What is done to sums that have their bias.
  template <typename After>
  static __device__ __forceinline__ void formulate(const GemmParams& p, Values& v, uint32_t residual, After afterResidual) {
    clip(v, p.firstLow, p.firstHigh);
    activateAll(p.first, v);
    if (residual != 0) {
      addResidual(v, residual);
      __syncwarp();
      afterResidual();
    }
    clip(v, p.lastLow, p.lastHigh);
  }

  // To a warp's shared memory, as boxes have them.
  static __device__ __forceinline__ void put(const Values& v, uint32_t own) {
#pragma unroll
    for (int box = 0; box < kBoxes; ++box) {
      const float(&part)[kBoxColumns / 8][4] = reinterpret_cast<const float(&)[kBoxColumns / 8][4]>(v[box * kBoxColumns / 8]);
      putInBox(part, own + box * kBoxBytes, 0);
    }
  }

  // Neighbouring columns of one box, from a chunk of eight on.
  template <int BLOCKS>
  static __device__ __forceinline__ void putInBox(const float (&v)[BLOCKS][4], uint32_t box, int chunk) {
    const int row = lane() % 16, odd = lane() / 16;
#pragma unroll
    for (int j = 0; j < BLOCKS; j += 2) {
      const uint32_t upper = packed(v[j][0], v[j][1]), lower = packed(v[j][2], v[j][3]);
      if (j + 1 < BLOCKS) {
        const float(&next)[4] = v[j + 1 < BLOCKS ? j + 1 : j];
        const uint32_t words[4] = {upper, lower, packed(next[0], next[1]), packed(next[2], next[3])};
        stmatrix4(box + chunkAt(row, chunk + j + odd), words);
      } else {
        const uint32_t words[2] = {upper, lower};
        stmatrix2(box + chunkAt(row, chunk + j), words);
      }
    }
  }

  // By one lane.
  template <typename Params>
  static __device__ __forceinline__ void storeBoxes(const Params& params, int m, int n, uint32_t own) {
#pragma unroll
    for (int box = 0; box < kBoxes; ++box) {
      if (n + box * kBoxColumns < params.p.n) storeBox3(params.d, own + box * kBoxBytes, n + box * kBoxColumns, m, 0);
    }
    commitStores();
  }

 private:
  template <typename Formula>
  static __device__ __forceinline__ void forAll(Values& v, Formula formula) {
#pragma unroll
    for (int j = 0; j < kBlocks; ++j)
#pragma unroll
      for (int q = 0; q < 4; ++q) v[j][q] = formula(v[j][q]);
  }

  static __device__ __forceinline__ void clip(Values& v, float low, float high) {
    if (low > -INFINITY) forAll(v, [&](float x) { return atLeast(x, low); });
    if (high < INFINITY) forAll(v, [&](float x) { return atMost(x, high); });
  }

  // Each formula stands once for all elements: those of a lane are in flight together.
  static __device__ __forceinline__ void activateAll(const Activation& f, Values& v) {
    switch (f.kind) {
      case kGelu: return forAll(v, [](float x) { return geluForHalf(x); });
      case kGeluTanh: return forAll(v, [](float x) { return x * sigmoidOf(geluTanhSlope(x)); });
      case kSilu: return forAll(v, [&](float x) { return x * sigmoidOf(f.a * x); });
      case kSigmoid: return forAll(v, [](float x) { return sigmoidOf(x); });
      case kHardSwish: return forAll(v, [&](float x) { return x * atMost(atLeast(f.a * x + f.b, 0.0f), 1.0f); });
      case kHardSigmoid: return forAll(v, [&](float x) { return atMost(atLeast(f.a * x + f.b, 0.0f), 1.0f); });
      case kLeakyRelu: return forAll(v, [&](float x) { return x < 0.0f ? f.a * x : x; });
      default: return;
    }
  }

  // Of two blocks of eight columns and both of eight rows, this lane's row of one: chunks of 16 bytes are swizzled over a box' row by the
  // number of the row of 128 bytes.
  static __device__ __forceinline__ uint32_t chunkAt(int row, int chunk) {
    if constexpr (kRowBytes == 128) return row * kRowBytes + (chunk ^ (row & 7)) * 16;
    else if constexpr (kRowBytes == 64) return row * kRowBytes + (chunk ^ (row >> 1 & 3)) * 16;
    else if constexpr (kRowBytes == 32) return row * kRowBytes + (chunk ^ (row >> 2 & 1)) * 16;
    else return row * kRowBytes + chunk * 16;
  }

  static __device__ __forceinline__ uint32_t packed(float low, float high) {
    const Pair pair = PairOf<T>::from(make_float2(low, high));
    return reinterpret_cast<const uint32_t&>(pair);
  }

  static __device__ __forceinline__ void add(float (&v)[4], uint32_t upper, uint32_t lower) {
    const float2 u = PairOf<T>::to(reinterpret_cast<const Pair&>(upper));
    const float2 l = PairOf<T>::to(reinterpret_cast<const Pair&>(lower));
    v[0] += u.x, v[1] += u.y, v[2] += l.x, v[3] += l.y;
  }

  static __device__ __forceinline__ void addResidual(Values& v, uint32_t from) {
    const int row = lane() % 16, odd = lane() / 16;
#pragma unroll
    for (int j = 0; j < kBlocks; j += 2) {
      const int column = j * 8 % kBoxColumns;
      const uint32_t box = from + j * 8 / kBoxColumns * (4 * kBoxBytes);
      uint32_t words[4];
      if (j + 1 < kBlocks) {
        ldmatrix4(words, box + chunkAt(row, column / 8 + odd));
        add(v[j + 1], words[2], words[3]);
      } else {
        uint32_t two[2];
        ldmatrix2(two, box + chunkAt(row, column / 8));
        words[0] = two[0], words[1] = two[1];
      }
      add(v[j], words[0], words[1]);
    }
  }

  // Of a row that goes out at once: four bytes a lane.
  static constexpr int kPieceColumns = W < 64 ? W : 64;
  static constexpr int kLanesOfRow = kPieceColumns / 2;
  static constexpr int kRowsAtOnce = 32 / kLanesOfRow;
  // All are loaded before one is stored.
  static constexpr int kRowsInFlight = kRowsAtOnce > 2 ? 16 : 8;

  // Words begin at multiples of four bytes. Of rows that may begin between two (MAY_BE_BETWEEN) the first element then is apart, and perhaps the
  // last one. Each store has a predicate of its own: rows would wait for branches.
  template <bool MAY_BE_BETWEEN>
  static __device__ __forceinline__ void storePiece(const GemmParams& p, T* d, int m, uint32_t own, int from, int columns) {
    const int column = lane() % kLanesOfRow * 2, upper = lane() / kLanesOfRow;
    // Where the tile's last piece is shorter, lanes behind it load what they do not store.
    const int read = min(from + column, W - 2);
    const uint32_t box = own + read / kBoxColumns * kBoxBytes;
    const int within = read % kBoxColumns;
    const int rows = upper < kRowsAtOnce ? p.m - m - upper : 0;
    T* to = d + (int64_t)(m + upper) * p.dM;
    bool isBetween = MAY_BE_BETWEEN && (reinterpret_cast<uintptr_t>(to) & 2) != 0;
    const bool alternates = MAY_BE_BETWEEN && (kRowsAtOnce * p.dM & 1) != 0;
    to += column;
#pragma unroll
    for (int first = 0; first < 16; first += kRowsInFlight) {
      uint32_t words[kRowsInFlight / kRowsAtOnce];
#pragma unroll
      for (int row = 0; row < kRowsInFlight; row += kRowsAtOnce)
        words[row / kRowsAtOnce] = loadShared4(box + chunkAt((first + row + upper) % 16, within / 8) + within % 8 * sizeof(T));
#pragma unroll
      for (int row = 0; row < kRowsInFlight; row += kRowsAtOnce) {
        const uint32_t word = words[row / kRowsAtOnce];
        const int left = first + row < rows ? columns - column : 0;
        if (MAY_BE_BETWEEN) {
          const uint32_t across = __funnelshift_r(word, __shfl_down_sync(0xffffffffu, word, 1), 16);
          storeTwo(to + isBetween, isBetween ? across : word, left - isBetween);
          if (isBetween && left > 0 && column == 0) *reinterpret_cast<uint16_t*>(to) = static_cast<uint16_t>(word);
          isBetween ^= alternates;
        } else {
          storeTwo(to, word, left);
        }
        to += kRowsAtOnce * p.dM;
      }
    }
  }

  // As many of two elements as there are.
  static __device__ __forceinline__ void storeTwo(T* to, uint32_t word, int left) {
    if (left >= 2) *reinterpret_cast<uint32_t*>(to) = word;
    if (left == 1) *reinterpret_cast<uint16_t*>(to) = static_cast<uint16_t>(word);
  }
};
