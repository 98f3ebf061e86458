// What happens to the sums of a convolution before they are stored: ir/epilogue.ts, in FP32.
#pragma once
#include "params.cuh"

// The long formulas stand in a loop that rotates the array: once in the program instead of WIDTH times.
template <int WIDTH>
__device__ __forceinline__ void activateAll(float (&v)[WIDTH], const Activation& f) {
  switch (f.kind) {
    case kNone: return;
    case kRelu:
#pragma unroll
      for (int i = 0; i < WIDTH; ++i) v[i] = v[i] < 0.0f ? 0.0f : v[i];
      return;
    case kClip:
#pragma unroll
      for (int i = 0; i < WIDTH; ++i) v[i] = clipOf(v[i], f.a, f.b);
      return;
    case kSilu:
#pragma unroll
      for (int i = 0; i < WIDTH; ++i) v[i] = v[i] * sigmoidOf(f.a * v[i]);
      return;
    default:
#pragma unroll 1
      for (int round = 0; round < WIDTH; ++round) {
        const float done = activate(v[0], f);
#pragma unroll
        for (int i = 0; i + 1 < WIDTH; ++i) v[i] = v[i + 1];
        v[WIDTH - 1] = done;
      }
  }
}

template <int WIDTH>
__device__ __forceinline__ void addFloats(float (&v)[WIDTH], const void* from, int64_t at, int type) {
  if constexpr (WIDTH == 1) {
    v[0] += loadFloat(from, at, type);
  } else if (type == kFloat32) {
    const float* source = static_cast<const float*>(from) + at;
#pragma unroll
    for (int i = 0; i < WIDTH; i += 2) {
      const float2 pair = *reinterpret_cast<const float2*>(source + i);
      v[i] += pair.x;
      v[i + 1] += pair.y;
    }
  } else {
    uint32_t words[WIDTH / 2];
    const uint16_t* source = static_cast<const uint16_t*>(from) + at;
    if constexpr (WIDTH == 8) {
      const uint4 all = *reinterpret_cast<const uint4*>(source);
      words[0] = all.x, words[1] = all.y, words[2] = all.z, words[3] = all.w;
    } else if constexpr (WIDTH == 4) {
      const uint2 all = *reinterpret_cast<const uint2*>(source);
      words[0] = all.x, words[1] = all.y;
    } else {
      words[0] = *reinterpret_cast<const uint32_t*>(source);
    }
#pragma unroll
    for (int i = 0; i < WIDTH / 2; ++i) {
      const float2 pair = type == kFloat16 ? __half22float2(reinterpret_cast<const __half2&>(words[i]))
                                           : __bfloat1622float2(reinterpret_cast<const __nv_bfloat162&>(words[i]));
      v[2 * i] += pair.x;
      v[2 * i + 1] += pair.y;
    }
  }
}

template <int WIDTH>
__device__ __forceinline__ void storeFloats(const float (&v)[WIDTH], void* to, int64_t at, int type) {
  if constexpr (WIDTH == 1) {
    storeFloat(to, at, type, v[0]);
  } else if (type == kFloat32) {
    float* target = static_cast<float*>(to) + at;
    if constexpr (WIDTH >= 4) {
#pragma unroll
      for (int i = 0; i < WIDTH; i += 4) {
        *reinterpret_cast<float4*>(target + i) = make_float4(v[i], v[i + 1], v[i + 2], v[i + 3]);
      }
    } else {
      *reinterpret_cast<float2*>(target) = make_float2(v[0], v[1]);
    }
  } else {
    uint32_t words[WIDTH / 2];
#pragma unroll
    for (int i = 0; i < WIDTH / 2; ++i) {
      if (type == kFloat16) reinterpret_cast<__half2&>(words[i]) = __floats2half2_rn(v[2 * i], v[2 * i + 1]);
      else reinterpret_cast<__nv_bfloat162&>(words[i]) = __floats2bfloat162_rn(v[2 * i], v[2 * i + 1]);
    }
    uint16_t* target = static_cast<uint16_t*>(to) + at;
    if constexpr (WIDTH == 8) *reinterpret_cast<uint4*>(target) = make_uint4(words[0], words[1], words[2], words[3]);
    else if constexpr (WIDTH == 4) *reinterpret_cast<uint2*>(target) = make_uint2(words[0], words[1]);
    else *reinterpret_cast<uint32_t*>(target) = words[0];
  }
}

