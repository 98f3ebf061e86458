// Depthwise convolutions on Hopper's Tensor Cores (diagonal-sums.cuh), whose tiles come and go by TMA: what hangs over an image is zero, and
// goes nowhere. Blocks stay, always with the same channels, and have a ring of stages. Of each a warp of its own makes eight channels, and
// puts the results where x was; one thread has rows of them copied away when all warps are done, and the next tile to where it was read.
// Warps wait for no other warp.
#pragma once
#include "../common/barrier.cuh"
#include "../common/launch.cuh"
#include "../common/tensor-copy.cuh"
#include "../depthwise/diagonal-sums.cuh"
#include "params.generated.cuh"

template <typename E, int TAPS, int STRIDE, int HIGH>
struct DepthwiseRing {
  const DepthwiseRingParams& params;
  const DepthwiseParams& p;
  char* shared;
  uint32_t base;
  int warps;  // That compute: one of each eight channels.

  __device__ __forceinline__ DepthwiseRing(const DepthwiseRingParams& params, char* shared)
      : params(params), p(params.p), shared(shared), base(sharedAddress(shared)), warps(blockDim.x / 32 - 1) {}

  __device__ __forceinline__ uint32_t full(int stage) const { return base + params.stages * p.stage + stage * 8; }
  __device__ __forceinline__ uint32_t made(int stage) const { return full(params.stages + stage); }
  __device__ __forceinline__ unsigned count() const { return static_cast<unsigned>(p.threads); }

  __device__ __forceinline__ void run() const {
    if (threadIdx.x == warps * 32) {
      prefetchMap(params.x);
      prefetchMap(params.y);
      for (int stage = 0; stage < params.stages; ++stage) {
        initBarrier(full(stage), 1);
        initBarrier(made(stage), warps);
      }
      fenceBarrierInit();
    }
    __syncthreads();
    if (threadIdx.x >= warps * 32) {
      begin();
      if (threadIdx.x == warps * 32) copyAll();
    } else {
      computeAll();
    }
  }

  // Behind small windows comes a product, which fetches its weights meanwhile; larger ones stand in front of more than that.
  __device__ __forceinline__ void begin() const {
    if constexpr (TAPS == 3) beginKernelEarly();
    else beginKernel();
  }

  __device__ __forceinline__ void load(unsigned index, int stage) const {
    const Tile tile(p, index, warps);
    const uint32_t to = base + stage * p.stage;
    const int width = tile.at.width * STRIDE - p.pad[2], height = tile.at.height * STRIDE - p.pad[1];
    arriveExpecting(full(stage), params.filledBytes);
    copyBox4(to, params.x, full(stage), tile.filter, width, height, tile.at.batch);
    if (STRIDE == 2) copyBox4(to + params.odd, params.x, full(stage), tile.filter, width + 1, height, tile.at.batch);
  }

  __device__ __forceinline__ void store(unsigned index, int stage) const {
    const Tile tile(p, index, warps);
    uint32_t from = base + stage * p.stage;
#pragma unroll 1
    for (int row = 0; row < tile.rows; ++row, from += params.row) {
      storeBox4(params.y, from, tile.filter, tile.at.width, tile.at.height + row, tile.at.batch);
    }
    commitStores();
  }

  __device__ __forceinline__ void copyAll() const {
    unsigned next = blockIdx.x;
    for (int stage = 0; stage < params.stages && next < count(); ++stage, next += gridDim.x) load(next, stage);
    int stage = 0, parity = 0;
#pragma unroll 1
    for (unsigned index = blockIdx.x; index < count(); index += gridDim.x, next += gridDim.x) {
      waitBarrier(made(stage), parity);
      store(index, stage);
      waitStoresRead();
      if (next < count()) load(next, stage);
      if (++stage == params.stages) stage = 0, parity ^= 1;
    }
  }

  __device__ __forceinline__ void computeAll() const {
    const int warp = threadIdx.x / 32;
    const int filter = Tile(p, blockIdx.x, warps).filter + warp * 8;
    if (params.isWeight == 0) begin();
    uint32_t taps[TAPS * TAPS];
    loadDiagonals<E, TAPS>(p, taps, filter);
    Affine<2> affine;
    const int own = filter + threadIdx.x % 4 * 2;
    affine.load(p, own, p.filters - own);
    if (params.isWeight != 0) begin();
    const DiagonalLayout<TAPS, STRIDE> layout = {p.pitch, params.row, params.odd, params.swizzleShift, params.swizzleMask};
    int at[TAPS / 2 + 1];
    tapOffsets(at, layout, warp);
    int stage = 0, parity = 0;
#pragma unroll 1
    for (unsigned index = blockIdx.x; index < count(); index += gridDim.x) {
      const Tile tile(p, index, warps);
      waitBarrier(full(stage), parity);
      computeTile<E, TAPS, STRIDE, HIGH>(p, tile, layout, taps, at, affine, shared + stage * p.stage);
      fenceForCopies();
      __syncwarp();
      if (threadIdx.x % 32 == 0) arrive(made(stage));
      if (++stage == params.stages) stage = 0, parity ^= 1;
    }
  }
};
