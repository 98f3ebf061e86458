// A product of halves with few results and a long k on Hopper's Tensor Cores: the blocks of a team (a cluster) have a part of k each,
// and add their sums up through each other's shared memory, in order. What the tiles are copied from is `Operands`, as for
// HopperProduct.
#pragma once
#include "hopper-product.cuh"
#include "team.cuh"

// A block has one tile of BM rows by BN columns, in its part of k. Of 64 rows its two groups take every other step, and add up in shared
// memory before the team does; of 128 they have a half each. GemmParams counts tiles without their splits: kPerSplit is a block's part.
// A team is of two, four, or a multiple of eight.
template <template <int, int> class OperandsOf, typename T, int BM, int BN, int STAGES>
struct HopperSum {
  static constexpr int kGroups = 2;
  static constexpr int kThreads = kGroups * 128;
  static constexpr int kWarps = kThreads / 32;
  static constexpr int BK = 64;
  static constexpr bool kTogether = BM == 128;
  using Product = HopperProduct<OperandsOf, T, kTogether, 1, BN, STAGES, false>;
  static_assert(Product::BM == BM, "a tile of one block of rows a group");
  using Operands = typename Product::Operands;
  using Ring = Turn<STAGES>;
  // Of a warp: 16 rows of its sums; and what is added up and stored at once.
  using Sums = Slab<BN>;
  using Unit = Slab<16>;
  static constexpr int kUnitsOfRow = BN / 16;
  static constexpr int kUnits = BM / 16 * kUnitsOfRow;
  // Of a team of two.
  static constexpr int kUnitsOfWarp = (kUnits + 2 * kWarps - 1) / (2 * kWarps);
  static constexpr int kUnitBytes = Unit::kFloats * 4;
  static constexpr int kPartBytes = Sums::kFloats * 4;
  static constexpr int kPartsBytes = BM / 16 * kPartBytes;
  // Where the ring was, totals are; of large tiles the sums are there, too, and totals behind them.
  static constexpr bool kPartsInRing = BM * BN > 128 * 64;
  static_assert(!kPartsInRing || kTogether, "groups that take turns add up beside the ring");
  static constexpr int kRingBytes = STAGES * Product::kStageBytes;
  static constexpr int kPartsAt = kPartsInRing ? 0 : kRingBytes;
  static constexpr int kTotalsAt = kPartsInRing ? kPartsBytes : 0;
  static_assert(kRingBytes >= kTotalsAt + kWarps * kUnitsOfWarp * kUnitBytes, "totals");
  static constexpr int kBarriersAt = kPartsInRing ? kRingBytes : kPartsAt + kPartsBytes;

  const typename Product::Params& params;
  const GemmParams& p;
  unsigned char* shared;
  uint32_t ring;
  Product product;

  __device__ __forceinline__ HopperSum(const typename Product::Params& params, unsigned char* shared)
      : params(params), p(params.p), shared(shared), ring(sharedAddress(shared)), product(params, shared) {}

  __device__ __forceinline__ uint32_t full(int stage) const { return ring + kBarriersAt + stage * 8; }
  __device__ __forceinline__ uint32_t empty(int stage) const { return ring + kBarriersAt + (STAGES + stage) * 8; }

  __device__ __forceinline__ void run() {
    if (threadIdx.x == 0) {
      Operands::prefetch(params);
      for (int stage = 0; stage < STAGES; ++stage) {
        initBarrier(full(stage), 1);
        initBarrier(empty(stage), kTogether ? kGroups : 1);
      }
      fenceBarrierInit();
    }
    // Where the tile lies takes divisions: done before anybody is waited for.
    const Place at = placeOf(p, blockIdx.x / blocksOfTeam());
    const int begin = rankInTeam() * p.kPerSplit;
    const int steps = (min(p.k - begin, p.kPerSplit) + BK - 1) / BK;
    Operands operands(params, at, begin);
    __syncthreads();
    const int ahead = threadIdx.x == kThreads ? product.copyAhead(operands, steps, full(0)) : 0;
    beginKernel();
    if (threadIdx.x >= kThreads) {
      if (threadIdx.x == kThreads) copyAll(operands, steps, ahead);
      else if (threadIdx.x >= kThreads + 32) prefetchEnd(at, threadIdx.x - kThreads - 32);
      __syncwarp();
      arriveTeam<true>();
      waitTeam();
      arriveTeam<false>();
    } else {
      compute(steps);
      arriveTeam<true>();
      waitTeam();
      addUp();
      // Nobody reads another block's memory from here on.
      arriveTeam<false>();
      finish(at);
    }
    waitTeam();
  }

  __device__ __forceinline__ void copyAll(Operands& operands, int steps, int ahead) const {
    Ring turn;
#pragma unroll 1
    for (int step = 0; step < steps; ++step) {
      waitBarrier(empty(turn.stage), turn.parity ^ 1);
      product.copyRest(operands, turn.stage, full(turn.stage), step < ahead);
      turn.next();
    }
  }

  // What the end reads comes from DRAM meanwhile. `thread`: of 96.
  __device__ __forceinline__ void prefetchEnd(const Place& at, int thread) const {
    const int n = at.tileN * BN;
    if (p.bias != nullptr && !p.channelOnM && thread < BN / 32 && n + thread * 32 < p.n) prefetchToL2(p.bias + n + thread * 32);
    if (p.residual == nullptr || p.rN != 1) return;
    const int bytes = p.rType == kFloat32 ? 4 : 2;
#pragma unroll 1
    for (int row = thread; row < BM; row += 96) {
      const int m = at.tileM * BM + row;
      if (m < p.m) prefetchToL2(static_cast<const char*>(p.residual) + (at.residual + (int64_t)m * p.rM + n) * bytes);
    }
  }

