// A convolution over planes as a product: blocks that stay, a ring of stages, two groups of four warps that multiply.
#pragma once
#include "../common/barrier.cuh"
#include "../common/copy.cuh"
#include "../common/launch.cuh"
#include "../common/wgmma.cuh"
#include "end.cuh"

// Any run of memory, at multiples of 16 bytes.
__device__ __forceinline__ void copyRun(uint32_t to, const void* from, int bytes, uint32_t barrier) {
  asm volatile("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1], %2, [%3];"
               ::"r"(to), "l"(from), "r"(bytes), "r"(barrier) : "memory");
}

// A stage holds, of each plane, the pixels of a tile's positions and those that its taps reach. Eight pixels are a core matrix of wgmma
// without a swizzle, which may begin at any pixel: a tap is an offset of the descriptor, and a step along k is two taps, whose
// distance is the descriptor's leading offset.
template <typename END, typename T, int BN, int BLOCKS_M>
struct PlanesProduct {
  using End = END;
  static constexpr int kRows = BLOCKS_M * 128;
  static constexpr int kPixelBytes = 16;
  static constexpr int kEightBytes = BN * kPixelBytes;
  static constexpr int kWarps = 8;
  static constexpr uint64_t kStrideOfEight = 128 >> 4;

  const PlanesParams& p;
  unsigned char* shared;

  __device__ __forceinline__ PlanesProduct(const PlanesParams& p, unsigned char* shared) : p(p), shared(shared) {}

  __device__ __forceinline__ void run() const {
    clearTails();
    if (threadIdx.x == 0) initBarriers();
    prefetchWeights();
    __syncthreads();
    beginKernel();
    if (threadIdx.x < kWarps * 32) {
      End::load(p, affine(), blockIdx.y * BN);
      syncGroup<kWarps * 32>(0);
      computeAll();
    } else if (threadIdx.x == kWarps * 32) {
      copyAll();
    }
  }

 private:
  static constexpr int kBarrierBytes = 128;

  struct Turn {
    int stage = 0, parity = 0;
    __device__ __forceinline__ void next(int stages) {
      if (++stage < stages) return;
      stage = 0;
      parity ^= 1;
    }
  };

  // Barriers, scales and biases, slabs, weights, stages: conv/planes-table.ts counts them. Where each is, is computed anew: registers are few.
  static constexpr int kSlabsAt = kBarrierBytes + 2 * BN * sizeof(float);
  static constexpr int kWeightsAt = kSlabsAt + kWarps * End::kBytes;
  __device__ __forceinline__ float* affine() const { return reinterpret_cast<float*>(shared + kBarrierBytes); }
  __device__ __forceinline__ uint32_t barriers() const { return sharedAddress(shared); }
  __device__ __forceinline__ uint32_t weights() const { return barriers() + kWeightsAt; }
  __device__ __forceinline__ uint32_t ring() const { return weights() + weightBytes(); }
  // Of this warp.
  __device__ __forceinline__ uint32_t own() const { return barriers() + kSlabsAt + threadIdx.x / 32 * End::kBytes; }

  __device__ __forceinline__ int weightBytes() const { return p.steps * 2 * kEightBytes; }
  __device__ __forceinline__ uint32_t full(int stage) const { return barriers() + stage * 16; }
  __device__ __forceinline__ uint32_t empty(int stage) const { return barriers() + stage * 16 + 8; }
  __device__ __forceinline__ uint32_t weightsThere() const { return barriers() + kBarrierBytes - 8; }

  __device__ __forceinline__ void initBarriers() const {
    for (int stage = 0; stage < p.stages; ++stage) {
      initBarrier(full(stage), 1);
      initBarrier(empty(stage), kWarps);
    }
    initBarrier(weightsThere(), 1);
    fenceBarrierInit();
  }

