// Rows of features between two source times, by linear interpolation: blocks that stay, each with its share of the target rows.
//
// A block makes sure that its batch's times are in order (they are counted one by one otherwise), looks up its rows, and then
// moves them: every thread has the loads of several accesses under way.
// hot: resample_*
#include "../common/launch.cuh"
#include "../norm/vector.cuh"
#include "rows.cuh"

// Accesses of a thread at a time, two loads each.
constexpr int kAccesses = 2;
// On a multiprocessor: their accesses together hide memory's latency. The compiler wants more registers for the later ones.
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 1000
constexpr int kBlocks = 3;
#else
constexpr int kBlocks = 4;
#endif

template <typename T, int WIDTH> __device__ __forceinline__ void storeWide(T* at, const float* values) {
  if constexpr (sizeof(T) == 4 && WIDTH == 4) {
    *reinterpret_cast<float4*>(at) = make_float4(values[0], values[1], values[2], values[3]);
  } else {
    storeRun<T, WIDTH>(at, values);
  }
}

// An access: of which row of the piece, and which of the row's; none behind the end.
struct Access {
  unsigned row;
  int chunk;
  bool isThere;
};

__device__ __forceinline__ Access accessAt(const ResampleParams& p, unsigned at, unsigned total) {
  const unsigned row = quotientOf(at, p.slice);
  const int chunk = blockIdx.y * p.slice.size + static_cast<int>(at - row * p.slice.size);
  return {row, chunk, at < total && chunk < p.chunks};
}

template <typename T, int WIDTH, int BLEND>
__device__ __forceinline__ void moveRows(const ResampleParams& p, const Piece& piece, const RowTable& table) {
  const T* x = static_cast<const T*>(p.x) + static_cast<int64_t>(piece.batch) * p.strideXBatch;
  T* y = static_cast<T*>(p.y) + static_cast<int64_t>(piece.batch) * p.strideYBatch +
         static_cast<int64_t>(piece.first) * p.strideYRow;
  const unsigned total = static_cast<unsigned>(piece.rows) * p.slice.size;
#pragma unroll 1
  for (unsigned from = threadIdx.x; from < total; from += kThreads * kAccesses) {
    Run<T, WIDTH> low[kAccesses], high[kAccesses];
#pragma unroll
    for (int i = 0; i < kAccesses; i++) {
      const Access access = accessAt(p, from + i * kThreads, total);
      if (!access.isThere) continue;
      const T* column = x + access.chunk * WIDTH;
      low[i].load(column + static_cast<int64_t>(table.low[access.row]) * p.strideXRow);
      high[i].load(column + static_cast<int64_t>(table.high[access.row]) * p.strideXRow);
    }
#pragma unroll
    for (int i = 0; i < kAccesses; i++) {
      const Access access = accessAt(p, from + i * kThreads, total);
      if (!access.isThere) continue;
      float a[WIDTH], b[WIDTH];
      low[i].widen(a);
      high[i].widen(b);
      const float weight = table.weight[access.row];
#pragma unroll
      for (int e = 0; e < WIDTH; e++) a[e] = blended<BLEND>(a[e], b[e], weight);
      storeWide<T, WIDTH>(y + static_cast<int64_t>(access.row) * p.strideYRow + access.chunk * WIDTH, a);
    }
  }
}

template <typename T, int WIDTH> __device__ __forceinline__ void resample(const ResampleParams& p) {
  __shared__ RowTable table;
  const int64_t all = static_cast<int64_t>(p.batch) * p.target;
  const int64_t end = all * (blockIdx.x + 1) / gridDim.x;
  int64_t checked = -1;
  bool isOrdered = false;
  for (int64_t row = all * blockIdx.x / gridDim.x; row < end;) {
    const Piece piece = pieceAt(p, row, end);
    const int64_t times = static_cast<int64_t>(piece.batch) * p.strideTimesBatch;
    if (times != checked) isOrdered = isSorted(p, times);
    checked = times;
    // The table of the piece before is read no more.
    __syncthreads();
    findRows(p, piece, isOrdered, table);
    __syncthreads();
    if (p.blend == kOneProduct) moveRows<T, WIDTH, kOneProduct>(p, piece, table);
    else if (p.blend == kTwoProducts) moveRows<T, WIDTH, kTwoProducts>(p, piece, table);
    else moveRows<T, WIDTH, kNearerEnd>(p, piece, table);
    row += piece.rows;
  }
}

#define RESAMPLE(NAME, T, WIDTH)                                                                             \
  extern "C" __global__ void __launch_bounds__(kThreads, kBlocks) NAME(const __grid_constant__ ResampleParams p) { \
    beginKernel();                                                                                           \
    resample<T, WIDTH>(p);                                                                                   \
  }

RESAMPLE(resample_f32_w4, float, 4)
RESAMPLE(resample_f32_w2, float, 2)
RESAMPLE(resample_f32_w1, float, 1)
RESAMPLE(resample_f16_w8, __half, 8)
RESAMPLE(resample_f16_w2, __half, 2)
RESAMPLE(resample_f16_w1, __half, 1)
RESAMPLE(resample_bf16_w8, __nv_bfloat16, 8)
RESAMPLE(resample_bf16_w2, __nv_bfloat16, 2)
RESAMPLE(resample_bf16_w1, __nv_bfloat16, 1)
