// From the accumulators of mma.sync to memory, through shared memory so that neighbours are stored together.
#pragma once
#include "params.cuh"

__device__ __forceinline__ float2 loadPair(const void* base, int64_t index, int type) {
  if (type == kFloat16) return __half22float2(*reinterpret_cast<const __half2*>(static_cast<const __half*>(base) + index));
  if (type == kBFloat16) {
    return __bfloat1622float2(*reinterpret_cast<const __nv_bfloat162*>(static_cast<const __nv_bfloat16*>(base) + index));
  }
  return *reinterpret_cast<const float2*>(static_cast<const float*>(base) + index);
}

__device__ __forceinline__ void storePair(void* base, int64_t index, int type, float2 v) {
  if (type == kFloat16) {
    *reinterpret_cast<__half2*>(static_cast<__half*>(base) + index) = __float22half2_rn(v);
  } else if (type == kBFloat16) {
    *reinterpret_cast<__nv_bfloat162*>(static_cast<__nv_bfloat16*>(base) + index) = __float22bfloat162_rn(v);
  } else {
    *reinterpret_cast<float2*>(static_cast<float*>(base) + index) = v;
  }
}

// Eight neighbours at a multiple of eight.
__device__ __forceinline__ void loadEight(float (&v)[8], const void* base, int64_t index, int type) {
  if (type == kFloat32) {
    const float4* from = reinterpret_cast<const float4*>(static_cast<const float*>(base) + index);
    *reinterpret_cast<float4*>(v) = from[0];
    *reinterpret_cast<float4*>(v + 4) = from[1];
    return;
  }
  const uint4 packed = *reinterpret_cast<const uint4*>(static_cast<const __half*>(base) + index);
  const uint32_t words[4] = {packed.x, packed.y, packed.z, packed.w};
#pragma unroll
  for (int i = 0; i < 4; ++i) {
    const float2 pair = type == kFloat16 ? __half22float2(reinterpret_cast<const __half2&>(words[i]))
                                         : __bfloat1622float2(reinterpret_cast<const __nv_bfloat162&>(words[i]));
    v[2 * i] = pair.x;
    v[2 * i + 1] = pair.y;
  }
}

__device__ __forceinline__ void storeEight(void* base, int64_t index, int type, const float (&v)[8]) {
  if (type == kFloat32) {
    float4* to = reinterpret_cast<float4*>(static_cast<float*>(base) + index);
    to[0] = make_float4(v[0], v[1], v[2], v[3]);
    to[1] = make_float4(v[4], v[5], v[6], v[7]);
    return;
  }
  uint32_t words[4];
#pragma unroll
  for (int i = 0; i < 4; ++i) {
    const float2 pair = make_float2(v[2 * i], v[2 * i + 1]);
    if (type == kFloat16) reinterpret_cast<__half2&>(words[i]) = __float22half2_rn(pair);
    else reinterpret_cast<__nv_bfloat162&>(words[i]) = __float22bfloat162_rn(pair);
  }
  *reinterpret_cast<uint4*>(static_cast<__half*>(base) + index) = make_uint4(words[0], words[1], words[2], words[3]);
}

// One slab: 16 rows by WN columns of one warp, in shared memory of its own.
template <int WN>
struct Slab {
  static constexpr int kPitch = WN + 8;
  static constexpr int kFloats = 16 * kPitch;
  static constexpr int kLanes = WN / 2 < 32 ? WN / 2 : 32;  // of one row: two neighbours a lane
  static constexpr int kRows = 32 / kLanes;                 // at a time
  static constexpr int kPasses = 16 / kRows;

  float* slab;
  int lane;

  __device__ __forceinline__ void put(const float (&sums)[WN / 8][4]) const {
    float* at = slab + (lane >> 2) * kPitch + (lane & 3) * 2;
#pragma unroll
    for (int j = 0; j < WN / 8; ++j) {
      *reinterpret_cast<float2*>(at + j * 8) = make_float2(sums[j][0], sums[j][1]);
      *reinterpret_cast<float2*>(at + 8 * kPitch + j * 8) = make_float2(sums[j][2], sums[j][3]);
    }
  }

