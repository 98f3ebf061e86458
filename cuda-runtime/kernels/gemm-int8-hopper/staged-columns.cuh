// Constants of a tile's columns in shared memory: each thread of a warpgroup fetches its own before the products, which hide
// how long that takes, and puts them there behind them.
#pragma once
#include "../common/barrier.cuh"
#include "../common/load-ahead.cuh"
#include "../gemm-int8/code-epilogue.cuh"

template <int BN>
struct StagedColumns {
  static constexpr int kBytes = 3 * BN * 4;
  const float* scale;
  const float* bias;
  const int* addend;

  __device__ __forceinline__ StagedColumns(const unsigned char* at)
      : scale(reinterpret_cast<const float*>(at)), bias(scale + BN), addend(reinterpret_cast<const int*>(bias + BN)) {}

  __device__ __forceinline__ CodeColumns of32(int first) const {
    CodeColumns of;
#pragma unroll
    for (int j = 0; j < 4; ++j) {
      const int at = first + 8 * j + (threadIdx.x & 3) * 2;
      const float2 scales = *reinterpret_cast<const float2*>(scale + at);
      const float2 biases = *reinterpret_cast<const float2*>(bias + at);
      const int2 addends = *reinterpret_cast<const int2*>(addend + at);
      of.scale[2 * j] = scales.x;
      of.scale[2 * j + 1] = scales.y;
      of.bias[2 * j] = biases.x;
      of.bias[2 * j + 1] = biases.y;
      of.addend[2 * j] = addends.x;
      of.addend[2 * j + 1] = addends.y;
      of.zeroB[2 * j] = of.zeroB[2 * j + 1] = 0;
    }
    return of;
  }
};

template <int BN>
struct FetchedColumns {
  static constexpr int kEach = (BN + 127) / 128;
  float scale[kEach];
  float bias[kEach];
  int addend[kEach];

  __device__ __forceinline__ FetchedColumns(const CodeProductParams& p, int n0) {
#pragma unroll
    for (int i = 0; i < kEach; ++i) {
      const int n = n0 + columnOf(i);
      const bool isInside = columnOf(i) < BN && n < p.n;
      const bool isScaled = isInside && p.scale != nullptr;
      const uint32_t own = loadAhead4(p.scale + n * p.scaleStep, isScaled);
      scale[i] = isScaled ? __uint_as_float(own) : 1.0f;
      bias[i] = __uint_as_float(loadAhead4(p.bias + n, isInside && p.bias != nullptr));
      addend[i] = static_cast<int>(loadAhead4(p.addend + n, isInside && p.addend != nullptr));
    }
  }

  // The group has stored the tile before, and sees these.
  __device__ __forceinline__ void put(unsigned char* at, int group) const {
    float* scales = reinterpret_cast<float*>(at);
    syncGroup<128>(group);
#pragma unroll
    for (int i = 0; i < kEach; ++i) {
      const int column = columnOf(i);
      if (column >= BN) continue;
      scales[column] = scale[i];
      scales[BN + column] = bias[i];
      reinterpret_cast<int*>(scales + 2 * BN)[column] = addend[i];
    }
    syncGroup<128>(group);
  }

 private:
  static __device__ __forceinline__ int columnOf(int i) { return static_cast<int>(threadIdx.x) % 128 + 128 * i; }
};