// Scale and bias of WIDTH neighbouring filters, `count` of which there are.
template <int WIDTH> struct Affine {
  float scale[WIDTH], bias[WIDTH];

  template <class P> __device__ __forceinline__ void load(const P& p, int filter, int count) {
#pragma unroll
    for (int i = 0; i < WIDTH; ++i) {
      scale[i] = p.scale != nullptr && i < count ? p.scale[filter + i] : 1.0f;
      bias[i] = p.bias != nullptr && i < count ? p.bias[filter + i] : 0.0f;
    }
  }
};

// The residual of WIDTH filters from `filter` (counted over all groups) on, at the position `from`.
template <int WIDTH, class P>
__device__ __forceinline__ void addResidual(const P& p, float (&v)[WIDTH], int64_t from, int filter) {
  from += static_cast<int64_t>(filter) * p.from.channel;
  if (p.from.width >= WIDTH) {
    addFloats(v, p.residual, from, p.from.type);
  } else {
#pragma unroll
    for (int i = 0; i < WIDTH; ++i) v[i] += loadFloat(p.residual, from + i * p.from.channel, p.from.type);
  }
}

// WIDTH sums of one row, from `filter` (counted over all groups) on.
template <int WIDTH>
__device__ __forceinline__ void finish(const ConvParams& p, float (&v)[WIDTH], const Affine<WIDTH>& affine, int row,
                                       int filter) {
#pragma unroll
  for (int i = 0; i < WIDTH; ++i) v[i] = v[i] * affine.scale[i] + affine.bias[i];
  int64_t to = static_cast<int64_t>(row) * p.to.position;
  int64_t from = static_cast<int64_t>(row) * p.from.position;
  if (p.to.position == 0 || (p.residual != nullptr && p.from.position == 0)) {
    const Position at = positionOf(p, row);
    to = offsetOf(p.to, at);
    from = offsetOf(p.from, at);
  }
#pragma unroll 1
  for (int round = 0; round < 2; ++round) {
    activateAll(v, round == 0 ? p.activation : p.last);
    if (round == 0 && p.residual != nullptr) addResidual<WIDTH>(p, v, from, filter);
  }
  storeFloats(v, p.y, to + static_cast<int64_t>(filter) * p.to.channel, p.to.type);
}

// Rows `row` … `row` + 15 of one warp's columns, from shared memory. `filters` is one past the last of the group. A lane
// keeps to its 8 columns, whose scale and bias it holds.
template <int COLUMNS>
__device__ __forceinline__ void finishEights(const ConvParams& p, const float* stage, int pitch, int row, int filter,
                                             int filters, const Affine<8>& affine) {
  constexpr int perRow = COLUMNS / 8;
  static_assert(32 % perRow == 0, "a lane keeps to its columns");
#pragma unroll 1
  for (int i = threadIdx.x % 32; i < 16 * perRow; i += 32) {
    const int r = i / perRow;
    const int c = i % perRow * 8;
    if (row + r >= p.rows || filter + c >= filters) continue;
    float v[8];
    const float4 low = *reinterpret_cast<const float4*>(stage + r * pitch + c);
    const float4 high = *reinterpret_cast<const float4*>(stage + r * pitch + c + 4);
    v[0] = low.x, v[1] = low.y, v[2] = low.z, v[3] = low.w;
    v[4] = high.x, v[5] = high.y, v[6] = high.z, v[7] = high.w;
    finish<8>(p, v, affine, row + r, filter + c);
  }
}

// The same one or two elements at a time: neighbouring lanes take neighbours in memory, along the filters or, where
// those are not contiguous, along the rows.
template <int COLUMNS, int WIDTH>
__device__ __forceinline__ void finishFew(const ConvParams& p, const float* stage, int pitch, int row, int filter,
                                          int filters) {
  constexpr int perRow = COLUMNS / WIDTH;
  const bool alongFilters = p.to.channel == 1;
#pragma unroll 1
  for (int i = threadIdx.x % 32; i < 16 * perRow; i += 32) {
    const int r = alongFilters ? i / perRow : i % 16;
    const int c = (alongFilters ? i % perRow : i / 16) * WIDTH;
    if (row + r >= p.rows || filter + c >= filters) continue;
    Affine<WIDTH> affine;
    affine.load(p, filter + c, WIDTH);
    float v[WIDTH];
#pragma unroll
    for (int j = 0; j < WIDTH; ++j) v[j] = stage[r * pitch + c + j];
    finish<WIDTH>(p, v, affine, row + r, filter + c);
  }
}
