// The usual end of a product: from registers, without the detour over floats in shared memory that epilogue.cuh takes.
#pragma once
#include "../common/mma.cuh"
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

// 16 rows by COLUMNS of one warp. Lane 4 g + t has columns 8 j + 2 t and the next one, of rows g and g + 8.
template <typename T, int COLUMNS>
struct Part {
  using Pair = typename PairOf<T>::Type;
  static constexpr int kBlocks = COLUMNS / 8;
  // Of a row in shared memory: sixteen bytes more keep the rows of a block in banks of their own.
  static constexpr int kPitch = COLUMNS * sizeof(T) + 16;
  static constexpr int kBytes = 16 * kPitch;
  static constexpr int kLanesOfRow = COLUMNS / 8;
  static constexpr int kRowsAtOnce = 32 / kLanesOfRow;

  float v[kBlocks][4];

  // Whether finish() does all that is asked for: rows in groups of eight, channels along n; halves, or floats alone.
  static __device__ __forceinline__ bool suits(const GemmParams& p) {
    const bool knows = p.first.kind == kNone || p.first.kind == kGelu || p.first.kind == kGeluTanh || p.first.kind == kSilu;
    const bool writes = p.dType == PairOf<T>::kCode || p.dType == kFloat32;
    const bool reads = p.residual == nullptr || p.rType == PairOf<T>::kCode;
    return knows && writes && reads && p.last.kind == kNone && p.neighbours == 8 && !p.channelOnM;
  }

  // `own`: shared memory of this warp. ACTIVATES: there may be a first activation.
  template <bool ACTIVATES>
  __device__ __forceinline__ void finish(const GemmParams& p, const Place& at, int m0, int n0, unsigned char* own) {
    if (p.alpha != 1.0f || p.scale != nullptr) scale(p, n0);
    if (p.bias != nullptr) addBias(p, n0);
    if (p.firstLow > -INFINITY || p.firstHigh < INFINITY) clip(p.firstLow, p.firstHigh);
    if (ACTIVATES) activateAll(p.first, p.dType == kFloat32);
    if (p.residual != nullptr) addResidual(p, at, m0, n0);
    if (p.lastLow > -INFINITY || p.lastHigh < INFINITY) clip(p.lastLow, p.lastHigh);
    if (p.dType == kFloat32) {
      storeFloats(p, at, m0, n0);
      return;
    }
    __syncwarp();
    put(own);
    __syncwarp();
    store(p, at, m0, n0, own);
  }

  template <typename Formula> __device__ __forceinline__ void forAll(Formula formula) {
#pragma unroll
    for (int j = 0; j < kBlocks; ++j)
#pragma unroll
      for (int i = 0; i < 4; ++i) v[j][i] = formula(v[j][i]);
  }

  // As halves, a row behind another.
  __device__ __forceinline__ void put(unsigned char* own) const {
    const uint32_t to = sharedAddress(own) + lane() % 16 * kPitch + lane() / 16 * 16;
#pragma unroll
    for (int j = 0; j < kBlocks; j += 2) {
      const uint32_t blocks[4] = {packed(v[j][0], v[j][1]), packed(v[j][2], v[j][3]),  //
                                  packed(v[j + 1][0], v[j + 1][1]), packed(v[j + 1][2], v[j + 1][3])};
      stmatrix4(to + 16 * j, blocks);
    }
  }

 private:
  static __device__ __forceinline__ int lane() { return threadIdx.x & 31; }
  static __device__ __forceinline__ int column() { return (threadIdx.x & 3) * 2; }

  __device__ __forceinline__ void scale(const GemmParams& p, int n0) {
#pragma unroll
    for (int j = 0; j < kBlocks; ++j) {
      const int n = n0 + 8 * j + column();
      float2 factor = make_float2(p.alpha, p.alpha);
      if (p.scale != nullptr && n < p.n) factor = make_float2(p.alpha * p.scale[n], p.alpha * p.scale[n + 1]);
#pragma unroll
      for (int i = 0; i < 4; ++i) v[j][i] *= i % 2 == 0 ? factor.x : factor.y;
    }
  }

