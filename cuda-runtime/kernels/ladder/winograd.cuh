// Winograd's F(2x2, 3x3) on Tensor Cores, channels last: four outputs of a tile by 16 multiplications in the place of 36.
//
// Y = Aᵀ [(G g Gᵀ) ⊙ (Bᵀ d B)] A, the middle as 16 products, one a position of the 4x4 tiles, each a warp's. The filters'
// transform is made once (they are constant); the inputs' is fused into their loads, the outputs' into the epilogue.
#pragma once
#include "product.cuh"
#include "params.generated.cuh"

constexpr int kPositions = 16;  // And warps.
constexpr int kWinogradThreads = 32 * kPositions;
constexpr int kTiles = 64;  // Of a block, of 2 x 2 outputs each.
constexpr int kWinogradFilters = 32;
constexpr int kWinogradDeep = 16;  // Channels at a time.

// Rows of 32 bytes whose halves change places every four rows: those that one ldmatrix reads lie in different banks.
__device__ __forceinline__ int swizzled(int row, int channel) { return row * kWinogradDeep + (channel ^ (row / 4 % 2 * 8)); }

struct alignas(16) WinogradStage {
  __half inputs[kPositions][kTiles * kWinogradDeep];
  __half filters[kPositions][kWinogradFilters * kWinogradDeep];
};
static_assert(2 * sizeof(WinogradStage) == 98304, "what the planner asks for");

// Sums of a position, for the epilogue: half of the tiles at a time, rows of 40 floats so that eight of them use all banks.
constexpr int kSumPitch = kWinogradFilters + 8;
static_assert(kPositions * kTiles / 2 * kSumPitch * sizeof(float) <= 2 * sizeof(WinogradStage), "in the same memory");

// u[position, k, c] = G g Gᵀ of w[k, c], in FP32 and then rounded.
extern "C" __global__ void __launch_bounds__(256) ladder_winograd_filters(const __grid_constant__ LadderConvParams p) {
  beginKernel();
  const int all = p.filters * p.channels, at = blockIdx.x * 256 + threadIdx.x;
  if (at >= all) return;
  const __half* w = static_cast<const __half*>(p.w) + static_cast<int64_t>(at) * 9;
  float half[4][3];
#pragma unroll
  for (int q = 0; q < 3; q++) {
    const float a = __half2float(w[q]), b = __half2float(w[3 + q]), c = __half2float(w[6 + q]);
    half[0][q] = a, half[1][q] = (a + b + c) / 2, half[2][q] = (a - b + c) / 2, half[3][q] = c;
  }
  __half* u = static_cast<__half*>(p.y) + at;
#pragma unroll
  for (int r = 0; r < 4; r++) {
    const float a = half[r][0], b = half[r][1], c = half[r][2];
    const float row[4] = {a, (a + b + c) / 2, (a - b + c) / 2, c};
#pragma unroll
    for (int q = 0; q < 4; q++) u[static_cast<int64_t>(r * 4 + q) * all] = __float2half_rn(row[q]);
  }
}

// Bᵀ of four values that lie STEP apart, in place.
template <int STEP> __device__ __forceinline__ void transformInput(__half2* d) {
  const __half2 a = d[0], b = d[STEP], c = d[2 * STEP], e = d[3 * STEP];
  d[0] = __hsub2(a, c), d[STEP] = __hadd2(b, c), d[2 * STEP] = __hsub2(c, b), d[3 * STEP] = __hsub2(b, e);
}

// A tile of 2 x 2 outputs: where its 4 x 4 inputs begin.
struct TilePlace {
  int n, row, column;
  bool isThere;
  __device__ __forceinline__ TilePlace(const LadderConvParams& p, int tile) {
    const int across = (p.width + 1) / 2, down = (p.height + 1) / 2;
    n = tile / (across * down), row = tile / across % down * 2, column = tile % across * 2, isThere = n < p.batch;
  }
};

