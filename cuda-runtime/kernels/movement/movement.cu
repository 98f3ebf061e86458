// Data movement: elements picked by tables, gathered and scattered by indices. No arithmetic on them, except in
// scatter_reduce. Each thread moves one element of W bytes; kernels/movement/walk.ts takes neighbours together.
#include "../common/launch.cuh"
#include "../common/storage.cuh"
#include "walk.cuh"
#include "params.generated.cuh"

template <int W> struct ChunkOf;
template <> struct ChunkOf<1> { using Type = uint8_t; };
template <> struct ChunkOf<2> { using Type = uint16_t; };
template <> struct ChunkOf<4> { using Type = uint32_t; };
template <> struct ChunkOf<8> { using Type = uint64_t; };
template <> struct ChunkOf<16> { using Type = uint4; };
template <int W> using Chunk = typename ChunkOf<W>::Type;

// --- select: every axis of the output may have a table of positions in the input, -1 for the fill value.

template <int W> __device__ Chunk<W> filled(const uint8_t* fill, int bytes) {
  union { Chunk<W> chunk; uint8_t bytes[W]; } result;
  #pragma unroll
  for (int i = 0; i < W; ++i) result.bytes[i] = fill == nullptr ? 0 : fill[i & (bytes - 1)];
  return result.chunk;
}

template <int W> __device__ __forceinline__ void selectChunk(const SelectParams& p) {
  const unsigned index = threadIndex();
  if (index >= static_cast<unsigned>(p.walk.count)) return;
  int64_t from = 0;
  int64_t to = 0;
  bool inside = true;
  walkTo(p.walk, index, [&](int axis, int coordinate) {
    to += static_cast<int64_t>(coordinate) * p.toStrides[axis];
    const int table = p.tableAt[axis];
    const int source = table < 0 ? coordinate : p.tables[table + coordinate];
    inside = inside && source >= 0;
    from += static_cast<int64_t>(source) * p.fromStrides[axis];
  });
  static_cast<Chunk<W>*>(p.to)[to] =
      inside ? static_cast<const Chunk<W>*>(p.from)[from] : filled<W>(p.fill, p.fillBytes);
}

// --- gather: some coordinates come from an index tensor. Negative ones count from the end.

// The coordinate as a position in an axis of `size`, kept inside it whatever the model computes.
__device__ __forceinline__ int positionOf(const void* indices, int64_t at, int indexBytes, int size) {
  const int64_t index =
      indexBytes == 8 ? static_cast<const int64_t*>(indices)[at] : static_cast<const int*>(indices)[at];
  const int64_t position = index < 0 ? index + size : index;
  return static_cast<int>(position < 0 ? 0 : (position >= size ? size - 1 : position));
}

template <int W> __device__ __forceinline__ void gatherChunk(const GatherParams& p) {
  const unsigned index = threadIndex();
  int64_t from = 0;
  int64_t to = 0;
  int64_t at = 0;
  walkTo(p.walk, index, [&](int axis, int coordinate) {
    from += static_cast<int64_t>(coordinate) * p.fromStrides[axis];
    at += static_cast<int64_t>(coordinate) * p.indexStrides[axis];
    to += static_cast<int64_t>(coordinate) * p.toStrides[axis];
  });
  beginKernelEarly();
  if (index >= static_cast<unsigned>(p.walk.count)) return;
  for (int i = 0; i < p.lookup.depth; ++i) {
    const int position = positionOf(p.indices, at + static_cast<int64_t>(i) * p.lookup.depthStride,
                                    p.lookup.indexBytes, p.lookup.sizes[i]);
    from += static_cast<int64_t>(position) * p.lookup.strides[i];
  }
  static_cast<Chunk<W>*>(p.to)[to] = static_cast<const Chunk<W>*>(p.from)[from];
}

// --- scatter: updates to where an index tensor says. Where two go to one place the later one wins: `claim` leaves the
// number of the last update of each place (plus one) in `winners`; integer maxima do not depend on the order.

struct ScatterPlace {
  int64_t update;
  int64_t to;
  int64_t winner;
  int row;
};

__device__ __forceinline__ ScatterPlace scatterPlace(const ScatterParams& p, unsigned index) {
  ScatterPlace place{0, 0, 0, 0};
  int64_t at = 0;
  walkTo(p.walk, index, [&](int axis, int coordinate) {
    place.update += static_cast<int64_t>(coordinate) * p.updateStrides[axis];
    at += static_cast<int64_t>(coordinate) * p.indexStrides[axis];
    place.to += static_cast<int64_t>(coordinate) * p.toStrides[axis];
    place.winner += static_cast<int64_t>(coordinate) * p.winnerStrides[axis];
    place.row += coordinate * p.rowStrides[axis];
  });
  for (int i = 0; i < p.lookup.depth; ++i) {
    const int position = positionOf(p.indices, at + static_cast<int64_t>(i) * p.lookup.depthStride,
                                    p.lookup.indexBytes, p.lookup.sizes[i]);
    place.to += static_cast<int64_t>(position) * p.lookup.strides[i];
    place.winner += static_cast<int64_t>(position) * p.winnerLookupStrides[i];
  }
  return place;
}

