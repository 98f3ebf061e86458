// GroupNorm: a group is some channels of one sample at all positions. Channels are outermost (NCHW) or innermost (NHWC).
#pragma once
#include "../common/activation.cuh"
#include "../common/launch.cuh"
#include "vector.cuh"
#include "params.generated.cuh"

// Elements of a group are counted in memory's order: `inner` contiguous ones, then the next outer.
struct GroupPlace {
  int outer, inner;
  __device__ __forceinline__ GroupPlace(int element, int innerSize)
      : outer(element / innerSize), inner(element % innerSize) {}
};

// Elements a thread keeps.
template <int WIDTH> constexpr int kGroupFloats = WIDTH == 8 ? 32 : 16;

template <typename T, int WIDTH> struct GroupChunk {
  float v[kGroupFloats<WIDTH> / WIDTH][WIDTH];
  int begin, end, innerSize;

  __device__ __forceinline__ GroupChunk(const GroupNormParams& p, int chunk) {
    innerSize = p.channelsInner ? p.channels : p.positions;
    begin = chunk * p.chunk;
    end = min(begin + p.chunk, p.channels * p.positions);
  }
  __device__ __forceinline__ int element(int run) const {
    return begin + (run * static_cast<int>(blockDim.x) + static_cast<int>(threadIdx.x)) * WIDTH;
  }
  __device__ __forceinline__ void load(const GroupNormParams& p, int sample, int group) {
    const T* base = static_cast<const T*>(p.x) + static_cast<int64_t>(sample) * p.xSample +
                    static_cast<int64_t>(group) * p.xGroup;
#pragma unroll
    for (int j = 0; j < kGroupFloats<WIDTH> / WIDTH; j++) {
#pragma unroll
      for (int i = 0; i < WIDTH; i++) v[j][i] = 0.0f;
      if (element(j) >= end) continue;
      const GroupPlace at(element(j), innerSize);
      loadRun<T, WIDTH>(base + static_cast<int64_t>(at.outer) * p.xOuter + at.inner, v[j]);
    }
  }
  __device__ __forceinline__ float sum() const {
    float total = 0.0f;
#pragma unroll
    for (int j = 0; j < kGroupFloats<WIDTH> / WIDTH; j++) {
#pragma unroll
      for (int i = 0; i < WIDTH; i++) total += v[j][i];
    }
    return total;
  }
  __device__ __forceinline__ float centredSquares(float mean) const {
    float total = 0.0f;
#pragma unroll
    for (int j = 0; j < kGroupFloats<WIDTH> / WIDTH; j++) {
      const bool inside = element(j) < end;
#pragma unroll
      for (int i = 0; i < WIDTH; i++) {
        const float centred = inside ? v[j][i] - mean : 0.0f;
        total += centred * centred;
      }
    }
    return total;
  }
  __device__ __forceinline__ void store(const GroupNormParams& p, int sample, int group, float mean, float invStd) {
    const int64_t base = static_cast<int64_t>(sample) * p.ySample + static_cast<int64_t>(group) * p.yGroup;
#pragma unroll
    for (int j = 0; j < kGroupFloats<WIDTH> / WIDTH; j++) {
      if (element(j) >= end) continue;
      const GroupPlace at(element(j), innerSize);
      float out[WIDTH];
#pragma unroll
      for (int i = 0; i < WIDTH; i++) {
        const int channel = group * p.channels + (p.channelsInner ? at.inner + i : at.outer);
        const int parameter = p.parameterPerGroup ? group : channel;
        float y = (v[j][i] - mean) * invStd;
        if (p.scale != nullptr) y *= p.scale[parameter];
        if (p.bias != nullptr) y += p.bias[parameter];
        out[i] = p.silu ? y * sigmoidOf(y) : y;
      }
      storeRunOf<WIDTH>(p.y, base + static_cast<int64_t>(at.outer) * p.yOuter + at.inner, p.yType, out);
    }
  }
};

