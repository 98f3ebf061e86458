// Rows of features between two source times, by linear interpolation: blocks that stay, each with its share of the target rows.
//
// A block makes sure that its batch's times are in order (they are counted one by one otherwise), looks up its rows, and then
// moves them: every thread has the loads of several accesses under way.
// hot: resample_*
#include "../common/launch.cuh"
#include "../norm/vector.cuh"
#include "rows.cuh"

// Accesses of a thread at a time, two loads each, and blocks on a multiprocessor, as many as registers leave room for: together
// they hide memory's latency. From sm_100 on the compiler wants more registers.
constexpr int kAccesses = 2;
constexpr int kDeepAccesses = 4;
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 1000
constexpr int kBlocks = 3;
constexpr int kDeepBlocks = 2;
#else
constexpr int kBlocks = 4;
constexpr int kDeepBlocks = 3;
#endif

// Sixteen bytes that no other load of the block asks for: they take no place in L1.
template <typename T, int WIDTH> __device__ __forceinline__ void loadOnce(Run<T, WIDTH>& run, const T* at) {
  static_assert(sizeof(run.words) == 16, "one access");
  asm volatile("ld.global.nc.L1::no_allocate.v4.u32 {%0, %1, %2, %3}, [%4];"
               : "=r"(run.words[0]), "=r"(run.words[1]), "=r"(run.words[2]), "=r"(run.words[3]) : "l"(at));
}

template <bool STREAM, typename T, int WIDTH> __device__ __forceinline__ void loadSource(Run<T, WIDTH>& run, const T* at) {
  if constexpr (STREAM) loadOnce(run, at);
  else run.load(at);
}

// Past the caches where STREAM says that what is written is not read soon.
template <bool STREAM, typename T, int WIDTH> __device__ __forceinline__ void storeTarget(T* at, const float* values) {
  if constexpr (sizeof(T) * WIDTH != 16) {
    storeRun<T, WIDTH>(at, values);
    return;
  }
  uint4 words;
  if constexpr (sizeof(T) == 4) {
    memcpy(&words, values, 16);
  } else {
    words = make_uint4(packPair<T>(values[0], values[1]), packPair<T>(values[2], values[3]), packPair<T>(values[4], values[5]),
                       packPair<T>(values[6], values[7]));
  }
  if constexpr (STREAM) __stcs(reinterpret_cast<uint4*>(at), words);
  else *reinterpret_cast<uint4*>(at) = words;
}

// An access: of which row of the piece, and which of the row's. Behind the end it is the last one again, so that loads need no
// branch between them.
struct Access {
  unsigned row;
  int chunk;
  bool isThere;
};

__device__ __forceinline__ Access accessAt(const ResampleParams& p, unsigned at, unsigned total) {
  const unsigned place = min(at, total - 1), row = quotientOf(place, p.slice);
  const int chunk = blockIdx.y * p.slice.size + static_cast<int>(place - row * p.slice.size);
  return {row, min(chunk, p.chunks - 1), at < total && chunk < p.chunks};
}

template <typename T, int WIDTH, int ACCESSES, int BLEND, bool STREAM>
__device__ __forceinline__ void moveRows(const ResampleParams& p, const Piece& piece, const RowTable& table) {
  const T* x = static_cast<const T*>(p.x) + static_cast<int64_t>(piece.batch) * p.strideXBatch;
  T* y = static_cast<T*>(p.y) + static_cast<int64_t>(piece.batch) * p.strideYBatch +
         static_cast<int64_t>(piece.first) * p.strideYRow;
  const unsigned total = static_cast<unsigned>(piece.rows) * p.slice.size;
#pragma unroll 1
  for (unsigned from = threadIdx.x; from < total; from += kThreads * ACCESSES) {
    Run<T, WIDTH> low[ACCESSES], high[ACCESSES];
#pragma unroll
    for (int i = 0; i < ACCESSES; i++) {
      const Access access = accessAt(p, from + i * kThreads, total);
      const T* column = x + access.chunk * WIDTH;
      loadSource<STREAM>(low[i], column + static_cast<int64_t>(table.low[access.row]) * p.strideXRow);
      loadSource<STREAM>(high[i], column + static_cast<int64_t>(table.high[access.row]) * p.strideXRow);
    }
#pragma unroll
    for (int i = 0; i < ACCESSES; i++) {
      const Access access = accessAt(p, from + i * kThreads, total);
      if (!access.isThere) continue;
      float a[WIDTH], b[WIDTH];
      low[i].widen(a);
      high[i].widen(b);
      const float weight = table.weight[access.row];
#pragma unroll
      for (int e = 0; e < WIDTH; e++) a[e] = blended<BLEND>(a[e], b[e], weight);
      storeTarget<STREAM, T, WIDTH>(y + static_cast<int64_t>(access.row) * p.strideYRow + access.chunk * WIDTH, a);
    }
  }
}

