// Products of codes of a byte on Hopper's Tensor Cores: wgmma from a ring of tiles in shared memory, which one warp has the
// copy engine fill. Both operands have their unit stride along k, rows at multiples of 16 bytes.
//
// Blocks stay: each computes one tile after another, and the tiles of the next are on their way while this one is stored.
// only: 90a
// hot: codes_*
#include "../common/barrier.cuh"
#include "../common/copy.cuh"
#include "../common/launch.cuh"
#include "../common/tensor-copy.cuh"
#include "../gemm-int8/code-epilogue.cuh"
#include "code-wgmma.cuh"

// Two warpgroups multiply, one below the other, BLOCKS_M blocks of 64 rows by BN columns each; a third has tiles copied.
template <typename A, typename B, int BLOCKS_M, int BN, int STAGES>
struct HopperCodes {
  using Sum = typename A::Sum;
  static constexpr int kGroups = 2;
  static constexpr int BM = kGroups * BLOCKS_M * 64;
  // Bytes along k: what the swizzle spans.
  static constexpr int BK = 128;
  static constexpr int kBytesA = BM * BK;
  static constexpr int kStageBytes = kBytesA + BN * BK;
  static constexpr int kBarriersAt = STAGES * kStageBytes;

  const CodeMapsParams& maps;
  const CodeProductParams& p;
  uint32_t ring;
  int stage = 0;
  int parity = 0;

  __device__ __forceinline__ HopperCodes(const CodeMapsParams& maps, unsigned char* shared)
      : maps(maps), p(maps.p), ring(sharedAddress(shared)) {}

  __device__ __forceinline__ uint32_t full(int at) const { return ring + kBarriersAt + at * 8; }
  __device__ __forceinline__ uint32_t empty(int at) const { return ring + kBarriersAt + (STAGES + at) * 8; }

  __device__ __forceinline__ void next() {
    stage = stage + 1 == STAGES ? 0 : stage + 1;
    if (stage == 0) parity ^= 1;
  }

  __device__ __forceinline__ void run() {
    if (threadIdx.x == 0) {
      prefetchMap(maps.a);
      prefetchMap(maps.b);
      for (int at = 0; at < STAGES; ++at) {
        initBarrier(full(at), 1);
        initBarrier(empty(at), kGroups);
      }
      fenceBarrierInit();
    }
    __syncthreads();
    beginKernel();
    if (threadIdx.x >= kGroups * 128) {
      keepRegisters<40>();
      copyAll();
    } else {
      takeRegisters<232>();
      computeAll();
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

  __device__ __forceinline__ int count() const { return p.tilesM * p.tilesN * p.batch; }

  __device__ __forceinline__ void copyAll() {
    if (threadIdx.x != kGroups * 128) return;
#pragma unroll 1
    for (int index = blockIdx.x; index < count(); index += gridDim.x) {
      const Tile tile = tileOf(index);
#pragma unroll 1
      for (int k = 0; k < p.k; k += BK) {
        // The first round finds the ring empty: the phase before the first one counts as over.
        waitBarrier(empty(stage), parity ^ 1);
        const uint32_t to = ring + stage * kStageBytes;
        arriveExpecting(full(stage), kStageBytes);
        copyBox3(to, maps.a, full(stage), k, tile.m, p.aBatch == 0 ? 0 : tile.batch);
        copyBox3(to + kBytesA, maps.b, full(stage), k, tile.n, p.bBatch == 0 ? 0 : tile.batch);
        next();
      }
    }
  }

  __device__ __forceinline__ void computeAll() {
#pragma unroll 1
    for (int index = blockIdx.x; index < count(); index += gridDim.x) {
      Sum sums[BLOCKS_M][BN / 8][4];
      multiply(sums);
      finish(sums, tileOf(index));
    }
  }

  __device__ __forceinline__ void multiply(Sum (&sums)[BLOCKS_M][BN / 8][4]) {
    int before = 0;
#pragma unroll 1
    for (int k = 0; k < p.k; k += BK) {
      waitBarrier(full(stage), parity);
      multiplyTile(sums, ring + stage * kStageBytes, k > 0);
      // The products of the tile before are done, and nobody reads it any more.
      warpgroupWait<1>();
      if (k > 0) release(before);
      before = stage;
      next();
    }
    warpgroupWait<0>();
    release(before);
  }

  __device__ __forceinline__ void release(int at) const {
    if (threadIdx.x % 128 == 0) arrive(empty(at));
  }

  __device__ __forceinline__ void multiplyTile(Sum (&sums)[BLOCKS_M][BN / 8][4], uint32_t at, int adds) const {
#if defined(TC_LINT_WGMMA)
    const uint64_t a = describeTile(at + threadIdx.x / 128 * BLOCKS_M * 64 * BK);
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

  __device__ __forceinline__ void finish(const Sum (&sums)[BLOCKS_M][BN / 8][4], const Tile& tile) const {
    const int lane = threadIdx.x & 31, warp = threadIdx.x / 32;
    const int row = tile.m + warp / 4 * BLOCKS_M * 64 + warp % 4 * 16 + lane / 4;
    const int none[2] = {0, 0};
#pragma unroll
    for (int i = 0; i < BLOCKS_M; ++i) storeSums(p, tile.batch * p.dBatch, row + i * 64, tile.n, sums[i], none);
  }
};

#define HOPPER(NAME, A, B, BLOCKS_M, BN, STAGES)                                                               \
  extern "C" __global__ void __launch_bounds__(384, 1) NAME(const __grid_constant__ CodeMapsParams maps) {     \
    extern __shared__ __align__(1024) unsigned char shared[];                                                  \
    HopperCodes<A, B, BLOCKS_M, BN, STAGES>(maps, shared).run();                                               \
  }
#define HOPPER_OF(NAME, A, B)                        \
  HOPPER(codes_##NAME##_h256x128, A, B, 2, 128, 4)   \
  HOPPER(codes_##NAME##_h128x256, A, B, 1, 256, 4)   \
  HOPPER(codes_##NAME##_h128x128, A, B, 1, 128, 6)   \
  HOPPER(codes_##NAME##_h128x64, A, B, 1, 64, 8)

HOPPER_OF(s8s8, S8, S8)
HOPPER_OF(u8s8, U8, S8)
HOPPER_OF(s8u8, S8, U8)
HOPPER_OF(u8u8, U8, U8)
HOPPER_OF(e4m3e4m3, E4M3, E4M3)
HOPPER_OF(e5m2e4m3, E5M2, E4M3)
HOPPER_OF(e4m3e5m2, E4M3, E5M2)
HOPPER_OF(e5m2e5m2, E5M2, E5M2)
