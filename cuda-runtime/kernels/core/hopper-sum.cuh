// A product of halves with few results and a long k on Hopper's Tensor Cores: the blocks of a team (a cluster) have a part of k each,
// and add their sums up through each other's shared memory, in order. What the tiles are copied from is `Operands`, as for
// HopperProduct.
#pragma once
#include "hopper-product.cuh"
#include "team.cuh"

// A block has one tile of 64 rows by BN columns, in its part of k; its two groups take every other step. GemmParams counts tiles without
// their splits: kPerSplit is a block's part.
template <template <int, int> class OperandsOf, typename T, int BN, int STAGES>
struct HopperSum {
  static constexpr int kGroups = 2;
  static constexpr int kThreads = kGroups * 128;
  static constexpr int BM = 64;
  static constexpr int BK = 64;
  using Product = HopperProduct<OperandsOf, T, false, 1, BN, STAGES, false>;
  using Operands = typename Product::Operands;
  using Ring = Turn<STAGES>;
  using Sums = Slab<BN>;
  using Part = Slab<32>;
  static constexpr int kPartsAt = STAGES * Product::kStageBytes;
  static constexpr int kPartBytes = Sums::kFloats * 4;
  // What a team of two leaves to a block: 32 rows.
  static constexpr int kTotalsAt = kPartsAt + kGroups * 4 * kPartBytes;
  static constexpr int kTotals = 2 * BN / 32;
  static constexpr int kBarriersAt = kTotalsAt + kTotals * Part::kFloats * 4;

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
        initBarrier(empty(stage), 1);
      }
      fenceBarrierInit();
    }
    __syncthreads();
    beginKernel();
    const Place at = placeOf(p, blockIdx.x / blocksOfTeam());
    const int begin = rankInTeam() * p.kPerSplit;
    const int steps = (min(p.k - begin, p.kPerSplit) + BK - 1) / BK;
    if (threadIdx.x >= kThreads) {
      copyAll(at, begin, steps);
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
      syncGroup<kThreads>(0);
      finish(at);
    }
    waitTeam();
  }

  __device__ __forceinline__ void copyAll(const Place& at, int begin, int steps) const {
    if (threadIdx.x != kThreads) return;
    Ring turn;
    Operands operands(params, at, begin);
#pragma unroll 1
    for (int step = 0; step < steps; ++step) {
      waitBarrier(empty(turn.stage), turn.parity ^ 1);
      arriveExpecting(full(turn.stage), Product::kStageBytes);
      const uint32_t toA = ring + turn.stage * Product::kStageBytes;
      operands.copy(toA, toA + Product::kBytesA, full(turn.stage));
      turn.next();
    }
  }

  __device__ __forceinline__ void compute(int steps) const {
    float sums[1][BN / 8][4];
#pragma unroll
    for (int j = 0; j < BN / 8; ++j)
#pragma unroll
      for (int q = 0; q < 4; ++q) sums[0][j][q] = 0.0f;
    Ring turn;
    if (threadIdx.x >= 128) turn.next();
#pragma unroll 1
    for (int step = threadIdx.x / 128; step < steps; step += kGroups) {
      waitBarrier(full(turn.stage), turn.parity);
      product.multiplyTile(sums, ring + turn.stage * Product::kStageBytes, 1);
      warpgroupWait<0>();
      if (threadIdx.x % 128 == 0) arrive(empty(turn.stage));
      turn.next();
      turn.next();
    }
    slabOf(threadIdx.x / 32).put(sums[0]);
  }

  // Of a warp: 16 rows of its group's sums.
  __device__ __forceinline__ Sums slabOf(int warp) const {
    return Sums{reinterpret_cast<float*>(shared + kPartsAt + warp * kPartBytes), static_cast<int>(threadIdx.x & 31)};
  }

  // Rows of the tile come in sixteens, and a team's blocks have them in turn.
  __device__ __forceinline__ void addUp() const {
    const int blocks = blocksOfTeam();
    int total = 0;
#pragma unroll 1
    for (int rows = rankInTeam(); rows < 4; rows += blocks, total += BN / 32) {
#pragma unroll 1
      for (int i = threadIdx.x; i < 16 * BN / 4; i += kThreads) addFour(blocks, rows, i / (BN / 4), i % (BN / 4) * 4, total);
    }
  }

  __device__ __forceinline__ void addFour(int blocks, int rows, int row, int column, int total) const {
    float4 sum = make_float4(0.0f, 0.0f, 0.0f, 0.0f);
    const uint32_t own = ring + kPartsAt + rows * kPartBytes + (row * Sums::kPitch + column) * 4;
#pragma unroll 4
    for (int rank = 0; rank < blocks; ++rank) {
      const float4 first = loadOf(own, rank), second = loadOf(own + 4 * kPartBytes, rank);
      sum.x += first.x + second.x;
      sum.y += first.y + second.y;
      sum.z += first.z + second.z;
      sum.w += first.w + second.w;
    }
    *reinterpret_cast<float4*>(totalOf(total + column / 32).slab + row * Part::kPitch + column % 32) = sum;
  }

  __device__ __forceinline__ Part totalOf(int index) const {
    float* at = reinterpret_cast<float*>(shared + kTotalsAt) + index * Part::kFloats;
    return Part{at, static_cast<int>(threadIdx.x & 31)};
  }

  __device__ __forceinline__ void finish(const Place& at) const {
    const int warp = threadIdx.x / 32, blocks = blocksOfTeam();
    const int rows = rankInTeam() + warp / (BN / 32) * blocks;
    if (rows >= 4) return;
    const int m = at.tileM * BM + rows * 16, n = at.tileN * BN + warp % (BN / 32) * 32;
    if (m < p.m && n < p.n) totalOf(warp).finishAll(p, at, m, n);
  }
};
