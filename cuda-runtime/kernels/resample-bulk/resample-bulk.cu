// The same rows as resample.cu, fetched by the copy engine (cp.async.bulk): each warp keeps pieces of rows on their way into its part
// of shared memory, and stores to global memory what it makes of them.
// only: 90a
// hot: resample_bulk_*
#include "../common/barrier.cuh"
#include "../common/copy.cuh"
#include "../common/launch.cuh"
#include "../norm/vector.cuh"
#include "../resample/rows.cuh"

constexpr int kWarps = kThreads / 32;
constexpr int kStages = 3;
// Of a row at a time.
constexpr int kPieceBytes = 1024;

__device__ __forceinline__ void copyBulk(uint32_t to, const void* from, int bytes, uint32_t barrier) {
  asm volatile("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1], %2, [%3];"
               ::"r"(to), "l"(from), "r"(bytes), "r"(barrier) : "memory");
}

template <typename T> struct Mover {
  static constexpr int kWidth = 16 / sizeof(T);
  static constexpr int kChunks = kPieceBytes / 16;

  const ResampleParams& p;
  const RowTable& table;
  const Piece piece;
  char* stages;       // Of this warp: kStages times two pieces.
  uint32_t barriers;  // Likewise.
  int pieces;         // Of a row.

  __device__ __forceinline__ int chunksOf(int part) const { return min(kChunks, p.chunks - part * kChunks); }

  __device__ __forceinline__ void fetch(int item, int stage) const {
    const int row = item / pieces, part = item - row * pieces;
    const int bytes = chunksOf(part) * 16;
    const char* x = static_cast<const char*>(p.x) +
                    (static_cast<int64_t>(piece.batch) * p.strideXBatch * sizeof(T) + static_cast<int64_t>(part) * kPieceBytes);
    const int64_t pitch = static_cast<int64_t>(p.strideXRow) * sizeof(T);
    const uint32_t to = sharedAddress(stages + stage * 2 * kPieceBytes), barrier = barriers + stage * 8;
    arriveExpecting(barrier, 2 * bytes);
    copyBulk(to, x + table.low[row] * pitch, bytes, barrier);
    copyBulk(to + kPieceBytes, x + table.high[row] * pitch, bytes, barrier);
  }

  template <int BLEND> __device__ __forceinline__ void store(int item, int stage) const {
    const int row = item / pieces, part = item - row * pieces;
    const char* at = stages + stage * 2 * kPieceBytes;
    T* y = static_cast<T*>(p.y) + static_cast<int64_t>(piece.batch) * p.strideYBatch +
           static_cast<int64_t>(piece.first + row) * p.strideYRow + static_cast<int64_t>(part) * kChunks * kWidth;
    const float weight = table.weight[row];
    const int count = chunksOf(part);
    for (int chunk = threadIdx.x & 31; chunk < count; chunk += 32) {
      Run<T, kWidth> low, high;
      low.load(reinterpret_cast<const T*>(at) + chunk * kWidth);
      high.load(reinterpret_cast<const T*>(at + kPieceBytes) + chunk * kWidth);
      float a[kWidth], b[kWidth];
      low.widen(a);
      high.widen(b);
#pragma unroll
      for (int e = 0; e < kWidth; e++) a[e] = blended<BLEND>(a[e], b[e], weight);
      if constexpr (sizeof(T) == 4) {
        reinterpret_cast<float4*>(y)[chunk] = make_float4(a[0], a[1], a[2], a[3]);
      } else {
        storeRun<T, kWidth>(y + chunk * kWidth, a);
      }
    }
  }
};

template <typename T> __device__ __forceinline__ void resampleBulk(const ResampleParams& p) {
  extern __shared__ __align__(128) char shared[];
  __shared__ RowTable table;
  __shared__ __align__(8) uint64_t barriers[kWarps * kStages];
  const int warp = threadIdx.x / 32;
  const bool isFirst = (threadIdx.x & 31) == 0;
  const uint32_t own = sharedAddress(barriers + warp * kStages);
  if (isFirst) {
    for (int stage = 0; stage < kStages; stage++) initBarrier(own + stage * 8, 1);
    fenceBarrierInit();
  }
  char* stages = shared + warp * kStages * 2 * kPieceBytes;
  const int pieces = (p.chunks * 16 + kPieceBytes - 1) / kPieceBytes;
  const int64_t all = static_cast<int64_t>(p.batch) * p.target;
  const int64_t end = all * (blockIdx.x + 1) / gridDim.x;
  KnownTimes known;
  // Of the warp's stages, over all pieces.
  unsigned done = 0;
  for (int64_t row = all * blockIdx.x / gridDim.x; row < end;) {
    const Piece piece = pieceAt(p, row, end);
    fillTable(p, piece, known, table);
    const Mover<T> mover = {p, table, piece, stages, own, pieces};
    const int items = piece.rows * pieces;
    if (isFirst) {
      for (int ahead = 0; ahead < kStages && warp + ahead * kWarps < items; ahead++)
        mover.fetch(warp + ahead * kWarps, (done + ahead) % kStages);
    }
    for (int item = warp; item < items; item += kWarps, done++) {
      const int stage = done % kStages;
      waitBarrier(own + stage * 8, done / kStages & 1);
      if (p.blend == kOneProduct) mover.template store<kOneProduct>(item, stage);
      else if (p.blend == kTwoProducts) mover.template store<kTwoProducts>(item, stage);
      else mover.template store<kNearerEnd>(item, stage);
      // Nobody reads the stage any more.
      __syncwarp();
      if (isFirst && item + kStages * kWarps < items) mover.fetch(item + kStages * kWarps, stage);
    }
    row += piece.rows;
  }
}

#define RESAMPLE_BULK(NAME, T)                                                                            \
  extern "C" __global__ void __launch_bounds__(kThreads, 3) NAME(const __grid_constant__ ResampleParams p) { \
    beginKernel();                                                                                        \
    resampleBulk<T>(p);                                                                                   \
  }

RESAMPLE_BULK(resample_bulk_f32, float)
RESAMPLE_BULK(resample_bulk_f16, __half)
RESAMPLE_BULK(resample_bulk_bf16, __nv_bfloat16)