template <int W> __device__ __forceinline__ void scatterChunk(const ScatterParams& p) {
  const unsigned index = threadIndex();
  if (index >= static_cast<unsigned>(p.walk.count)) return;
  const ScatterPlace place = scatterPlace(p, index);
  if (p.winners != nullptr && p.winners[place.winner] != place.row + 1) return;
  static_cast<Chunk<W>*>(p.to)[place.to] = static_cast<const Chunk<W>*>(p.updates)[place.update];
}

extern "C" __global__ void __launch_bounds__(256) scatter_claim(const __grid_constant__ ScatterParams p) {
  beginKernel();
  const unsigned index = threadIndex();
  if (index >= static_cast<unsigned>(p.walk.count)) return;
  const ScatterPlace place = scatterPlace(p, index);
  atomicMax(p.winners + place.winner, place.row + 1);
}

// --- scatter_reduce: one thread a line of the walk goes through its updates in order, so that sums do not depend on
// which thread came first.

enum Reduction : int { kAdd = 0, kMul = 1, kMin = 2, kMax = 3 };

template <typename T> __device__ __forceinline__ bool isNan(T x) { return x != x; }

// A NaN on either side stays.
template <typename T> __device__ __forceinline__ T reduced(T before, T update, int reduction) {
  switch (reduction) {
    case kAdd: return static_cast<T>(before + update);
    case kMul: return static_cast<T>(before * update);
    case kMin: return isNan(before) || before < update ? before : update;
    default: return isNan(before) || before > update ? before : update;
  }
}

template <> __device__ __forceinline__ bool reduced<bool>(bool before, bool update, int reduction) {
  return reduction == kAdd || reduction == kMax ? before || update : before && update;
}

template <typename T> __device__ __forceinline__ void scatterReduce(const ScatterReduceParams& p) {
  const unsigned index = threadIndex();
  if (index >= static_cast<unsigned>(p.walk.count)) return;
  int64_t update = 0;
  int64_t at = 0;
  int64_t line = 0;
  walkTo(p.walk, index, [&](int axis, int coordinate) {
    update += static_cast<int64_t>(coordinate) * p.updateStrides[axis];
    at += static_cast<int64_t>(coordinate) * p.indexStrides[axis];
    line += static_cast<int64_t>(coordinate) * p.toStrides[axis];
  });
  for (int step = 0; step < p.steps; ++step) {
    int64_t to = line;
    for (int i = 0; i < p.lookup.depth; ++i) {
      const int position = positionOf(p.indices, at + static_cast<int64_t>(i) * p.lookup.depthStride,
                                      p.lookup.indexBytes, p.lookup.sizes[i]);
      to += static_cast<int64_t>(position) * p.lookup.strides[i];
    }
    T* place = static_cast<T*>(p.to) + to;
    *place = reduced<T>(*place, static_cast<const T*>(p.updates)[update], p.reduction);
    update += p.updateStep;
    at += p.indexStep;
  }
}

// --- scatter_rows: the same where whole slices have one index. Each block owns a range of places and goes through all
// indices in order, so a long list of updates is worked on by many blocks, and sums still do not depend on their order.

constexpr int kRowThreads = 256;

struct RowHits {
  int64_t to[kRowThreads];
  int rows[kRowThreads];
  int places[kRowThreads];
  int counts[kRowThreads / 32];
};

// The rows of [base, base + kRowThreads) whose place is in [low, high), in order; returns how many. By the whole block.
__device__ __forceinline__ int findHits(const ScatterRowsParams& p, int base, int low, int high, RowHits& hits) {
  const int row = base + static_cast<int>(threadIdx.x);
  int place = 0;
  int64_t to = 0;
  if (row < p.rows) {
    for (int i = 0; i < p.lookup.depth; ++i) {
      const int64_t at = static_cast<int64_t>(row) * p.indexRow + static_cast<int64_t>(i) * p.lookup.depthStride;
      const int position = positionOf(p.indices, at, p.lookup.indexBytes, p.lookup.sizes[i]);
      place = place * p.lookup.sizes[i] + position;
      to += static_cast<int64_t>(position) * p.lookup.strides[i];
    }
  }
  const bool isHit = row < p.rows && place >= low && place < high;
  const unsigned mask = __ballot_sync(0xffffffffu, isHit);
  const int warp = static_cast<int>(threadIdx.x >> 5);
  if ((threadIdx.x & 31) == 0) hits.counts[warp] = __popc(mask);
  __syncthreads();
  int before = 0;
  int total = 0;
  #pragma unroll
  for (int i = 0; i < kRowThreads / 32; ++i) {
    before += i < warp ? hits.counts[i] : 0;
    total += hits.counts[i];
  }
  if (isHit) {
    const int at = before + __popc(mask & ((1u << (threadIdx.x & 31)) - 1u));
    hits.to[at] = to;
    hits.rows[at] = row;
    hits.places[at] = place;
  }
  __syncthreads();
  return total;
}