  // What an odd number of taps has as its last one: no copy writes there.
  __device__ __forceinline__ void clearTails() const {
    const int bytes = p.stageBytes - p.copiedBytes;
    for (int stage = 0; stage < p.stages; ++stage) {
      const uint32_t tail = ring() + stage * p.stageBytes + p.copiedBytes;
      for (int at = threadIdx.x * 16; at < bytes; at += blockDim.x * 16) storeShared16(tail + at, make_uint4(0, 0, 0, 0));
    }
    fenceForTensorCores();
  }

  __device__ __forceinline__ const unsigned char* ownWeights() const {
    return static_cast<const unsigned char*>(p.w) + static_cast<int64_t>(blockIdx.y) * weightBytes();
  }

  __device__ __forceinline__ void prefetchWeights() const {
    for (int at = threadIdx.x * 128; at < weightBytes(); at += blockDim.x * 128) prefetchToL2(ownWeights() + at);
  }

  __device__ __forceinline__ void copyAll() const {
    const unsigned char* planes = static_cast<const unsigned char*>(p.planes);
    arriveExpecting(weightsThere(), weightBytes());
    copyRun(weights(), ownWeights(), weightBytes(), weightsThere());
    Turn turn;
    for (int tile = blockIdx.x; tile < p.tiles; tile += gridDim.x) {
      // The first round finds the ring empty: the phase before the first one counts as over.
      waitBarrier(empty(turn.stage), turn.parity ^ 1);
      arriveExpecting(full(turn.stage), p.copiedBytes);
      const uint32_t to = ring() + turn.stage * p.stageBytes;
      for (int i = 0; i < p.copies; ++i) {
        const int64_t pixel = static_cast<int64_t>(tile) * kRows + p.copyFrom[i];
        copyRun(to + p.copyTo[i], planes + pixel * kPixelBytes, p.copyBytes[i], full(turn.stage));
      }
      turn.next(p.stages);
    }
  }

  __device__ __forceinline__ void computeAll() const {
    const int group = threadIdx.x / 128, warp = threadIdx.x / 32;
    waitBarrier(weightsThere(), 0);
    Turn turn;
    bool mends = false;
    for (int tile = blockIdx.x; tile < p.tiles; tile += gridDim.x) {
      float sums[BLOCKS_M][BN / 8][4];
      waitBarrier(full(turn.stage), turn.parity);
      multiply(sums, ring() + turn.stage * p.stageBytes + group * BLOCKS_M * 64 * kPixelBytes);
      if (threadIdx.x % 32 == 0) arrive(empty(turn.stage));
      turn.next(p.stages);
      const int m = tile * kRows + group * BLOCKS_M * 64 + warp % 4 * 16;
      if constexpr (End::kIsOfCodes) {
        finishPlain(sums, m);
      } else {
        if (p.window.isUneven) mends |= hasNaN(sums);
        if (p.activation.kind == kNone) finishPlain(sums, m);
        else finishActivated(sums, m);
      }
    }
    if constexpr (End::kIsOfCodes) return;
    // Behind the loop, whose registers are few.
    for (int tile = mends ? blockIdx.x : p.tiles; tile < p.tiles; tile += gridDim.x) {
      mend(tile * kRows + group * BLOCKS_M * 64 + warp % 4 * 16);
    }
  }

  __device__ __forceinline__ void multiply(float (&sums)[BLOCKS_M][BN / 8][4], uint32_t from) const {
    const uint64_t a = kStrideOfEight << 32 | from >> 4;
    uint64_t b = kStrideOfEight << 32 | uint64_t(kEightBytes >> 4) << 16 | weights() >> 4;
    int k = 0;
#pragma unroll 1
    do {
      warpgroupArrive();
#pragma unroll
      for (int i = 0; i < BLOCKS_M; ++i) wgmma64<BN, T>(sums[i], a + p.step[k] + i * 64, b, k);
      warpgroupCommit();
      b += 2 * kEightBytes >> 4;
    } while (++k < p.steps);
    warpgroupWait<0>();
  }

