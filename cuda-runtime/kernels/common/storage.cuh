// Element types by code (ir/storage.ts), and loads and stores that convert.
#pragma once
#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <cstdint>

enum StorageCode : int {
  kFloat32 = 0, kFloat16 = 1, kBFloat16 = 2, kFloat64 = 3, kInt8 = 4, kUint8 = 5, kInt16 = 6,
  kUint16 = 7, kInt32 = 8, kUint32 = 9, kInt64 = 10, kUint64 = 11, kBool = 12,
};

__device__ __forceinline__ float toFloat(float x) { return x; }
__device__ __forceinline__ float toFloat(__half x) { return __half2float(x); }
__device__ __forceinline__ float toFloat(__nv_bfloat16 x) { return __bfloat162float(x); }

template <typename T> __device__ __forceinline__ T fromFloat(float x);
template <> __device__ __forceinline__ float fromFloat<float>(float x) { return x; }
template <> __device__ __forceinline__ __half fromFloat<__half>(float x) { return __float2half_rn(x); }
template <> __device__ __forceinline__ __nv_bfloat16 fromFloat<__nv_bfloat16>(float x) { return __float2bfloat16_rn(x); }

// A float of any of the three types; `type` is the same for the whole launch, so the branch does not diverge.
__device__ __forceinline__ float loadFloat(const void* base, int64_t index, int type) {
  if (type == kFloat16) return __half2float(static_cast<const __half*>(base)[index]);
  if (type == kBFloat16) return __bfloat162float(static_cast<const __nv_bfloat16*>(base)[index]);
  return static_cast<const float*>(base)[index];
}

__device__ __forceinline__ void storeFloat(void* base, int64_t index, int type, float x) {
  if (type == kFloat16) static_cast<__half*>(base)[index] = __float2half_rn(x);
  else if (type == kBFloat16) static_cast<__nv_bfloat16*>(base)[index] = __float2bfloat16_rn(x);
  else static_cast<float*>(base)[index] = x;
}
