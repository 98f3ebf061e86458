// One product of halves after another on Hopper's Tensor Cores: wgmma from a ring of tiles in shared memory, which one thread
// has the copy engine fill. What the tiles are copied from is up to `Operands`:
//
//   prefetch(params)              the maps
//   Operands(params, place, k)    of one tile of the result, from k on
//   copy<A, B>(toA, toB, barrier) of the next 64 along k the operands that are asked for: BM and BN rows, swizzled
//   kPanels                       how many pieces rows come in, all first pieces before all second ones: of 128 bytes, 64, 32
//
// Blocks stay: each computes one tile after another, and the tiles of the next are on their way while this one is stored: through
// registers, or, where a residual is added, by the copy engine out of stages of the ring (TileEnd).
#pragma once
#include "../common/barrier.cuh"
#include "../common/copy.cuh"
#include "../common/tensor-copy.cuh"
#include "../common/wgmma.cuh"
#include "plain-end.cuh"
#include "register-epilogue.cuh"
#include "thin-end.cuh"
#include "tile-end.cuh"
#include "turn.cuh"

// Small tiles leave room for a block of the next launch, which has its weights copied meanwhile. Rows in pieces take registers.
constexpr int blocksOfProduct(int rows, int columns, int panels) { return rows * columns <= 64 * (panels == 1 ? 64 : 32) ? 2 : 1; }

// Two warpgroups multiply, BLOCKS_M blocks of 64 rows by BN columns each; a third has tiles copied. TOGETHER: both compute
// one tile, one below the other; else they take turns, and one multiplies while the other stores. COPIES: tiles have a residual, and go
// out by TMA.
template <template <int, int> class OperandsOf, typename T, bool TOGETHER, int BLOCKS_M, int BN, int STAGES, bool COPIES>
struct HopperProduct {
  static constexpr int kGroups = 2;
  static constexpr int BM = (TOGETHER ? kGroups : 1) * BLOCKS_M * 64;
  static constexpr int BK = 64;
  using Operands = OperandsOf<BM, BN>;
  using Params = typename Operands::Params;
  static constexpr int kPanels = Operands::kPanels;
  static constexpr int kRowBytes = BK * sizeof(T) / kPanels;
  static constexpr int kBytesA = BM * BK * sizeof(T);
  static constexpr int kBytesB = BN * BK * sizeof(T);
  static constexpr int kStageBytes = kBytesA + kBytesB;
  // What a warp stores one after another: 16 rows each; fewer columns where that takes floats through shared memory.
  static constexpr int kColumns = BN < 64 ? BN : 64;
  static constexpr int kSlabColumns = 32;
  using Wide = Part<T, kColumns>;
  using Narrow = Part<T, kSlabColumns>;
  static constexpr int kSlabsAt = STAGES * kStageBytes;
  static constexpr int kSlabBytes = Slab<kSlabColumns>::kFloats * 4;
  static constexpr int kBarriersAt = kSlabsAt + kGroups * 4 * kSlabBytes;
  static_assert(kSlabBytes >= Wide::kBytes, "a part of a warp");
  using Ring = Turn<STAGES>;
  // Of rows in pieces few have formulas, and each is a run of machine code more; blocks of 160 columns have no registers for them.
  using Plain = PlainEnd<T, BLOCKS_M, BN, kPanels == 1 && BN != 160>;
  using End = TileEnd<T, TOGETHER, BLOCKS_M, BN, kStageBytes>;
  static constexpr int kStagesOfEnd = COPIES ? End::kStages : 0;
  static constexpr int kWarps = 4;
  // A group that takes registers waits until its block has them: all three together are no more than were launched with.
  static constexpr bool kIsSmall = blocksOfProduct(BM, BN, kPanels) > 1;
  static constexpr int kLaunched = kIsSmall ? 80 : 168;
  static constexpr int kCopying = !COPIES ? 24 : kIsSmall ? 32 : 40;
  static constexpr int kComputing = kIsSmall ? 104 : COPIES ? 232 : 240;
  static_assert(kCopying + kGroups * kComputing <= 3 * kLaunched, "registers of a block");

  const Params& params;
  const GemmParams& p;
  unsigned char* shared;
  uint32_t ring;

  __device__ __forceinline__ HopperProduct(const Params& params, unsigned char* shared)
      : params(params), p(params.p), shared(shared), ring(sharedAddress(shared)) {}

