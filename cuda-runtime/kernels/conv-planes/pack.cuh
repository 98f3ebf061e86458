// Before a product over planes: the image as planes, and the weights in the order of the steps.
#pragma once
#include "../common/codes.cuh"
#include "../common/divisor.cuh"
#include "../common/launch.cuh"
#include "../common/storage.cuh"
#include "params.generated.cuh"

constexpr int kPackThreads = 128;
// Pixels of a thread, a block's width apart: their loads are in flight together, and neighbouring lanes store neighbours.
constexpr int kPixels = 2;

__device__ __forceinline__ uint32_t halvesOf(float low, float high, int type) {
  if (type == kFloat16) {
    const __half2 pair = __floats2half2_rn(low, high);
    return reinterpret_cast<const uint32_t&>(pair);
  }
  const __nv_bfloat162 pair = __floats2bfloat162_rn(low, high);
  return reinterpret_cast<const uint32_t&>(pair);
}

// As they are.
struct Floats {
  template <typename From> static __device__ __forceinline__ float of(const PackedCodes&, From value) { return toFloat(value); }
};
// What codes are above their zero point; floats are quantized first, rounded as division rounds and to even.
struct Differences {
  static __device__ __forceinline__ float of(const PackedCodes& codes, float value) {
    const float quotient = quotientOf(fminf(fmaxf(value, codes.to.low), codes.to.high), codes.to);
    return __fadd_rn(__fadd_rn(quotient, 12582912.0f), -12582912.0f);
  }
  static __device__ __forceinline__ float of(const PackedCodes& codes, uint8_t value) { return static_cast<float>(value) - codes.zero; }
  static __device__ __forceinline__ float of(const PackedCodes& codes, int8_t value) { return static_cast<float>(value) - codes.zero; }
};

template <typename From, typename As = Floats> __device__ __forceinline__ void packPlanes(const PackPlanesParams& p) {
  beginKernelEarly();
  const unsigned first = blockIdx.x * (kPackThreads * kPixels) + threadIdx.x;
  const int phase = blockIdx.y;
  float v[kPixels][8];
#pragma unroll
  for (int i = 0; i < kPixels; ++i) {
    const unsigned at = first + i * kPackThreads;
    const unsigned line = quotientOf(at, p.columns), image = quotientOf(line, p.rows);
    const int y = static_cast<int>(line - image * p.rows.size) * p.stride[0] + phase - p.pad[0];
    const int x = static_cast<int>(at - line * p.columns.size) * p.stride[1] - p.pad[1];
    const bool hasRow = at < static_cast<unsigned>(p.pixels) && y >= 0 && y < p.size[0];
    const From* from = static_cast<const From*>(p.x) + static_cast<int64_t>(image) * p.xBatch + static_cast<int64_t>(y) * p.xAxes[0] +
                       static_cast<int64_t>(x) * p.xAxes[1];
#pragma unroll
    for (int slot = 0; slot < 8; ++slot) {
      const int column = x + p.slotColumn[slot];
      const bool isThere = slot < p.slots && hasRow && column >= 0 && column < p.size[1];
      v[i][slot] = isThere ? As::of(p.codes, from[p.slotAt[slot]]) : 0.0f;
    }
  }
  uint4* to = static_cast<uint4*>(p.to) + static_cast<int64_t>(phase) * p.pitch;
#pragma unroll
  for (int i = 0; i < kPixels; ++i) {
    const unsigned at = first + i * kPackThreads;
    if (at >= static_cast<unsigned>(p.pitch)) return;
    to[at] = make_uint4(halvesOf(v[i][0], v[i][1], p.toType), halvesOf(v[i][2], v[i][3], p.toType),
                        halvesOf(v[i][4], v[i][5], p.toType), halvesOf(v[i][6], v[i][7], p.toType));
  }
}

extern "C" __global__ void __launch_bounds__(kPackThreads) conv_planes_pack_f32(const __grid_constant__ PackPlanesParams p) {
  packPlanes<float>(p);
}
extern "C" __global__ void __launch_bounds__(kPackThreads) conv_planes_pack_f16(const __grid_constant__ PackPlanesParams p) {
  packPlanes<__half>(p);
}
extern "C" __global__ void __launch_bounds__(kPackThreads) conv_planes_pack_bf16(const __grid_constant__ PackPlanesParams p) {
  packPlanes<__nv_bfloat16>(p);
}

extern "C" __global__ void __launch_bounds__(kPackThreads) conv_planes_pack_codes_f32(const __grid_constant__ PackPlanesParams p) {
  packPlanes<float, Differences>(p);
}
extern "C" __global__ void __launch_bounds__(kPackThreads) conv_planes_pack_codes_u8(const __grid_constant__ PackPlanesParams p) {
  packPlanes<uint8_t, Differences>(p);
}
extern "C" __global__ void __launch_bounds__(kPackThreads) conv_planes_pack_codes_s8(const __grid_constant__ PackPlanesParams p) {
  packPlanes<int8_t, Differences>(p);
}

extern "C" __global__ void __launch_bounds__(256) conv_planes_weights(const __grid_constant__ PlaneWeightsParams p) {
  beginKernel();
  const int at = blockIdx.x * 256 + threadIdx.x;
  if (at >= p.count) return;
  const int slot = at % 8, within = at / 8 % p.tileFilters, eight = at / 8 / p.tileFilters % p.eights;
  const int filter = at / 8 / p.tileFilters / p.eights * p.tileFilters + within;
  const int2 tap = p.taps[eight];
  const int column = tap.y + slot / p.channels, channel = slot % p.channels;
  float v = 0.0f;
  if (tap.x >= 0 && slot < p.slots && filter < p.filters && column < p.kernelWidth) {
    v = loadFloat(p.w, static_cast<int64_t>(filter) * p.wFilter + static_cast<int64_t>(channel) * p.wChannel +
                           static_cast<int64_t>(tap.x) * p.wAxes[0] + static_cast<int64_t>(column) * p.wAxes[1],
                  p.type);
  }
  storeFloat(p.to, at, p.toType, v);
}