  // A stage is free once the products of the next one are on their way: those before are done.
  __device__ __forceinline__ void compute(int steps) const {
    constexpr int kStride = kTogether ? 1 : kGroups;
    const int group = threadIdx.x / 128;
    float sums[1][BN / 8][4];
#pragma unroll
    for (int j = 0; j < BN / 8; ++j)
#pragma unroll
      for (int q = 0; q < 4; ++q) sums[0][j][q] = 0.0f;
    Ring turn;
    if (!kTogether && group > 0) turn.next();
    int before = -1;
#pragma unroll 1
    for (int step = kTogether ? 0 : group; step < steps; step += kStride) {
      // In an odd ring the round before was the other group's, and a parity tells no more than two phases apart: this one waits, as the
      // copying thread does, until that round is over.
      if constexpr (!kTogether && STAGES % kGroups != 0) waitBarrier(empty(turn.stage), turn.parity ^ 1);
      const typename Product::Descriptors tiles = product.describe(turn.stage);
      waitBarrier(full(turn.stage), turn.parity);
      product.multiplyTile(sums, tiles, 1);
      warpgroupWait<1>();
      if (before >= 0 && threadIdx.x % 128 == 0) arrive(empty(before));
      before = turn.stage;
      turn.next();
      if (!kTogether) turn.next();
    }
    warpgroupWait<0>();
    putSums(sums[0], group);
  }

  __device__ __forceinline__ void putSums(float (&sums)[BN / 8][4], int group) const {
    const Sums own = slabOf(threadIdx.x / 32 % (BM / 16));
    if constexpr (!kTogether) {
      if (group > 0) own.put(sums);
      syncGroup<kThreads>(0);
      if (group > 0) return;
      addSlab(sums, own);
    }
    // The other group's products may still be read from there.
    if constexpr (kPartsInRing) syncGroup<kThreads>(0);
    own.put(sums);
    // Totals lie where the other group's products were read from.
    if constexpr (kTogether && !kPartsInRing) syncGroup<kThreads>(0);
  }

  // As Slab puts them.
  static __device__ __forceinline__ void addSlab(float (&sums)[BN / 8][4], const Sums& from) {
#pragma unroll
    for (int j = 0; j < BN / 8; ++j)
#pragma unroll
      for (int half = 0; half < 2; ++half) {
        const float2 v = *from.pairAt((from.lane >> 2) + 8 * half, 8 * j + (from.lane & 3) * 2);
        sums[j][2 * half] += v.x;
        sums[j][2 * half + 1] += v.y;
      }
  }

  __device__ __forceinline__ Sums slabOf(int rows) const {
    return Sums{reinterpret_cast<float*>(shared + kPartsAt + rows * kPartBytes), static_cast<int>(threadIdx.x & 31)};
  }

  __device__ __forceinline__ Unit totalOf(int index) const {
    float* at = reinterpret_cast<float*>(shared + kTotalsAt + (threadIdx.x / 32 * kUnitsOfWarp + index) * kUnitBytes);
    return Unit{at, static_cast<int>(threadIdx.x & 31)};
  }

  // A team's blocks have units in turn, and each block's warps.
  template <typename Work>
  __device__ __forceinline__ void forEachUnit(Work work) const {
    const int blocks = blocksOfTeam();
    int index = 0;
#pragma unroll 1
    for (int unit = rankInTeam() + threadIdx.x / 32 * blocks; unit < kUnits; unit += kWarps * blocks, ++index)
      work(unit / kUnitsOfRow, unit % kUnitsOfRow * 16, totalOf(index));
  }

  __device__ __forceinline__ void addUp() const {
    const int blocks = blocksOfTeam();
    forEachUnit([&](int rows, int column, const Unit& total) {
      const int row = total.lane / 4, four = total.lane % 4 * 4;
      const uint32_t own = ring + kPartsAt + rows * kPartBytes + (row * Sums::kPitch + column + four) * 4;
      float4 sums[2] = {make_float4(0.0f, 0.0f, 0.0f, 0.0f), make_float4(0.0f, 0.0f, 0.0f, 0.0f)};
      if (blocks == 2) {
        addBlocks<2>(sums, own, 0);
      } else if (blocks == 4) {
        addBlocks<4>(sums, own, 0);
      } else {
#pragma unroll 1
        for (int first = 0; first < blocks; first += 8) addBlocks<8>(sums, own, first);
      }
      *reinterpret_cast<float4*>(total.slab + row * Unit::kPitch + four) = sums[0];
      *reinterpret_cast<float4*>(total.slab + (row + 8) * Unit::kPitch + four) = sums[1];
    });
  }

  // Rows of eight more: all loads are in flight before the first sum, which are in the order of blocks.
  template <int COUNT>
  static __device__ __forceinline__ void addBlocks(float4 (&sums)[2], uint32_t own, int first) {
    float4 parts[COUNT][2];
#pragma unroll
    for (int i = 0; i < COUNT; ++i)
#pragma unroll
      for (int half = 0; half < 2; ++half) parts[i][half] = loadOf(own + half * 8 * Sums::kPitch * 4, first + i);
#pragma unroll
    for (int i = 0; i < COUNT; ++i)
#pragma unroll
      for (int half = 0; half < 2; ++half) {
        sums[half].x += parts[i][half].x;
        sums[half].y += parts[i][half].y;
        sums[half].z += parts[i][half].z;
        sums[half].w += parts[i][half].w;
      }
  }

  __device__ __forceinline__ void finish(const Place& at) const {
    __syncwarp();
    forEachUnit([&](int rows, int column, const Unit& total) {
      const int m = at.tileM * BM + rows * 16, n = at.tileN * BN + column;
      if (m < p.m && n < p.n) total.finishAll(p, at, m, n);
    });
  }
};
