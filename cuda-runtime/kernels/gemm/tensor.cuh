// Products on Tensor Cores: mma.sync fed by ldmatrix from a ring of tiles that cp.async fills.
#pragma once
#include "../common/launch.cuh"
#include "epilogue.cuh"
#include "fragment.cuh"

// A block computes BM x BN, its warps WM x WN each. A_ALONG: a's unit stride is along k (else along m); B_ALONG likewise.
// ODD: rows of halves at any even address, through registers.
template <typename T, int BM, int BN, int BK, int WM, int WN, int STAGES, bool A_ALONG, bool B_ALONG, bool ODD>
struct TensorProduct {
  static constexpr int kThreads = BM / WM * (BN / WN) * 32;
  static constexpr int kSteps = BK * sizeof(T) / 32;
  using LoaderA = TileLoader<T, A_ALONG ? BM : BK, A_ALONG ? BK : BM, kThreads, A_ALONG, ODD>;
  using LoaderB = TileLoader<T, B_ALONG ? BN : BK, B_ALONG ? BK : BN, kThreads, B_ALONG, ODD>;
  using FragmentsA = typename FragmentsOf<T, LoaderA::kRowBytes, A_ALONG, false>::Type;
  using FragmentsB = typename FragmentsOf<T, LoaderB::kRowBytes, B_ALONG, true>::Type;
  static constexpr int kStageBytes = LoaderA::kBytes + LoaderB::kBytes;
  static constexpr int kSharedBytes = kStageBytes * STAGES;
  static_assert(kSharedBytes >= BM * BN / WN / 16 * Slab<WN>::kFloats * 4, "the slabs take the tiles' place");

  float sums[WM / 16][WN / 8][4];
  uint32_t a[2][WM / 16][4];
  uint32_t b[2][WN / 16][4];

  __device__ __forceinline__ void loadFragments(const FragmentsA& fa, const FragmentsB& fb, uint32_t stage, int step,
                                                int slot) {
#pragma unroll
    for (int i = 0; i < WM / 16; ++i) fa.load(a[slot][i], stage, step, i);
#pragma unroll
    for (int j = 0; j < WN / 16; ++j) fb.load(b[slot][j], stage + LoaderA::kBytes, step, j);
    if constexpr (sizeof(T) == 4) {
#pragma unroll
      for (int word = 0; word < 4; ++word) {
#pragma unroll
        for (int i = 0; i < WM / 16; ++i) a[slot][i][word] = roundToTf32(a[slot][i][word]);
#pragma unroll
        for (int j = 0; j < WN / 16; ++j) b[slot][j][word] = roundToTf32(b[slot][j][word]);
      }
    }
  }

  __device__ __forceinline__ void multiply(int slot) {
#pragma unroll
    for (int i = 0; i < WM / 16; ++i) {
#pragma unroll
      for (int j = 0; j < WN / 8; ++j) {
        const uint32_t b0 = b[slot][j / 2][j % 2 * 2];
        const uint32_t b1 = b[slot][j / 2][j % 2 * 2 + 1];
        if constexpr (sizeof(T) == 4) mma1688Tf32(sums[i][j], a[slot][i], b0, b1);
        else mma16816(sums[i][j], a[slot][i], b0, b1, T());
      }
    }
  }

  __device__ __forceinline__ void computeTile(const FragmentsA& fa, const FragmentsB& fb, uint32_t stage) {
    loadFragments(fa, fb, stage, 0, 0);
#pragma unroll
    for (int step = 0; step < kSteps; ++step) {
      if (step + 1 < kSteps) loadFragments(fa, fb, stage, step + 1, (step + 1) & 1);
      multiply(step & 1);
    }
  }

