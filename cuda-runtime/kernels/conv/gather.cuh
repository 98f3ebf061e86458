// Products whose channels do not come in aligned pieces: few of them (RGB), an odd number, or each a plane of its own.
// Elements are read one at a time, through registers, and converted on the way.
#pragma once
#include "implicit.cuh"

// A tap in p.table: depth, height and width in bits 20…29, 10…19 and 0…9, dilation counted in; -1 beyond the last one.
struct Tap {
  int depth, height, width;

  __device__ __forceinline__ explicit Tap(int packed)
      : depth(packed >> 20), height(packed >> 10 & 1023), width(packed & 1023) {}
};

template <typename TO, typename FROM> __device__ __forceinline__ uint32_t bitsOf(FROM x) {
  if constexpr (sizeof(TO) == 4) {
    return __float_as_uint(toFloat(x));
  } else {
    TO half;
    if constexpr (sizeof(FROM) == sizeof(TO)) half = x;
    else half = fromFloat<TO>(toFloat(x));
    return reinterpret_cast<const uint16_t&>(half);
  }
}

// What one thread copies of x: its chunk of the sums, for a few rows.
template <class T, typename FROM> struct GatheredCopies {
  const FROM* x;
  int base[T::ROWS_A], depth[T::ROWS_A], height[T::ROWS_A], width[T::ROWS_A];
  uint4 held[T::ROWS_A];
  int chunk;
  uint32_t to;

  __device__ __forceinline__ GatheredCopies(const ConvParams& p, int firstRow, int firstChunk, int group) {
    x = static_cast<const FROM*>(p.x) + static_cast<int64_t>(group) * p.xGroup;
    const int row = threadIdx.x / T::CHUNKS;
    to = swizzled<T::CHUNKS>(row, threadIdx.x % T::CHUNKS);
    chunk = firstChunk + threadIdx.x % T::CHUNKS;
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
  }

  __device__ __forceinline__ void load(const ConvParams& p) {
    int2 taps[T::PER_CHUNK];
#pragma unroll
    for (int j = 0; j < T::PER_CHUNK; ++j) {
      taps[j] = chunk < p.chunks ? __ldg(p.table + chunk * T::PER_CHUNK + j) : make_int2(0, -1);
    }
#pragma unroll
    for (int i = 0; i < T::ROWS_A; ++i) {
      uint32_t bits[T::PER_CHUNK];
#pragma unroll
      for (int j = 0; j < T::PER_CHUNK; ++j) {
        const Tap tap(taps[j].y);
        const bool isInside = taps[j].y >= 0 &&
                              static_cast<unsigned>(depth[i] + tap.depth) < static_cast<unsigned>(p.input[0]) &&
                              static_cast<unsigned>(height[i] + tap.height) < static_cast<unsigned>(p.input[1]) &&
                              static_cast<unsigned>(width[i] + tap.width) < static_cast<unsigned>(p.input[2]);
        bits[j] = isInside ? bitsOf<typename T::Element>(x[base[i] + taps[j].x]) : 0;
      }
      if constexpr (T::PER_CHUNK == 4) {
        held[i] = make_uint4(bits[0], bits[1], bits[2], bits[3]);
      } else {
        held[i] = make_uint4(bits[0] | bits[1] << 16, bits[2] | bits[3] << 16, bits[4] | bits[5] << 16, bits[6] | bits[7] << 16);
      }
    }
    chunk += T::CHUNKS;
  }

  __device__ __forceinline__ void put(uint32_t stage) const {
#pragma unroll
    for (int i = 0; i < T::ROWS_A; ++i) storeShared16(stage + to + i * T::ROW_STEP * T::PITCH, held[i]);
  }
};

// Two stages: what comes next is read into registers while the sums of the present one are made.
template <class T, typename FROM> __device__ __forceinline__ void gatheredProduct(const ConvParams& p) {
  static_assert(T::STAGES == 2, "");
  extern __shared__ __align__(128) char shared[];
  const uint32_t base = sharedAddress(shared);
  const int warp = threadIdx.x / 32;
  const int group = blockIdx.y, split = blockIdx.z;
  const int tileM = blockIdx.x / p.tilesN, tileN = blockIdx.x % p.tilesN;
  const int firstChunk = split * p.chunksPerSplit;
  const int lastChunk = min(p.chunks, firstChunk + p.chunksPerSplit);
  const int steps = (lastChunk - firstChunk + T::CHUNKS - 1) / T::CHUNKS;

  GatheredCopies<T, FROM> fromX(p, tileM * T::BM, firstChunk, group);
  WeightCopies<T> fromW(p, tileN * T::BN, firstChunk, group);
  WarpSums<T> sums(warp);
  const auto fetch = [&](uint32_t stage) {
    fromW.load(p, stage + T::BM * T::PITCH);
    fromW.advance();
    cpAsyncCommit();
    fromX.load(p);
  };
  if (steps > 0) {
    fetch(base);
    fromX.put(base);
  }
#pragma unroll 1
  for (int step = 0; step < steps; ++step) {
    const uint32_t stage = base + step % 2 * T::STAGE_BYTES;
    const uint32_t next = base + (step + 1) % 2 * T::STAGE_BYTES;
    cpAsyncWait<0>();
    __syncthreads();
    if (step + 1 < steps) fetch(next);
    sums.add(stage, stage + T::BM * T::PITCH);
    if (step + 1 < steps) fromX.put(next);
  }
  __syncthreads();
  storeSums<T>(p, sums, shared, warp, tileM * T::BM + warp / T::WARPS_N * T::WM, tileN * T::BN + warp % T::WARPS_N * T::WN,
               split, group);
}
