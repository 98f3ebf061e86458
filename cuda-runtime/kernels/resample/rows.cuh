// Which two rows lie around each target time, and how much of each is in it: found once a row, by a few lanes together.
#pragma once
#include "../common/divisor.cuh"
#include "../common/scalar.cuh"
#include "params.generated.cuh"

constexpr int kThreads = 256;
// Target rows that a block looks up at a time.
constexpr int kRows = 128;

struct RowTable {
  int low[kRows];
  int high[kRows];
  float weight[kRows];
};

// A block's share of all target rows, in pieces that lie in one batch.
struct Piece {
  int batch;
  int first;
  int rows;
};

__device__ __forceinline__ Piece pieceAt(const ResampleParams& p, int64_t row, int64_t end) {
  const int batch = static_cast<int>(row / p.target);
  const int first = static_cast<int>(row - static_cast<int64_t>(batch) * p.target);
  const int64_t most = end - row < kRows ? end - row : kRows;
  return {batch, first, min(static_cast<int>(most), p.target - first)};
}

__device__ __forceinline__ float timeAt(const ResampleParams& p, int64_t times, int at) {
  return loadFloat(p.times, times + static_cast<int64_t>(at) * p.strideTimes, p.timesType);
}

__device__ __forceinline__ bool isCounted(const ResampleParams& p, float time, float target) {
  return p.isInclusive ? time <= target : time < target;
}

// Whether those that count, for whatever target, are the first ones. NaN never counts. All threads of the block.
__device__ __forceinline__ bool isSorted(const ResampleParams& p, int64_t times) {
  bool isInOrder = true;
#pragma unroll 4
  for (int at = threadIdx.x; at < p.source - 1; at += kThreads) {
    const float time = timeAt(p, times, at), next = timeAt(p, times, at + 1);
    isInOrder &= next != next || time <= next;
  }
  return __syncthreads_and(isInOrder);
}

// How many source times count. The p.lanes lanes of a group look for one target: each round, every lane asks one time, and the
// votes leave one part of so many. All lanes of the warp.
__device__ __forceinline__ int countSorted(const ResampleParams& p, int64_t times, float target, int lane) {
  const int shift = (threadIdx.x & 31) - lane;
  const unsigned group = (p.lanes == 32 ? ~0u : (1u << p.lanes) - 1) << shift;
  int begin = 0, end = p.source;
  for (int span = p.source; span > 0;) {
    const int step = (span + p.lanes - 1) / p.lanes;
    const int at = begin + (lane + 1) * step - 1;
    const bool isIn = at < end && isCounted(p, timeAt(p, times, at), target);
    const int parts = __popc(__ballot_sync(~0u, isIn) & group);
    end = min(end, begin + (parts + 1) * step - 1);
    begin = min(end, begin + parts * step);
    span = step - 1;
  }
  return begin;
}

// The same of times in any order.
__device__ __forceinline__ int countAll(const ResampleParams& p, int64_t times, float target, int lane) {
  int count = 0;
#pragma unroll 2
  for (int at = lane; at < p.source; at += p.lanes) count += isCounted(p, timeAt(p, times, at), target);
  for (int width = p.lanes / 2; width > 0; width /= 2) count += __shfl_xor_sync(~0u, count, width);
  return count;
}

__device__ __forceinline__ int sourceAt(const SourceIndex& index, int count, int source) {
  const int at = min(max(count + index.shift, index.least), index.most);
  return at < 0 ? at + source : at;
}

enum EmptyKind : int { kNoEmpty = 0, kNoSpan = 1, kNotPositive = 2 };

__device__ __forceinline__ float weightOf(const ResampleParams& p, float left, float right, float target) {
  const float between = right - left;
  float span = maxNan(between + p.spanAdd, p.spanLeast);
  if (span == 0) span = p.zeroSpan;
  float weight = (target - left) / span;
  const bool isEmpty = p.emptyKind == kNoSpan ? between == 0 : p.emptyKind == kNotPositive && !(between > 0);
  if (isEmpty) weight = p.emptyWeight;
  weight = minNan(maxNan(weight, p.weightLeast), p.weightMost);
  if (p.weightType == kFloat16) return __half2float(__float2half_rn(weight));
  if (p.weightType == kBFloat16) return __bfloat162float(__float2bfloat16_rn(weight));
  return weight;
}

// Fills the table of a piece's rows. The caller waits.
__device__ __forceinline__ void findRows(const ResampleParams& p, const Piece& piece, bool isOrdered, RowTable& table) {
  const int lane = threadIdx.x & (p.lanes - 1);
  const int64_t times = static_cast<int64_t>(piece.batch) * p.strideTimesBatch;
  const int64_t targets = static_cast<int64_t>(piece.batch) * p.strideTargetsBatch;
  const int groups = kThreads / p.lanes;
  for (int from = 0; from < piece.rows; from += groups) {
    const int row = from + static_cast<int>(threadIdx.x) / p.lanes;
    // Groups without a row vote along.
    const int64_t place = piece.first + min(row, piece.rows - 1);
    const float target = loadFloat(p.targets, targets + place * p.strideTargets, p.targetsType);
    const int count = isOrdered ? countSorted(p, times, target, lane) : countAll(p, times, target, lane);
    if (lane != 0 || row >= piece.rows) continue;
    const int low = sourceAt(p.low, count, p.source), high = sourceAt(p.high, count, p.source);
    table.low[row] = low;
    table.high[row] = high;
    table.weight[row] = weightOf(p, timeAt(p, times, low), timeAt(p, times, high), target);
  }
}

enum BlendCode : int { kOneProduct = 0, kTwoProducts = 1, kNearerEnd = 2 };

// As the model writes it: where a row is infinite, and at its own time, the three differ.
template <int BLEND> __device__ __forceinline__ float blended(float low, float high, float weight) {
  if constexpr (BLEND == kTwoProducts) return (1 - weight) * low + weight * high;
  const float between = high - low;
  if constexpr (BLEND == kNearerEnd) return weight < 0.5f ? low + weight * between : high - between * (1 - weight);
  return low + weight * between;
}
