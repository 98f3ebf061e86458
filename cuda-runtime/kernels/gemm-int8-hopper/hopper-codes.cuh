// Products of codes of a byte by wgmma from a ring of tiles in shared memory, which one warp has the copy engine fill. Both operands
// have their unit stride along k. `Operands` says how tiles are fetched.
//
// Blocks stay: each computes one tile after another, and the tiles of the next are on their way while this one is stored.
#pragma once
#include "../common/copy.cuh"
#include "../common/launch.cuh"
#include "../common/tensor-copy.cuh"
#include "../core/turn.cuh"
#include "code-wgmma.cuh"
#include "staged-columns.cuh"

// Two warpgroups multiply, BLOCKS_M blocks of 64 rows by BN columns each; a third has tiles copied. TOGETHER: both compute
// one tile, one below the other; else they take turns, and one multiplies while the other stores.
template <template <int, int> typename Operands, typename A, typename B, bool TOGETHER, int BLOCKS_M, int BN, int STAGES>
struct HopperCodes {
  using Sum = typename A::Sum;
  using Ring = Turn<STAGES>;
  // Weights are signed.
  static constexpr bool kHasTail = std::is_same_v<B, S8>;
  using Columns = StagedColumns<BN>;
  static constexpr int kGroups = 2;
  static constexpr int BM = (TOGETHER ? kGroups : 1) * BLOCKS_M * 64;
  using Tiles = Operands<BM, BN>;
  // What the swizzle spans: rows of a stage, or of a part of it.
  static constexpr int kRowBytes = Tiles::kRowBytes;
  // Bytes along k.
  static constexpr int BK = 128;
  static constexpr int kBytesA = BM * BK;
  static constexpr int kStageBytes = kBytesA + BN * BK;
  static constexpr int kSlabsAt = STAGES * kStageBytes;
  static constexpr int kColumnsAt = kSlabsAt + kGroups * 4 * kCodeSlabBytes;
  static constexpr int kBarriersAt = kColumnsAt + kGroups * Columns::kBytes;

  const CodeMapsParams& maps;
  const CodeProductParams& p;
  unsigned char* shared;
  uint32_t ring;

  __device__ __forceinline__ HopperCodes(const CodeMapsParams& maps, unsigned char* shared)
      : maps(maps), p(maps.p), shared(shared), ring(sharedAddress(shared)) {}

  __device__ __forceinline__ uint32_t full(int at) const { return ring + kBarriersAt + at * 8; }
  __device__ __forceinline__ uint32_t empty(int at) const { return ring + kBarriersAt + (STAGES + at) * 8; }
  // Where groups take turns: this one has seen all of its tile's stages arrive.
  __device__ __forceinline__ uint32_t passed(int group) const { return ring + kBarriersAt + (2 * STAGES + group) * 8; }

  __device__ __forceinline__ void run() {
    if (threadIdx.x == 0) {
      prefetchMap(maps.a);
      prefetchMap(maps.b);
      for (int at = 0; at < STAGES; ++at) {
        initBarrier(full(at), 1);
        initBarrier(empty(at), TOGETHER ? kGroups : 1);
      }
      for (int group = 0; group < kGroups; ++group) initBarrier(passed(group), 128);
      fenceBarrierInit();
    }
    __syncthreads();
    beginKernel();
    if (threadIdx.x >= kGroups * 128) {
      keepRegisters<24>();
      copyAll();
    } else {
      takeRegisters<240>();
      withOutput<kHasTail, Tiles::kOnlyCodes>(p, [&](const auto& output) { computeAll(output); });
    }
  }

  struct Tile {
    int m, n, batch;
  };

  // Eight rows of tiles at a time share their columns in L2.
  __device__ __forceinline__ Tile tileOf(int index) const {
    constexpr int kGroup = 8;
    const int tiles = p.tilesM * p.tilesN;
    const int batch = index / tiles;
    const int tile = index - batch * tiles;
    const int group = tile / (kGroup * p.tilesN);
    const int rows = min(kGroup, p.tilesM - group * kGroup);
    const int within = tile - group * kGroup * p.tilesN;
    return {(group * kGroup + within % rows) * BM, within / rows * BN, batch};
  }

  // `work` gets the index of the tile, and how many of this block came before.
  template <typename Work>
  __device__ __forceinline__ void forEachTile(Work work) const {
    const int works = p.tilesM * p.tilesN * p.batch;
#pragma unroll 1
    for (int index = blockIdx.x, count = 0; index < works; index += gridDim.x, ++count) work(tileOf(index), count);
  }

