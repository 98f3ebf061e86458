// The one parameter of every kernel of this family, and what happens to an element before it is stored.
#pragma once
#include "../common/activation.cuh"
#include "../common/storage.cuh"
#include "params.generated.cuh"

// GemmParams::ahead: the operand that is a weight, which need not wait for the launches in front.
enum AheadCode : int { kNothingAhead = 0, kAheadOfA = 1, kAheadOfB = 2 };

struct Place {
  int tileM, tileN, split;
  int batch[3];
  int64_t a, b, d, residual;  // of the batch, in elements
};

// Tile `index` of all products; a block's own unless it computes several.
__device__ __forceinline__ Place placeOf(const GemmParams& p, int index = blockIdx.x) {
  Place at;
  const int tiles = p.tilesM * p.tilesN;
  int tile = index, i0 = 0, i1 = 0, i2 = 0;
  at.split = 0;
  // Divisions are slow, and mostly there is one product in one piece.
  if (index >= tiles) {
    int rest = index / tiles;
    tile = index % tiles;
    at.split = rest % p.splits;
    rest /= p.splits;
    i2 = rest % p.batch[2];
    rest /= p.batch[2];
    i1 = rest % p.batch[1];
    i0 = rest / p.batch[1];
  }
  at.batch[0] = i0, at.batch[1] = i1, at.batch[2] = i2;
  const int perGroup = p.group * p.tilesN;
  const int first = tile / perGroup * p.group;
  const int rows = min(p.tilesM - first, p.group);
  at.tileM = first + tile % perGroup % rows;
  at.tileN = tile % perGroup / rows;
  at.a = (int64_t)i0 * p.aBatch[0] + (int64_t)i1 * p.aBatch[1] + (int64_t)i2 * p.aBatch[2];
  at.b = (int64_t)i0 * p.bBatch[0] + (int64_t)i1 * p.bBatch[1] + (int64_t)i2 * p.bBatch[2];
  at.d = (int64_t)i0 * p.dBatch[0] + (int64_t)i1 * p.dBatch[1] + (int64_t)i2 * p.dBatch[2] + at.split * p.splitStride;
  at.residual = (int64_t)i0 * p.rBatch[0] + (int64_t)i1 * p.rBatch[1] + (int64_t)i2 * p.rBatch[2];
  return at;
}

// Where this split's part of k begins and ends.
__device__ __forceinline__ int kBegin(const GemmParams& p, const Place& at) { return at.split * p.kPerSplit; }
__device__ __forceinline__ int kEnd(const GemmParams& p, const Place& at) {
  return min(p.k, (at.split + 1) * p.kPerSplit);
}

__device__ __forceinline__ float scaleAt(const GemmParams& p, int channel) {
  return p.scale == nullptr ? p.alpha : p.alpha * p.scale[channel];
}

__device__ __forceinline__ float biasAt(const GemmParams& p, int channel) {
  return p.bias == nullptr ? 0.0f : p.bias[channel];
}

// The whole epilogue for one element, where speed is of no matter.
__device__ __forceinline__ void finish(const GemmParams& p, const Place& at, int m, int n, float sum) {
  const int channel = p.channelOnM ? m : n;
  float v = clipOf(sum * scaleAt(p, channel) + biasAt(p, channel), p.firstLow, p.firstHigh);
#pragma unroll 1
  for (int round = 0; round < 2; ++round) {
    const Activation f = round == 0 ? p.first : p.last;
    if (f.kind != kNone) v = activate(v, f);
    if (round == 0 && p.residual != nullptr) {
      v += loadFloat(p.residual, at.residual + (int64_t)m * p.rM + (int64_t)n * p.rN, p.rType);
    }
  }
  storeFloat(p.d, at.d + (int64_t)m * p.dM + (int64_t)n * p.dN, p.dType, clipOf(v, p.lastLow, p.lastHigh));
}