  __device__ __forceinline__ uint32_t full(int stage) const { return ring + kBarriersAt + stage * 8; }
  __device__ __forceinline__ uint32_t empty(int stage) const { return ring + kBarriersAt + (STAGES + stage) * 8; }
  // Where groups take turns: this one has seen all of its tile's stages arrive.
  __device__ __forceinline__ uint32_t passed(int group) const { return ring + kBarriersAt + (2 * STAGES + group) * 8; }

  __device__ __forceinline__ void run() {
    if (threadIdx.x == 0) {
      Operands::prefetch(params);
      for (int stage = 0; stage < STAGES; ++stage) {
        initBarrier(full(stage), 1);
        initBarrier(empty(stage), TOGETHER ? kGroups * kWarps : kWarps);
      }
      for (int group = 0; group < kGroups; ++group) initBarrier(passed(group), 128);
      fenceBarrierInit();
    }
    // Where the first tile lies takes divisions: done before anybody is waited for.
    const Place first = placeOf(p, blockIdx.x);
    Operands operands(params, first, kBegin(p, first));
    syncGroup<(kGroups + 1) * 128>(0);
    const int ahead = threadIdx.x == kGroups * 128 ? copyAhead(operands, stepsOf(blockIdx.x), full(0)) : 0;
    if (threadIdx.x >= kGroups * 128 + 32) prefetchBias(first, threadIdx.x - kGroups * 128 - 32);
    beginKernel();
    if (threadIdx.x >= kGroups * 128) {
      keepRegisters<kCopying>();
      if (threadIdx.x == kGroups * 128) copyAll(operands, first, ahead);
    } else {
      takeRegisters<kComputing>();
      computeAll();
    }
  }

  // Weights need not wait for the launches before this one: as many stages of them as the ring has, on their way before anybody is
  // waited for. How many. `fulls`: the barriers of full stages, one behind another.
  __device__ __forceinline__ int copyAhead(Operands operands, int steps, uint32_t fulls) const {
    if (p.ahead == kNothingAhead) return 0;
    const int count = min(steps, STAGES);
#pragma unroll 1
    for (int stage = 0; stage < count; ++stage) {
      const uint32_t toA = ring + stage * kStageBytes, full = fulls + stage * 8;
      arriveExpecting(full, kStageBytes);
      if (p.ahead == kAheadOfA) operands.template copy<true, false>(toA, toA + kBytesA, full);
      else operands.template copy<false, true>(toA, toA + kBytesA, full);
    }
    return count;
  }

  // A line of it a thread.
  __device__ __forceinline__ void prefetchBias(const Place& at, int line) const {
    constexpr int kFloatsOfLine = 32;
    const int n = at.tileN * BN + line * kFloatsOfLine;
    if (p.bias != nullptr && !p.channelOnM && line * kFloatsOfLine < BN && n < p.n) prefetchToL2(p.bias + n);
  }

  // What copyAhead left of a stage, or all of it.
  __device__ __forceinline__ void copyRest(Operands& operands, int stage, uint32_t full, bool isAhead) const {
    const uint32_t toA = ring + stage * kStageBytes;
    if (!isAhead) {
      arriveExpecting(full, kStageBytes);
      operands.template copy<true, true>(toA, toA + kBytesA, full);
    } else if (p.ahead == kAheadOfA) {
      operands.template copy<false, true>(toA, toA + kBytesA, full);
    } else {
      operands.template copy<true, false>(toA, toA + kBytesA, full);
    }
  }

  // `work` gets the index of the tile, and how many of this block came before.
  template <typename Work>
  __device__ __forceinline__ void forEachTile(Work work) const {
    const int works = p.tilesM * p.tilesN * p.splits * p.batch[0] * p.batch[1] * p.batch[2];
#pragma unroll 1
    for (int index = blockIdx.x, count = 0; index < works; index += gridDim.x, ++count) work(index, count);
  }

  // Tiles along k of tile `index`.
  __device__ __forceinline__ int stepsOf(int index) const {
    if (p.splits == 1) return (p.k + BK - 1) / BK;
    const int begin = index / (p.tilesM * p.tilesN) % p.splits * p.kPerSplit;
    return (min(p.kPerSplit, p.k - begin) + BK - 1) / BK;
  }

