// Loss over classes: a warp to a position.
#include "../common/launch.cuh"
#include "../common/scalar.cuh"
#include "params.generated.cuh"

constexpr int kThreads = 256;

__device__ __forceinline__ float logSumExpOf(const LossParams& p, int64_t base, int lane) {
  float top = lowestOf<float>();
  for (int at = lane; at < p.classes; at += 32) top = fmaxf(top, loadFloat(p.x, base + static_cast<int64_t>(at) * p.classStrideX, p.xType));
  for (int step = 16; step > 0; step /= 2) top = fmaxf(top, __shfl_xor_sync(0xffffffffu, top, step));
  float sum = 0.0f;
  for (int at = lane; at < p.classes; at += 32) sum += expf(loadFloat(p.x, base + static_cast<int64_t>(at) * p.classStrideX, p.xType) - top);
  for (int step = 16; step > 0; step /= 2) sum += __shfl_xor_sync(0xffffffffu, sum, step);
  return top + logf(sum);
}

extern "C" __global__ void __launch_bounds__(kThreads) loss_f32(const __grid_constant__ LossParams p) {
  beginKernel();
  const int lane = threadIdx.x % 32;
  const int64_t at = static_cast<int64_t>(blockIdx.x) * (kThreads / 32) + threadIdx.x / 32;
  if (at >= p.positions) return;
  const int position = static_cast<int>(at);
  const int64_t base = offsetOf(position, p.sizes, p.stridesX, p.rank);
  const float normalizer = p.isSoftmax ? logSumExpOf(p, base, lane) : 0.0f;
  if (p.logarithms != nullptr) {
    const int64_t to = offsetOf(position, p.sizes, p.stridesLogarithms, p.rank);
    for (int c = lane; c < p.classes; c += 32) {
      const float x = loadFloat(p.x, base + static_cast<int64_t>(c) * p.classStrideX, p.xType);
      storeFloat(p.logarithms, to + static_cast<int64_t>(c) * p.classStrideLogarithms, p.logarithmType, x - normalizer);
    }
  }
  if (lane != 0) return;
  const int64_t label = loadAs<int64_t>(p.labels, offsetOf(position, p.sizes, p.stridesLabels, p.rank), p.labelType);
  const bool isIgnored = p.hasIgnored && label == p.ignored;
  const bool isClass = label >= 0 && label < p.classes;
  float weight = isIgnored ? 0.0f : 1.0f;
  float loss = 0.0f;
  if (!isIgnored) {
    if (isClass && p.weights != nullptr) weight = loadFloat(p.weights, label * p.strideWeights, p.weightType);
    // A label that is no class: nothing that could be read.
    loss = isClass ? -weight * (loadFloat(p.x, base + label * p.classStrideX, p.xType) - normalizer) : __int_as_float(0x7fc00000);
  }
  storeFloat(p.losses, offsetOf(position, p.sizes, p.stridesLosses, p.rank), p.lossType, loss);
  if (p.counts != nullptr) p.counts[position] = weight;
}
