// Implicit product: x is read where it lies, a piece of 16 bytes of neighbouring channels at a time, by asynchronous
// copies that fill what lies outside of it (padding, missing channels, missing rows) with zeros.
#pragma once
#include <climits>

#include "store.cuh"

// What one thread copies of x: its chunk of the sums, for a few rows.
template <class T, int GRAIN> struct ActivationCopies {
  const char* x;
  int base[T::ROWS_A], depth[T::ROWS_A], height[T::ROWS_A], width[T::ROWS_A];
  int chunk;                 // within the tap
  int tapDepth, tapHeight, tapWidth;
  uint32_t to;               // within a stage

  __device__ __forceinline__ ActivationCopies(const ConvParams& p, int firstRow, int firstChunk, int group) {
    x = static_cast<const char*>(p.x) + static_cast<int64_t>(group) * p.xGroup * sizeof(typename T::Element);
    const int row = threadIdx.x / T::CHUNKS;
    to = swizzled<T::CHUNKS>(row, threadIdx.x % T::CHUNKS);
#pragma unroll
    for (int i = 0; i < T::ROWS_A; ++i) {
      const int m = firstRow + row + i * T::ROW_STEP;
      const Position at = positionOf(p, m < p.rows ? m : 0);
      depth[i] = at.depth * p.stride[0] - p.pad[0];
      height[i] = at.height * p.stride[1] - p.pad[1];
      width[i] = at.width * p.stride[2] - p.pad[2];
      base[i] = at.batch * p.xBatch + depth[i] * p.xAxes[0] + height[i] * p.xAxes[1] + width[i] * p.xAxes[2];
      if (m >= p.rows) depth[i] = INT_MIN / 2;  // outside, whatever the tap
    }
    chunk = firstChunk + threadIdx.x % T::CHUNKS;
    const int tap = chunk / p.chunksPerTap;
    chunk -= tap * p.chunksPerTap;
    tapWidth = tap % p.kernel[2];
    tapHeight = tap / p.kernel[2] % p.kernel[1];
    tapDepth = tap / p.kernel[2] / p.kernel[1];
  }

  __device__ __forceinline__ void load(const ConvParams& p, uint32_t stage) const {
    const int channel = chunk * T::PER_CHUNK;
    const int dd = tapDepth * p.dilation[0], dh = tapHeight * p.dilation[1], dw = tapWidth * p.dilation[2];
    const int offset = dd * p.xAxes[0] + dh * p.xAxes[1] + dw * p.xAxes[2] + channel;
    const int bytes = tapDepth < p.kernel[0] ? min(16, (p.channels - channel) * static_cast<int>(sizeof(typename T::Element))) : 0;
#pragma unroll
    for (int i = 0; i < T::ROWS_A; ++i) {
      const bool isInside = static_cast<unsigned>(depth[i] + dd) < static_cast<unsigned>(p.input[0]) &&
                            static_cast<unsigned>(height[i] + dh) < static_cast<unsigned>(p.input[1]) &&
                            static_cast<unsigned>(width[i] + dw) < static_cast<unsigned>(p.input[2]);
      // Where nothing is to be copied, the address may be one that nothing lies at: it is not read.
      const char* from = x + static_cast<int64_t>(base[i] + offset) * static_cast<int>(sizeof(typename T::Element));
      const int count = isInside ? bytes : 0;
      const uint32_t at = stage + to + i * T::ROW_STEP * T::PITCH;
#pragma unroll
      for (int piece = 0; piece < 16; piece += GRAIN) {
        cpAsync<GRAIN>(at + piece, from + piece, GRAIN == 16 ? count : max(0, min(GRAIN, count - piece)));
      }
    }
  }

  __device__ __forceinline__ void advance(const ConvParams& p) {
    chunk += T::CHUNKS;
    while (chunk >= p.chunksPerTap && tapDepth < p.kernel[0]) {
      chunk -= p.chunksPerTap;
      if (++tapWidth == p.kernel[2]) {
        tapWidth = 0;
        if (++tapHeight == p.kernel[1]) {
          tapHeight = 0;
          ++tapDepth;
        }
      }
    }
  }
};

// What one thread copies of w: the same chunk of a few filters.
template <class T> struct WeightCopies {
  const char* w;
  int64_t step;  // bytes between the thread's filters
  int chunk, filter;
  uint32_t to;

  __device__ __forceinline__ WeightCopies(const ConvParams& p, int firstFilter, int firstChunk, int group) {
    const int row = threadIdx.x / T::CHUNKS;
    to = swizzled<T::CHUNKS>(row, threadIdx.x % T::CHUNKS);
    chunk = firstChunk + threadIdx.x % T::CHUNKS;
    filter = firstFilter + row;
    step = static_cast<int64_t>(T::ROW_STEP) * p.chunks * 16;
    w = static_cast<const char*>(p.w) + (static_cast<int64_t>(group * p.filters + filter) * p.chunks + chunk) * 16;
  }

  __device__ __forceinline__ void load(const ConvParams& p, uint32_t stage) const {
#pragma unroll
    for (int i = 0; i < T::ROWS_B; ++i) {
      const bool isInside = filter + i * T::ROW_STEP < p.filters && chunk < p.chunks;
      cpAsync<16>(stage + to + i * T::ROW_STEP * T::PITCH, w + i * step, isInside ? 16 : 0);
    }
  }

  __device__ __forceinline__ void advance() {
    chunk += T::CHUNKS;
    w += 16 * T::CHUNKS;
  }
};

template <class T, int GRAIN> __device__ __forceinline__ void implicitProduct(const ConvParams& p) {
  extern __shared__ __align__(128) char shared[];
  const uint32_t base = sharedAddress(shared);
  const int warp = threadIdx.x / 32;
  const int group = blockIdx.y, split = blockIdx.z;
  const int tileM = blockIdx.x / p.tilesN, tileN = blockIdx.x % p.tilesN;
  const int firstChunk = split * p.chunksPerSplit;
  const int lastChunk = min(p.chunks, firstChunk + p.chunksPerSplit);
  const int steps = (lastChunk - firstChunk + T::CHUNKS - 1) / T::CHUNKS;

  ActivationCopies<T, GRAIN> fromX(p, tileM * T::BM, firstChunk, group);
  WeightCopies<T> fromW(p, tileN * T::BN, firstChunk, group);
  const auto copyStep = [&](int step) {
    if (step < steps) {
      const uint32_t stage = base + step % T::STAGES * T::STAGE_BYTES;
      fromX.load(p, stage);
      fromW.load(p, stage + T::BM * T::PITCH);
      fromX.advance(p);
      fromW.advance();
    }
    cpAsyncCommit();
  };
#pragma unroll
  for (int step = 0; step < T::STAGES - 1; ++step) copyStep(step);

  WarpSums<T> sums(warp);
#pragma unroll 1
  for (int step = 0; step < steps; ++step) {
    cpAsyncWait<T::STAGES - 2>();
    __syncthreads();
    copyStep(step + T::STAGES - 1);
    const uint32_t stage = base + step % T::STAGES * T::STAGE_BYTES;
    sums.add(stage, stage + T::BM * T::PITCH);
  }
  cpAsyncWait<0>();
  __syncthreads();
  storeSums<T>(p, sums, shared, warp, tileM * T::BM + warp / T::WARPS_N * T::WM, tileN * T::BN + warp % T::WARPS_N * T::WN,
               split, group);
}