  __device__ __forceinline__ void copyAll(Operands& operands, const Place& first, int ahead) const {
    Ring turn;
    forEachTile([&](int index, int count) {
      if (count == 0) {
        copyTile(operands, first, turn, ahead);
      } else {
        const Place at = placeOf(p, index);
        Operands next(params, at, kBegin(p, at));
        copyTile(next, at, turn, 0);
      }
    });
  }

  __device__ __forceinline__ void copyTile(Operands& operands, const Place& at, Ring& turn, int ahead) const {
    const int end = kEnd(p, at);
#pragma unroll 1
    for (int k = kBegin(p, at); k < end; k += BK, --ahead) {
      // The first round finds the ring empty: the phase before the first one counts as over.
      waitBarrier(empty(turn.stage), turn.parity ^ 1);
      copyRest(operands, turn.stage, full(turn.stage), ahead > 0);
      turn.next();
    }
    if constexpr (COPIES) copyEnds(at, turn);
  }

  // Stages for the tile's end, with the residual in them.
  __device__ __forceinline__ void copyEnds(const Place& at, Ring& turn) const {
#pragma unroll
    for (int end = 0; end < End::kStages; ++end) {
      waitBarrier(empty(turn.stage), turn.parity ^ 1);
      const uint32_t to = ring + turn.stage * kStageBytes;
      End::copyResidual(params, at, at.tileM * BM + end * BLOCKS_M * 64, at.tileN * BN, to, full(turn.stage));
      turn.next();
    }
  }

  __device__ __forceinline__ void computeAll() const {
    const bool isPlain = COPIES ? End::isPlain(p) : Plain::suits(p);
    Ring turn, ends;
    const int group = threadIdx.x / 128;
    bool isStoring = false;
    forEachTile([&](int index, int count) {
      const int steps = stepsOf(index);
      if (!TOGETHER && count % kGroups != group) {
        turn.skip(steps + kStagesOfEnd);
        return;
      }
      // A parity tells no more than two phases apart: wait for the ring's next round only once this one is over.
      if (!TOGETHER && count > 0) waitBarrier(passed(1 - group), (count - 1) / kGroups & 1);
      float sums[BLOCKS_M][BN / 8][4];
      Place at;
      const Ring next = multiply(sums, steps, turn, [&] {
        at = placeOf(p, index);
        if constexpr (COPIES && TOGETHER) {
          if (isStoring) releaseEnds(ends);
        }
      });
      if constexpr (COPIES) {
        ends = next;
        finishByCopies(sums, at, ends, isPlain);
        // Groups that take turns wait for each other next, and the other one for the ring.
        isStoring = TOGETHER;
        if (!TOGETHER) releaseEnds(ends);
      } else {
        finish(sums, at, isPlain);
      }
    });
    if (isStoring) End::waitRead();
  }

  // `meanwhile` runs once, in the time of the first tile's products. Where the stages of the tile's end begin, which are there when this
  // is over.
  template <typename Meanwhile>
  __device__ __forceinline__ Ring multiply(float (&sums)[BLOCKS_M][BN / 8][4], int steps, Ring& turn,
                                           Meanwhile meanwhile) const {
    int before = 0;
#pragma unroll 1
    for (int step = 0; step < steps; ++step) {
      const Descriptors tiles = describe(turn.stage);
      waitBarrier(full(turn.stage), turn.parity);
      multiplyTile(sums, tiles, step > 0);
      if (step == 0) meanwhile();
      // The products of the step before are done, and nobody reads its stage any more.
      warpgroupWait<1>();
      if (step > 0) release(before);
      before = turn.stage;
      turn.next();
    }
    const Ring ends = turn;
#pragma unroll
    for (int end = 0; end < kStagesOfEnd; ++end) {
      waitBarrier(full(turn.stage), turn.parity);
      turn.next();
    }
    if constexpr (!TOGETHER) arrive(passed(threadIdx.x / 128));
    warpgroupWait<0>();
    release(before);
    return ends;
  }

  __device__ __forceinline__ void release(int stage) const {
    if (threadIdx.x % 128 == 0) arriveFor<kWarps>(empty(stage));
  }

