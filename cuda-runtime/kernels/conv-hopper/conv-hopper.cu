// Convolution forward as an implicit product on Hopper's Tensor Cores: the copies of conv/, multiplied by wgmma.
// only: 90a
// hot: conv_h*
#include "../common/launch.cuh"
#include "../common/wgmma.cuh"
#include "../conv/implicit.cuh"

// Of a warp of a warpgroup: 16 rows of all filters.
template <class T> struct HopperSums {
  static constexpr int NT = T::BN / 8;
  float sum[NT][4];

  __device__ __forceinline__ void add(uint32_t a, uint32_t b, int adds) {
    const uint64_t rows = describeTile(a + threadIdx.x / 128 * (64 * T::PITCH));
    const uint64_t filters = describeTile(b);
    warpgroupArrive();
#pragma unroll
    for (int step = 0; step < T::CHUNKS / 2; ++step) {
      wgmma64<T::BN, typename T::Element>(sum, rows + step * 2, filters + step * 2, step > 0 ? 1 : adds);
    }
    warpgroupCommit();
  }

  __device__ __forceinline__ void stage(int, float* to) const {
    const int row = threadIdx.x % 32 / 4, column = threadIdx.x % 4 * 2;
#pragma unroll
    for (int n = 0; n < NT; ++n) {
      *reinterpret_cast<float2*>(to + row * T::STRIP_PITCH + 8 * n + column) = make_float2(sum[n][0], sum[n][1]);
      *reinterpret_cast<float2*>(to + (row + 8) * T::STRIP_PITCH + 8 * n + column) = make_float2(sum[n][2], sum[n][3]);
    }
  }
};

// Step s is multiplied while s + 1 waits and s + 2 is on its way.
template <class T> __device__ __forceinline__ void hopperProduct(const ConvParams& p) {
  static_assert(T::CHUNKS == 8 && T::WM == 16 && T::WARPS_N == 1, "a warpgroup takes 64 rows of 128 bytes");
  constexpr int ahead = T::STAGES - 2;
  extern __shared__ __align__(1024) char shared[];
  const uint32_t base = sharedAddress(shared);
  const int group = blockIdx.y, split = blockIdx.z;
  const int tileM = blockIdx.x / p.tilesN, tileN = blockIdx.x % p.tilesN;
  const int firstChunk = split * p.chunksPerSplit;
  const int lastChunk = min(p.chunks, firstChunk + p.chunksPerSplit);
  const int steps = (lastChunk - firstChunk + T::CHUNKS - 1) / T::CHUNKS;

  ActivationCopies<T, 16> fromX(p, tileM * T::BM, firstChunk, group);
  WeightCopies<T> fromW(p, tileN * T::BN, firstChunk, group);
  int writing = 0, reading = 0;
  const auto copyStep = [&](int step) {
    if (step < steps) {
      const uint32_t stage = base + writing * T::STAGE_BYTES;
      fromX.load(p, stage);
      fromW.load(p, stage + T::BM * T::PITCH);
      fromX.advance(p);
      fromW.advance();
      writing = writing + 1 == T::STAGES ? 0 : writing + 1;
    }
    cpAsyncCommit();
  };
#pragma unroll
  for (int step = 0; step < ahead; ++step) copyStep(step);

  HopperSums<T> sums;
#pragma unroll 1
  for (int step = 0; step < steps; ++step) {
    cpAsyncWait<ahead - 1>();
    fenceForTensorCores();
    __syncthreads();
    const uint32_t stage = base + reading * T::STAGE_BYTES;
    sums.add(stage, stage + T::BM * T::PITCH, step > 0);
    copyStep(step + ahead);
    warpgroupWait<1>();
    reading = reading + 1 == T::STAGES ? 0 : reading + 1;
  }
  warpgroupWait<0>();
  cpAsyncWait<0>();
  __syncthreads();
  const int warp = threadIdx.x / 32;
  storeSums<T>(p, sums, shared, warp, tileM * T::BM + warp * 16, tileN * T::BN, split, group);
}

#define HOPPER(NAME, MATH, BM, BN, CHUNKS, STAGES, WARPS_M, WARPS_N, BLOCKS)      \
  extern "C" __global__ void __launch_bounds__(32 * WARPS_M * WARPS_N, BLOCKS)    \
      NAME(const __grid_constant__ ConvParams p) { beginKernel();                 \
    hopperProduct<Tile<MATH, BM, BN, CHUNKS, STAGES, WARPS_M, WARPS_N>>(p);       \
  }

#include "entries.generated.cuh"
