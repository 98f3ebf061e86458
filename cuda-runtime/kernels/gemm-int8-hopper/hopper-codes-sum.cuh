// A product of codes of a byte with few results and a long k: the blocks of a team (a cluster, or one block) have a part of k each, and add
// their sums up through each other's shared memory. Sums are whole numbers: their order is of no matter. `Operands` as for HopperCodes.
#pragma once
#include "../core/team.cuh"
#include "hopper-codes.cuh"

// A block has one tile of 64 rows by BN columns in its part of k; its two groups take every other step. Then warps of the team have units of
// 16 rows by 32 columns each.
template <template <int, int> typename Operands, typename A, typename B, int BN, int STAGES>
struct HopperCodesSum {
  using Product = HopperCodes<Operands, A, B, false, 1, BN, STAGES>;
  using Ring = Turn<STAGES>;
  using Tiles = typename Product::Tiles;
  using Tile = typename Product::Tile;
  static constexpr int kGroups = 2;
  static constexpr int kThreads = kGroups * 128;
  static constexpr int kBlocksOfUnit = 4;
  static constexpr int kUnitsOfRow = BN / 8 / kBlocksOfUnit;
  static constexpr int kUnits = 4 * kUnitsOfRow;
  static_assert(kUnits <= kThreads / 32, "a warp of the team has one unit or none, and those that have tiles copied none");
  // Sums as lanes hold them: four of each lane, blocks of eight columns one after another.
  static constexpr int kPartBytes = BN / 8 * 32 * 16;
  static constexpr int kPartsAt = Product::kSlabsAt + kGroups * 4 * kCodeSlabBytes;
  static constexpr int kBarriersAt = kPartsAt + kGroups * 4 * kPartBytes;
  static_assert(std::is_same_v<typename A::Sum, int>, "whole numbers");
  static_assert(STAGES % kGroups == 0, "a stage is always the same group's: a parity tells no more than two phases apart");

  const CodeMapsParams& maps;
  const CodeProductParams& p;
  unsigned char* shared;
  uint32_t ring;
  Product product;

  __device__ __forceinline__ HopperCodesSum(const CodeMapsParams& maps, unsigned char* shared)
      : maps(maps), p(maps.p), shared(shared), ring(sharedAddress(shared)), product(maps, shared) {}

  __device__ __forceinline__ uint32_t full(int at) const { return ring + kBarriersAt + at * 8; }
  __device__ __forceinline__ uint32_t empty(int at) const { return ring + kBarriersAt + (STAGES + at) * 8; }

  __device__ __forceinline__ void run() {
    if (threadIdx.x == 0) {
      prefetchMap(maps.a);
      prefetchMap(maps.b);
      for (int at = 0; at < STAGES; ++at) {
        initBarrier(full(at), 1);
        initBarrier(empty(at), 1);
      }
      fenceBarrierInit();
    }
    const Tile tile = product.tileOf(blockIdx.x / blocksOfTeam());
    const int first = rankInTeam() * maps.stepsOfBlock;
    const int steps = max(0, min(Tiles::stepsOf(maps) - first, maps.stepsOfBlock));
    __syncthreads();
    beginKernel();
    if (threadIdx.x == kThreads) copyAll(tile, first, steps);
    __syncwarp();
    // All warps of the block wait for the team at one place: of a block that was launched without a cluster, that is its own barrier.
    withOutput<true, Tiles::kStored>(p, [&](const auto& output) { compute(output, tile, steps); });
    waitTeam();
  }

  __device__ __forceinline__ void copyAll(const Tile& tile, int first, int steps) const {
    Ring turn;
    Tiles tiles(maps, tile.m, tile.n, tile.batch);
    tiles.skip(first);
#pragma unroll 1
    for (int step = 0; step < steps; ++step) {
      waitBarrier(empty(turn.stage), turn.parity ^ 1);
      const uint32_t to = ring + turn.stage * Product::kStageBytes;
      arriveExpecting(full(turn.stage), Product::kStageBytes);
      tiles.copy(to, to + Product::kBytesA, full(turn.stage));
      turn.next();
    }
  }

