// A convolution as a product on Hopper's Tensor Cores, of positions times filters over channels and taps, where a position is fetched once
// and not once a tap. The rows of a wgmma are 8 by 8 outputs. Their patch, with the halo that taps reach into, comes by one box of TMA a
// part of the channels (what hangs over the image is zero); a tap is the same patch from another row on, since a descriptor may begin at any
// row: shared memory is swizzled by its address (PTX ISA, "Matrix-descriptor": a base offset of zero), and eight rows follow the eight
// before them by a patch's width.
#pragma once
#include "../common/barrier.cuh"
#include "../common/copy.cuh"
#include "../common/tensor-copy.cuh"
#include "../common/wgmma.cuh"
#include "../core/turn.cuh"
#include "halo-end.cuh"

// Two warpgroups multiply PATCHES / 2 patches each by BN filters (one does where a tile is a single patch), CHANNELS of them a step; of one
// more, one thread has patches copied and another one the weights of taps, STAGES of which are under way. BLOCKS share a multiprocessor.
template <typename T, int CHANNELS, int PATCHES, int BN, int STAGES, int BLOCKS>
struct HaloProduct {
  static constexpr int kGroups = PATCHES > 1 ? 2 : 1;
  static constexpr int kThreads = (kGroups + 1) * 128;
  static constexpr int kSide = 8;
  static constexpr int kPatchesOfGroup = PATCHES / kGroups;
  static constexpr int kRowBytes = CHANNELS * sizeof(T);
  static constexpr int kTapBytes = BN * kRowBytes;
  // Patches of a tile: of these channels, and of those to come.
  static constexpr int kRounds = 2;
  static constexpr int kTapsAt = 0;
  static constexpr int kBarriersAt = STAGES * kTapBytes;
  static constexpr int kBarrierBytes = 256;
  using End = HaloEnd<T, kPatchesOfGroup, BN>;
  static constexpr int kEndsAt = kBarriersAt + kBarrierBytes;
  static constexpr int kPatchesAt = (kEndsAt + kGroups * 4 * End::kBytes + 1023) / 1024 * 1024;
  static_assert((2 * kRounds + 2 * STAGES) * 8 <= kBarrierBytes, "barriers");
  // Of two groups that multiply. One that takes registers waits until its block has them: all three are no more than were launched with.
  static constexpr int kLaunched = BLOCKS > 1 ? 80 : 168;
  static constexpr int kCopying = BLOCKS > 1 ? 32 : 24;
  static constexpr int kComputing = BLOCKS > 1 ? 104 : 240;
  static_assert(kCopying + 2 * kComputing <= 3 * kLaunched, "registers of a block");

  const ConvHaloParams& params;
  const GemmParams& p;
  unsigned char* shared;
  uint32_t base;

  __device__ __forceinline__ HaloProduct(const ConvHaloParams& params, unsigned char* shared)
      : params(params), p(params.p), shared(shared), base(sharedAddress(shared)) {}

  __device__ __forceinline__ uint32_t barrier(int index) const { return base + kBarriersAt + index * 8; }
  __device__ __forceinline__ uint32_t fullPatches(int round) const { return barrier(round); }
  __device__ __forceinline__ uint32_t emptyPatches(int round) const { return barrier(kRounds + round); }
  __device__ __forceinline__ uint32_t fullTap(int stage) const { return barrier(2 * kRounds + stage); }
  __device__ __forceinline__ uint32_t emptyTap(int stage) const { return barrier(2 * kRounds + STAGES + stage); }
  __device__ __forceinline__ uint32_t tapAt(int stage) const { return base + kTapsAt + stage * kTapBytes; }
  __device__ __forceinline__ uint32_t patchAt(int round, int patch) const {
    return base + kPatchesAt + (round * PATCHES + patch) * params.patchBytes;
  }

  __device__ __forceinline__ void run() {
    if (threadIdx.x == 0) {
      prefetchMap(params.x);
      prefetchMap(params.w);
      for (int round = 0; round < kRounds; ++round) {
        initBarrier(fullPatches(round), 1);
        initBarrier(emptyPatches(round), kGroups);
      }
      for (int stage = 0; stage < STAGES; ++stage) {
        initBarrier(fullTap(stage), 1);
        initBarrier(emptyTap(stage), kGroups);
      }
      fenceBarrierInit();
    }
    __syncthreads();
    const int ahead = threadIdx.x == kGroups * 128 + 32 ? copyAhead() : 0;
    if (threadIdx.x >= kGroups * 128 + 64) prefetchBias(threadIdx.x - kGroups * 128 - 64);
    beginKernel();
    if (threadIdx.x >= kGroups * 128) {
      if constexpr (kGroups > 1) keepRegisters<kCopying>();
      if (threadIdx.x == kGroups * 128) copyPatches();
      if (threadIdx.x == kGroups * 128 + 32) copyTaps(ahead);
    } else {
      if constexpr (kGroups > 1) takeRegisters<kComputing>();
      computeAll();
    }
  }

  // `work` gets the first patch of a tile and its first filter: those of the same patches one after another.
  template <typename Work>
  __device__ __forceinline__ void forEachTile(Work work) const {
    const int works = p.tilesM * p.tilesN;
#pragma unroll 1
    for (int index = blockIdx.x; index < works; index += gridDim.x) work(index / p.tilesN * PATCHES, index % p.tilesN * BN);
  }

  __device__ __forceinline__ int steps() const { return params.boxes * params.taps; }