  __device__ __forceinline__ void copyAll() const {
    if (threadIdx.x != kGroups * 128) return;
    Ring turn;
    const int steps = Tiles::stepsOf(maps);
    forEachTile([&](const Tile& tile, int) {
      Tiles tiles(maps, tile.m, tile.n, tile.batch);
#pragma unroll 1
      for (int step = 0; step < steps; ++step) {
        // The first round finds the ring empty: the phase before the first one counts as over.
        waitBarrier(empty(turn.stage), turn.parity ^ 1);
        const uint32_t to = ring + turn.stage * kStageBytes;
        arriveExpecting(full(turn.stage), kStageBytes);
        tiles.copy(to, to + kBytesA, full(turn.stage));
        turn.next();
      }
    });
  }

  template <typename Output>
  __device__ __forceinline__ void computeAll(const Output& output) const {
    Ring turn;
    const int group = threadIdx.x / 128;
    const int steps = Tiles::stepsOf(maps);
    forEachTile([&](const Tile& tile, int count) {
      if (!TOGETHER && count % kGroups != group) {
        turn.skip(steps);
        return;
      }
      const FetchedColumns<BN> columns(p, tile.n);
      const auto rows = rowsOf(p, tile.batch, output);
      AddedAhead<Output, BN / 8> ahead[BLOCKS_M];
#pragma unroll
      for (int i = 0; i < BLOCKS_M; ++i) ahead[i].fetch(rows, rowOf(tile) + i * 64, tile.n);
      // A parity tells no more than two phases apart: wait for the ring's next round only once this one is over.
      if (!TOGETHER && count > 0) waitBarrier(passed(1 - group), (count - 1) / kGroups & 1);
      Sum sums[BLOCKS_M][BN / 8][4];
      multiply(sums, steps, turn);
      unsigned char* staged = shared + kColumnsAt + group * Columns::kBytes;
      columns.put(staged, group);
      finish(output, Columns(staged), rows, sums, tile, ahead);
    });
  }

  __device__ __forceinline__ void multiply(Sum (&sums)[BLOCKS_M][BN / 8][4], int steps, Ring& turn) const {
    int before = 0;
#pragma unroll 1
    for (int step = 0; step < steps; ++step) {
      waitBarrier(full(turn.stage), turn.parity);
      multiplyTile(sums, ring + turn.stage * kStageBytes, step > 0);
      // The products of the tile before are done, and nobody reads it any more.
      warpgroupWait<1>();
      if (step > 0) release(before);
      before = turn.stage;
      turn.next();
    }
    if constexpr (!TOGETHER) arrive(passed(threadIdx.x / 128));
    warpgroupWait<0>();
    release(before);
  }

  __device__ __forceinline__ void release(int at) const {
    if (threadIdx.x % 128 == 0) arrive(empty(at));
  }

  __device__ __forceinline__ void multiplyTile(Sum (&sums)[BLOCKS_M][BN / 8][4], uint32_t at, int adds) const {
#if defined(TC_LINT_WGMMA)
    const int group = TOGETHER ? threadIdx.x / 128 : 0;
    const uint64_t a = describeTile<kRowBytes>(at + group * BLOCKS_M * 64 * kRowBytes);
    const uint64_t b = describeTile<kRowBytes>(at + kBytesA);
    warpgroupArrive();
#pragma unroll
    for (int step = 0; step < BK / 32; ++step) {
      // In units of 16 bytes: 32 codes along k, 64 rows, and where a row is shorter, as many parts of all rows.
      const int part = step * 32 / kRowBytes, along = step * 2 - part * (kRowBytes / 16);
#pragma unroll
      for (int i = 0; i < BLOCKS_M; ++i) {
        codeWgmma(sums[i], a + (part * BM + i * 64) * (kRowBytes / 16) + along, b + part * BN * (kRowBytes / 16) + along,
                  step > 0 ? 1 : adds, A(), B());
      }
    }
    warpgroupCommit();
#endif
  }

  // The first of this warp's 16 rows of each block.
  __device__ __forceinline__ int rowOf(const Tile& tile) const {
    const int group = TOGETHER ? threadIdx.x / 128 : 0;
    return tile.m + group * BLOCKS_M * 64 + threadIdx.x / 32 % 4 * 16;
  }

  template <typename Output>
  __device__ __forceinline__ void finish(const Output& output, const Columns& columns, const typename Output::Rows& rows,
                                         const Sum (&sums)[BLOCKS_M][BN / 8][4], const Tile& tile,
                                         const AddedAhead<Output, BN / 8> (&ahead)[BLOCKS_M]) const {
    const int none[2] = {0, 0};
    unsigned char* own = shared + kSlabsAt + threadIdx.x / 32 * kCodeSlabBytes;
#pragma unroll
    for (int i = 0; i < BLOCKS_M; ++i)
      storeSums(output, columns, rows, rowOf(tile) + i * 64, tile.n, sums[i], none, own, ahead[i]);
  }
};
