// Products that no Tensor Core is asked for: integers and doubles, of any strides. One thread an element, tiles of 16.
#pragma once
#include "../common/storage.cuh"
#include <cstdint>
#include "params.generated.cuh"

template <typename T>
__device__ __forceinline__ T loadGeneric(const void* base, int64_t i, int type) {
  switch (type) {
    case kInt8: return static_cast<T>(static_cast<const int8_t*>(base)[i]);
    case kUint8: return static_cast<T>(static_cast<const uint8_t*>(base)[i]);
    case kInt16: return static_cast<T>(static_cast<const int16_t*>(base)[i]);
    case kUint16: return static_cast<T>(static_cast<const uint16_t*>(base)[i]);
    case kInt32: return static_cast<T>(static_cast<const int32_t*>(base)[i]);
    case kUint32: return static_cast<T>(static_cast<const uint32_t*>(base)[i]);
    case kInt64: case kUint64: return static_cast<T>(static_cast<const int64_t*>(base)[i]);
    default: return static_cast<T>(static_cast<const double*>(base)[i]);
  }
}

// Sums wrap around as those of the output's type do: the low bits of wider ones are the same.
template <typename T>
__device__ __forceinline__ void storeGeneric(void* base, int64_t i, int type, T v) {
  if (type == kFloat64) static_cast<double*>(base)[i] = static_cast<double>(v);
  else if (type == kInt64 || type == kUint64) static_cast<int64_t*>(base)[i] = static_cast<int64_t>(v);
  else if (type == kInt32 || type == kUint32) static_cast<int32_t*>(base)[i] = static_cast<int32_t>(static_cast<int64_t>(v));
  else if (type == kInt16 || type == kUint16) static_cast<int16_t*>(base)[i] = static_cast<int16_t>(static_cast<int64_t>(v));
  else static_cast<int8_t*>(base)[i] = static_cast<int8_t>(static_cast<int64_t>(v));
}

// T: double, int32_t or int64_t, what the sums are kept in.
template <typename T>
struct GenericProduct {
  static __device__ __forceinline__ void run(const GenericParams& p) {
    __shared__ T tileA[16][17];
    __shared__ T tileB[16][17];
    const int tx = threadIdx.x % 16;
    const int ty = threadIdx.x / 16;
    int rest = blockIdx.x;
    const int m0 = rest % p.tilesM * 16;
    rest /= p.tilesM;
    const int n0 = rest % p.tilesN * 16;
    rest /= p.tilesN;
    const int index[3] = {rest / (p.batch[1] * p.batch[2]), rest / p.batch[2] % p.batch[1], rest % p.batch[2]};
    int64_t a = 0, b = 0, d = 0, zeroA = 0, zeroB = 0;
#pragma unroll
    for (int axis = 0; axis < 3; ++axis) {
      a += (int64_t)index[axis] * p.aBatch[axis];
      b += (int64_t)index[axis] * p.bBatch[axis];
      d += (int64_t)index[axis] * p.dBatch[axis];
      zeroA += (int64_t)index[axis] * p.zeroABatch[axis];
      zeroB += (int64_t)index[axis] * p.zeroBBatch[axis];
    }
    const int row = m0 + ty;       // of a that this thread loads
    const int column = n0 + ty;    // of b that this thread loads
    T offA = 0, offB = 0;
    if (p.zeroA != nullptr && row < p.m) offA = loadGeneric<T>(p.zeroA, zeroA + (int64_t)row * p.zeroAM, p.zeroAType);
    if (p.zeroB != nullptr && column < p.n) offB = loadGeneric<T>(p.zeroB, zeroB + (int64_t)column * p.zeroBN, p.zeroBType);
    T sum = 0;
    for (int k0 = 0; k0 < p.k; k0 += 16) {
      const int k = k0 + tx;
      tileA[ty][tx] = row < p.m && k < p.k ? loadGeneric<T>(p.a, a + (int64_t)row * p.aM + (int64_t)k * p.aK, p.aType) - offA : T(0);
      tileB[ty][tx] = column < p.n && k < p.k ? loadGeneric<T>(p.b, b + (int64_t)k * p.bK + (int64_t)column * p.bN, p.bType) - offB : T(0);
      __syncthreads();
#pragma unroll
      for (int q = 0; q < 16; ++q) sum += tileA[ty][q] * tileB[tx][q];
      __syncthreads();
    }
    const int m = m0 + ty;
    const int n = n0 + tx;
    if (m < p.m && n < p.n) storeGeneric<T>(p.d, d + (int64_t)m * p.dM + (int64_t)n * p.dN, p.dType, sum);
  }
};
