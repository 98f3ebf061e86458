// A 3x3 convolution of halves, channels first, padded by one pixel: on CUDA cores.
#pragma once
#include <cuda_fp16.h>
#include "params.generated.cuh"

constexpr int kConvThreads = 256;
constexpr int kDeep = 8;  // Channels in shared memory at a time.

// Rung 1: a thread an output, everything from global memory.
extern "C" __global__ void __launch_bounds__(kConvThreads) ladder_conv_direct(const __grid_constant__ LadderConvParams p) {
  beginKernel();
  const int k = blockIdx.y, n = blockIdx.z, pixels = p.height * p.width;
  const int at = blockIdx.x * kConvThreads + threadIdx.x;
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

// Of a block's outputs: whole rows, so that pixels of one row lie next to each other. A thread has one of their pixels.
struct RowsOfBlock {
  const int rows, top, row, column;
  const int pitch;  // Of a row with a pixel of padding at either end.
  __device__ __forceinline__ RowsOfBlock(const LadderConvParams& p)
      : rows(kConvThreads / p.width), top(blockIdx.x * rows), row(threadIdx.x / p.width), column(threadIdx.x % p.width), pitch(p.width + 2) {}
  __device__ __forceinline__ int haloPixels() const { return (rows + 2) * pitch; }
  __device__ __forceinline__ bool hasOutput(int height) const { return row < rows && top + row < height; }
};
// For any width up to 256: most at 1 and at 256.
constexpr int kHaloPixels = 774;

// Rung 2: pixel by pixel.
__device__ __forceinline__ void stageSingly(float* image, const LadderConvParams& p, const RowsOfBlock& block, const __half* x) {
  const int halo = block.haloPixels();
  for (int i = threadIdx.x; i < kDeep * halo; i += kConvThreads) {
    const int c = i / halo, pixel = i % halo;
    const int r = block.top + pixel / block.pitch - 1, q = pixel % block.pitch - 1;
    const bool isThere = r >= 0 && r < p.height && q >= 0 && q < p.width;
    image[i] = isThere ? __half2float(x[(static_cast<int64_t>(c) * p.height + r) * p.width + q]) : 0;
  }
}

// Rung 3: eight pixels at a time. The padding at the ends of rows stays zero.
__device__ __forceinline__ void stageVectors(float* image, const LadderConvParams& p, const RowsOfBlock& block, const __half* x) {
  const int vectors = p.width / 8, all = (block.rows + 2) * vectors;
  for (int i = threadIdx.x; i < kDeep * all; i += kConvThreads) {
    const int c = i / all, row = i % all / vectors, q = i % vectors * 8, r = block.top + row - 1;
    uint4 words = make_uint4(0, 0, 0, 0);
    if (r >= 0 && r < p.height) words = *reinterpret_cast<const uint4*>(x + (static_cast<int64_t>(c) * p.height + r) * p.width + q);
    __half pixels[8];
    memcpy(pixels, &words, 16);
    float* to = image + c * block.haloPixels() + row * block.pitch + 1 + q;
#pragma unroll
    for (int e = 0; e < 8; e++) to[e] = __half2float(pixels[e]);
  }
}

// Rungs 2 to 4: a block stages its pixels in shared memory, and has OUTPUTS filters of each.
template <bool VECTORS, int OUTPUTS> __device__ __forceinline__ void convShared(const LadderConvParams& p) {
  __shared__ float image[kDeep * kHaloPixels];
  __shared__ float taps[OUTPUTS][kDeep][9];
  const RowsOfBlock block(p);
  const int halo = block.haloPixels(), pixels = p.height * p.width;
  const int k = blockIdx.y * OUTPUTS, n = blockIdx.z;
  if (VECTORS) {
    for (int i = threadIdx.x; i < kDeep * halo; i += kConvThreads) image[i] = 0;
  }
  float sums[OUTPUTS] = {};
  for (int from = 0; from < p.channels; from += kDeep) {
    __syncthreads();
    const __half* x = static_cast<const __half*>(p.x) + static_cast<int64_t>(n * p.channels + from) * pixels;
    if (VECTORS) stageVectors(image, p, block, x);
    else stageSingly(image, p, block, x);
    for (int i = threadIdx.x; i < OUTPUTS * kDeep * 9; i += kConvThreads) {
      const int o = i / (kDeep * 9), rest = i % (kDeep * 9);
      const int64_t at = (static_cast<int64_t>(k + o) * p.channels + from) * 9 + rest;
      taps[o][rest / 9][rest % 9] = __half2float(static_cast<const __half*>(p.w)[at]);
    }
    __syncthreads();
    if (!block.hasOutput(p.height)) continue;
    for (int c = 0; c < kDeep; c++) {
      const float* window = image + c * halo + block.row * block.pitch + block.column;
#pragma unroll
      for (int tap = 0; tap < 9; tap++) {
        const float pixel = window[tap / 3 * block.pitch + tap % 3];
#pragma unroll
        for (int o = 0; o < OUTPUTS; o++) sums[o] += pixel * taps[o][c][tap];
      }
    }
  }
  if (!block.hasOutput(p.height)) return;
  const int64_t at = static_cast<int64_t>(n * p.filters + k) * pixels + (block.top + block.row) * p.width + block.column;
#pragma unroll
  for (int o = 0; o < OUTPUTS; o++) static_cast<__half*>(p.y)[at + static_cast<int64_t>(o) * pixels] = __float2half_rn(sums[o]);
}

extern "C" __global__ void __launch_bounds__(kConvThreads) ladder_conv_shared(const __grid_constant__ LadderConvParams p) {
  beginKernel();
  convShared<false, 1>(p);
}

extern "C" __global__ void __launch_bounds__(kConvThreads) ladder_conv_vectors(const __grid_constant__ LadderConvParams p) {
  beginKernel();
  convShared<true, 1>(p);
}

extern "C" __global__ void __launch_bounds__(kConvThreads) ladder_conv_outputs(const __grid_constant__ LadderConvParams p) {
  beginKernel();
  convShared<true, 8>(p);
}