// Four channels of a tile by a thread: 16 pixels, transformed, go to the 16 positions.
__device__ __forceinline__ void stageInput(WinogradStage& stage, const LadderConvParams& p, const TilePlace& place, int tile, int channel, int from) {
  __half2 d[2][16];
  const int top = place.row - 1, left = place.column - 1;
  const int corner = ((place.n * p.height + top) * p.width + left) * p.channels + from + channel;
#pragma unroll
  for (int i = 0; i < 16; i++) {
    const int r = top + i / 4, q = left + i % 4;
    uint2 words = make_uint2(0, 0);
    if (place.isThere && r >= 0 && r < p.height && q >= 0 && q < p.width)
      words = *reinterpret_cast<const uint2*>(static_cast<const __half*>(p.x) + corner + (i / 4 * p.width + i % 4) * p.channels);
    memcpy(&d[0][i], &words.x, 4);
    memcpy(&d[1][i], &words.y, 4);
  }
#pragma unroll
  for (int pair = 0; pair < 2; pair++) {
#pragma unroll
    for (int i = 0; i < 4; i++) transformInput<4>(&d[pair][i]);
#pragma unroll
    for (int i = 0; i < 4; i++) transformInput<1>(&d[pair][4 * i]);
  }
#pragma unroll
  for (int i = 0; i < 16; i++) {
    uint2 words;
    memcpy(&words.x, &d[0][i], 4);
    memcpy(&words.y, &d[1][i], 4);
    *reinterpret_cast<uint2*>(&stage.inputs[i][swizzled(tile, channel)]) = words;
  }
}

__device__ __forceinline__ void stageFilters(WinogradStage& stage, const LadderConvParams& p, int thread, int k, int from) {
#pragma unroll
  for (int i = thread; i < kPositions * kWinogradFilters * 2; i += kWinogradThreads / 2) {
    const int position = i / (kWinogradFilters * 2), filter = i / 2 % kWinogradFilters, channel = i % 2 * 8;
    const int64_t at = (static_cast<int64_t>(position) * p.filters + k + filter) * p.channels + from + channel;
    cpAsync<16>(sharedAddress(&stage.filters[position][swizzled(filter, channel)]), static_cast<const __half*>(p.w) + at, 16);
  }
}

using WinogradSums = float[kTiles / 16][kWinogradFilters / 8][4];

// This warp's position: its tiles by its filters.
__device__ __forceinline__ void multiplyPosition(WinogradSums& sums, const WinogradStage& stage) {
  const int position = threadIdx.x / 32, lane = threadIdx.x % 32;
  uint32_t b[kWinogradFilters / 16][4];
#pragma unroll
  for (int n = 0; n < kWinogradFilters / 16; n++)
    ldmatrix4(b[n], sharedAddress(&stage.filters[position][swizzled(n * 16 + lane / 16 * 8 + lane % 8, lane / 8 % 2 * 8)]));
#pragma unroll
  for (int m = 0; m < kTiles / 16; m++) {
    uint32_t a[4];
    ldmatrix4(a, sharedAddress(&stage.inputs[position][swizzled(m * 16 + lane % 16, lane / 16 * 8)]));
#pragma unroll
    for (int n = 0; n < kWinogradFilters / 16; n++) {
      mma16816(sums[m][2 * n], a, b[n][0], b[n][1], __half());
      mma16816(sums[m][2 * n + 1], a, b[n][2], b[n][3], __half());
    }
  }
}

// Aᵀ of four.
__device__ __forceinline__ void transformOutput(float a, float b, float c, float d, float& first, float& second) {
  first = a + b + c;
  second = b - c - d;
}

