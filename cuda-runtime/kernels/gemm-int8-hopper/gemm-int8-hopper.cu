// Products of codes of a byte on Hopper's Tensor Cores: wgmma from a ring of tiles in shared memory, which one warp has the
// copy engine fill. Both operands have their unit stride along k, rows at multiples of 16 bytes.
//
// Blocks stay: each computes one tile after another, and the tiles of the next are on their way while this one is stored.
// only: 90a
// hot: codes_*
#include "../common/copy.cuh"
#include "../common/launch.cuh"
#include "../common/tensor-copy.cuh"
#include "../core/turn.cuh"
#include "code-wgmma.cuh"
#include "staged-columns.cuh"

// Two warpgroups multiply, BLOCKS_M blocks of 64 rows by BN columns each; a third has tiles copied. TOGETHER: both compute
// one tile, one below the other; else they take turns, and one multiplies while the other stores.
template <typename A, typename B, bool TOGETHER, int BLOCKS_M, int BN, int STAGES>
struct HopperCodes {
  using Sum = typename A::Sum;
  using Ring = Turn<STAGES>;
  // Weights are signed.
  static constexpr bool kHasTail = std::is_same_v<B, S8>;
  using Columns = StagedColumns<BN>;
  static constexpr int kGroups = 2;
  static constexpr int BM = (TOGETHER ? kGroups : 1) * BLOCKS_M * 64;
  // Bytes along k: what the swizzle spans.
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
      withOutput<kHasTail>(p, [&](const auto& output) { computeAll(output); });
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
    forEachTile([&](const Tile& tile, int) {
#pragma unroll 1
      for (int k = 0; k < p.k; k += BK) {
        // The first round finds the ring empty: the phase before the first one counts as over.
        waitBarrier(empty(turn.stage), turn.parity ^ 1);
        const uint32_t to = ring + turn.stage * kStageBytes;
        arriveExpecting(full(turn.stage), kStageBytes);
        copyBox3(to, maps.a, full(turn.stage), k, tile.m, p.aBatch == 0 ? 0 : tile.batch);
        copyBox3(to + kBytesA, maps.b, full(turn.stage), k, tile.n, p.bBatch == 0 ? 0 : tile.batch);
        turn.next();
      }
    });
  }

  template <typename Output>
  __device__ __forceinline__ void computeAll(const Output& output) const {
    Ring turn;
    const int group = threadIdx.x / 128;
    const int steps = (p.k + BK - 1) / BK;
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
    const uint64_t a = describeTile(at + group * BLOCKS_M * 64 * BK);
    const uint64_t b = describeTile(at + kBytesA);
    warpgroupArrive();
#pragma unroll
    for (int step = 0; step < BK / 32; ++step) {
#pragma unroll
      for (int i = 0; i < BLOCKS_M; ++i) {
        // In units of 16 bytes: 32 codes along k, 64 rows of 128 bytes.
        codeWgmma(sums[i], a + step * 2 + i * (64 * 128 / 16), b + step * 2, step > 0 ? 1 : adds, A(), B());
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

#define HOPPER(NAME, A, B, TOGETHER, BLOCKS_M, BN, STAGES)                                                     \
  extern "C" __global__ void __launch_bounds__(384, 1) NAME(const __grid_constant__ CodeMapsParams maps) {     \
    extern __shared__ __align__(1024) unsigned char shared[];                                                  \
    HopperCodes<A, B, TOGETHER, BLOCKS_M, BN, STAGES>(maps, shared).run();                                     \
  }
#define HOPPER_OF(NAME, A, B)                              \
  HOPPER(codes_##NAME##_h256x128, A, B, true, 2, 128, 4)   \
  HOPPER(codes_##NAME##_h128x256, A, B, true, 1, 256, 4)   \
  HOPPER(codes_##NAME##_h128x128, A, B, false, 2, 128, 6)  \
  HOPPER(codes_##NAME##_h128x64, A, B, false, 2, 64, 8)    \
  HOPPER(codes_##NAME##_h64x128, A, B, false, 1, 128, 8)   \
  HOPPER(codes_##NAME##_h64x64, A, B, false, 1, 64, 12)    \
  HOPPER(codes_##NAME##_h64x32, A, B, false, 1, 32, 16)

HOPPER_OF(s8s8, S8, S8)
HOPPER_OF(u8s8, U8, S8)
HOPPER_OF(s8u8, S8, U8)
HOPPER_OF(u8u8, U8, U8)
HOPPER_OF(e4m3e4m3, E4M3, E4M3)
HOPPER_OF(e5m2e4m3, E5M2, E4M3)
HOPPER_OF(e4m3e5m2, E4M3, E5M2)
HOPPER_OF(e5m2e5m2, E5M2, E5M2)
