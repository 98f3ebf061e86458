// Products of codes of a byte on the Tensor Cores: mma.sync from a ring of tiles in shared memory that cp.async fills. A
// convolution is a product whose rows of a are gathered while they are copied: rows are positions, k is taps, then channels.
// hot: codes_*
#include "../common/copy.cuh"
#include "../common/launch.cuh"
#include "../common/mma.cuh"
#include "code-epilogue.cuh"
#include "code-mma.cuh"

// Bytes of a row of a tile, in chunks of 16.
constexpr int kDepth = 64;
constexpr int kChunks = kDepth / 16;

// Eight rows' chunks of one number lie in different banks.
__device__ __forceinline__ uint32_t chunkAt(uint32_t tile, int row, int chunk) {
  return tile + row * kDepth + ((chunk ^ (row >> 1 & 3)) << 4);
}

template <typename A, typename B, int BM, int BN, int WARPS_M, int WARPS_N, int STAGES, bool CONV>
struct CodeProduct {
  using Sum = typename A::Sum;
  // Weights are signed.
  static constexpr bool kHasTail = std::is_same_v<B, S8>;
  static constexpr int kThreads = WARPS_M * WARPS_N * 32;
  static constexpr int kRowsAtOnce = kThreads / kChunks;
  static constexpr int kLoadsA = BM / kRowsAtOnce;
  static constexpr int kLoadsB = BN / kRowsAtOnce;
  static constexpr int kBlocksM = BM / WARPS_M / 16;
  static constexpr int kBlocksN = BN / WARPS_N / 8;
  static constexpr int kStageBytes = (BM + BN) * kDepth;
  static_assert(kBlocksN == 4, "what CodeColumns holds");
  static_assert(kThreads / 32 * kCodeSlabBytes <= STAGES * kStageBytes, "results take the ring's place");

  const CodeProductParams& p;
  uint32_t shared;
  int chunk, firstRow;
  const char* fromA[kLoadsA];
  // Of a convolution: where the window of a row begins. Rows beyond the last begin far outside.
  int top[kLoadsA], left[kLoadsA];
  const char* fromB[kLoadsB];
  uint32_t fill = 0;

  __device__ __forceinline__ CodeProduct(const CodeProductParams& p, unsigned char* memory)
      : p(p), shared(sharedAddress(memory)) {
    chunk = threadIdx.x % kChunks;
    firstRow = threadIdx.x / kChunks;
    if (CONV && p.fill != nullptr) fill = *static_cast<const uint8_t*>(p.fill) * 0x01010101u;
    findRows(tileOf());
  }

  struct Tile {
    int m, n, batch;
  };

  // Found again at the end: no register holds it meanwhile.
  __device__ __forceinline__ Tile tileOf() const {
    int index;
    asm volatile("mov.u32 %0, %%ctaid.x;" : "=r"(index));
    const int tiles = p.tilesM * p.tilesN;
    const int batch = CONV ? 0 : index / tiles;
    const int tile = CONV ? index : index % tiles;
    // Eight rows of tiles at a time share their columns in L2.
    constexpr int kGroup = 8;
    const int group = tile / (kGroup * p.tilesN);
    const int rows = min(kGroup, p.tilesM - group * kGroup);
    const int within = tile - group * kGroup * p.tilesN;
    return {(group * kGroup + within % rows) * BM, within / rows * BN, batch};
  }

  __device__ __forceinline__ void findRows(const Tile& at) {
    const char* a = static_cast<const char*>(p.a) + at.batch * p.aBatch;
    const char* b = static_cast<const char*>(p.b) + at.batch * p.bBatch;
#pragma unroll
    for (int i = 0; i < kLoadsA; ++i) {
      const int m = at.m + firstRow + i * kRowsAtOnce;
      if constexpr (CONV) {
        const int image = m / p.outPositions;
        const int position = m - image * p.outPositions;
        const int y = position / p.outWidth;
        top[i] = m < p.m ? y * p.strideY - p.padY : -(1 << 29);
        left[i] = (position - y * p.outWidth) * p.strideX - p.padX;
        fromA[i] = a + static_cast<int64_t>(image) * p.xN;
      } else {
        top[i] = m < p.m ? 0 : -1;
        left[i] = 0;
        fromA[i] = a + static_cast<int64_t>(m) * p.aM;
      }
    }
#pragma unroll
    for (int i = 0; i < kLoadsB; ++i) {
      const int n = at.n + firstRow + i * kRowsAtOnce;
      fromB[i] = n < p.n ? b + static_cast<int64_t>(n) * p.bN : nullptr;
    }
  }

