// What attention reads and writes, and the rules for a score between Q·K and softmax.
#pragma once
#include "../common/codes.cuh"
#include "../norm/vector.cuh"
#include "params.generated.cuh"

// Of a row of `partial`: even, for stores of pairs.
__device__ __forceinline__ int partialPitch(const AttentionParams& p) { return p.valueDim + p.valueDim % 2; }

__device__ __forceinline__ float minusInfinity() { return __int_as_float(0xff800000); }

__device__ __forceinline__ bool makesCodes(const AttentionParams& p) { return p.oType == kInt8 || p.oType == kUint8; }

// One element of the output.
__device__ __forceinline__ void storeOutput(const AttentionParams& p, int64_t at, float x) {
  if (!makesCodes(p)) return storeFloat(p.o, at, p.oType, x);
  const float four[4] = {x, x, x, x};
  static_cast<unsigned char*>(p.o)[at] = static_cast<unsigned char>(codesOf(four, p.to));
}

// Two neighbours of an output of T or of codes, at a multiple of two.
template <typename T> __device__ __forceinline__ void storeOutputs(const AttentionParams& p, int64_t at, float x, float y) {
  if (makesCodes(p)) {
    const float four[4] = {x, y, x, y};
    *reinterpret_cast<unsigned short*>(static_cast<unsigned char*>(p.o) + at) = static_cast<unsigned short>(codesOf(four, p.to));
  } else {
    *reinterpret_cast<uint32_t*>(static_cast<T*>(p.o) + at) = packPair<T>(x, y);
  }
}

// One block's place: sample and head, a tile of queries, a split of the keys. The longest causal tiles come first.
struct AttentionPlace {
  int sample, head, kvHead, split, firstQuery;
  __device__ __forceinline__ AttentionPlace(const AttentionParams& p, int tileQueries) {
    const int tiles = (p.queries + tileQueries - 1) / tileQueries;
    int index = blockIdx.x;
    firstQuery = (tiles - 1 - index % tiles) * tileQueries;
    index /= tiles;
    split = index % p.splits;
    index /= p.splits;
    head = index % p.heads;
    sample = index / p.heads;
    kvHead = head / p.group;
  }
};

// Which keys a row of queries may see.
struct KeyLimits {
  int count;     // keys of this sample
  int position;  // of query 0
  int left, right;
  __device__ __forceinline__ KeyLimits(const AttentionParams& p, int sample)
      : count(p.keys), position(p.position), left(p.left), right(p.right) {
    if (p.keyCounts != nullptr) count = min(max(static_cast<int>(p.keyCounts[sample]), 0), p.keys);
    if (p.endAligned) position = (p.keyCounts != nullptr ? static_cast<int>(p.keyCounts[sample]) : p.keys) - p.queries;
  }
  __device__ __forceinline__ bool allows(int query, int key) const {
    const int at = position + query;
    return key < count && key <= at + right && key >= at - left;
  }
  // Keys [begin, end) hold all that queries [first, last] see; [innerBegin, innerEnd) is seen by every one of them.
  __device__ __forceinline__ int begin(int first) const { return max(position + first - left, 0); }
  __device__ __forceinline__ int end(int last) const { return max(min(position + last + right + 1, count), 0); }
  __device__ __forceinline__ int innerBegin(int last) const { return position + last - left; }
  __device__ __forceinline__ int innerEnd(int first) const { return min(position + first + right + 1, count); }
};

// What happens to a scaled score before the softmax: cap, bias, mask.
struct ScoreRule {
  int64_t bias, keep;
  __device__ __forceinline__ ScoreRule(const AttentionParams& p, int sample, int head) {
    const int outer = sample / p.innerBatch, inner = sample % p.innerBatch;
    bias = static_cast<int64_t>(outer) * p.biasOuter + static_cast<int64_t>(inner) * p.biasInner +
           static_cast<int64_t>(head) * p.biasHead;
    keep = static_cast<int64_t>(outer) * p.keepOuter + static_cast<int64_t>(inner) * p.keepInner +
           static_cast<int64_t>(head) * p.keepHead;
  }
  __device__ __forceinline__ float cap(const AttentionParams& p, float score) const {
    return p.softcap == 0.0f ? score : p.softcap * tanhf(score / p.softcap);
  }
  // Query and key inside their ranges. Finite masks stay finite in powers of two: their lowest float would not.
  __device__ __forceinline__ float mask(const AttentionParams& p, float score, int query, int key) const {
    if (p.bias != nullptr) {
      const int64_t at = bias + static_cast<int64_t>(query) * p.biasQuery + static_cast<int64_t>(key) * p.biasKey;
      const float added = loadFloat(p.bias, at, p.biasType);
      score = added == minusInfinity() && !p.softInfinity ? added : Max()(score + added, -1e30f);
    }
    if (p.keep != nullptr) {
      const int64_t at = keep + static_cast<int64_t>(query) * p.keepQuery + static_cast<int64_t>(key) * p.keepKey;
      if (p.keep[at] == 0) score = p.fill;
    }
    return score;
  }
};
