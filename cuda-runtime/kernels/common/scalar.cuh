// Elements of any stored type in the register type that they are computed in, and extreme values of those.
#pragma once
#include "storage.cuh"

template <typename Acc> __device__ __forceinline__ Acc loadAs(const void* base, int64_t index, int type);

template <> __device__ __forceinline__ float loadAs<float>(const void* base, int64_t index, int type) {
  return loadFloat(base, index, type);
}

template <> __device__ __forceinline__ int64_t loadAs<int64_t>(const void* base, int64_t index, int type) {
  switch (type) {
    case kInt8: return static_cast<const int8_t*>(base)[index];
    case kUint8:
    case kBool: return static_cast<const uint8_t*>(base)[index];
    case kInt16: return static_cast<const int16_t*>(base)[index];
    case kUint16: return static_cast<const uint16_t*>(base)[index];
    case kInt32: return static_cast<const int32_t*>(base)[index];
    case kUint32: return static_cast<const uint32_t*>(base)[index];
    default: return static_cast<const int64_t*>(base)[index];
  }
}

template <> __device__ __forceinline__ uint64_t loadAs<uint64_t>(const void* base, int64_t index, int type) {
  switch (type) {
    case kUint8:
    case kBool: return static_cast<const uint8_t*>(base)[index];
    case kUint16: return static_cast<const uint16_t*>(base)[index];
    case kUint32: return static_cast<const uint32_t*>(base)[index];
    default: return static_cast<const uint64_t*>(base)[index];
  }
}

__device__ __forceinline__ bool isUnsignedCode(int type) {
  return type == kUint8 || type == kUint16 || type == kUint32 || type == kUint64 || type == kBool;
}

template <> __device__ __forceinline__ double loadAs<double>(const void* base, int64_t index, int type) {
  if (type == kFloat64) return static_cast<const double*>(base)[index];
  if (type <= kBFloat16) return loadFloat(base, index, type);
  if (isUnsignedCode(type)) return static_cast<double>(loadAs<uint64_t>(base, index, type));
  return static_cast<double>(loadAs<int64_t>(base, index, type));
}

template <typename Acc> __device__ __forceinline__ void storeAs(void* base, int64_t index, int type, Acc x);

template <> __device__ __forceinline__ void storeAs<float>(void* base, int64_t index, int type, float x) {
  storeFloat(base, index, type, x);
}

// Two's complement: a narrow type keeps the low bits, whatever the sign.
template <> __device__ __forceinline__ void storeAs<uint64_t>(void* base, int64_t index, int type, uint64_t x) {
  switch (type) {
    case kInt8:
    case kUint8:
    case kBool: static_cast<uint8_t*>(base)[index] = static_cast<uint8_t>(x); break;
    case kInt16:
    case kUint16: static_cast<uint16_t*>(base)[index] = static_cast<uint16_t>(x); break;
    case kInt32:
    case kUint32: static_cast<uint32_t*>(base)[index] = static_cast<uint32_t>(x); break;
    default: static_cast<uint64_t*>(base)[index] = x; break;
  }
}

template <> __device__ __forceinline__ void storeAs<int64_t>(void* base, int64_t index, int type, int64_t x) {
  storeAs<uint64_t>(base, index, type, static_cast<uint64_t>(x));
}

template <> __device__ __forceinline__ void storeAs<double>(void* base, int64_t index, int type, double x) {
  if (type == kFloat64) static_cast<double*>(base)[index] = x;
  else if (type <= kBFloat16) storeFloat(base, index, type, static_cast<float>(x));
  else if (isUnsignedCode(type)) storeAs<uint64_t>(base, index, type, static_cast<uint64_t>(x));
  else storeAs<int64_t>(base, index, type, static_cast<int64_t>(x));
}

template <typename T> __device__ __forceinline__ T lowestOf();
template <> __device__ __forceinline__ float lowestOf<float>() { return __int_as_float(0xff800000); }
template <> __device__ __forceinline__ double lowestOf<double>() { return __longlong_as_double(0xfff0000000000000LL); }
template <> __device__ __forceinline__ int64_t lowestOf<int64_t>() { return INT64_MIN; }
template <> __device__ __forceinline__ uint64_t lowestOf<uint64_t>() { return 0; }

template <typename T> __device__ __forceinline__ T highestOf();
template <> __device__ __forceinline__ float highestOf<float>() { return __int_as_float(0x7f800000); }
template <> __device__ __forceinline__ double highestOf<double>() { return __longlong_as_double(0x7ff0000000000000LL); }
template <> __device__ __forceinline__ int64_t highestOf<int64_t>() { return INT64_MAX; }
template <> __device__ __forceinline__ uint64_t highestOf<uint64_t>() { return UINT64_MAX; }

// NaN where either is NaN. For integers `a != a` is never true.
template <typename T> __device__ __forceinline__ T maxNan(T a, T b) { return a > b || a != a ? a : b; }
template <typename T> __device__ __forceinline__ T minNan(T a, T b) { return a < b || a != a ? a : b; }

// Offset of element `index` of a row-major walk over `sizes`, the last axis fastest.
__device__ __forceinline__ int64_t offsetOf(int index, const int* sizes, const int* strides, int rank) {
  int64_t offset = 0;
#pragma unroll 1
  for (int axis = rank - 1; axis > 0; axis--) {
    const int rest = index / sizes[axis];
    offset += static_cast<int64_t>(index - rest * sizes[axis]) * strides[axis];
    index = rest;
  }
  return offset + (rank > 0 ? static_cast<int64_t>(index) * strides[0] : 0);
}
