// The usual end of a product: from registers, without the detour over floats in shared memory that epilogue.cuh takes.
#pragma once
#include "../gemm/epilogue.cuh"

template <typename T> struct PairOf;
template <> struct PairOf<__half> {
  using Type = __half2;
  static constexpr int kCode = kFloat16;
  static __device__ __forceinline__ Type from(float2 v) { return __float22half2_rn(v); }
  static __device__ __forceinline__ float2 to(Type v) { return __half22float2(v); }
};
template <> struct PairOf<__nv_bfloat16> {
  using Type = __nv_bfloat162;
  static constexpr int kCode = kBFloat16;
  static __device__ __forceinline__ Type from(float2 v) { return __float22bfloat162_rn(v); }
  static __device__ __forceinline__ float2 to(Type v) { return __bfloat1622float2(v); }
};

// 16 rows by 32 columns of one warp. Lane 4 g + t has columns 8 j + 2 t and the next one, of rows g and g + 8.
template <typename T>
struct Part {
  using Pair = typename PairOf<T>::Type;
  static constexpr int kColumns = 32;
  static constexpr int kBlocks = kColumns / 8;
  // Of a row in shared memory: sixteen bytes more keep the lanes of a store in banks of their own.
  static constexpr int kPitch = kColumns + 8;
  static constexpr int kBytes = 16 * kPitch * sizeof(T);

  float v[kBlocks][4];

  // Whether finish() does all that is asked for: halves out, rows in groups of eight, channels along n.
  static __device__ __forceinline__ bool suits(const GemmParams& p) {
    const bool knows = p.first.kind == kNone || p.first.kind == kGelu || p.first.kind == kGeluTanh || p.first.kind == kSilu;
    const bool readsResidual = p.residual == nullptr || p.rType == PairOf<T>::kCode;
    return knows && readsResidual && p.last.kind == kNone && p.neighbours == 8 && p.dType == PairOf<T>::kCode && !p.channelOnM;
  }

  // `own`: shared memory of this warp for one part, free once all its lanes come here again.
  __device__ __forceinline__ void finish(const GemmParams& p, const Place& at, int m0, int n0, unsigned char* own) {
    scale(p, n0);
    if (p.firstLow > -INFINITY || p.firstHigh < INFINITY) clip(p.firstLow, p.firstHigh);
    if (p.first.kind != kNone) activateAll(p.first);
    if (p.residual != nullptr) addResidual(p, at, m0, n0);
    if (p.lastLow > -INFINITY || p.lastHigh < INFINITY) clip(p.lastLow, p.lastHigh);
    put(own);
    __syncwarp();
    store(p, at, m0, n0, own);
  }

 private:
  static __device__ __forceinline__ int lane() { return threadIdx.x & 31; }
  static __device__ __forceinline__ int column() { return (threadIdx.x & 3) * 2; }

  __device__ __forceinline__ void scale(const GemmParams& p, int n0) {
#pragma unroll
    for (int j = 0; j < kBlocks; ++j) {
      const int n = n0 + 8 * j + column();
      float2 factor = make_float2(p.alpha, p.alpha), bias = make_float2(0.0f, 0.0f);
      if (n < p.n) {
        if (p.scale != nullptr) factor = make_float2(p.alpha * p.scale[n], p.alpha * p.scale[n + 1]);
        if (p.bias != nullptr) bias = make_float2(p.bias[n], p.bias[n + 1]);
      }
      v[j][0] = v[j][0] * factor.x + bias.x;
      v[j][1] = v[j][1] * factor.y + bias.y;
      v[j][2] = v[j][2] * factor.x + bias.x;
      v[j][3] = v[j][3] * factor.y + bias.y;
    }
  }

  __device__ __forceinline__ void clip(float low, float high) {
#pragma unroll
    for (int j = 0; j < kBlocks; ++j)
#pragma unroll
      for (int i = 0; i < 4; ++i) v[j][i] = clipOf(v[j][i], low, high);
  }

  // Four elements at a time move to the front: the formulas are long, and registers have no run-time index.
  __device__ __forceinline__ void activateAll(const Activation& f) {
#pragma unroll 1
    for (int round = 0; round < kBlocks; ++round) {
      float done[4];
#pragma unroll
      for (int i = 0; i < 4; ++i) {
        const float x = v[0][i];
        done[i] = f.kind == kSilu ? x * sigmoidOf(f.a * x) : f.kind == kGelu ? geluOf(x) : geluTanhOf(x);
      }
#pragma unroll
      for (int j = 0; j + 1 < kBlocks; ++j)
#pragma unroll
        for (int i = 0; i < 4; ++i) v[j][i] = v[j + 1][i];
#pragma unroll
      for (int i = 0; i < 4; ++i) v[kBlocks - 1][i] = done[i];
    }
  }

  __device__ __forceinline__ void addResidual(const GemmParams& p, const Place& at, int m0, int n0) {
    const T* from = static_cast<const T*>(p.residual) + at.residual;
#pragma unroll
    for (int half = 0; half < 2; ++half) {
      const int m = m0 + lane() / 4 + 8 * half;
#pragma unroll
      for (int j = 0; j < kBlocks; ++j) {
        const int n = n0 + 8 * j + column();
        if (m >= p.m || n >= p.n) continue;
        const float2 r = PairOf<T>::to(*reinterpret_cast<const Pair*>(from + (int64_t)m * p.rM + n));
        v[j][2 * half] += r.x;
        v[j][2 * half + 1] += r.y;
      }
    }
  }

  __device__ __forceinline__ void put(unsigned char* own) const {
    T* to = reinterpret_cast<T*>(own) + lane() / 4 * kPitch + column();
#pragma unroll
    for (int j = 0; j < kBlocks; ++j) {
      *reinterpret_cast<Pair*>(to + 8 * j) = PairOf<T>::from(make_float2(v[j][0], v[j][1]));
      *reinterpret_cast<Pair*>(to + 8 * kPitch + 8 * j) = PairOf<T>::from(make_float2(v[j][2], v[j][3]));
    }
  }

  // Four lanes a row, sixteen bytes each.
  __device__ __forceinline__ void store(const GemmParams& p, const Place& at, int m0, int n0, const unsigned char* own) const {
    const int n = n0 + lane() % 4 * 8;
    T* to = static_cast<T*>(p.d) + at.d;
#pragma unroll
    for (int half = 0; half < 2; ++half) {
      const int row = lane() / 4 + 8 * half;
      const uint4 eight = *reinterpret_cast<const uint4*>(reinterpret_cast<const T*>(own) + row * kPitch + lane() % 4 * 8);
      if (m0 + row < p.m && n < p.n) *reinterpret_cast<uint4*>(to + (int64_t)(m0 + row) * p.dM + n) = eight;
    }
  }
};
