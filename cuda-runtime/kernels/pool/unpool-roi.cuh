// Kernels that read positions from memory: unpooling, and pools over regions of interest. One thread an output.
#pragma once
#include "../common/launch.cuh"
#include "../common/scalar.cuh"
#include "params.generated.cuh"

extern "C" __global__ void __launch_bounds__(256) pool_unpool(const __grid_constant__ UnpoolParams p) {
  beginKernel();
  const int thread = blockIdx.x * 256 + threadIdx.x;
  if (thread >= p.count) return;
  int64_t rest = p.indices[thread];
  int64_t to = 0, step = 1;
  bool isInside = rest >= 0;
#pragma unroll
  for (int axis = 4; axis >= 0; --axis) {
    const int64_t at = axis > 0 ? rest % p.from[axis] : rest;
    rest /= p.from[axis];
    isInside = isInside && at < p.size[axis];
    to += at * step;
    step *= p.size[axis];
  }
  if (!isInside) return;
  switch (p.width) {
    case 1: static_cast<uint8_t*>(p.y)[to] = static_cast<const uint8_t*>(p.x)[thread]; break;
    case 2: static_cast<uint16_t*>(p.y)[to] = static_cast<const uint16_t*>(p.x)[thread]; break;
    case 4: static_cast<uint32_t*>(p.y)[to] = static_cast<const uint32_t*>(p.x)[thread]; break;
    default: static_cast<uint64_t*>(p.y)[to] = static_cast<const uint64_t*>(p.x)[thread]; break;
  }
}

struct RegionSpot {
  int region, channel, row, column;
};

// Channels are taken by consecutive threads where they are neighbours in x.
__device__ __forceinline__ RegionSpot regionSpotOf(const RegionParams& p, int thread) {
  RegionSpot spot;
  int rest = thread;
  const auto take = [&rest](int size) {
    const int at = rest % size;
    rest /= size;
    return at;
  };
  const bool channelsLast = p.xStrides[1] == 1;
  if (channelsLast) spot.channel = take(p.channels);
  spot.column = take(p.outWidth);
  spot.row = take(p.outHeight);
  if (!channelsLast) spot.channel = take(p.channels);
  spot.region = rest;
  return spot;
}

__device__ __forceinline__ void storeRegion(const RegionParams& p, const RegionSpot& spot, float v) {
  storeFloat(p.y, static_cast<int64_t>(spot.region) * p.yStrides[0] + static_cast<int64_t>(spot.channel) * p.yStrides[1] +
                      static_cast<int64_t>(spot.row) * p.yStrides[2] + static_cast<int64_t>(spot.column) * p.yStrides[3],
             p.yType, v);
}

struct Corner {
  int low, high;
  float towardsHigh;
};

__device__ __forceinline__ Corner cornerOf(float at, int size) {
  at = fmaxf(at, 0.0f);
  Corner corner;
  corner.low = static_cast<int>(at);
  corner.high = corner.low + 1;
  if (corner.low >= size - 1) {
    corner.low = corner.high = size - 1;
    at = static_cast<float>(corner.low);
  }
  corner.towardsHigh = at - corner.low;
  return corner;
}