template <typename T> __device__ __forceinline__ void scatterRows(const ScatterRowsParams& p) {
  __shared__ RowHits hits;
  const int owned = (p.places + static_cast<int>(gridDim.x) - 1) / static_cast<int>(gridDim.x);
  const int low = static_cast<int>(blockIdx.x) * owned;
  const int high = min(p.places, low + owned);
  // Short slices: groups of threads share the places among them.
  int lanes = 1;
  while (lanes < kRowThreads && lanes < p.walk.count) lanes <<= 1;
  const int groups = kRowThreads / lanes;
  const int group = static_cast<int>(threadIdx.x) / lanes;
  const int first = static_cast<int>(blockIdx.y) * lanes + static_cast<int>(threadIdx.x) % lanes;
  for (int base = 0; base < p.rows; base += kRowThreads) {
    const int total = findHits(p, base, low, high, hits);
    for (int i = 0; i < total; ++i) {
      if (hits.places[i] % groups != group) continue;
      for (int line = first; line < p.walk.count; line += lanes * static_cast<int>(gridDim.y)) {
        int64_t update = static_cast<int64_t>(hits.rows[i]) * p.updateRow;
        int64_t to = hits.to[i];
        walkTo(p.walk, static_cast<unsigned>(line), [&](int axis, int coordinate) {
          update += static_cast<int64_t>(coordinate) * p.updateStrides[axis];
          to += static_cast<int64_t>(coordinate) * p.toStrides[axis];
        });
        T* place = static_cast<T*>(p.to) + to;
        *place = reduced<T>(*place, static_cast<const T*>(p.updates)[update], p.reduction);
      }
    }
    __syncthreads();
  }
}

// --- entries

#define MOVEMENT_ENTRIES(W)                                                                                          \
  extern "C" __global__ void __launch_bounds__(256) select_w##W(const __grid_constant__ SelectParams p) { beginKernel(); \
    selectChunk<W>(p);                                                                                               \
  }                                                                                                                  \
  extern "C" __global__ void __launch_bounds__(256) gather_w##W(const __grid_constant__ GatherParams p) {               \
    gatherChunk<W>(p);                                                                                               \
  }                                                                                                                  \
  extern "C" __global__ void __launch_bounds__(256) scatter_w##W(const __grid_constant__ ScatterParams p) { beginKernel(); \
    scatterChunk<W>(p);                                                                                              \
  }

MOVEMENT_ENTRIES(1)
MOVEMENT_ENTRIES(2)
MOVEMENT_ENTRIES(4)
MOVEMENT_ENTRIES(8)
MOVEMENT_ENTRIES(16)

#define SCATTER_REDUCE_ENTRY(NAME, T)                                                                                \
  extern "C" __global__ void __launch_bounds__(256)                                                                  \
      scatter_reduce_##NAME(const __grid_constant__ ScatterReduceParams p) { beginKernel();                          \
    scatterReduce<T>(p);                                                                                             \
  }                                                                                                                  \
  extern "C" __global__ void __launch_bounds__(kRowThreads)                                                          \
      scatter_rows_##NAME(const __grid_constant__ ScatterRowsParams p) { beginKernel();                              \
    scatterRows<T>(p);                                                                                               \
  }

SCATTER_REDUCE_ENTRY(float32, float)
SCATTER_REDUCE_ENTRY(float64, double)
SCATTER_REDUCE_ENTRY(int8, int8_t)
SCATTER_REDUCE_ENTRY(uint8, uint8_t)
SCATTER_REDUCE_ENTRY(int16, int16_t)
SCATTER_REDUCE_ENTRY(uint16, uint16_t)
SCATTER_REDUCE_ENTRY(int32, int32_t)
SCATTER_REDUCE_ENTRY(uint32, uint32_t)
SCATTER_REDUCE_ENTRY(int64, int64_t)
SCATTER_REDUCE_ENTRY(uint64, uint64_t)
SCATTER_REDUCE_ENTRY(bool, bool)