  __device__ __forceinline__ void finishByCopies(const float (&sums)[BLOCKS_M][BN / 8][4], const Place& at, Ring turn,
                                                 bool isPlain) const {
    const int group = TOGETHER ? threadIdx.x / 128 : 0;
    const int rows = threadIdx.x / 32 % kWarps * 16;
    // Of groups that compute together, each has a stage.
    if (group > 0) turn.next();
    const int m = at.tileM * BM + group * BLOCKS_M * 64 + rows;
    const uint32_t from = ring + turn.stage * kStageBytes + rows * End::kRowBytes;
#pragma unroll
    for (int i = 0; i < BLOCKS_M; ++i) {
      const uint32_t block = from + i * End::kBlockBytes;
      if (isPlain) End::finishPlain(params, at, sums[i], m + i * 64, at.tileN * BN, block);
      else End::finishActivated(params, at, sums[i], m + i * 64, at.tileN * BN, block);
    }
  }

  // Each warp says of its rows that they are on their way; of groups that compute together, each lets the other's stage go.
  __device__ __forceinline__ void releaseEnds(Ring turn) const {
    End::waitRead();
#pragma unroll
    for (int end = 0; end < End::kStages; ++end) {
      if (threadIdx.x % 32 == 0) arrive(empty(turn.stage));
      turn.next();
    }
  }

  // Of the operands in a stage, as wgmma takes them.
  struct Descriptors {
    uint64_t a, b;
  };

  // Before their barrier is waited for: it takes a while. Convolutions gain by it (102 rows 0.8 % on an H100), plain products lose as much.
  __device__ __forceinline__ Descriptors describe(int stage) const {
    const int group = TOGETHER ? threadIdx.x / 128 : 0;
    const uint32_t at = ring + stage * kStageBytes;
    uint32_t a = at + group * BLOCKS_M * 64 * kRowBytes, b = at + kBytesA;
    if constexpr (Operands::kDescribedAlike) a = alikeInWarp(a), b = alikeInWarp(b);
    return {describeTile<kRowBytes>(a), describeTile<kRowBytes>(b)};
  }

  __device__ __forceinline__ void multiplyTile(float (&sums)[BLOCKS_M][BN / 8][4], const Descriptors& tiles, int adds) const {
    constexpr int kStepsOfPanel = BK / 16 / kPanels;
    warpgroupArrive();
#pragma unroll
    for (int step = 0; step < BK / 16; ++step) {
      // In units of 16 bytes: 16 halves along k.
      const int panel = step / kStepsOfPanel, within = step % kStepsOfPanel * 2;
      const uint64_t fromB = tiles.b + panel * (BN * kRowBytes / 16) + within;
#pragma unroll
      for (int i = 0; i < BLOCKS_M; ++i) {
        const uint64_t fromA = tiles.a + (panel * BM + i * 64) * (kRowBytes / 16) + within;
        wgmma64<BN, T>(sums[i], fromA, fromB, step > 0 ? 1 : adds);
      }
    }
    warpgroupCommit();
  }

  __device__ __forceinline__ void finish(const float (&sums)[BLOCKS_M][BN / 8][4], const Place& at, bool isPlain) const {
    const int group = TOGETHER ? threadIdx.x / 128 : 0;
    const int warp = threadIdx.x / 32;
    const int row = at.tileM * BM + group * BLOCKS_M * 64 + warp % 4 * 16;
    unsigned char* own = shared + kSlabsAt + warp * kSlabBytes;
    if (isPlain) Plain::finish(p, at, sums, row, own);
    else if (Wide::suits(p) && p.first.kind == kNone) finishPlain(sums, at, row, own);
    else finishOther(sums, at, row, own);
    __syncwarp();
  }

  __device__ __forceinline__ void finishPlain(const float (&sums)[BLOCKS_M][BN / 8][4], const Place& at, int row,
                                              unsigned char* own) const {
#pragma unroll
    for (int i = 0; i < BLOCKS_M; ++i) {
      constexpr int kWide = BN / kColumns * kColumns;
#pragma unroll
      for (int column = 0; column < kWide; column += kColumns) finishPart<Wide>(sums[i], column, at, row + i * 64, own);
      if constexpr (kWide < BN) finishPart<Narrow>(sums[i], kWide, at, row + i * 64, own);
    }
  }

  template <typename Columns>
  __device__ __forceinline__ void finishPart(const float (&sums)[BN / 8][4], int column, const Place& at, int row,
                                             unsigned char* own) const {
    Columns part;
#pragma unroll
    for (int j = 0; j < Columns::kBlocks; ++j)
#pragma unroll
      for (int q = 0; q < 4; ++q) part.v[j][q] = sums[column / 8 + j][q];
    part.template finish<false>(p, at, row, at.tileN * BN + column, own);
  }

