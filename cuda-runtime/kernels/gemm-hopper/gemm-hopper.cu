// Products of halves on Hopper's Tensor Cores: wgmma from shared memory, a ring of tiles that cp.async fills.
// Both operands have their unit stride along k, rows at multiples of 16 bytes.
// hot: h*
#include "../common/launch.cuh"
#include "../common/wgmma.cuh"
#include "../gemm/epilogue.cuh"
#include "../gemm/load.cuh"

// A warpgroup computes BLOCKS_M blocks of 64 rows by BN columns; GROUPS of them stand below each other.
template <typename T, int GROUPS, int BLOCKS_M, int BN, int STAGES>
struct HopperProduct {
  static constexpr int BM = GROUPS * BLOCKS_M * 64;
  static constexpr int BK = 64;
  static constexpr int kThreads = GROUPS * 128;
  using LoaderA = TileLoader<T, BM, BK, kThreads, true, false>;
  using LoaderB = TileLoader<T, BN, BK, kThreads, true, false>;
  static constexpr int kStageBytes = LoaderA::kBytes + LoaderB::kBytes;
  // Of a warp: 16 rows by as many columns.
  static constexpr int kSlabColumns = BN < 64 ? BN : 64;
  static_assert(STAGES >= 3, "one tile is read, one waits, one is on its way");

  float sums[BLOCKS_M][BN / 8][4];

  __device__ __forceinline__ void run(const GemmParams& p) {
    extern __shared__ __align__(1024) unsigned char shared[];
    const uint32_t ring = sharedAddress(shared);
    const Place at = placeOf(p);
    const int begin = kBegin(p, at);
    const int end = kEnd(p, at);
    LoaderA loadA(p.a, at.a, p.aM, at.tileM * BM, p.m, begin, end, 16);
    LoaderB loadB(p.b, at.b, p.bN, at.tileN * BN, p.n, begin, end, 16);
    multiplyAll(loadA, loadB, ring, (end - begin + BK - 1) / BK);
    finish(p, at, reinterpret_cast<float*>(shared));
  }

  // Tile t is multiplied while t + 1 waits and t + 2 is on its way: its place was read for t - 1 … STAGES tiles before.
  __device__ __forceinline__ void multiplyAll(LoaderA& loadA, LoaderB& loadB, uint32_t ring, int tiles) {
    constexpr int kAhead = STAGES - 2;
#pragma unroll
    for (int stage = 0; stage < kAhead; ++stage) {
      if (stage < tiles) loadStage(loadA, loadB, ring + stage * kStageBytes);
      cpAsyncCommit();
    }
    int reading = 0;
    int writing = kAhead;
#pragma unroll 1
    for (int tile = 0; tile < tiles; ++tile) {
      cpAsyncWait<kAhead - 1>();
      fenceForTensorCores();
      __syncthreads();
      multiplyTile(ring + reading * kStageBytes, tile > 0);
      if (tile + kAhead < tiles) loadStage(loadA, loadB, ring + writing * kStageBytes);
      cpAsyncCommit();
      // Tile t - 1 is done: after the next barrier its place may be written.
      warpgroupWait<1>();
      reading = reading + 1 == STAGES ? 0 : reading + 1;
      writing = writing + 1 == STAGES ? 0 : writing + 1;
    }
    warpgroupWait<0>();
    cpAsyncWait<0>();
    __syncthreads();
  }

  __device__ __forceinline__ void multiplyTile(uint32_t stage, int adds) {
    const int group = threadIdx.x / 128;
    const uint64_t a = describeTile(stage + group * BLOCKS_M * 64 * BK * sizeof(T));
    const uint64_t b = describeTile(stage + LoaderA::kBytes);
    warpgroupArrive();
#pragma unroll
    for (int step = 0; step < BK / 16; ++step) {
#pragma unroll
      for (int i = 0; i < BLOCKS_M; ++i) {
        // In units of 16 bytes: 16 halves along k, 64 rows of 128 bytes.
        wgmma64<BN, T>(sums[i], a + step * 2 + i * (64 * 128 / 16), b + step * 2, step > 0 ? 1 : adds);
      }
    }
    warpgroupCommit();
  }

  __device__ __forceinline__ void loadStage(LoaderA& loadA, LoaderB& loadB, uint32_t stage) const {
    loadWide(loadA, stage);
    loadWide(loadB, stage + LoaderA::kBytes);
    loadA.advance();
    loadB.advance();
  }

  template <typename Loader>
  static __device__ __forceinline__ void loadWide(const Loader& loader, uint32_t tile) {
    const int bytes = clampBytes(loader.columnsLeft * (int)sizeof(T), 16);
    const char* from = loader.base;
#pragma unroll
    for (int i = 0; i < Loader::kPerThread; ++i) {
      const int wanted = i * Loader::kStep < loader.rowsLeft ? bytes : 0;
      if (loader.holds(i)) cpAsync<16>(loader.target(tile, i), wanted > 0 ? from : loader.safe, wanted);
      from += Loader::kStep * loader.rowBytes;
    }
  }

  __device__ __forceinline__ void finish(const GemmParams& p, const Place& at, float* shared) {
    using Own = Slab<kSlabColumns>;
    const int warp = threadIdx.x / 32;
    const int lane = threadIdx.x & 31;
    const Own slab{shared + warp * Own::kFloats, lane};
#pragma unroll
    for (int i = 0; i < BLOCKS_M; ++i) {
      const int row = at.tileM * BM + (threadIdx.x / 128 * BLOCKS_M + i) * 64 + warp % 4 * 16;
#pragma unroll
      for (int part = 0; part < BN / kSlabColumns; ++part) {
        slab.put(reinterpret_cast<const float(&)[kSlabColumns / 8][4]>(sums[i][part * kSlabColumns / 8]));
        __syncwarp();
        slab.finishAll(p, at, row, at.tileN * BN + part * kSlabColumns);
        __syncwarp();
      }
    }
  }
};

#define HOPPER(NAME, T, GROUPS, BLOCKS_M, BN, STAGES, RESIDENT)                        \
  extern "C" __global__ void __launch_bounds__(GROUPS * 128, RESIDENT)                 \
      NAME(const __grid_constant__ GemmParams p) { beginKernel();                      \
    HopperProduct<T, GROUPS, BLOCKS_M, BN, STAGES> product;                            \
    product.run(p);                                                                    \
  }

// The rows of table.ts.
#define HOPPER_ALL(T, TYPE)                            \
  HOPPER(h256x128x64_##TYPE, T, 2, 2, 128, 4, 1)       \
  HOPPER(h128x256x64_##TYPE, T, 2, 1, 256, 4, 1)       \
  HOPPER(h128x128x64_##TYPE, T, 2, 1, 128, 3, 2)       \
  HOPPER(h128x64x64_##TYPE, T, 2, 1, 64, 4, 2)         \
  HOPPER(h64x128x64_##TYPE, T, 1, 1, 128, 4, 2)        \
  HOPPER(h64x64x64_##TYPE, T, 1, 1, 64, 4, 3)          \
  HOPPER(h64x32x64_##TYPE, T, 1, 1, 32, 5, 3)

HOPPER_ALL(__half, f16)
HOPPER_ALL(__nv_bfloat16, bf16)