  template <typename Output>
  __device__ __forceinline__ void compute(const Output& output, const Tile& tile, int steps) const {
    const int unit = rankInTeam() + threadIdx.x / 32 * blocksOfTeam();
    const int row = tile.m + unit / kUnitsOfRow * 16, n = tile.n + unit % kUnitsOfRow * kBlocksOfUnit * 8;
    const auto rows = rowsOf(p, tile.batch, endsOf(p, output), output);
    // What the end reads is on its way meanwhile.
    CodeColumns columns;
    AddedAhead<Output, kBlocksOfUnit> ahead;
    if (unit < kUnits) {
      columns.load(p, n);
      ahead.fetch(rows, row, n);
    }
    if (threadIdx.x < kThreads) multiply(steps);
    arriveTeam<true>();
    waitTeam();
    int sums[kBlocksOfUnit][4];
    if (unit < kUnits) addUp(sums, unit);
    // Nobody reads another block's memory from here on.
    arriveTeam<false>();
    if (unit >= kUnits) return;
    const int none[2] = {0, 0};
    unsigned char* own = shared + Product::kSlabsAt + threadIdx.x / 32 * kCodeSlabBytes;
    storeSums(output, columns, rows, row, n, sums, none, own, ahead);
  }

  // A stage is free once the products of the group's next one are on their way: those before are done.
  __device__ __forceinline__ void multiply(int steps) const {
    const int group = threadIdx.x / 128;
    int sums[1][BN / 8][4];
#pragma unroll
    for (int j = 0; j < BN / 8; ++j)
#pragma unroll
      for (int q = 0; q < 4; ++q) sums[0][j][q] = 0;
    Ring turn;
    if (group > 0) turn.next();
    int before = -1;
#pragma unroll 1
    for (int step = group; step < steps; step += kGroups) {
      waitBarrier(full(turn.stage), turn.parity);
      product.multiplyTile(sums, ring + turn.stage * Product::kStageBytes, 1);
      warpgroupWait<1>();
      if (before >= 0 && threadIdx.x % 128 == 0) arrive(empty(before));
      before = turn.stage;
      turn.next();
      turn.next();
    }
    warpgroupWait<0>();
#pragma unroll
    for (int j = 0; j < BN / 8; ++j)
      *reinterpret_cast<int4*>(shared + kPartsAt + threadIdx.x / 32 * kPartBytes + placeOf(j)) =
          make_int4(sums[0][j][0], sums[0][j][1], sums[0][j][2], sums[0][j][3]);
  }

  static __device__ __forceinline__ int placeOf(int block) { return (block * 32 + static_cast<int>(threadIdx.x & 31)) * 16; }

  __device__ __forceinline__ void addUp(int (&sums)[kBlocksOfUnit][4], int unit) const {
#pragma unroll
    for (int j = 0; j < kBlocksOfUnit; ++j)
#pragma unroll
      for (int q = 0; q < 4; ++q) sums[j][q] = 0;
    const int blocks = blocksOfTeam();
    const uint32_t own = ring + kPartsAt + unit / kUnitsOfRow * kPartBytes + placeOf(unit % kUnitsOfRow * kBlocksOfUnit);
#pragma unroll 1
    for (int block = 0; block < blocks; ++block) {
      // All loads are in flight before the first sum.
      int4 parts[kGroups][kBlocksOfUnit];
#pragma unroll
      for (int i = 0; i < kGroups; ++i)
#pragma unroll
        for (int j = 0; j < kBlocksOfUnit; ++j) parts[i][j] = intsOf(own + i * 4 * kPartBytes + j * 512, block);
#pragma unroll
      for (int i = 0; i < kGroups; ++i)
#pragma unroll
        for (int j = 0; j < kBlocksOfUnit; ++j)
          sums[j][0] += parts[i][j].x, sums[j][1] += parts[i][j].y, sums[j][2] += parts[i][j].z, sums[j][3] += parts[i][j].w;
    }
  }

  static __device__ __forceinline__ int4 intsOf(uint32_t own, int rank) {
    const float4 v = loadOf(own, rank);
    return make_int4(__float_as_int(v.x), __float_as_int(v.y), __float_as_int(v.z), __float_as_int(v.w));
  }
};

#define CODES_SUM(NAME, ROWS, A, B, BN, STAGES)                                                            \
  extern "C" __global__ void __launch_bounds__(384, 1) NAME(const __grid_constant__ CodeMapsParams maps) { \
    extern __shared__ __align__(1024) unsigned char shared[];                                              \
    HopperCodesSum<ROWS, A, B, BN, STAGES>(maps, shared).run();                                            \
  }