template <typename T, int WIDTH, int ACCESSES, bool STREAM>
__device__ __forceinline__ void moveBlended(const ResampleParams& p, const Piece& piece, const RowTable& table) {
  if (p.blend == kOneProduct) moveRows<T, WIDTH, ACCESSES, kOneProduct, STREAM>(p, piece, table);
  else if (p.blend == kTwoProducts) moveRows<T, WIDTH, ACCESSES, kTwoProducts, STREAM>(p, piece, table);
  else moveRows<T, WIDTH, ACCESSES, kNearerEnd, STREAM>(p, piece, table);
}

template <typename T, int WIDTH, int ACCESSES> __device__ __forceinline__ void resample(const ResampleParams& p) {
  __shared__ RowTable table;
  const int64_t all = static_cast<int64_t>(p.batch) * p.target;
  const int64_t end = all * (blockIdx.x + 1) / gridDim.x;
  KnownTimes known;
  for (int64_t row = all * blockIdx.x / gridDim.x; row < end;) {
    const Piece piece = pieceAt(p, row, end);
    fillTable(p, piece, known, table);
    constexpr bool kCanStream = sizeof(T) * WIDTH == 16;
    if (kCanStream && p.isStreamed) moveBlended<T, WIDTH, ACCESSES, kCanStream>(p, piece, table);
    else moveBlended<T, WIDTH, ACCESSES, false>(p, piece, table);
    row += piece.rows;
  }
}

// A warp a row, where source times are few: all lanes search as if times were in order, while the block looks whether they are.
constexpr int kRowsOfBlock = kThreads / 32;

struct FloatTimes {
  const float* first;
  int stride;
  __device__ __forceinline__ float operator[](int at) const { return first[at * stride]; }
};

// Of this thread's share of the times.
template <typename Times> __device__ __forceinline__ bool isShareSorted(const ResampleParams& p, const Times& times) {
  bool isSoFar = true;
#pragma unroll 4
  for (int at = threadIdx.x; at < p.source - 1; at += kThreads) isSoFar &= isInOrder(times[at], times[at + 1]);
  return isSoFar;
}

struct FoundRow {
  int low, high;
  float weight;
};

template <typename Times>
__device__ __forceinline__ FoundRow rowOfCount(const ResampleParams& p, const Times& times, float target, int count) {
  const int low = sourceAt(p.low, count, p.source), high = sourceAt(p.high, count, p.source);
  return {low, high, weightOf(p, times[low], times[high], target)};
}

template <typename T, int WIDTH> struct RowPair {
  Run<T, WIDTH> low, high;
  __device__ __forceinline__ void load(const ResampleParams& p, const T* x, const FoundRow& found, int chunk) {
    low.load(x + static_cast<int64_t>(found.low) * p.strideXRow + chunk * WIDTH);
    high.load(x + static_cast<int64_t>(found.high) * p.strideXRow + chunk * WIDTH);
  }
};

template <typename T, int WIDTH, int BLEND>
__device__ __forceinline__ void storeBlended(T* to, const RowPair<T, WIDTH>& pair, float weight) {
  float a[WIDTH], b[WIDTH];
  pair.low.widen(a);
  pair.high.widen(b);
#pragma unroll
  for (int e = 0; e < WIDTH; e++) a[e] = blended<BLEND>(a[e], b[e], weight);
  storeTarget<false, T, WIDTH>(to, a);
}