  __device__ __forceinline__ float2* pairAt(int row, int column) const {
    return reinterpret_cast<float2*>(slab + row * kPitch + column);
  }

  // In place; kept out of the unrolled loops, since the formulas are long. Elements beyond the edge hold zeros.
  __device__ __forceinline__ void activateAll(const Activation& f) const {
#pragma unroll 1
    for (int i = lane; i < 16 * WN / 2; i += 32) {
      float2* at = pairAt(i / (WN / 2), i % (WN / 2) * 2);
      float2 v = *at;
#pragma unroll 1
      for (int half = 0; half < 2; ++half) {
        const float x = activate(v.x, f);
        v.x = v.y;
        v.y = x;
      }
      *at = v;
    }
  }

  // Scale and bias of this lane's two columns from n on; where channels run along m, of row m.
  struct Channels {
    float2 scale, bias;

    __device__ __forceinline__ Channels(const GemmParams& p, int n) {
      static_assert(WN <= 64, "a lane keeps its columns");
      scale = make_float2(p.alpha, p.alpha);
      bias = make_float2(0.0f, 0.0f);
      if (p.channelOnM) return;
      if (n < p.n) scale.x = scaleAt(p, n), bias.x = biasAt(p, n);
      if (n + 1 < p.n) scale.y = scaleAt(p, n + 1), bias.y = biasAt(p, n + 1);
    }

    __device__ __forceinline__ float2 apply(const GemmParams& p, int m, float2 v) {
      if (p.channelOnM && m < p.m) {
        scale.x = scale.y = scaleAt(p, m);
        bias.x = bias.y = biasAt(p, m);
      }
      return make_float2(clipOf(v.x * scale.x + bias.x, p.firstLow, p.firstHigh),
                         clipOf(v.y * scale.y + bias.y, p.firstLow, p.firstHigh));
    }
  };

  __device__ __forceinline__ void scaleAll(const GemmParams& p, int m0, int n0) const {
    const int column = lane % kLanes * 2;
    Channels channels(p, n0 + column);
#pragma unroll 2
    for (int pass = 0; pass < kPasses; ++pass) {
      const int row = pass * kRows + lane / kLanes;
      *pairAt(row, column) = channels.apply(p, m0 + row, *pairAt(row, column));
    }
  }

  // Rows whose groups of eight are aligned: what is left to do of the epilogue, 16 bytes a store. `isScaled`: scale and
  // bias are done, and the first activation. There is no last one but limits.
  __device__ __forceinline__ void storeEights(const GemmParams& p, const Place& at, int m0, int n0, bool isScaled) const {
    constexpr int kGroups = WN / 8;
    constexpr int kAtOnce = 32 / kGroups;
    const int column = lane % kGroups * 8;
    const int n = n0 + column;
    const bool hasColumns = n < p.n;
    float scale[8], bias[8];
#pragma unroll
    for (int i = 0; i < 8; ++i) {
      const bool isPlain = isScaled || p.channelOnM || !hasColumns;
      scale[i] = isScaled ? 1.0f : isPlain ? p.alpha : scaleAt(p, n + i);
      bias[i] = isPlain ? 0.0f : biasAt(p, n + i);
    }
    const float low = isScaled ? -INFINITY : p.firstLow, high = isScaled ? INFINITY : p.firstHigh;
#pragma unroll 2
    for (int pass = 0; pass < (16 + kAtOnce - 1) / kAtOnce; ++pass) {
      const int row = pass * kAtOnce + lane / kGroups;
      const int m = m0 + row;
      if (row >= 16 || m >= p.m || !hasColumns) continue;
      float v[8], r[8] = {};
      *reinterpret_cast<float4*>(v) = *reinterpret_cast<const float4*>(slab + row * kPitch + column);
      *reinterpret_cast<float4*>(v + 4) = *reinterpret_cast<const float4*>(slab + row * kPitch + column + 4);
      if (p.residual != nullptr) loadEight(r, p.residual, at.residual + (int64_t)m * p.rM + n, p.rType);
      const bool byRow = p.channelOnM && !isScaled;
      const float rowScale = byRow ? scaleAt(p, m) : 1.0f, rowBias = byRow ? biasAt(p, m) : 0.0f;
#pragma unroll
      for (int i = 0; i < 8; ++i) {
        const float x = byRow ? v[i] * rowScale + rowBias : v[i] * scale[i] + bias[i];
        v[i] = clipOf(clipOf(x, low, high) + r[i], p.lastLow, p.lastHigh);
      }
      storeEight(p.d, at.d + (int64_t)m * p.dM + n, p.dType, v);
    }
  }