// grid: groups of all samples. The whole group in one block.
template <typename T, int WIDTH> __device__ __forceinline__ void normalizeGroup(const GroupNormParams& p) {
  __shared__ float scratch[32];
  const int sample = blockIdx.x / p.groups, group = blockIdx.x % p.groups;
  GroupChunk<T, WIDTH> chunk(p, 0);
  chunk.load(p, sample, group);
  const float count = static_cast<float>(chunk.end);
  const float mean = reduceBlock(chunk.sum(), 0.0f, scratch, Add()) / count;
  const float squares = reduceBlock(chunk.centredSquares(mean), 0.0f, scratch, Add());
  chunk.store(p, sample, group, mean, 1.0f / sqrtf(squares / count + p.epsilon));
}

// grid: groups of all samples, chunks. Neighbouring blocks read neighbouring channels.
template <typename T, int WIDTH> __device__ __forceinline__ void chunkStatistics(const GroupNormParams& p) {
  __shared__ float scratch[32];
  const int sample = blockIdx.x / p.groups, group = blockIdx.x % p.groups;
  GroupChunk<T, WIDTH> chunk(p, blockIdx.y);
  chunk.load(p, sample, group);
  const float mean = reduceBlock(chunk.sum(), 0.0f, scratch, Add()) / static_cast<float>(chunk.end - chunk.begin);
  const float squares = reduceBlock(chunk.centredSquares(mean), 0.0f, scratch, Add());
  if (threadIdx.x == 0) {
    float* out = p.partial + (static_cast<int64_t>(blockIdx.x) * p.chunks + blockIdx.y) * 2;
    out[0] = mean;
    out[1] = squares;
  }
}

// Means and squares of chunks as those of the group, the same in every block: always in the same order.
template <typename T, int WIDTH> __device__ __forceinline__ void normalizeChunk(const GroupNormParams& p) {
  __shared__ float scratch[32];
  const int sample = blockIdx.x / p.groups, group = blockIdx.x % p.groups;
  const float* partial = p.partial + static_cast<int64_t>(blockIdx.x) * p.chunks * 2;
  const int elements = p.channels * p.positions;
  float weighted = 0.0f;
  for (int i = threadIdx.x; i < p.chunks; i += blockDim.x) {
    weighted += partial[2 * i] * (static_cast<float>(min(p.chunk, elements - i * p.chunk)) / elements);
  }
  const float mean = reduceBlock(weighted, 0.0f, scratch, Add());
  float squares = 0.0f;
  for (int i = threadIdx.x; i < p.chunks; i += blockDim.x) {
    const float delta = partial[2 * i] - mean;
    squares += partial[2 * i + 1] + delta * delta * static_cast<float>(min(p.chunk, elements - i * p.chunk));
  }
  squares = reduceBlock(squares, 0.0f, scratch, Add());
  GroupChunk<T, WIDTH> chunk(p, blockIdx.y);
  chunk.load(p, sample, group);
  chunk.store(p, sample, group, mean, 1.0f / sqrtf(squares / elements + p.epsilon));
}

#define GROUP_NORM(T, TYPE, WIDTH)                                                                        \
  extern "C" __global__ void __launch_bounds__(512) groupnorm_##TYPE##_w##WIDTH##_whole(                 \
      const __grid_constant__ GroupNormParams p) { beginKernel(); normalizeGroup<T, WIDTH>(p); }          \
  extern "C" __global__ void __launch_bounds__(256) groupnorm_##TYPE##_w##WIDTH##_statistics(             \
      const __grid_constant__ GroupNormParams p) { beginKernel(); chunkStatistics<T, WIDTH>(p); }         \
  extern "C" __global__ void __launch_bounds__(256) groupnorm_##TYPE##_w##WIDTH##_apply(                  \
      const __grid_constant__ GroupNormParams p) { beginKernel(); normalizeChunk<T, WIDTH>(p); }

GROUP_NORM(float, f32, 8)
GROUP_NORM(float, f32, 2)
GROUP_NORM(float, f32, 1)
GROUP_NORM(__half, f16, 8)
GROUP_NORM(__half, f16, 2)
GROUP_NORM(__half, f16, 1)
GROUP_NORM(__nv_bfloat16, bf16, 8)
GROUP_NORM(__nv_bfloat16, bf16, 2)
GROUP_NORM(__nv_bfloat16, bf16, 1)