  // Rows off 16 bytes, of the operands' type, with nothing behind a formula but its limits.
  using Odd = ThinEnd<T, kSlabColumns>;
  // Two parts go out at once, in as many stores as one.
  using OddRows = ThinEnd<T, 2 * kSlabColumns>;
  static_assert(kSlabBytes >= OddRows::kBytes, "two parts of a warp");
  __device__ __forceinline__ bool isOdd() const {
    // Blocks of 160 columns have no registers for it.
    if constexpr (BN == 160) return false;
    return p.dType == PairOf<T>::kCode && p.dN == 1 && p.splits == 1 && p.residual == nullptr && p.scale == nullptr && !p.channelOnM && p.last.kind == kNone &&
           (p.first.kind == kTanh || Odd::hasFormula(p.first));
  }

  // One copy of the code for all parts: it is long, and would be fetched anew for each.
  __device__ __forceinline__ void finishOther(const float (&sums)[BLOCKS_M][BN / 8][4], const Place& at, int row,
                                              unsigned char* own) const {
    constexpr int kPartsOfRow = BN / kSlabColumns;
    const bool isUsual = Narrow::suits(p), isOddRow = !isUsual && isOdd();
#pragma unroll 1
    for (int i = 0; i < BLOCKS_M * kPartsOfRow; ++i) {
      const int m = row + i / kPartsOfRow * 64;
      const int n = at.tileN * BN + i % kPartsOfRow * kSlabColumns;
      Narrow part = partOf(sums, i);
      if (isUsual) part.template finish<true>(p, at, m, n, own);
      else if (BN != 160 && isOddRow) finishOdd(part, at, m, n, i % kPartsOfRow, own);
      else finishFloats(part, at, m, n, own);
    }
  }

  // Registers have no run-time index.
  static __device__ __forceinline__ Narrow partOf(const float (&sums)[BLOCKS_M][BN / 8][4], int index) {
    constexpr int kPartsOfRow = BN / kSlabColumns;
    Narrow part;
#pragma unroll
    for (int i = 0; i < BLOCKS_M * kPartsOfRow; ++i) {
      if (i != index) continue;
#pragma unroll
      for (int j = 0; j < Narrow::kBlocks; ++j)
#pragma unroll
        for (int q = 0; q < 4; ++q) part.v[j][q] = sums[i / kPartsOfRow][i % kPartsOfRow * Narrow::kBlocks + j][q];
    }
    return part;
  }

  __device__ __forceinline__ void finishOdd(Narrow& part, const Place& at, int m, int n, int index, unsigned char* own) const {
    const int column = n + (threadIdx.x & 3) * 2;
#pragma unroll
    for (int j = 0; j < Narrow::kBlocks; ++j) {
#pragma unroll
      for (int i = 0; i < 2; ++i) {
        const float bias = p.bias != nullptr && column + 8 * j + i < p.n ? __ldg(p.bias + column + 8 * j + i) : 0.0f;
        part.v[j][i] = fmaf(part.v[j][i], p.alpha, bias);
        part.v[j][2 + i] = fmaf(part.v[j][2 + i], p.alpha, bias);
      }
    }
    // Thin tiles have no registers for this one.
    if (p.first.kind == kTanh) part.forAll([](float x) { return tanhForHalf(x); });
    Odd::formulate(p, part.v, 0, [] {});
    const uint32_t to = sharedAddress(own);
    const int before = index % 2 * kSlabColumns;
    OddRows::putInBox(part.v, to, before / 8);
    __syncwarp();
    if (before == 0 && index + 1 < BN / kSlabColumns) return;
    OddRows::storeSideBySide(p, static_cast<T*>(p.d) + at.d, m, n - before, to, before + kSlabColumns);
  }

  __device__ __forceinline__ void finishFloats(const Narrow& part, const Place& at, int m, int n, unsigned char* own) const {
    const Slab<kSlabColumns> slab{reinterpret_cast<float*>(own), static_cast<int>(threadIdx.x & 31)};
    slab.put(part.v);
    __syncwarp();
    slab.finishAll(p, at, m, n);
    __syncwarp();
  }
};
