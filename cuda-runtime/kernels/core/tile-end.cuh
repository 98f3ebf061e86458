// The end of a tile of halves by the copy engine: a residual comes into stages of the ring behind the tile's operands, is added up there,
// and the rows go out from the same place, while the next tile is multiplied.
#pragma once
#include "../common/barrier.cuh"
#include "../common/mma.cuh"
#include "../common/tensor-copy.cuh"
#include "register-epilogue.cuh"

// What a group of four warps has computed: BLOCKS_M blocks of 64 rows by BN columns, in one stage of the ring. Of a block, boxes of
// columns lie one behind another, their rows swizzled as TMA does it.
template <typename T, bool TOGETHER, int BLOCKS_M, int BN, int STAGE_BYTES>
struct TileEnd {
  static constexpr int kBoxColumns = BN % 64 == 0 ? 64 : 32;
  static constexpr int kBoxes = BN / kBoxColumns;
  static constexpr int kRowBytes = kBoxColumns * sizeof(T);
  static constexpr int kBoxBytes = 64 * kRowBytes;
  static constexpr int kBlockBytes = kBoxes * kBoxBytes;
  static constexpr int kBytes = BLOCKS_M * kBlockBytes;
  // Stages that a tile takes besides those of its operands: one a group.
  static constexpr int kStages = TOGETHER ? 2 : 1;
  // Of a box' columns, what registers hold beside the sums: groups of eight.
  static constexpr int kPieces = BN / 32;
  static constexpr int kPiecesOfBox = kBoxColumns / 32;
  static constexpr int kBlocks = 4;
  // Sixteen rows of a box are a warp's.
  static constexpr int kWarpBytes = 16 * kRowBytes;
  using Pair = typename PairOf<T>::Type;

  // By one thread, from row m on.
  template <typename Params>
  static __device__ __forceinline__ void copyResidual(const Params& params, const Place& at, int m, int n, uint32_t to, uint32_t barrier) {
    const GemmParams& p = params.p;
    arriveExpecting(barrier, kBytes);
    int batch[3];
#pragma unroll
    for (int i = 0; i < 3; ++i) batch[i] = p.rBatch[2 - i] == 0 ? 0 : at.batch[2 - i];
#pragma unroll
    for (int block = 0; block < BLOCKS_M; ++block) {
#pragma unroll
      for (int box = 0; box < kBoxes; ++box) {
        copyBox(to + block * kBlockBytes + box * kBoxBytes, params.residual, barrier, p, n + box * kBoxColumns, m + block * 64, batch);
      }
    }
  }

  // Whether sums want nothing but a bias, the residual and limits behind it.
  static __device__ __forceinline__ bool isPlain(const GemmParams& p) {
    return p.first.kind == kNone && p.alpha == 1.0f && p.firstLow == -INFINITY && p.firstHigh == INFINITY;
  }

  // The sums of a block to `from`, a box after another, and from there to memory. `m`: the warp's first row.
  template <typename Params>
  static __device__ __forceinline__ void finishPlain(const Params& params, const Place& at, const float (&sums)[BN / 8][4], int m, int n,
                                                     uint32_t from) {
    const GemmParams& p = params.p;
    if (p.lastLow > -INFINITY || p.lastHigh < INFINITY) finishSums<true>(params, at, sums, m, n, from);
    else finishSums<false>(params, at, sums, m, n, from);
  }

  // One copy of the formulas for all pieces: they are long. Registers have no run-time index.
  template <typename Params>
  static __device__ __forceinline__ void finishActivated(const Params& params, const Place& at, const float (&sums)[BN / 8][4], int m,
                                                         int n, uint32_t from) {
#pragma unroll 1
    for (int piece = 0; piece < kPieces; ++piece) {
      float v[kBlocks][4];
#pragma unroll
      for (int each = 0; each < kPieces; ++each) {
        if (each == piece) take(v, sums, each);
      }
      finishPiece(params, at, v, piece, m, n, from);
    }
  }

  // What this warp has stored was read from shared memory.
  static __device__ __forceinline__ void waitRead() {
    if (lane() == 0) waitStoresRead();
  }

 private:
  static __device__ __forceinline__ int lane() { return threadIdx.x & 31; }

  static __device__ __forceinline__ bool isWide(const GemmParams& p) { return p.batch[0] > 1 || p.batch[1] > 1; }

  static __device__ __forceinline__ void copyBox(uint32_t to, const TensorMap& map, uint32_t barrier, const GemmParams& p, int n, int m,
                                                 const int (&batch)[3]) {
    if (isWide(p)) copyBox5(to, map, barrier, n, m, batch);
    else copyBox3(to, map, barrier, n, m, batch[0]);
  }

  static __device__ __forceinline__ void take(float (&v)[kBlocks][4], const float (&sums)[BN / 8][4], int piece) {
#pragma unroll
    for (int j = 0; j < kBlocks; ++j)
#pragma unroll
      for (int q = 0; q < 4; ++q) v[j][q] = sums[piece * kBlocks + j][q];
  }

  // No branch around what is not asked for: PlainEnd says why.
  template <bool LIMITS, typename Params>
  static __device__ __forceinline__ void finishSums(const Params& params, const Place& at, const float (&sums)[BN / 8][4], int m, int n,
                                                    uint32_t from) {
    const GemmParams& p = params.p;
#pragma unroll
    for (int piece = 0; piece < kPieces; ++piece) {
      float v[kBlocks][4];
      take(v, sums, piece);
      if (p.bias != nullptr) addBias(p, v, n + piece * 32);
      const uint32_t box = from + piece / kPiecesOfBox * kBoxBytes;
      addResidual(v, box, piece % kPiecesOfBox * kBlocks);
      if constexpr (LIMITS) forAll(v, [&](float x) { return clipOf(x, p.lastLow, p.lastHigh); });
      putPiece(params, at, v, piece, m, n, box);
    }
  }

