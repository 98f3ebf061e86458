// Windows along the rows of an image of few channels, side by side, for a convolution of codes whose taps along a row become channels.
// Floats are quantized on the way. A block has one row.
// hot: code_rows
#include "../common/launch.cuh"
#include "../common/storage.cuh"
#include "params.generated.cuh"

__device__ __forceinline__ int codeAt(const CodeRowsParams& p, int64_t at) {
  if (p.type == kInt8 || p.type == kUint8) return static_cast<const uint8_t*>(p.x)[at];
  const float low = p.isSigned ? -128.0f : 0.0f;
  // As QuantizeLinear: to the nearest whole number, ties to even, then the zero point, then into the type's range.
  const float code = rintf(__fdiv_rn(loadFloat(p.x, at, p.type), p.scale)) + static_cast<float>(p.zero);
  return static_cast<int>(fminf(fmaxf(code, low), low + 255.0f));
}

extern "C" __global__ void __launch_bounds__(256) code_rows(const __grid_constant__ CodeRowsParams p) {
  extern __shared__ __align__(16) unsigned char row[];
  beginKernel();
  const int image = blockIdx.x / p.height, y = blockIdx.x - image * p.height;
  const int64_t from = static_cast<int64_t>(image) * p.xN + static_cast<int64_t>(y) * p.xH;
  // A pixel's channels are neighbours; as many pixels as the last window may reach, and a word more.
  const int pixels = (p.positions - 1) * p.stride + (p.chunks * 16 + 4 + p.channels - 1) / p.channels;
  for (int c = 0; c < p.channels; ++c) {
    for (int pixel = threadIdx.x; pixel < pixels; pixel += 256) {
      const int x = pixel - p.pad;
      const bool isInside = x >= 0 && x < p.width;
      const int code = isInside ? codeAt(p, from + static_cast<int64_t>(c) * p.xC + static_cast<int64_t>(x) * p.xW) : p.zero;
      row[pixel * p.channels + c] = static_cast<unsigned char>(code);
    }
  }
  __syncthreads();
  uint4* to = static_cast<uint4*>(p.to) + static_cast<int64_t>(blockIdx.x) * p.positions * p.chunks;
  for (int at = threadIdx.x; at < p.positions * p.chunks; at += 256) {
    const int position = at / p.chunks;
    const int first = position * p.stride * p.channels + (at - position * p.chunks) * 16;
    const unsigned* words = reinterpret_cast<const unsigned*>(row) + first / 4;
    const int shift = first % 4 * 8;
    unsigned all[4];
#pragma unroll
    for (int i = 0; i < 4; ++i) all[i] = __funnelshift_r(words[i], words[i + 1], shift);
    to[at] = make_uint4(all[0], all[1], all[2], all[3]);
  }
}