template <typename T, int WIDTH, int BLEND, typename Times>
__device__ __forceinline__ void resampleRow(const ResampleParams& p, const Times& times, int batch, int own, float target) {
  const T* x = static_cast<const T*>(p.x) + static_cast<int64_t>(batch) * p.strideXBatch;
  T* y = static_cast<T*>(p.y) + static_cast<int64_t>(batch) * p.strideYBatch + static_cast<int64_t>(own) * p.strideYRow;
  const int lane = threadIdx.x & 31;
  const bool isSoFar = isShareSorted(p, times);
  FoundRow found = rowOfCount(p, times, target, countSorted(p, times, target, lane));
  // Already on its way when it is known that it is right.
  RowPair<T, WIDTH> pair;
  pair.load(p, x, found, min(lane, p.chunks - 1));
  if (!__syncthreads_and(isSoFar)) {
    found = rowOfCount(p, times, target, countAll(p, times, target, lane));
    pair.load(p, x, found, min(lane, p.chunks - 1));
  }
  if (own >= p.target) return;
  for (int chunk = lane; chunk < p.chunks;) {
    const int next = chunk + 32;
    RowPair<T, WIDTH> ahead;
    ahead.load(p, x, found, min(next, p.chunks - 1));
    storeBlended<T, WIDTH, BLEND>(y + chunk * WIDTH, pair, found.weight);
    pair = ahead;
    chunk = next;
  }
}

// Blocks have rows of one batch.
template <typename T, int WIDTH, int BLEND> __device__ __forceinline__ void resampleByWarps(const ResampleParams& p) {
  const int blocks = (p.target + kRowsOfBlock - 1) / kRowsOfBlock, batch = blockIdx.x / blocks;
  const int own = (blockIdx.x - batch * blocks) * kRowsOfBlock + threadIdx.x / 32;
  const int64_t place = static_cast<int64_t>(batch) * p.strideTargetsBatch +
                        static_cast<int64_t>(min(own, p.target - 1)) * p.strideTargets;
  const float target = loadFloat(p.targets, place, p.targetsType);
  const int64_t first = static_cast<int64_t>(batch) * p.strideTimesBatch;
  if (p.timesType == kFloat32) {
    const FloatTimes times = {static_cast<const float*>(p.times) + first, p.strideTimes};
    resampleRow<T, WIDTH, BLEND>(p, times, batch, own, target);
  } else {
    resampleRow<T, WIDTH, BLEND>(p, GlobalTimes{p, first}, batch, own, target);
  }
}

template <typename T, int WIDTH> __device__ __forceinline__ void resampleByWarps(const ResampleParams& p) {
  if (p.blend == kOneProduct) resampleByWarps<T, WIDTH, kOneProduct>(p);
  else if (p.blend == kTwoProducts) resampleByWarps<T, WIDTH, kTwoProducts>(p);
  else resampleByWarps<T, WIDTH, kNearerEnd>(p);
}

#define RESAMPLE_BY_WARPS(NAME, T, WIDTH)                                                                                   \
  extern "C" __global__ void __launch_bounds__(kThreads) NAME(const __grid_constant__ ResampleParams p) {                   \
    beginKernel();                                                                                                          \
    resampleByWarps<T, WIDTH>(p);                                                                                           \
  }

#define RESAMPLE_WITH(NAME, T, WIDTH, ACCESSES, BLOCKS)                                                                     \
  extern "C" __global__ void __launch_bounds__(kThreads, BLOCKS) NAME(const __grid_constant__ ResampleParams p) {          \
    beginKernel();                                                                                                        \
    resample<T, WIDTH, ACCESSES>(p);                                                                                      \
  }
#define RESAMPLE(NAME, T, WIDTH) RESAMPLE_WITH(NAME, T, WIDTH, kAccesses, kBlocks)
#define RESAMPLE_DEEP(NAME, T, WIDTH) RESAMPLE_WITH(NAME, T, WIDTH, kDeepAccesses, kDeepBlocks)

RESAMPLE(resample_f32_w4, float, 4)
RESAMPLE(resample_f32_w2, float, 2)
RESAMPLE(resample_f32_w1, float, 1)
RESAMPLE(resample_f16_w8, __half, 8)
RESAMPLE(resample_f16_w2, __half, 2)
RESAMPLE(resample_f16_w1, __half, 1)
RESAMPLE(resample_bf16_w8, __nv_bfloat16, 8)
RESAMPLE(resample_bf16_w2, __nv_bfloat16, 2)
RESAMPLE(resample_bf16_w1, __nv_bfloat16, 1)
RESAMPLE_DEEP(resample_deep_f32, float, 4)
RESAMPLE_DEEP(resample_deep_f16, __half, 8)
RESAMPLE_DEEP(resample_deep_bf16, __nv_bfloat16, 8)
RESAMPLE_BY_WARPS(resample_warps_f32, float, 4)
RESAMPLE_BY_WARPS(resample_warps_f16, __half, 8)
RESAMPLE_BY_WARPS(resample_warps_bf16, __nv_bfloat16, 8)
