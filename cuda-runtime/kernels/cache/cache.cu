// Keys and values of new positions into a cache: the launch between the projections and attention over the cache.
#include "../common/launch.cuh"
#include "../common/storage.cuh"
#include "params.generated.cuh"

constexpr int kWarps = 8;

// One head's vector at one position, by one warp.
struct HeadRow {
  const void* from;
  int64_t at;
  int fromType;
  void* to;
  int64_t toAt;
  int toType;
};

__device__ __forceinline__ void copyRow(const HeadRow& row, int dim, int first) {
  for (int i = first + threadIdx.x; i < dim; i += 32) {
    storeFloat(row.to, row.toAt + i, row.toType, loadFloat(row.from, row.at + i, row.fromType));
  }
}

__device__ __forceinline__ void turnRow(const CacheParams& p, const HeadRow& row, int64_t position) {
  const int64_t angles = min(max(position, int64_t(0)), int64_t(p.angles - 1)) * p.pairs;
  for (int pair = threadIdx.x; pair < p.pairs; pair += 32) {
    const int i = p.isInterleaved ? 2 * pair : pair, j = p.isInterleaved ? 2 * pair + 1 : pair + p.pairs;
    const float x = loadFloat(row.from, row.at + i, row.fromType), y = loadFloat(row.from, row.at + j, row.fromType);
    const float c = loadFloat(p.cos, angles + pair, p.angleType), s = loadFloat(p.sin, angles + pair, p.angleType);
    storeFloat(row.to, row.toAt + i, row.toType, x * c - y * s);
    storeFloat(row.to, row.toAt + j, row.toType, x * s + y * c);
  }
  copyRow(row, p.dim, 2 * p.pairs);
}

struct Sample {
  int valid, past;  // keys with the new ones, and before them
  __device__ __forceinline__ Sample(const CacheParams& p, int sample) {
    valid = p.lengths[sample] + 1;
    past = p.isPrompt ? 0 : min(max(valid - p.length, 0), p.pastLength);
  }
  // A padded position has no place of its own: ONNX Runtime turns it as the second one.
  __device__ __forceinline__ int64_t position(const CacheParams& p, int sample, int at) const {
    if (p.positions != nullptr) return p.positions[static_cast<int64_t>(sample) * p.length + at];
    return p.isPrompt || past + at < valid ? past + at : 1;
  }
};

// Of a new key or value; `index` counts samples, heads and new positions.
__device__ __forceinline__ void append(const CacheParams& p, unsigned index, bool isKey) {
  const int at = index % static_cast<unsigned>(p.length), heads = index / static_cast<unsigned>(p.length);
  const int head = heads % p.kvHeads, sample = heads / p.kvHeads;
  const Sample own(p, sample);
  const int row = own.past + at;
  if (row >= p.presentLength) return;
  const int64_t to = ((static_cast<int64_t>(sample) * p.kvHeads + head) * p.presentLength + row) * p.dim;
  const int64_t from = isKey ? static_cast<int64_t>(sample) * p.kBatch + static_cast<int64_t>(head) * p.kHead + static_cast<int64_t>(at) * p.kRow
                             : static_cast<int64_t>(sample) * p.vBatch + static_cast<int64_t>(head) * p.vHead + static_cast<int64_t>(at) * p.vRow;
  const HeadRow vector = {isKey ? p.k : p.v, from, isKey ? p.kType : p.vType, isKey ? p.presentK : p.presentV, to, p.cacheType};
  if (isKey && p.cos != nullptr) turnRow(p, vector, own.position(p, sample, at));
  else copyRow(vector, p.dim, 0);
}

__device__ __forceinline__ void turnQuery(const CacheParams& p, unsigned index) {
  const int at = index % static_cast<unsigned>(p.length), heads = index / static_cast<unsigned>(p.length);
  const int head = heads % p.heads, sample = heads / p.heads;
  const int64_t from = static_cast<int64_t>(sample) * p.qBatch + static_cast<int64_t>(head) * p.qHead + static_cast<int64_t>(at) * p.qRow;
  const HeadRow vector = {p.q, from, p.qType, p.turnedQ, static_cast<int64_t>(index) * p.dim, p.qType};
  turnRow(p, vector, Sample(p, sample).position(p, sample, at));
}

// A row of present that is not new: the past's, or zeros.
__device__ __forceinline__ void carry(const CacheParams& p, unsigned index, bool isKey) {
  const int row = index % static_cast<unsigned>(p.presentLength), head = index / static_cast<unsigned>(p.presentLength);
  const Sample own(p, head / p.kvHeads);
  if (row >= own.past && row < own.past + p.length) return;
  const int bytes = p.dim * (p.cacheType == kFloat32 ? 4 : 2);
  char* to = static_cast<char*>(isKey ? p.presentK : p.presentV) + static_cast<int64_t>(index) * bytes;
  const char* from = static_cast<const char*>(isKey ? p.pastK : p.pastV) + (static_cast<int64_t>(head) * p.pastLength + row) * bytes;
  const bool isPast = row < own.past;
  if (bytes % 16 == 0) {
    for (int i = threadIdx.x * 16; i < bytes; i += 32 * 16) {
      *reinterpret_cast<uint4*>(to + i) = isPast ? *reinterpret_cast<const uint4*>(from + i) : make_uint4(0, 0, 0, 0);
    }
    return;
  }
  for (int i = threadIdx.x * 2; i < bytes; i += 64) {
    *reinterpret_cast<uint16_t*>(to + i) = isPast ? *reinterpret_cast<const uint16_t*>(from + i) : uint16_t(0);
  }
}

// hot: cache_append
extern "C" __global__ void __launch_bounds__(32 * kWarps) cache_append(const __grid_constant__ CacheParams p) {
  beginKernel();
  // Vectors are fewer than elements, of which a tensor has less than 2^31.
  unsigned index = blockIdx.x * kWarps + threadIdx.y;
  if (blockIdx.x == 0 && threadIdx.y == 0) {
    for (int sample = threadIdx.x; sample < p.batch; sample += 32) {
      p.counts[sample] = min(max(p.lengths[sample] + 1, 0), p.presentLength);
    }
  }
  const unsigned queries = p.q == nullptr ? 0 : p.batch * p.heads * p.length;
  if (index < queries) return turnQuery(p, index);
  index -= queries;
  const unsigned fresh = p.batch * p.kvHeads * p.length;
  if (index < 2 * fresh) return append(p, index % fresh, index < fresh);
  index -= 2 * fresh;
  const unsigned rows = p.fillsPresent ? p.batch * p.kvHeads * p.presentLength : 0;
  if (index < 2 * rows) carry(p, index % rows, index < rows);
}