  // What nobody writes may be loaded before what is stored of the part before.
  __device__ __forceinline__ void addBias(const GemmParams& p, int n0) {
    float2 bias[kBlocks];
#pragma unroll
    for (int j = 0; j < kBlocks; ++j) {
      const int n = n0 + 8 * j + column();
      bias[j] = n < p.n ? make_float2(__ldg(p.bias + n), __ldg(p.bias + n + 1)) : make_float2(0.0f, 0.0f);
    }
#pragma unroll
    for (int j = 0; j < kBlocks; ++j)
#pragma unroll
      for (int i = 0; i < 4; ++i) v[j][i] += i % 2 == 0 ? bias[j].x : bias[j].y;
  }

  __device__ __forceinline__ void clip(float low, float high) {
#pragma unroll
    for (int j = 0; j < kBlocks; ++j)
#pragma unroll
      for (int i = 0; i < 4; ++i) v[j][i] = atMost(atLeast(v[j][i], low), high);
  }

  // Each formula is a chain of slow instructions: those of all elements are in flight together.
  __device__ __forceinline__ void activateAll(const Activation& f, bool isFloat) {
    if (f.kind == kGelu) {
      if (isFloat) forAll([](float x) { return geluOf(x); });
      else forAll([](float x) { return geluForHalf(x); });
    } else {
      const bool isSilu = f.kind == kSilu;
      forAll([&](float x) { return x * sigmoidOf(isSilu ? f.a * x : geluTanhSlope(x)); });
    }
  }

  __device__ __forceinline__ void addResidual(const GemmParams& p, const Place& at, int m0, int n0) {
#pragma unroll
    for (int half = 0; half < 2; ++half) {
      const int m = m0 + lane() / 4 + 8 * half;
      const T* from = static_cast<const T*>(p.residual) + at.residual + (int64_t)m * p.rM + n0 + column();
#pragma unroll
      for (int j = 0; j < kBlocks; ++j) {
        if (m >= p.m || n0 + 8 * j >= p.n) continue;
        const float2 r = PairOf<T>::to(*reinterpret_cast<const Pair*>(from + 8 * j));
        v[j][2 * half] += r.x;
        v[j][2 * half + 1] += r.y;
      }
    }
  }

  // Four lanes fill a sector.
  __device__ __forceinline__ void storeFloats(const GemmParams& p, const Place& at, int m0, int n0) const {
#pragma unroll
    for (int half = 0; half < 2; ++half) {
      const int m = m0 + lane() / 4 + 8 * half;
      float* to = static_cast<float*>(p.d) + at.d + (int64_t)m * p.dM + n0 + column();
#pragma unroll
      for (int j = 0; j < kBlocks; ++j) {
        if (m >= p.m || n0 + 8 * j >= p.n) continue;
        *reinterpret_cast<float2*>(to + 8 * j) = make_float2(v[j][2 * half], v[j][2 * half + 1]);
      }
    }
  }

  static __device__ __forceinline__ uint32_t packed(float low, float high) {
    const Pair pair = PairOf<T>::from(make_float2(low, high));
    return reinterpret_cast<const uint32_t&>(pair);
  }

  // Sixteen bytes a lane, whole rows of the part.
  __device__ __forceinline__ void store(const GemmParams& p, const Place& at, int m0, int n0, const unsigned char* own) const {
    const int n = n0 + lane() % kLanesOfRow * 8;
    const int first = lane() / kLanesOfRow;
    const unsigned char* from = own + first * kPitch + lane() % kLanesOfRow * 16;
    T* to = static_cast<T*>(p.d) + at.d + (int64_t)(m0 + first) * p.dM + n;
#pragma unroll
    for (int row = 0; row < 16; row += kRowsAtOnce) {
      const uint4 eight = *reinterpret_cast<const uint4*>(from + row * kPitch);
      if (m0 + first + row < p.m && n < p.n) *reinterpret_cast<uint4*>(to + (int64_t)row * p.dM) = eight;
    }
  }
};
