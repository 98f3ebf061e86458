// Convolutions that are no product of matrices: codes with zero points, and taps at positions read from memory. Right
// for all sizes, and no more: one thread an output.
#include "../common/launch.cuh"
#include "../common/scalar.cuh"
#include "params.generated.cuh"

__device__ __forceinline__ int codeAt(const void* base, int64_t index, int type) {
  return type == kUint8 ? static_cast<const uint8_t*>(base)[index] : static_cast<const int8_t*>(base)[index];
}

struct OutputSpot {
  int batch, filter, at[3];
};

__device__ __forceinline__ OutputSpot outputSpotOf(int rest, int filters, const int* output) {
  OutputSpot spot;
#pragma unroll
  for (int axis = 2; axis >= 0; --axis) {
    spot.at[axis] = rest % output[axis];
    rest /= output[axis];
  }
  spot.filter = rest % filters;
  spot.batch = rest / filters;
  return spot;
}

extern "C" __global__ void __launch_bounds__(128) directconv_integer(const __grid_constant__ IntegerConvParams p) {
  beginKernel();
  const int thread = blockIdx.x * 128 + threadIdx.x;
  if (thread >= p.threads) return;
  const OutputSpot spot = outputSpotOf(thread, p.filters, p.output);
  const int xZero = p.xZero == nullptr ? 0 : codeAt(p.xZero, 0, p.xZeroType);
  const int wZero = p.wZero == nullptr ? 0 : codeAt(p.wZero, static_cast<int64_t>(spot.filter) * p.wZeroStride, p.wZeroType);
  const int64_t firstChannel = static_cast<int64_t>(spot.filter / p.filtersPerGroup) * p.channels;
  const int64_t x = static_cast<int64_t>(spot.batch) * p.xStrides[0] + firstChannel * p.xStrides[1];
  const int64_t w = static_cast<int64_t>(spot.filter) * p.wStrides[0];
  int sum = 0;
  for (int kd = 0; kd < p.kernel[0]; ++kd) {
    const int depth = spot.at[0] * p.stride[0] - p.pad[0] + kd * p.dilation[0];
    if (static_cast<unsigned>(depth) >= static_cast<unsigned>(p.input[0])) continue;
    for (int kh = 0; kh < p.kernel[1]; ++kh) {
      const int height = spot.at[1] * p.stride[1] - p.pad[1] + kh * p.dilation[1];
      if (static_cast<unsigned>(height) >= static_cast<unsigned>(p.input[1])) continue;
      for (int kw = 0; kw < p.kernel[2]; ++kw) {
        const int width = spot.at[2] * p.stride[2] - p.pad[2] + kw * p.dilation[2];
        if (static_cast<unsigned>(width) >= static_cast<unsigned>(p.input[2])) continue;
        const int64_t fromX = x + static_cast<int64_t>(depth) * p.xStrides[2] + static_cast<int64_t>(height) * p.xStrides[3] +
                              static_cast<int64_t>(width) * p.xStrides[4];
        const int64_t fromW = w + static_cast<int64_t>(kd) * p.wStrides[2] + static_cast<int64_t>(kh) * p.wStrides[3] +
                              static_cast<int64_t>(kw) * p.wStrides[4];
        for (int c = 0; c < p.channels; ++c) {
          sum += (codeAt(p.x, fromX + static_cast<int64_t>(c) * p.xStrides[1], p.xType) - xZero) *
                 (codeAt(p.w, fromW + static_cast<int64_t>(c) * p.wStrides[1], p.wType) - wZero);
        }
      }
    }
  }
  p.y[static_cast<int64_t>(spot.batch) * p.yStrides[0] + static_cast<int64_t>(spot.filter) * p.yStrides[1] +
      static_cast<int64_t>(spot.at[0]) * p.yStrides[2] + static_cast<int64_t>(spot.at[1]) * p.yStrides[3] +
      static_cast<int64_t>(spot.at[2]) * p.yStrides[4]] = sum;
}

__device__ __forceinline__ int64_t at4(const int* strides, int a, int b, int c, int d) {
  return static_cast<int64_t>(a) * strides[0] + static_cast<int64_t>(b) * strides[1] +
         static_cast<int64_t>(c) * strides[2] + static_cast<int64_t>(d) * strides[3];
}

__device__ __forceinline__ float pixelAt(const DeformConvParams& p, int batch, int channel, int row, int column) {
  const bool isInside = static_cast<unsigned>(row) < static_cast<unsigned>(p.height) &&
                        static_cast<unsigned>(column) < static_cast<unsigned>(p.width);
  return isInside ? loadFloat(p.x, at4(p.xStrides, batch, channel, row, column), p.xType) : 0.0f;
}

extern "C" __global__ void __launch_bounds__(128) directconv_deform(const __grid_constant__ DeformConvParams p) {
  beginKernel();
  const int thread = blockIdx.x * 128 + threadIdx.x;
  if (thread >= p.threads) return;
  const int outputs[3] = {1, p.outHeight, p.outWidth};
  const OutputSpot spot = outputSpotOf(thread, p.filters, outputs);
  const int firstChannel = spot.filter / p.filtersPerGroup * p.channels;
  const int taps = p.kernel[0] * p.kernel[1];
  float sum = p.bias == nullptr ? 0.0f : loadFloat(p.bias, static_cast<int64_t>(spot.filter) * p.biasStride, p.biasType);
  for (int c = 0; c < p.channels; ++c) {
    const int channel = firstChannel + c;
    const int set = channel / p.channelsPerOffset;
    for (int tap = 0; tap < taps; ++tap) {
      const int kh = tap / p.kernel[1], kw = tap % p.kernel[1];
      const int at = set * taps + tap;
      const float down = loadFloat(p.offsets, at4(p.offsetStrides, spot.batch, 2 * at, spot.at[1], spot.at[2]), p.offsetType);
      const float right = loadFloat(p.offsets, at4(p.offsetStrides, spot.batch, 2 * at + 1, spot.at[1], spot.at[2]), p.offsetType);
      const float row = spot.at[1] * p.stride[0] - p.pad[0] + kh * p.dilation[0] + down;
      const float column = spot.at[2] * p.stride[1] - p.pad[1] + kw * p.dilation[1] + right;
      // Also keeps what follows within the range of integers.
      if (!(row > -1.0f && row < p.height && column > -1.0f && column < p.width)) continue;
      const int top = static_cast<int>(floorf(row)), left = static_cast<int>(floorf(column));
      const float towardsBottom = row - top, towardsRight = column - left;
      const float upper = (1.0f - towardsRight) * pixelAt(p, spot.batch, channel, top, left) +
                          towardsRight * pixelAt(p, spot.batch, channel, top, left + 1);
      const float lower = (1.0f - towardsRight) * pixelAt(p, spot.batch, channel, top + 1, left) +
                          towardsRight * pixelAt(p, spot.batch, channel, top + 1, left + 1);
      float v = (1.0f - towardsBottom) * upper + towardsBottom * lower;
      if (p.mask != nullptr) v *= loadFloat(p.mask, at4(p.maskStrides, spot.batch, at, spot.at[1], spot.at[2]), p.maskType);
      sum = fmaf(v, loadFloat(p.w, at4(p.wStrides, spot.filter, c, kh, kw), p.wType), sum);
    }
  }
  storeFloat(p.y, at4(p.yStrides, spot.batch, spot.filter, spot.at[1], spot.at[2]), p.yType, sum);
}