  __device__ __forceinline__ void load(int stage, int tile) const {
    const uint32_t toA = shared + stage * kStageBytes;
    const uint32_t toB = toA + BM * kDepth;
    const int k = tile * kDepth + chunk * 16;
    const int bytes = max(0, min(16, p.k - k));
    if constexpr (CONV) loadWindow(toA, k, bytes);
    else {
#pragma unroll
      for (int i = 0; i < kLoadsA; ++i) {
        const int own = top[i] < 0 ? 0 : bytes;
        cpAsync<16>(chunkAt(toA, firstRow + i * kRowsAtOnce, chunk), own > 0 ? fromA[i] + k : p.a, own);
      }
    }
#pragma unroll
    for (int i = 0; i < kLoadsB; ++i) {
      const int own = fromB[i] == nullptr ? 0 : bytes;
      cpAsync<16>(chunkAt(toB, firstRow + i * kRowsAtOnce, chunk), own > 0 ? fromB[i] + k : p.b, own);
    }
  }

  // A chunk's channels belong to one tap.
  __device__ __forceinline__ void loadWindow(uint32_t toA, int k, int bytes) const {
    const int tap = k / p.channels;
    const int channel = k - tap * p.channels;
    const int tapY = tap / p.tapsX;
    const int dy = tapY * p.dilationY;
    const int dx = (tap - tapY * p.tapsX) * p.dilationX;
#pragma unroll
    for (int i = 0; i < kLoadsA; ++i) {
      const int y = top[i] + dy, x = left[i] + dx;
      const uint32_t to = chunkAt(toA, firstRow + i * kRowsAtOnce, chunk);
      const bool isInside = y >= 0 && y < p.height && x >= 0 && x < p.width && bytes > 0;
      if (isInside || fill == 0) {
        const char* from = fromA[i] + static_cast<int64_t>(y) * p.xH + static_cast<int64_t>(x) * p.xW + channel;
        cpAsync<16>(to, isInside ? from : static_cast<const char*>(p.a), isInside ? 16 : 0);
      } else {
        storeShared16(to, make_uint4(fill, fill, fill, fill));
      }
    }
  }

  __device__ __forceinline__ void run() {
    Sum sums[kBlocksM][kBlocksN][4];
    int rowSums[kBlocksM][4];
#pragma unroll
    for (int i = 0; i < kBlocksM; ++i) {
#pragma unroll
      for (int q = 0; q < 4; ++q) rowSums[i][q] = 0;
#pragma unroll
      for (int j = 0; j < kBlocksN; ++j)
#pragma unroll
        for (int q = 0; q < 4; ++q) sums[i][j][q] = 0;
    }
    const int tiles = (p.k + kDepth - 1) / kDepth;
#pragma unroll
    for (int tile = 0; tile < STAGES - 1; ++tile) {
      if (tile < tiles) load(tile, tile);
      cpAsyncCommit();
    }
#pragma unroll 1
    for (int tile = 0; tile < tiles; ++tile) {
      cpAsyncWait<STAGES - 2>();
      __syncthreads();
      const int next = tile + STAGES - 1;
      if (next < tiles) load(next % STAGES, next);
      cpAsyncCommit();
      multiply(sums, rowSums, shared + tile % STAGES * kStageBytes);
    }
    finish(sums, rowSums);
  }

  __device__ __forceinline__ void multiply(Sum (&sums)[kBlocksM][kBlocksN][4], int (&rowSums)[kBlocksM][4],
                                           uint32_t stage) const {
    const int lane = threadIdx.x & 31, warp = threadIdx.x / 32;
    const int rowA = warp / WARPS_N * kBlocksM * 16, rowB = warp % WARPS_N * kBlocksN * 8;
#pragma unroll
    for (int step = 0; step < kDepth / 32; ++step) {
      uint32_t a[kBlocksM][4];
      uint32_t b[kBlocksN / 2][4];
      // Matrices: rows 0 to 7 and 8 to 15 of the first 16 bytes, then of the next.
#pragma unroll
      for (int i = 0; i < kBlocksM; ++i)
        ldmatrix4(a[i], chunkAt(stage, rowA + i * 16 + lane % 16, step * 2 + lane / 16));
      // Matrices: both halves of the depth for eight columns, then for the next eight.
#pragma unroll
      for (int j = 0; j < kBlocksN / 2; ++j)
        ldmatrix4(b[j], chunkAt(stage + BM * kDepth, rowB + j * 16 + lane / 16 * 8 + lane % 8, step * 2 + lane / 8 % 2));
#pragma unroll
      for (int i = 0; i < kBlocksM; ++i) {
#pragma unroll
        for (int j = 0; j < kBlocksN; ++j)
          mma16832(sums[i][j], a[i], b[j / 2][j % 2 * 2], b[j / 2][j % 2 * 2 + 1], A(), B());
        sumRows(rowSums[i], a[i]);
      }
    }
  }

