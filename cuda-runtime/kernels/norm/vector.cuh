// Runs of WIDTH neighbouring floats of any type as one or two 16-byte accesses, and reductions over a row's threads.
#pragma once
#include "../common/storage.cuh"

template <typename T> struct StorageOf;
template <> struct StorageOf<float> { static constexpr int code = kFloat32; };
template <> struct StorageOf<__half> { static constexpr int code = kFloat16; };
template <> struct StorageOf<__nv_bfloat16> { static constexpr int code = kBFloat16; };

// Eight halves in 16 bytes, two in 4: as raw words, so that one register move does for both half types.
template <int WIDTH> struct HalfRun;
template <> struct HalfRun<8> { using Words = uint4; };
template <> struct HalfRun<2> { using Words = uint32_t; };

template <typename T> __device__ __forceinline__ float2 unpackPair(uint32_t word);
template <> __device__ __forceinline__ float2 unpackPair<__half>(uint32_t word) {
  __half2 pair;
  memcpy(&pair, &word, 4);
  return __half22float2(pair);
}
template <> __device__ __forceinline__ float2 unpackPair<__nv_bfloat16>(uint32_t word) {
  __nv_bfloat162 pair;
  memcpy(&pair, &word, 4);
  return __bfloat1622float2(pair);
}

template <typename T> __device__ __forceinline__ uint32_t packPair(float a, float b);
template <> __device__ __forceinline__ uint32_t packPair<__half>(float a, float b) {
  const __half2 pair = __floats2half2_rn(a, b);
  uint32_t word;
  memcpy(&word, &pair, 4);
  return word;
}
template <> __device__ __forceinline__ uint32_t packPair<__nv_bfloat16>(float a, float b) {
  const __nv_bfloat162 pair = __floats2bfloat162_rn(a, b);
  uint32_t word;
  memcpy(&word, &pair, 4);
  return word;
}

// WIDTH is 8, 2 or 1; for 8 and 2 the address is a multiple of the run's bytes, at most 16.
template <typename T, int WIDTH> __device__ __forceinline__ void loadRun(const T* at, float* out) {
  if constexpr (WIDTH == 1) {
    out[0] = toFloat(at[0]);
  } else if constexpr (sizeof(T) == 4 && WIDTH == 8) {
    const float4 low = reinterpret_cast<const float4*>(at)[0], high = reinterpret_cast<const float4*>(at)[1];
    out[0] = low.x; out[1] = low.y; out[2] = low.z; out[3] = low.w;
    out[4] = high.x; out[5] = high.y; out[6] = high.z; out[7] = high.w;
  } else if constexpr (sizeof(T) == 4) {
    const float2 pair = reinterpret_cast<const float2*>(at)[0];
    out[0] = pair.x; out[1] = pair.y;
  } else {
    uint32_t words[WIDTH / 2];
    const typename HalfRun<WIDTH>::Words run = *reinterpret_cast<const typename HalfRun<WIDTH>::Words*>(at);
    memcpy(words, &run, sizeof(run));
#pragma unroll
    for (int i = 0; i < WIDTH / 2; i++) {
      const float2 pair = unpackPair<T>(words[i]);
      out[2 * i] = pair.x; out[2 * i + 1] = pair.y;
    }
  }
}

template <typename T, int WIDTH> __device__ __forceinline__ void storeRun(T* at, const float* values) {
  if constexpr (WIDTH == 1) {
    at[0] = fromFloat<T>(values[0]);
  } else if constexpr (sizeof(T) == 4 && WIDTH == 8) {
    reinterpret_cast<float4*>(at)[0] = make_float4(values[0], values[1], values[2], values[3]);
    reinterpret_cast<float4*>(at)[1] = make_float4(values[4], values[5], values[6], values[7]);
  } else if constexpr (sizeof(T) == 4) {
    reinterpret_cast<float2*>(at)[0] = make_float2(values[0], values[1]);
  } else {
    uint32_t words[WIDTH / 2];
#pragma unroll
    for (int i = 0; i < WIDTH / 2; i++) words[i] = packPair<T>(values[2 * i], values[2 * i + 1]);
    typename HalfRun<WIDTH>::Words run;
    memcpy(&run, words, sizeof(run));
    *reinterpret_cast<typename HalfRun<WIDTH>::Words*>(at) = run;
  }
}

// The same with the type known at run time: one uniform branch.
template <int WIDTH>
__device__ __forceinline__ void loadRunOf(const void* base, int64_t index, int type, float* out) {
  if (type == kFloat16) loadRun<__half, WIDTH>(static_cast<const __half*>(base) + index, out);
  else if (type == kBFloat16) loadRun<__nv_bfloat16, WIDTH>(static_cast<const __nv_bfloat16*>(base) + index, out);
  else loadRun<float, WIDTH>(static_cast<const float*>(base) + index, out);
}

template <int WIDTH>
__device__ __forceinline__ void storeRunOf(void* base, int64_t index, int type, const float* values) {
  if (type == kFloat16) storeRun<__half, WIDTH>(static_cast<__half*>(base) + index, values);
  else if (type == kBFloat16) storeRun<__nv_bfloat16, WIDTH>(static_cast<__nv_bfloat16*>(base) + index, values);
  else storeRun<float, WIDTH>(static_cast<float*>(base) + index, values);
}

struct Add { __device__ __forceinline__ float operator()(float a, float b) const { return a + b; } };
// NaN where either is NaN, so that a row with one is NaN throughout.
struct Max {
  __device__ __forceinline__ float operator()(float a, float b) const { return a > b || a != a ? a : b; }
};

template <typename Op> __device__ __forceinline__ float reduceWarp(float x, Op op) {
#pragma unroll
  for (int offset = 16; offset > 0; offset /= 2) x = op(x, __shfl_xor_sync(0xffffffffu, x, offset));
  return x;
}

// Over all threads of the block (whole warps, at most 1,024), the same in each; `scratch` has 32 floats.
template <typename Op> __device__ __forceinline__ float reduceBlock(float x, float neutral, float* scratch, Op op) {
  x = reduceWarp(x, op);
  const int warps = blockDim.x / 32, lane = threadIdx.x & 31;
  if (warps == 1) return x;
  __syncthreads();  // scratch may still be read for the reduction before
  if (lane == 0) scratch[threadIdx.x / 32] = x;
  __syncthreads();
  return reduceWarp(lane < warps ? scratch[lane] : neutral, op);
}

// The threads of one row: a warp (blockDim.y rows in a block), or the whole block.
template <bool WARP> struct RowThreads {
  float* scratch;
  __device__ __forceinline__ int lane() const { return threadIdx.x; }
  __device__ __forceinline__ int count() const { return WARP ? 32 : static_cast<int>(blockDim.x); }
  __device__ __forceinline__ int row() const {
    return WARP ? static_cast<int>(blockIdx.x * blockDim.y + threadIdx.y) : static_cast<int>(blockIdx.x);
  }
  template <typename Op> __device__ __forceinline__ float reduce(float x, float neutral, Op op) const {
    if constexpr (WARP) return reduceWarp(x, op);
    else return reduceBlock(x, neutral, scratch, op);
  }
};
