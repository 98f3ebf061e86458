// What softmax makes of a row's elements.
#pragma once
#include "../norm/vector.cuh"

enum SoftmaxMode : int { kSoftmax = 0, kLogSoftmax = 1, kHardmax = 2 };

// What a row's elements are made of once its maximum is known.
template <typename T> struct RowFinish {
  float maximum;
  float term;  // softmax: 1 / sum; log: log(sum)
  int mode;
  // For halves the fast power is exact enough: 2 units of FP32 and 2^-22 of the exponent.
  __device__ __forceinline__ float power(float x) const {
    return sizeof(T) == 2 ? __expf(x - maximum) : expf(x - maximum);
  }
  __device__ __forceinline__ float operator()(float x) const {
    return mode == kSoftmax ? power(x) * term : x - maximum - term;
  }
};
