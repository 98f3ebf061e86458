// Products of codes of a byte by wgmma from a ring of tiles in shared memory, which one warp has the copy engine fill. Both operands
// have their unit stride along k. `Operands` says how tiles are fetched.
//
// Blocks stay: each computes one tile after another, and the tiles of the next are on their way while this one is stored.
#pragma once
#include "../common/copy.cuh"
#include "../common/divisor.cuh"
#include "../common/launch.cuh"
#include "../common/tensor-copy.cuh"
#include "../core/turn.cuh"
#include "code-wgmma.cuh"
#include "staged-columns.cuh"

// GROUPS warpgroups multiply, BLOCKS_M blocks of 64 rows by BN columns each; one more has tiles copied. TOGETHER: all compute
// one tile, one below the other; else they take turns, and one multiplies while the others store. RESIDENT blocks share a multiprocessor.
template <template <int, int> typename Operands, typename A, typename B, bool TOGETHER, int BLOCKS_M, int BN, int STAGES,
          int GROUPS = 2, int RESIDENT = 1>
struct HopperCodes {
  using Sum = typename A::Sum;
  using Ring = Turn<STAGES>;
  // Weights are signed.
  static constexpr bool kHasTail = std::is_same_v<B, S8>;
  using Columns = StagedColumns<BN>;
  static constexpr int kGroups = GROUPS;
  static constexpr int kThreads = (GROUPS + 1) * 128;
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

  // What a block's registers leave to each of its threads that multiply, in eights.
  static constexpr int kTaken = (65536 / RESIDENT - 24 * 128) / (kGroups * 128) / 8 * 8 < 240
                                    ? (65536 / RESIDENT / kThreads / 8 * 8 * kThreads - 24 * 128) / (kGroups * 128) / 8 * 8
                                    : 240;

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
      takeRegisters<kTaken>();
      withOutput<kHasTail, Tiles::kStored>(p, [&](const auto& output) { computeAll(output); });
    }
  }

  struct Tile {
    int m, n, batch;
  };

  // Eight rows of tiles at a time share their columns in L2.
  __device__ __forceinline__ Tile tileOf(int index) const {
    constexpr int kRows = 8;
    const int batch = p.batch == 1 ? 0 : quotientOf(index, maps.ofBatch);
    const int tile = index - batch * maps.ofBatch.size;
    const int group = quotientOf(tile, maps.ofGroup);
    const int within = tile - group * maps.ofGroup.size;
    const int rows = min(kRows, p.tilesM - group * kRows);
    // All groups but the last are whole.
    const int column = rows == kRows ? within / kRows : within / rows;
    return {(group * kRows + within - column * rows) * BM, column * BN, batch};
  }

  // Every `step`th of this block's tiles, from its `first` on. `work` gets the tile, and how many of this block come before.
  template <typename Work>
  __device__ __forceinline__ void forEachTile(int first, int step, Work work) const {
    const int works = p.tilesM * p.tilesN * p.batch;
    const int apart = step * gridDim.x;
#pragma unroll 1
    for (int index = blockIdx.x + first * gridDim.x, count = first; index < works; index += apart, count += step)
      work(tileOf(index), count);
  }

  __device__ __forceinline__ void copyAll() const {
    if (threadIdx.x != kGroups * 128) return;
    Ring turn;
    const int steps = Tiles::stepsOf(maps);
    forEachTile(0, 1, [&](const Tile& tile, int) {
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
    const int ends = endsOf(p, output);
    const int first = TOGETHER ? 0 : group, apart = TOGETHER ? 1 : kGroups;
    turn.skip(first * steps);
    forEachTile(first, apart, [&](const Tile& tile, int count) {
      const FetchedColumns<BN> columns(p, tile.n);
      const auto rows = rowsOf(p, tile.batch, ends, output);
      AddedAhead<Output, BN / 8> ahead[BLOCKS_M];
#pragma unroll
      for (int i = 0; i < BLOCKS_M; ++i) ahead[i].fetch(rows, rowOf(tile) + i * 64, tile.n);
      // A parity tells no more than two phases apart: wait for the ring's next round only once this one is over.
      if (!TOGETHER && count > 0) waitBarrier(passed((group + kGroups - 1) % kGroups), (count - 1) / kGroups & 1);
      Sum sums[BLOCKS_M][BN / 8][4];
      multiply(sums, steps, turn);
      turn.skip((apart - 1) * steps);
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