  // The usual end: nothing but scale, bias, residual and limits, and rows whose pairs are aligned.
  __device__ __forceinline__ void storePlain(const GemmParams& p, const Place& at, int m0, int n0) const {
    const int column = lane % kLanes * 2;
    const int n = n0 + column;
    Channels channels(p, n);
#pragma unroll 4
    for (int pass = 0; pass < kPasses; ++pass) {
      const int m = m0 + pass * kRows + lane / kLanes;
      const bool exists = m < p.m && n < p.n;
      float2 r = make_float2(0.0f, 0.0f);
      if (p.residual != nullptr && exists) {
        const int64_t index = at.residual + (int64_t)m * p.rM + n;
        if (n + 1 < p.n) r = loadPair(p.residual, index, p.rType);
        else r.x = loadFloat(p.residual, index, p.rType);
      }
      float2 v = channels.apply(p, m, *pairAt(m - m0, column));
      v.x = clipOf(v.x + r.x, p.lastLow, p.lastHigh);
      v.y = clipOf(v.y + r.y, p.lastLow, p.lastHigh);
      if (!exists) continue;
      const int64_t index = at.d + (int64_t)m * p.dM + n;
      if (n + 1 < p.n) storePair(p.d, index, p.dType, v);
      else storeFloat(p.d, index, p.dType, v.x);
    }
  }

  // Element i of the slab in the order of the output's memory: along m where that is what neighbours lie along.
  static __device__ __forceinline__ void placeAt(const GemmParams& p, int i, int& row, int& column) {
    const bool alongM = p.dM == 1 && p.dN != 1;
    row = alongM ? i % 16 : i / WN;
    column = alongM ? i / 16 : i % WN;
  }

  __device__ __forceinline__ void addResidual(const GemmParams& p, const Place& at, int m0, int n0) const {
#pragma unroll 4
    for (int i = lane; i < 16 * WN; i += 32) {
      int row, column;
      placeAt(p, i, row, column);
      const int64_t index = at.residual + (int64_t)(m0 + row) * p.rM + (int64_t)(n0 + column) * p.rN;
      const bool exists = m0 + row < p.m && n0 + column < p.n;
      slab[row * kPitch + column] += exists ? loadFloat(p.residual, index, p.rType) : 0.0f;
    }
  }

  // One element a lane.
  __device__ __forceinline__ void storeSingles(const GemmParams& p, const Place& at, int m0, int n0) const {
#pragma unroll 4
    for (int i = lane; i < 16 * WN; i += 32) {
      int row, column;
      placeAt(p, i, row, column);
      const float v = clipOf(slab[row * kPitch + column], p.lastLow, p.lastHigh);
      const int64_t index = at.d + (int64_t)(m0 + row) * p.dM + (int64_t)(n0 + column) * p.dN;
      if (m0 + row < p.m && n0 + column < p.n) storeFloat(p.d, index, p.dType, v);
    }
  }

  __device__ __forceinline__ void finishAll(const GemmParams& p, const Place& at, int m0, int n0) const {
    const bool isPlain = p.first.kind == kNone && p.last.kind == kNone;
    if (isPlain && p.neighbours == 8) return storeEights(p, at, m0, n0, false);
    if (isPlain && p.neighbours == 2) return storePlain(p, at, m0, n0);
    scaleAll(p, m0, n0);
#pragma unroll 1
    for (int round = 0; round < 2; ++round) {
      const Activation f = round == 0 ? p.first : p.last;
      if (f.kind != kNone) {
        __syncwarp();
        activateAll(f);
      }
      __syncwarp();
      if (p.neighbours == 8 && p.last.kind == kNone) return storeEights(p, at, m0, n0, true);
      if (round == 0 && p.residual != nullptr) addResidual(p, at, m0, n0);
    }
    storeSingles(p, at, m0, n0);
  }
};
