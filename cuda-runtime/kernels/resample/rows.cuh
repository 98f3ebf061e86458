// Which two rows lie around each target time, and how much of each is in it: found once a row, by a few lanes together.
#pragma once
#include "../common/copy.cuh"
#include "../common/divisor.cuh"
#include "../common/scalar.cuh"
#include "params.generated.cuh"

constexpr int kThreads = 256;
// Target rows that a block looks up at a time.
constexpr int kRows = 128;

// Of source times in shared memory. More of them are read where they are.
constexpr int kTimes = 4096;

struct RowTable {
  int low[kRows];
  int high[kRows];
  float weight[kRows];  // Before it is known: the target time.
  float times[kTimes];
};
static_assert(kRows <= kThreads, "a thread loads one target time");

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

// Source times of a batch, in global or in shared memory.
struct GlobalTimes {
  const ResampleParams& p;
  int64_t first;
  __device__ __forceinline__ float operator[](int at) const {
    return loadFloat(p.times, first + static_cast<int64_t>(at) * p.strideTimes, p.timesType);
  }
};

__device__ __forceinline__ bool isCounted(const ResampleParams& p, float time, float target) {
  return p.isInclusive ? time <= target : time < target;
}

// Whether, for whatever target, the one does not count without the other in front of it. NaN never counts.
__device__ __forceinline__ bool isInOrder(float time, float next) { return next != next || time <= next; }

// Whether those that count are the first ones. All threads of the block.
__device__ __forceinline__ bool isSorted(const ResampleParams& p, const GlobalTimes& times) {
  constexpr int kAtOnce = 4;
  bool isSoFar = true;
  for (int from = threadIdx.x; from < p.source - 1; from += kThreads * kAtOnce) {
    float time[kAtOnce], next[kAtOnce];
#pragma unroll
    for (int i = 0; i < kAtOnce; i++) {
      const int at = min(from + i * kThreads, p.source - 2);
      time[i] = times[at];
      next[i] = times[at + 1];
    }
#pragma unroll
    for (int i = 0; i < kAtOnce; i++) isSoFar &= isInOrder(time[i], next[i]);
  }
  return __syncthreads_and(isSoFar);
}

// Into shared memory, all under way at once, and the target time of this thread's row beside them; whether they are in order.
// All threads of the block.
__device__ __forceinline__ bool stageTimes(const ResampleParams& p, const GlobalTimes& times, float target, RowTable& table) {
  if (p.timesType == kFloat32) {
    const float* from = static_cast<const float*>(p.times) + times.first;
    for (int at = threadIdx.x; at < p.source; at += kThreads)
      cpAsync<4>(sharedAddress(&table.times[at]), from + static_cast<int64_t>(at) * p.strideTimes, 4);
    cpAsyncCommit();
  } else {
    for (int at = threadIdx.x; at < p.source; at += kThreads) table.times[at] = times[at];
  }
  if (threadIdx.x < kRows) table.weight[threadIdx.x] = target;
  cpAsyncWait<0>();
  __syncthreads();
  bool isSoFar = true;
#pragma unroll 4
  for (int at = threadIdx.x; at < p.source - 1; at += kThreads) isSoFar &= isInOrder(table.times[at], table.times[at + 1]);
  return __syncthreads_and(isSoFar);
}

// How many source times count. The p.lanes lanes of a group look for one target: each round, every lane asks one time, and the
// votes leave one part of so many. All lanes of the warp.
template <typename Times>
__device__ __forceinline__ int countSorted(const ResampleParams& p, const Times& times, float target, int lane) {
  const int shift = (threadIdx.x & 31) - lane, log = 31 - __clz(p.lanes);
  const unsigned group = (p.lanes == 32 ? ~0u : (1u << p.lanes) - 1) << shift;
  int begin = 0, end = p.source;
  for (int span = p.source; span > 0;) {
    const int step = (span + p.lanes - 1) >> log;
    const int at = begin + (lane + 1) * step - 1;
    const bool isIn = at < end && isCounted(p, times[at], target);
    const int parts = __popc(__ballot_sync(~0u, isIn) & group);
    end = min(end, begin + (parts + 1) * step - 1);
    begin = min(end, begin + parts * step);
    span = step - 1;
  }
  return begin;
}

// The same of times in any order.
template <typename Times>
__device__ __forceinline__ int countAll(const ResampleParams& p, const Times& times, float target, int lane) {
  int count = 0;
#pragma unroll 2
  for (int at = lane; at < p.source; at += p.lanes) count += isCounted(p, times[at], target);
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

// Of target times in the table, what is made of them. The caller waits.
template <typename Times>
__device__ __forceinline__ void findRows(const ResampleParams& p, const Times& times, int rows, bool isOrdered, RowTable& table) {
  const int lane = threadIdx.x & (p.lanes - 1), log = 31 - __clz(p.lanes);
  for (int from = 0; from < rows; from += kThreads >> log) {
    const int row = from + (static_cast<int>(threadIdx.x) >> log);
    // Groups without a row vote along.
    const float target = row < rows ? table.weight[row] : 0;
    const int count = isOrdered ? countSorted(p, times, target, lane) : countAll(p, times, target, lane);
    // The group's other lanes have their target.
    __syncwarp();
    if (lane != 0 || row >= rows) continue;
    const int low = sourceAt(p.low, count, p.source), high = sourceAt(p.high, count, p.source);
    table.low[row] = low;
    table.high[row] = high;
    table.weight[row] = weightOf(p, times[low], times[high], target);
  }
}

// Whose times are known.
struct KnownTimes {
  int64_t first = -1;
  bool isOrdered = false;
};

// Fills the table of a piece's rows. All threads of the block.
__device__ __forceinline__ void fillTable(const ResampleParams& p, const Piece& piece, KnownTimes& known, RowTable& table) {
  const int64_t first = static_cast<int64_t>(piece.batch) * p.strideTimesBatch;
  const int64_t place = static_cast<int64_t>(piece.batch) * p.strideTargetsBatch +
                        (piece.first + static_cast<int64_t>(threadIdx.x)) * p.strideTargets;
  const float target = threadIdx.x < piece.rows ? loadFloat(p.targets, place, p.targetsType) : 0;
  const bool isNew = first != known.first, isStaged = p.source <= kTimes;
  const GlobalTimes inPlace = {p, first};
  // The table of the piece before is read no more.
  __syncthreads();
  if (isNew && isStaged) {
    known.isOrdered = stageTimes(p, inPlace, target, table);
  } else {
    if (threadIdx.x < kRows) table.weight[threadIdx.x] = target;
    if (isNew) known.isOrdered = isSorted(p, inPlace);
    else __syncthreads();
  }
  known.first = first;
  if (isStaged) findRows(p, table.times, piece.rows, known.isOrdered, table);
  else findRows(p, inPlace, piece.rows, known.isOrdered, table);
  __syncthreads();
}

enum BlendCode : int { kOneProduct = 0, kTwoProducts = 1, kNearerEnd = 2 };

// As the model writes it: where a row is infinite, and at its own time, the three differ.
template <int BLEND> __device__ __forceinline__ float blended(float low, float high, float weight) {
  if constexpr (BLEND == kTwoProducts) return (1 - weight) * low + weight * high;
  const float between = high - low;
  if constexpr (BLEND == kNearerEnd) return weight < 0.5f ? low + weight * between : high - between * (1 - weight);
  return low + weight * between;
}
