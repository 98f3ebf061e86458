// Normalizations over any axes, and over neighbouring channels: one block or thread for each kept element, read again
// for every pass.
#pragma once
#include "../common/launch.cuh"
#include "vector.cuh"
#include "params.generated.cuh"

enum AxesNormMode : int { kMeanVariance = 0, kL1 = 1, kL2 = 2 };

struct TwoOffsets { int64_t x, y; };

__device__ __forceinline__ TwoOffsets offsetsOf(int index, const int* size, const int* strideX, const int* strideY) {
  TwoOffsets at{0, 0};
#pragma unroll
  for (int axis = 7; axis >= 0; axis--) {
    const int coordinate = index % size[axis];
    index /= size[axis];
    at.x += static_cast<int64_t>(coordinate) * strideX[axis];
    at.y += static_cast<int64_t>(coordinate) * strideY[axis];
  }
  return at;
}

extern "C" __global__ void __launch_bounds__(256) axesnorm(const __grid_constant__ AxesNormParams p) {
  beginKernel();
  __shared__ float scratch[32];
  const TwoOffsets base = offsetsOf(blockIdx.x, p.keptSize, p.keptX, p.keptY);
  const auto at = [&](int i) { return offsetsOf(i, p.reducedSize, p.reducedX, p.reducedY); };
  float mean = 0.0f;
  if (p.mode == kMeanVariance) {
    float total = 0.0f;
    for (int i = threadIdx.x; i < p.reduced; i += blockDim.x) total += loadFloat(p.x, base.x + at(i).x, p.xType);
    mean = reduceBlock(total, 0.0f, scratch, Add()) / p.reduced;
  }
  float total = 0.0f;
  for (int i = threadIdx.x; i < p.reduced; i += blockDim.x) {
    const float x = loadFloat(p.x, base.x + at(i).x, p.xType) - mean;
    total += p.mode == kL1 ? fabsf(x) : x * x;
  }
  total = reduceBlock(total, 0.0f, scratch, Add());
  // The standard deviation is kept off zero; a norm of zero leaves zeros.
  const float divisor = p.mode == kMeanVariance ? sqrtf(total / p.reduced) + 1e-9f : p.mode == kL1 ? total : sqrtf(total);
  for (int i = threadIdx.x; i < p.reduced; i += blockDim.x) {
    const TwoOffsets offset = at(i);
    const float x = loadFloat(p.x, base.x + offset.x, p.xType) - mean;
    storeFloat(p.y, base.y + offset.y, p.yType, divisor == 0.0f ? 0.0f : x / divisor);
  }
}

extern "C" __global__ void __launch_bounds__(256) lrn(const __grid_constant__ LrnParams p) {
  beginKernel();
  const int64_t element = static_cast<int64_t>(blockIdx.x) * blockDim.x + threadIdx.x;
  if (element >= p.total) return;
  const int index = static_cast<int>(element), sampleSize = p.channels * p.positions;
  const int sample = index / sampleSize, rest = index % sampleSize;
  const int channel = p.channelsInner ? rest % p.channels : rest / p.positions;
  const int position = p.channelsInner ? rest / p.channels : rest % p.positions;
  const int64_t base = static_cast<int64_t>(sample) * p.xSample + static_cast<int64_t>(position) * p.xPosition;
  float squares = 0.0f;
  for (int c = max(channel - p.before, 0); c <= min(channel + p.after, p.channels - 1); c++) {
    const float x = loadFloat(p.x, base + static_cast<int64_t>(c) * p.xChannel, p.xType);
    squares += x * x;
  }
  const float x = loadFloat(p.x, base + static_cast<int64_t>(channel) * p.xChannel, p.xType);
  storeFloat(p.y, static_cast<int64_t>(sample) * p.ySample + static_cast<int64_t>(channel) * p.yChannel +
                      static_cast<int64_t>(position) * p.yPosition,
             p.yType, x * powf(p.bias + p.alphaBySize * squares, -p.beta));
}