  // The sum of a's rows as a product with ones.
  __device__ __forceinline__ void sumRows(int (&sum)[4], const uint32_t (&a)[4]) const {
    if constexpr (sizeof(Sum) == sizeof(int) && static_cast<Sum>(0.5) == 0) {
      if (p.zeroB != nullptr) mma16832(sum, a, 0x01010101u, 0x01010101u, A(), S8());
    }
  }

  __device__ __forceinline__ void finish(const Sum (&sums)[kBlocksM][kBlocksN][4], const int (&rowSums)[kBlocksM][4]) const {
    const int warp = threadIdx.x / 32;
    const Tile at = tileOf();
    const int row = at.m + warp / WARPS_N * kBlocksM * 16;
    const int n = at.n + warp % WARPS_N * kBlocksN * 8;
    extern __shared__ __align__(128) unsigned char memory[];
    unsigned char* own = memory + warp * kCodeSlabBytes;
    CodeColumns columns;
    columns.load(p, n);
    // The last tiles are multiplied, and what lies there is overwritten.
    cpAsyncWait<0>();
    __syncthreads();
    withOutput<kHasTail>(p, [&](const auto& output) {
      const auto rows = rowsOf(p, at.batch, endsOf(p, output), output);
#pragma unroll
      for (int i = 0; i < kBlocksM; ++i) {
        const int ofRows[2] = {rowSums[i][0], rowSums[i][2]};
        AddedAhead<std::decay_t<decltype(output)>, kBlocksN> ahead;
        ahead.fetch(rows, row + i * 16, n);
        storeSums(output, columns, rows, row + i * 16, n, sums[i], ofRows, own, ahead);
      }
    });
  }
};

// 8-bit floats need more registers where they are multiplied as halves; before sm_80, shared memory has room for one block. From sm_100 on
// the compiler wants more registers for large tiles of convolutions.
template <typename A>
constexpr int residentBlocks(int threads, bool isConv) {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 1000
  if (isConv && threads == 256) return 1;
#endif
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 800
  return typename A::Sum(0.5) == 0 ? 512 / threads : 1;
#else
  return 1;
#endif
}

#define CODES(NAME, A, B, BM, BN, WARPS_M, WARPS_N, STAGES, CONV)                                                        \
  extern "C" __global__ void __launch_bounds__(WARPS_M* WARPS_N * 32, residentBlocks<A>(WARPS_M * WARPS_N * 32, CONV)) NAME(const __grid_constant__ CodeProductParams p) { \
    extern __shared__ __align__(128) unsigned char memory[];                                                            \
    beginKernel();                                                                                                      \
    CodeProduct<A, B, BM, BN, WARPS_M, WARPS_N, STAGES, CONV>(p, memory).run();                                         \
  }
#define CODES_OF(NAME, A, B)                                                                                            \
  CODES(codes_##NAME##_128x128, A, B, 128, 128, 2, 4, 3, false)                                                         \
  CODES(codes_##NAME##_64x64, A, B, 64, 64, 2, 2, 4, false)
#define CODES_CONV(NAME, A, B)                                                                                          \
  CODES(codes_conv_##NAME##_128x128, A, B, 128, 128, 2, 4, 3, true)                                                     \
  CODES(codes_conv_##NAME##_64x64, A, B, 64, 64, 2, 2, 4, true)

CODES_OF(s8s8, S8, S8)
CODES_OF(u8s8, U8, S8)
CODES_OF(s8u8, S8, U8)
CODES_OF(u8u8, U8, U8)
CODES_CONV(s8s8, S8, S8)
CODES_CONV(u8s8, U8, S8)
CODES_CONV(s8u8, S8, U8)
CODES_CONV(u8u8, U8, U8)
CODES_OF(e4m3e4m3, E4M3, E4M3)
CODES_OF(e5m2e4m3, E5M2, E4M3)
CODES_OF(e4m3e5m2, E4M3, E5M2)
CODES_OF(e5m2e5m2, E5M2, E5M2)

// A warp a row.
extern "C" __global__ void __launch_bounds__(256) code_sums(const __grid_constant__ CodeSumsParams p) {
  beginKernel();
  const int row = blockIdx.x * 8 + threadIdx.x / 32;
  if (row >= p.rows) return;
  const uint8_t* from = static_cast<const uint8_t*>(p.a) + static_cast<int64_t>(row) * p.pitch;
  int sum = 0;
  for (int k = threadIdx.x & 31; k < p.k; k += 32) sum += p.isSigned ? static_cast<int>(static_cast<int8_t>(from[k])) : from[k];
#pragma unroll
  for (int step = 16; step > 0; step /= 2) sum += __shfl_xor_sync(0xffffffffu, sum, step);
  if ((threadIdx.x & 31) == 0) p.sums[row] = sum;
}