  // Values of a warp's 16 rows, as wgmma has them; `block`: where the residual is, and the result goes.
  template <typename Params>
  static __device__ __forceinline__ void finishPiece(const Params& params, const Place& at, float (&v)[kBlocks][4], int piece, int m, int n,
                                                     uint32_t block) {
    const GemmParams& p = params.p;
    const uint32_t box = block + piece / kPiecesOfBox * kBoxBytes;
    addBias(p, v, n + piece * 32);
    clip(v, p.firstLow, p.firstHigh);
    activateAll(p.first, v);
    addResidual(v, box, piece % kPiecesOfBox * kBlocks);
    clip(v, p.lastLow, p.lastHigh);
    putPiece(params, at, v, piece, m, n, box);
  }

  // Boxes leave when they are whole.
  template <typename Params>
  static __device__ __forceinline__ void putPiece(const Params& params, const Place& at, const float (&v)[kBlocks][4], int piece, int m,
                                                  int n, uint32_t box) {
    put(v, box, piece % kPiecesOfBox * kBlocks);
    if (piece % kPiecesOfBox != kPiecesOfBox - 1) return;
    fenceForCopies();
    __syncwarp();
    if (lane() == 0) store(params, at, m, n + piece / kPiecesOfBox * kBoxColumns, box);
  }

  template <typename Params>
  static __device__ __forceinline__ void store(const Params& params, const Place& at, int m, int n, uint32_t box) {
    const GemmParams& p = params.p;
    const int batch[3] = {at.batch[2], at.batch[1], at.batch[0]};
    if (isWide(p)) storeBox5(params.d, box, n, m, batch);
    else storeBox3(params.d, box, n, m, batch[0]);
    commitStores();
  }

  static __device__ __forceinline__ void addBias(const GemmParams& p, float (&v)[kBlocks][4], int n) {
    const int column = n + (threadIdx.x & 3) * 2;
    if (p.bias == nullptr) {
      if (p.alpha == 1.0f) return;
      forAll(v, [&](float x) { return x * p.alpha; });
      return;
    }
    float2 bias[kBlocks];
#pragma unroll
    for (int j = 0; j < kBlocks; ++j) {
      bias[j] = column + 8 * j < p.n ? __ldg(reinterpret_cast<const float2*>(p.bias + column + 8 * j)) : make_float2(0.0f, 0.0f);
    }
#pragma unroll
    for (int j = 0; j < kBlocks; ++j)
#pragma unroll
      for (int q = 0; q < 4; ++q) v[j][q] = fmaf(v[j][q], p.alpha, q % 2 == 0 ? bias[j].x : bias[j].y);
  }

  static __device__ __forceinline__ void clip(float (&v)[kBlocks][4], float low, float high) {
    if (low > -INFINITY) forAll(v, [&](float x) { return clipOf(x, low, INFINITY); });
    if (high < INFINITY) forAll(v, [&](float x) { return clipOf(x, -INFINITY, high); });
  }

  static __device__ __forceinline__ void activateAll(const Activation& f, float (&v)[kBlocks][4]) {
    if (f.kind == kNone) return;
    if (f.kind == kGelu) {
      forAll(v, [](float x) { return geluOf(x); });
    } else {
      const bool isSilu = f.kind == kSilu;
      forAll(v, [&](float x) { return x * sigmoidOf(isSilu ? f.a * x : geluTanhSlope(x)); });
    }
  }

  template <typename Formula>
  static __device__ __forceinline__ void forAll(float (&v)[kBlocks][4], Formula formula) {
#pragma unroll
    for (int j = 0; j < kBlocks; ++j)
#pragma unroll
      for (int q = 0; q < 4; ++q) v[j][q] = formula(v[j][q]);
  }

  // Of two blocks of eight columns and both of eight rows, this lane's row of one: chunks of 16 bytes are swizzled over
  // the row, by the number of the row of 128 bytes.
  static __device__ __forceinline__ uint32_t chunkAt(uint32_t box, int block) {
    const int row = lane() % 16;
    const int chunk = (block + lane() / 16) ^ (kRowBytes == 128 ? row & 7 : row >> 1 & 3);
    return box + row * kRowBytes + chunk * 16;
  }

  static __device__ __forceinline__ void addResidual(float (&v)[kBlocks][4], uint32_t box, int column) {
#pragma unroll
    for (int j = 0; j < kBlocks; j += 2) {
      uint32_t words[4];
      ldmatrix4(words, chunkAt(box, column + j));
#pragma unroll
      for (int i = 0; i < 4; ++i) {
        const float2 r = PairOf<T>::to(reinterpret_cast<const Pair&>(words[i]));
        v[j + i / 2][i % 2 * 2] += r.x;
        v[j + i / 2][i % 2 * 2 + 1] += r.y;
      }
    }
  }

  static __device__ __forceinline__ void put(const float (&v)[kBlocks][4], uint32_t box, int column) {
#pragma unroll
    for (int j = 0; j < kBlocks; j += 2) {
      uint32_t words[4];
#pragma unroll
      for (int i = 0; i < 4; ++i) {
        reinterpret_cast<Pair&>(words[i]) = PairOf<T>::from(make_float2(v[j + i / 2][i % 2 * 2], v[j + i / 2][i % 2 * 2 + 1]));
      }
      stmatrix4(chunkAt(box, column + j), words);
    }
  }
};
