// A 3x3 convolution of halves, padded by one pixel.
#pragma once
#include <cuda_fp16.h>
#include "params.generated.cuh"

constexpr int kSide = 16;        // Of a block's square of outputs.
constexpr int kHalo = kSide + 2;
constexpr int kDeep = 8;         // Channels in shared memory at a time.

// Rung 1: a thread an output, everything from global memory.
extern "C" __global__ void __launch_bounds__(256) ladder_conv_direct(const __grid_constant__ LadderConvParams p) {
  beginKernel();
  const int k = blockIdx.y, n = blockIdx.z, pixels = p.height * p.width;
  const int at = blockIdx.x * 256 + threadIdx.x;
  if (at >= pixels) return;
  const int row = at / p.width, column = at % p.width;
  float sum = 0;
  for (int c = 0; c < p.channels; c++) {
    const __half* x = static_cast<const __half*>(p.x) + static_cast<int64_t>(n * p.channels + c) * pixels;
    const __half* w = static_cast<const __half*>(p.w) + static_cast<int64_t>(k * p.channels + c) * 9;
    for (int tap = 0; tap < 9; tap++) {
      const int r = row + tap / 3 - 1, q = column + tap % 3 - 1;
      if (r >= 0 && r < p.height && q >= 0 && q < p.width)
        sum += __half2float(x[r * p.width + q]) * __half2float(w[tap]);
    }
  }
  static_cast<__half*>(p.y)[static_cast<int64_t>(n * p.filters + k) * pixels + at] = __float2half_rn(sum);
}

// Rungs 2 and 3: a block has a square of outputs, of OUTPUTS filters a thread, and stages its pixels in shared memory.
template <int OUTPUTS> __device__ __forceinline__ void convShared(const LadderConvParams& p) {
  __shared__ float image[kDeep][kHalo][kHalo];
  __shared__ float taps[OUTPUTS][kDeep][9];
  const int across = (p.width + kSide - 1) / kSide, pixels = p.height * p.width;
  const int top = blockIdx.x / across * kSide, left = blockIdx.x % across * kSide;
  const int k = blockIdx.y * OUTPUTS, n = blockIdx.z;
  const int row = threadIdx.x / kSide, column = threadIdx.x % kSide;
  float sums[OUTPUTS] = {};
  for (int from = 0; from < p.channels; from += kDeep) {
    for (int i = threadIdx.x; i < kDeep * kHalo * kHalo; i += 256) {
      const int c = i / (kHalo * kHalo), r = i / kHalo % kHalo, q = i % kHalo;
      const int y = top + r - 1, x = left + q - 1;
      const bool isThere = y >= 0 && y < p.height && x >= 0 && x < p.width;
      const int64_t place = static_cast<int64_t>(n * p.channels + from + c) * pixels + y * p.width + x;
      image[c][r][q] = isThere ? __half2float(static_cast<const __half*>(p.x)[place]) : 0;
    }
    for (int i = threadIdx.x; i < OUTPUTS * kDeep * 9; i += 256) {
      const int o = i / (kDeep * 9), rest = i % (kDeep * 9);
      taps[o][rest / 9][rest % 9] = __half2float(static_cast<const __half*>(p.w)[static_cast<int64_t>((k + o) * p.channels + from) * 9 + rest]);
    }
    __syncthreads();
    for (int c = 0; c < kDeep; c++) {
#pragma unroll
      for (int tap = 0; tap < 9; tap++) {
        const float pixel = image[c][row + tap / 3][column + tap % 3];
#pragma unroll
        for (int o = 0; o < OUTPUTS; o++) sums[o] += pixel * taps[o][c][tap];
      }
    }
    __syncthreads();
  }
  if (top + row >= p.height || left + column >= p.width) return;
  const int64_t at = static_cast<int64_t>(n * p.filters + k) * pixels + (top + row) * p.width + left + column;
#pragma unroll
  for (int o = 0; o < OUTPUTS; o++) static_cast<__half*>(p.y)[at + static_cast<int64_t>(o) * pixels] = __float2half_rn(sums[o]);
}

extern "C" __global__ void __launch_bounds__(256) ladder_conv_shared(const __grid_constant__ LadderConvParams p) {
  beginKernel();
  convShared<1>(p);
}

extern "C" __global__ void __launch_bounds__(256) ladder_conv_outputs(const __grid_constant__ LadderConvParams p) {
  beginKernel();
  convShared<8>(p);
}