  __device__ __forceinline__ void run(const GemmParams& p) {
    extern __shared__ __align__(1024) unsigned char shared[];
    const uint32_t ring = sharedAddress(shared);
    const Place at = placeOf(p);
    const int warp = threadIdx.x / 32;
    const int warpM = warp % (BM / WM) * WM;
    const int warpN = warp / (BM / WM) * WN;
    const int begin = kBegin(p, at);
    const int end = kEnd(p, at);
    LoaderA loadA(p.a, at.a, A_ALONG ? p.aM : p.aK, at.tileM * BM, p.m, begin, end, p.aGrain);
    LoaderB loadB(p.b, at.b, B_ALONG ? p.bN : p.bK, at.tileN * BN, p.n, begin, end, p.bGrain);
    const FragmentsA fa(warpM);
    const FragmentsB fb(warpN);
#pragma unroll
    for (int i = 0; i < WM / 16; ++i)
#pragma unroll
      for (int j = 0; j < WN / 8; ++j)
#pragma unroll
        for (int q = 0; q < 4; ++q) sums[i][j][q] = 0.0f;

    const int tiles = (end - begin + BK - 1) / BK;
    if constexpr (ODD) {
      beginKernel();
      multiplyOdd(loadA, loadB, fa, fb, ring, tiles);
    } else {
      loadAhead(p.ahead, loadA, loadB, ring, tiles);
      beginKernel();
      multiplyAll(p.ahead, loadA, loadB, fa, fb, ring, tiles);
    }

    __syncthreads();
    const int lane = threadIdx.x & 31;
    float* own = reinterpret_cast<float*>(shared) + warp * (WM / 16) * Slab<WN>::kFloats;
#pragma unroll
    for (int i = 0; i < WM / 16; ++i) Slab<WN>{own + i * Slab<WN>::kFloats, lane}.put(sums[i]);
    __syncwarp();
#pragma unroll 1
    for (int i = 0; i < WM / 16; ++i) {
      const Slab<WN> slab{own + i * Slab<WN>::kFloats, lane};
      slab.finishAll(p, at, at.tileM * BM + warpM + i * 16, at.tileN * BN + warpN);
    }
  }

  // Of the first stages what is weights: it need not wait for the launches before this one.
  __device__ __forceinline__ void loadAhead(int ahead, LoaderA& loadA, LoaderB& loadB, uint32_t ring, int tiles) const {
    if (ahead == kNothingAhead) return;
#pragma unroll 1
    for (int stage = 0; stage < min(STAGES - 1, tiles); ++stage) {
      if (ahead == kAheadOfA) loadStageOfA(loadA, ring + stage * kStageBytes);
      else loadStageOfB(loadB, ring + stage * kStageBytes);
    }
  }

  __device__ __forceinline__ void multiplyAll(int ahead, LoaderA& loadA, LoaderB& loadB, const FragmentsA& fa,
                                              const FragmentsB& fb, uint32_t ring, int tiles) {
#pragma unroll 1
    for (int stage = 0; stage < STAGES - 1; ++stage) {
      if (stage < tiles) {
        if (ahead != kAheadOfA) loadStageOfA(loadA, ring + stage * kStageBytes);
        if (ahead != kAheadOfB) loadStageOfB(loadB, ring + stage * kStageBytes);
      }
      cpAsyncCommit();
    }
    uint32_t reading = ring;
    uint32_t writing = ring + (STAGES - 1) * kStageBytes;
    for (int tile = 0; tile < tiles; ++tile) {
      cpAsyncWait<STAGES - 2>();
      __syncthreads();
      if (tile + STAGES - 1 < tiles) loadStage(loadA, loadB, writing);
      cpAsyncCommit();
      computeTile(fa, fb, reading);
      writing = reading;
      reading = reading + kStageBytes == ring + STAGES * kStageBytes ? ring : reading + kStageBytes;
    }
    cpAsyncWait<0>();
  }

  __device__ __forceinline__ void loadStage(LoaderA& loadA, LoaderB& loadB, uint32_t stage) const {
    loadStageOfA(loadA, stage);
    loadStageOfB(loadB, stage);
  }
  __device__ __forceinline__ void loadStageOfA(LoaderA& loadA, uint32_t stage) const {
    loadA.load(stage);
    loadA.advance();
  }
  __device__ __forceinline__ void loadStageOfB(LoaderB& loadB, uint32_t stage) const {
    loadB.load(stage + LoaderA::kBytes);
    loadB.advance();
  }

  // Two stages: the next tile is in registers while this one is multiplied.
  __device__ __forceinline__ void multiplyOdd(LoaderA& loadA, LoaderB& loadB, const FragmentsA& fa,
                                              const FragmentsB& fb, uint32_t ring, int tiles) {
    RawChunk rawA[LoaderA::kPerThread];
    RawChunk rawB[LoaderB::kPerThread];
    loadA.fetch(rawA);
    loadB.fetch(rawB);
    for (int tile = 0; tile < tiles; ++tile) {
      const uint32_t stage = ring + (tile & 1) * kStageBytes;
      loadA.store(stage, rawA);
      loadB.store(stage + LoaderA::kBytes, rawB);
      loadA.advance();
      loadB.advance();
      __syncthreads();
      if (tile + 1 < tiles) {
        loadA.fetch(rawA);
        loadB.fetch(rawB);
      }
      computeTile(fa, fb, stage);
    }
  }
};