// Two filters of a tile by a thread: their sums of all positions become four outputs.
__device__ __forceinline__ void storeTile(const float* sums, const LadderConvParams& p, const TilePlace& place, int tile, int filter, int k) {
  float half[2][4][2];
#pragma unroll
  for (int q = 0; q < 4; q++) {
    float2 m[4];
#pragma unroll
    for (int r = 0; r < 4; r++)
      m[r] = *reinterpret_cast<const float2*>(sums + ((r * 4 + q) * (kTiles / 2) + tile) * kSumPitch + filter);
    transformOutput(m[0].x, m[1].x, m[2].x, m[3].x, half[0][q][0], half[1][q][0]);
    transformOutput(m[0].y, m[1].y, m[2].y, m[3].y, half[0][q][1], half[1][q][1]);
  }
#pragma unroll
  for (int r = 0; r < 2; r++) {
    float2 y[2];
    transformOutput(half[r][0][0], half[r][1][0], half[r][2][0], half[r][3][0], y[0].x, y[1].x);
    transformOutput(half[r][0][1], half[r][1][1], half[r][2][1], half[r][3][1], y[0].y, y[1].y);
#pragma unroll
    for (int q = 0; q < 2; q++) {
      if (!place.isThere || place.row + r >= p.height || place.column + q >= p.width) continue;
      const int64_t pixel = (static_cast<int64_t>(place.n) * p.height + place.row + r) * p.width + place.column + q;
      *reinterpret_cast<uint32_t*>(static_cast<__half*>(p.y) + pixel * p.filters + k + filter) = packHalves(y[q].x, y[q].y);
    }
  }
}

extern "C" __global__ void __launch_bounds__(kWinogradThreads, 1) ladder_winograd(const __grid_constant__ LadderConvParams p) {
  beginKernel();
  extern __shared__ __align__(16) unsigned char winogradShared[];
  WinogradStage* stages = reinterpret_cast<WinogradStage*>(winogradShared);
  const int first = blockIdx.x * kTiles, k = blockIdx.y * kWinogradFilters;
  // One half of the block transforms inputs, the other fetches filters; all multiply.
  const bool isInput = threadIdx.x < kWinogradThreads / 2;
  const int thread = threadIdx.x % (kWinogradThreads / 2);
  const TilePlace own(p, first + thread / 4);
  const auto fetch = [&](WinogradStage& stage, int from) {
    if (isInput) stageInput(stage, p, own, thread / 4, thread % 4 * 4, from);
    else stageFilters(stage, p, thread, k, from);
    cpAsyncCommit();
  };
  WinogradSums sums = {};
  fetch(stages[0], 0);
  for (int from = 0, at = 0; from < p.channels; from += kWinogradDeep, at ^= 1) {
    cpAsyncWait<0>();
    // These channels are there, and those before are read no more.
    __syncthreads();
    if (from + kWinogradDeep < p.channels) fetch(stages[at ^ 1], from + kWinogradDeep);
    multiplyPosition(sums, stages[at]);
  }
  float* all = reinterpret_cast<float*>(winogradShared);
  const int position = threadIdx.x / 32, lane = threadIdx.x % 32;
#pragma unroll
  for (int part = 0; part < 2; part++) {
    __syncthreads();
#pragma unroll
    for (int m = 0; m < kTiles / 32; m++) {
#pragma unroll
      for (int n = 0; n < kWinogradFilters / 8; n++) {
        const float(&each)[4] = sums[part * (kTiles / 32) + m][n];
        float* row = all + (position * (kTiles / 2) + m * 16 + lane / 4) * kSumPitch + n * 8 + lane % 4 * 2;
        *reinterpret_cast<float2*>(row) = make_float2(each[0], each[1]);
        *reinterpret_cast<float2*>(row + 8 * kSumPitch) = make_float2(each[2], each[3]);
      }
    }
    __syncthreads();
    const int tile = threadIdx.x / (kWinogradFilters / 2), filter = threadIdx.x % (kWinogradFilters / 2) * 2;
    storeTile(all, p, TilePlace(p, first + part * (kTiles / 2) + tile), tile, filter, k);
  }
}
