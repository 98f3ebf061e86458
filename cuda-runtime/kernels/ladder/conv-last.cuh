// The same convolution with channels last: x [N, H, W, C], w [K, 3, 3, C], y [N, H, W, K]. On CUDA cores, then on Tensor Cores.
#pragma once
#include "conv.cuh"
#include "product.cuh"

constexpr int kDeepLast = 16;  // Channels at a time: 32 bytes, which memory moves at once.
constexpr int kFilters = 8;    // Of a thread: 16 bytes of its result.

// Rung 5: whatever the width, sixteen bytes of a pixel are channels that are needed together.
extern "C" __global__ void __launch_bounds__(kConvThreads) ladder_conv_last(const __grid_constant__ LadderConvParams p) {
  beginKernel();
  __shared__ uint4 image[kDeepLast / 8][kHaloPixels];
  __shared__ float taps[9][kDeepLast][kFilters];
  const RowsOfBlock block(p);
  const int halo = block.haloPixels(), k = blockIdx.y * kFilters, n = blockIdx.z;
  float sums[kFilters] = {};
  for (int from = 0; from < p.channels; from += kDeepLast) {
    __syncthreads();
    for (int i = threadIdx.x; i < halo * (kDeepLast / 8); i += kConvThreads) {
      const int part = i % 2, pixel = i / 2;
      const int r = block.top + pixel / block.pitch - 1, q = pixel % block.pitch - 1;
      const bool isThere = r >= 0 && r < p.height && q >= 0 && q < p.width;
      const int64_t place = ((static_cast<int64_t>(n) * p.height + r) * p.width + q) * p.channels + from + part * 8;
      image[part][pixel] = isThere ? *reinterpret_cast<const uint4*>(static_cast<const __half*>(p.x) + place) : make_uint4(0, 0, 0, 0);
    }
    for (int i = threadIdx.x; i < kFilters * 9 * kDeepLast; i += kConvThreads) {
      const int c = i % kDeepLast, tap = i / kDeepLast % 9, o = i / (kDeepLast * 9);
      const int64_t at = (static_cast<int64_t>(k + o) * 9 + tap) * p.channels + from + c;
      taps[tap][c][o] = __half2float(static_cast<const __half*>(p.w)[at]);
    }
    __syncthreads();
    if (!block.hasOutput(p.height)) continue;
    for (int tap = 0; tap < 9; tap++) {
#pragma unroll
      for (int part = 0; part < kDeepLast / 8; part++) {
        const uint4 words = image[part][(block.row + tap / 3) * block.pitch + block.column + tap % 3];
        __half channels[8];
        memcpy(channels, &words, 16);
#pragma unroll
        for (int c = 0; c < 8; c++) {
#pragma unroll
          for (int o = 0; o < kFilters; o++) sums[o] += __half2float(channels[c]) * taps[tap][part * 8 + c][o];
        }
      }
    }
  }
  if (!block.hasOutput(p.height)) return;
  const int64_t pixel = (static_cast<int64_t>(n) * p.height + block.top + block.row) * p.width + block.column;
  *reinterpret_cast<uint4*>(static_cast<__half*>(p.y) + pixel * p.filters + k) =
      make_uint4(packHalves(sums[0], sums[1]), packHalves(sums[2], sums[3]), packHalves(sums[4], sums[5]), packHalves(sums[6], sums[7]));
}

// Rung 6: a product of [pixels, 9 C] by [9 C, filters], whose left side nobody writes: a block gathers 64 pixels of one tap, 64
// channels at a time, and multiplies them with 64 filters.
extern "C" __global__ void __launch_bounds__(kProductThreads) ladder_conv_tensor(const __grid_constant__ LadderConvParams p) {
  beginKernel();
  __shared__ Tile pixels, filters;
  constexpr int kRows = kTile * (kTile / 8) / kProductThreads;  // That a thread gathers, eight channels of each.
  const int first = blockIdx.x * kTile, k = blockIdx.y * kTile, all = p.batch * p.height * p.width;
  const int part = threadIdx.x % 8 * 8;
  int rows[kRows], columns[kRows];
#pragma unroll
  for (int i = 0; i < kRows; i++) {
    const int pixel = first + threadIdx.x / 8 + i * (kProductThreads / 8);
    // Behind the last pixel a row that no tap reaches.
    rows[i] = pixel < all ? pixel / p.width % p.height : -9;
    columns[i] = pixel % p.width;
  }
  Sums sums = {};
  for (int tap = 0; tap < 9; tap++) {
    for (int from = 0; from < p.channels; from += kTile) {
      __syncthreads();
#pragma unroll
      for (int i = 0; i < kRows; i++) {
        const int row = threadIdx.x / 8 + i * (kProductThreads / 8);
        const int r = rows[i] + tap / 3 - 1, q = columns[i] + tap % 3 - 1;
        const bool isThere = r >= 0 && r < p.height && q >= 0 && q < p.width;
        const int64_t pixel = first + row + (tap / 3 - 1) * p.width + tap % 3 - 1;
        const __half* x = static_cast<const __half*>(p.x) + pixel * p.channels + from + part;
        *reinterpret_cast<uint4*>(&pixels.at[row][part]) = isThere ? *reinterpret_cast<const uint4*>(x) : make_uint4(0, 0, 0, 0);
      }
      stageTile(filters, static_cast<const __half*>(p.w) + (static_cast<int64_t>(k) * 9 + tap) * p.channels + from, 9 * p.channels);
      __syncthreads();
#pragma unroll
      for (int depth = 0; depth < kTile; depth += 16) {
        uint32_t a[4];
        loadLeft(a, pixels, depth);
        multiplyByRows(sums, a, filters, depth);
      }
    }
  }
#pragma unroll
  for (int half = 0; half < 2; half++) {
    const int pixel = first + rowOf(half);
    if (pixel < all) storeRow(static_cast<__half*>(p.y) + static_cast<int64_t>(pixel) * p.filters + k, sums, half, 1);
  }
}