  // Or an infinity, in any lane.
  static __device__ __forceinline__ bool hasNaN(const float (&sums)[BLOCKS_M][BN / 8][4]) {
    float none[4] = {};
#pragma unroll
    for (int i = 0; i < BLOCKS_M; ++i)
#pragma unroll
      for (int j = 0; j < BN / 8; ++j)
#pragma unroll
        for (int q = 0; q < 4; ++q) none[q] = fmaf(sums[i][j][q], 0.0f, none[q]);
    const float all = (none[0] + none[1]) + (none[2] + none[3]);
    return __any_sync(0xFFFFFFFF, all != all);
  }

  // An infinity one column beyond a window was multiplied by zero: what this warp has stored as no number is summed again, without it.
  __device__ __forceinline__ void mend(int m) const {
#pragma unroll 1
    for (int i = threadIdx.x & 31; i < BLOCKS_M * 16 * BN; i += 32) {
      const int position = m + i / BN / 16 * 64 + i / BN % 16, column = i % BN;
      const int filter = blockIdx.y * BN + column, at = placeOfPosition(p, position);
      if (at < 0 || filter >= p.filters) continue;
      T* y = static_cast<T*>(p.y) + at + filter;
      const float before = toFloat(*y);
      if (before == before) continue;
      const float v = fmaf(sumOf(position, column), affine()[column], affine()[BN + column]);
      *y = fromFloat<T>(activate(clipOf(v, p.low, p.high), p.activation));
    }
    __syncwarp();
  }

  __device__ __forceinline__ float sumOf(int position, int column) const {
    const PlaneWindow& window = p.window;
    const T* from = static_cast<const T*>(p.planes) + static_cast<int64_t>(position) * 8;
    const T* weight = static_cast<const T*>(p.w) + (static_cast<int64_t>(blockIdx.y) * 2 * p.steps * BN + column) * 8;
    float sum = 0.0f;
    for (int plane = 0; plane < window.planes; ++plane)
      for (int row = 0; row * window.stride + plane < window.kernel[0]; ++row)
        for (int first = 0, pixel = 0; first < window.kernel[1]; first += window.columnsOfPixel, pixel += window.pixelStep) {
          const int64_t at = (static_cast<int64_t>(plane) * window.pitch + row * p.columns.size + pixel) * 8;
          const int slots = min(window.columnsOfPixel, window.kernel[1] - first) * window.channels;
          for (int slot = 0; slot < slots; ++slot) sum = fmaf(toFloat(from[at + slot]), toFloat(weight[slot]), sum);
          weight += BN * 8;
        }
    return sum;
  }

  __device__ __forceinline__ void finishPlain(const float (&sums)[BLOCKS_M][BN / 8][4], int m) const {
#pragma unroll
    for (int i = 0; i < BLOCKS_M; ++i) {
#pragma unroll
      for (int piece = 0; piece < End::kPieces; ++piece) {
        typename End::Piece v;
        take(v, sums[i], piece);
        End::template put<false>(p, v, piece, affine(), own());
      }
      End::store(p, m + i * 64, blockIdx.y * BN, own());
    }
  }

  // One copy of the formulas for all pieces: they are long. Registers have no run-time index.
  __device__ __forceinline__ void finishActivated(const float (&sums)[BLOCKS_M][BN / 8][4], int m) const {
#pragma unroll 1
    for (int index = 0; index < BLOCKS_M * End::kPieces; ++index) {
      const int piece = index % End::kPieces;
      typename End::Piece v;
#pragma unroll
      for (int each = 0; each < BLOCKS_M * End::kPieces; ++each) {
        if (each == index) take(v, sums[each / End::kPieces], each % End::kPieces);
      }
      End::template put<true>(p, v, piece, affine(), own());
      if (piece == End::kPieces - 1) End::store(p, m + index / End::kPieces * 64, blockIdx.y * BN, own());
    }
  }

  static __device__ __forceinline__ void take(typename End::Piece& v, const float (&sums)[BN / 8][4], int piece) {
#pragma unroll
    for (int j = 0; j < End::kBlocks; ++j)
#pragma unroll
      for (int q = 0; q < 4; ++q) v[j][q] = sums[piece * End::kBlocks + j][q];
  }
};