  __device__ __forceinline__ void copyTap(int box, int tap, int n, int stage) const {
    arriveExpecting(fullTap(stage), kTapBytes);
    copyBox3(tapAt(stage), params.w, fullTap(stage), box * CHANNELS, tap, n);
  }

  // Weights need not wait for the launches before this one: as many taps as the ring has stages. How many.
  __device__ __forceinline__ int copyAhead() const {
    if (p.ahead != kAheadOfB) return 0;
    const int count = min(steps(), STAGES), n = blockIdx.x % p.tilesN * BN;
    int box = 0, tap = 0;
#pragma unroll 1
    for (int stage = 0; stage < count; ++stage) {
      copyTap(box, tap, n, stage);
      if (++tap == params.taps) tap = 0, ++box;
    }
    return count;
  }

  // A line of it a thread.
  __device__ __forceinline__ void prefetchBias(int line) const {
    constexpr int kFloatsOfLine = 32;
    const int n = blockIdx.x % p.tilesN * BN + line * kFloatsOfLine;
    if (p.bias != nullptr && line * kFloatsOfLine < BN && n < p.n) prefetchToL2(p.bias + n);
  }

  __device__ __forceinline__ void copyTaps(int ahead) const {
    Turn<STAGES> turn;
    forEachTile([&](int, int n) {
#pragma unroll 1
      for (int box = 0; box < params.boxes; ++box) {
#pragma unroll 1
        for (int tap = 0; tap < params.taps; ++tap, --ahead) {
          if (ahead <= 0) {
            // The first round finds the ring empty: the phase before the first one counts as over.
            waitBarrier(emptyTap(turn.stage), turn.parity ^ 1);
            copyTap(box, tap, n, turn.stage);
          }
          turn.next();
        }
      }
    });
  }

  __device__ __forceinline__ void copyPatches() const {
    Turn<kRounds> turn;
    forEachTile([&](int first, int) {
#pragma unroll 1
      for (int box = 0; box < params.boxes; ++box) {
        waitBarrier(emptyPatches(turn.stage), turn.parity ^ 1);
        arriveExpecting(fullPatches(turn.stage), PATCHES * params.filledBytes);
#pragma unroll 1
        for (int patch = 0; patch < PATCHES; ++patch) {
          const PatchPlace at(params, first + patch);
          copyBox4(patchAt(turn.stage, patch), params.x, fullPatches(turn.stage), box * CHANNELS, at.x - params.padX, at.y - params.padY,
                   at.image);
        }
        turn.next();
      }
    });
  }

  __device__ __forceinline__ void computeAll() const {
    const int group = threadIdx.x / 128;
    Turn<kRounds> patches;
    Turn<STAGES> taps;
    forEachTile([&](int first, int n) {
      float sums[kPatchesOfGroup][BN / 8][4];
      multiply(sums, patches, taps);
      End::finish(params, sums, first + group * kPatchesOfGroup, n, shared + kEndsAt + threadIdx.x / 32 * End::kBytes);
    });
  }

  __device__ __forceinline__ void multiply(float (&sums)[kPatchesOfGroup][BN / 8][4], Turn<kRounds>& patches, Turn<STAGES>& taps) const {
    int before = -1, roundBefore = -1;
#pragma unroll 1
    for (int box = 0; box < params.boxes; ++box) {
      waitBarrier(fullPatches(patches.stage), patches.parity);
      const uint32_t first = patchAt(patches.stage, threadIdx.x / 128 * kPatchesOfGroup);
      int tapX = 0, row = 0, column = 0;
#pragma unroll 1
      for (int tap = 0; tap < params.taps; ++tap) {
        const uint64_t a = describeRows<kRowBytes>(alikeInWarp(first + (row + column) * kRowBytes), params.patchWidth);
        const uint64_t b = describeTile<kRowBytes>(alikeInWarp(tapAt(taps.stage)));
        waitBarrier(fullTap(taps.stage), taps.parity);
        multiplyTap(sums, a, b, box + tap > 0);
        // The products of the tap before are done, and nobody reads it any more.
        warpgroupWait<1>();
        release(before, roundBefore);
        before = taps.stage;
        roundBefore = -1;
        taps.next();
        column += params.dilationX;
        if (++tapX == params.kernelX) tapX = 0, column = 0, row += params.dilationY * params.patchWidth;
      }
      roundBefore = patches.stage;
      patches.next();
    }
    warpgroupWait<0>();
    release(before, roundBefore);
  }

  // A tap's weights, and the patches where it was their last tap.
  __device__ __forceinline__ void release(int stage, int round) const {
    if (threadIdx.x % 128 != 0) return;
    if (stage >= 0) arrive(emptyTap(stage));
    if (round >= 0) arrive(emptyPatches(round));
  }

  __device__ __forceinline__ void multiplyTap(float (&sums)[kPatchesOfGroup][BN / 8][4], uint64_t a, uint64_t b, int adds) const {
    const uint32_t patchBytes = params.patchBytes;
    warpgroupArrive();
#pragma unroll
    for (int step = 0; step < CHANNELS / 16; ++step) {
#pragma unroll
      for (int i = 0; i < kPatchesOfGroup; ++i) {
        // In units of 16 bytes: 16 halves along k.
        wgmma64<BN, T>(sums[i], a + (i * patchBytes >> 4) + step * 2, b + step * 2, step > 0 ? 1 : adds);
      }
    }
    warpgroupCommit();
  }
};