extern "C" __global__ void __launch_bounds__(128) pool_roi_align(const __grid_constant__ RegionParams p) {
  beginKernel();
  const int thread = blockIdx.x * 128 + threadIdx.x;
  if (thread >= p.threads) return;
  const RegionSpot spot = regionSpotOf(p, thread);
  const float* region = p.regions + 4 * spot.region;
  const float left = region[0] * p.scale - p.shift, top = region[1] * p.scale - p.shift;
  float width = region[2] * p.scale - p.shift - left, height = region[3] * p.scale - p.shift - top;
  if (p.minOne) {
    width = fmaxf(width, 1.0f);
    height = fmaxf(height, 1.0f);
  }
  const float binHeight = height / p.outHeight, binWidth = width / p.outWidth;
  const int rows = p.sampling > 0 ? p.sampling : static_cast<int>(ceilf(height / p.outHeight));
  const int columns = p.sampling > 0 ? p.sampling : static_cast<int>(ceilf(width / p.outWidth));
  const int64_t batch = p.batches[spot.region];
  const bool isThere = batch >= 0 && batch < p.batch;
  const int64_t base = batch * p.xStrides[0] + static_cast<int64_t>(spot.channel) * p.xStrides[1];
  const auto load = [&](int row, int column) {
    return loadFloat(p.x, base + static_cast<int64_t>(row) * p.xStrides[2] + static_cast<int64_t>(column) * p.xStrides[3], p.xType);
  };
  float pooled = 0.0f;
  bool isFirst = true;
#pragma unroll 1
  for (int i = 0; i < rows && isThere; ++i) {
    const float y = top + spot.row * binHeight + (i + 0.5f) * binHeight / rows;
#pragma unroll 1
    for (int j = 0; j < columns; ++j) {
      const float x = left + spot.column * binWidth + (j + 0.5f) * binWidth / columns;
      float corners[4] = {};
      if (!(y < -1.0f || y > p.height || x < -1.0f || x > p.width)) {
        const Corner vertical = cornerOf(y, p.height), horizontal = cornerOf(x, p.width);
        const float down = vertical.towardsHigh, right = horizontal.towardsHigh;
        corners[0] = (1.0f - down) * (1.0f - right) * load(vertical.low, horizontal.low);
        corners[1] = (1.0f - down) * right * load(vertical.low, horizontal.high);
        corners[2] = down * (1.0f - right) * load(vertical.high, horizontal.low);
        corners[3] = down * right * load(vertical.high, horizontal.high);
      }
      if (p.isMax) {
        // The largest weighted corner, as ONNX Runtime and the operator's own tests have it.
        const float most = maxNan(maxNan(corners[0], corners[1]), maxNan(corners[2], corners[3]));
        pooled = isFirst ? most : maxNan(most, pooled);
        isFirst = false;
      } else {
        pooled += corners[0] + corners[1] + corners[2] + corners[3];
      }
    }
  }
  if (!p.isMax) pooled /= max(rows * columns, 1);
  storeRegion(p, spot, pooled);
}

// Bins of whole elements: [x1, x2] and [y1, y2] rounded, both included.
extern "C" __global__ void __launch_bounds__(128) pool_max_roi(const __grid_constant__ RegionParams p) {
  beginKernel();
  const int thread = blockIdx.x * 128 + threadIdx.x;
  if (thread >= p.threads) return;
  const RegionSpot spot = regionSpotOf(p, thread);
  const float* region = p.regions + 5 * spot.region;
  const int batch = static_cast<int>(region[0]);
  const int left = static_cast<int>(roundf(region[1] * p.scale)), top = static_cast<int>(roundf(region[2] * p.scale));
  const int right = static_cast<int>(roundf(region[3] * p.scale)), bottom = static_cast<int>(roundf(region[4] * p.scale));
  const float binHeight = static_cast<float>(max(bottom - top + 1, 1)) / p.outHeight;
  const float binWidth = static_cast<float>(max(right - left + 1, 1)) / p.outWidth;
  const int firstRow = min(max(static_cast<int>(floorf(spot.row * binHeight)) + top, 0), p.height);
  const int lastRow = min(max(static_cast<int>(ceilf((spot.row + 1) * binHeight)) + top, 0), p.height);
  const int firstColumn = min(max(static_cast<int>(floorf(spot.column * binWidth)) + left, 0), p.width);
  const int lastColumn = min(max(static_cast<int>(ceilf((spot.column + 1) * binWidth)) + left, 0), p.width);
  const bool isEmpty = lastRow <= firstRow || lastColumn <= firstColumn || batch < 0 || batch >= p.batch;
  float pooled = isEmpty ? 0.0f : lowestOf<float>();
  for (int row = firstRow; row < lastRow && !isEmpty; ++row) {
    for (int column = firstColumn; column < lastColumn; ++column) {
      const int64_t at = static_cast<int64_t>(batch) * p.xStrides[0] + static_cast<int64_t>(spot.channel) * p.xStrides[1] +
                         static_cast<int64_t>(row) * p.xStrides[2] + static_cast<int64_t>(column) * p.xStrides[3];
      pooled = maxNan(loadFloat(p.x, at, p.xType), pooled);
    }
  }
  storeRegion(p, spot, pooled);
}
