// Operands of both products lie in shared memory whole, and what is between them never leaves it on its way. Blocks share 64 rows in one of
// two ways. A team (a cluster) has some columns of the first result each. These are what the second product goes along, so that each block
// has a part of its sums, and the team adds up through each other's shared memory, in order. Or each block computes all of the first
// result, and some columns of the second one.
#pragma once
#include "../common/barrier.cuh"
#include "../common/copy.cuh"
#include "../common/launch.cuh"
#include "../common/wgmma.cuh"
#include "../core/team.cuh"
#include "../core/thin-end.cuh"
#include "params.generated.cuh"

template <typename T, int GROUPS, int CHUNK>
struct PairProduct {
  static constexpr int kWarps = 4 * GROUPS;
  static constexpr int kThreads = 32 * kWarps;
  static constexpr int kRows = 64;
  static constexpr int BK = 64;
  static constexpr int kRowBytes = BK * sizeof(T);
  static constexpr int kPanelBytesA = kRows * kRowBytes;
  static constexpr int kChunkBytes = CHUNK * kRowBytes;
  // Of the first one's result, as the second one's rows.
  static constexpr int kResultBytes = kRows * CHUNK * sizeof(T);
  static constexpr int kStepsOfChunk = CHUNK / 16;
  // Rows of eight lanes' pairs lie in different banks.
  static constexpr int kPadding = 8;
  using End = ThinEnd<T, CHUNK>;
  using Pair = typename PairOf<T>::Type;
  using Values = float[CHUNK / 8][4];

  const PairParams& params;
  const GemmParams &p, &q;
  // In shared memory: operands of the first product (later a team's sums), its result, the second one's operand, its result where a block
  // has all of it, barriers.
  uint32_t rows, columns, result, weights, ends, barriers;
  int chunksOfBlock, chunkBytesB, pitch, m, n, n2;
  bool isTeam;

  __device__ __forceinline__ PairProduct(const PairParams& params, uint32_t shared) : params(params), p(params.p), q(params.q) {
    isTeam = blocksOfTeam() > 1;
    chunksOfBlock = params.columns / CHUNK;
    chunkBytesB = params.columns * kRowBytes;
    pitch = params.chunks * CHUNK + kPadding;
    rows = shared;
    columns = rows + params.panels * kPanelBytesA;
    result = columns + params.panels * chunkBytesB;
    if (isTeam) result = max(result, wholeOf(rows + kRows * pitch * 4));
    weights = result + chunksOfBlock * kResultBytes;
    ends = weights + panelsOfWeights() * params.chunks * kChunkBytes;
    barriers = ends + (isTeam ? 0 : params.chunks * kResultBytes);
    const int tile = blockIdx.x / (isTeam ? blocksOfTeam() : params.parts);
    m = tile * kRows;
    n = isTeam ? rankInTeam() * params.columns : 0;
    n2 = isTeam ? 0 : (blockIdx.x - tile * params.parts) * params.chunks * CHUNK;
  }

  // As operands lie: the swizzle's period.
  static __device__ __forceinline__ uint32_t wholeOf(uint32_t address) { return (address + 1023) / 1024 * 1024; }
  __device__ __forceinline__ int panelsOfWeights() const { return (params.columns + BK - 1) / BK; }
  __device__ __forceinline__ uint32_t haveWeights() const { return barriers; }
  __device__ __forceinline__ uint32_t haveResidual() const { return barriers + 8; }
  __device__ __forceinline__ uint32_t haveSecondResidual() const { return barriers + 16; }
  __device__ __forceinline__ uint32_t havePanel(int panel) const { return barriers + 24 + panel * 8; }

  __device__ __forceinline__ void run() {
    const bool isCopying = threadIdx.x == kThreads;
    if (isCopying) {
      prefetchMap(params.a);
      prefetchMap(params.b);
      prefetchMap(params.weights);
      for (int barrier = 0; barrier < 3 + params.panels; ++barrier) initBarrier(barriers + barrier * 8, 1);
      fenceBarrierInit();
      // Weights need not wait for the launches before this one.
      if (p.ahead == kAheadOfB) copyColumns();
      if (q.ahead == kAheadOfB) copyWeights();
    } else if (threadIdx.x > kThreads) {
      prefetchBias(threadIdx.x - kThreads - 1);
    }
    __syncthreads();
    beginKernel();
    if (threadIdx.x >= kThreads) {
      if (isCopying) copyRest();
      __syncwarp();
      if (isTeam) {
        arriveTeam<true>();
        waitTeam();
      }
    } else {
      computeFirst();
      syncGroup<kThreads>(1);
      waitBarrier(haveWeights(), 0);
      if (isTeam) {
        computeParts();
        Cell cell = cellOf(threadIdx.x);
        arriveTeam<true>();
        waitTeam();
        finishCells(cell);
      } else {
        computeSecond();
      }
      if (threadIdx.x % 32 == 0) waitStoresRead();
      __syncwarp();
    }
    // Others read this block's sums until here.
    if (isTeam) {
      arriveTeam<false>();
      waitTeam();
    }
  }

  // A line of it a lane, of 31.
  __device__ __forceinline__ void prefetchBias(int line) const {
    constexpr int kFloatsOfLine = 32;
    const int at = line * kFloatsOfLine;
    if (p.bias != nullptr && at < params.columns && n + at < p.n) prefetchToL2(p.bias + n + at);
    if (q.bias != nullptr && at < params.chunks * CHUNK && n2 + at < q.n) prefetchToL2(q.bias + n2 + at);
  }

  __device__ __forceinline__ void copyColumns() const {
    for (int panel = 0; panel < params.panels; ++panel) {
      arriveExpecting(havePanel(panel), kPanelBytesA + chunkBytesB);
      for (int chunk = 0; chunk < chunksOfBlock; ++chunk)
        copyBox3(columns + panel * chunkBytesB + chunk * kChunkBytes, params.b, havePanel(panel), panel * BK, n + chunk * CHUNK, 0);
    }
  }

  __device__ __forceinline__ void copyWeights() const {
    arriveExpecting(haveWeights(), panelsOfWeights() * params.chunks * kChunkBytes);
    for (int panel = 0; panel < panelsOfWeights(); ++panel)
      for (int chunk = 0; chunk < params.chunks; ++chunk)
        copyBox3(weights + (panel * params.chunks + chunk) * kChunkBytes, params.weights, haveWeights(), n + panel * BK,
                 n2 + chunk * CHUNK, 0);
  }

  __device__ __forceinline__ void copyRest() const {
    if (p.ahead != kAheadOfB) copyColumns();
    for (int panel = 0; panel < params.panels; ++panel)
      copyBox3(rows + panel * kPanelBytesA, params.a, havePanel(panel), panel * BK, m, 0);
    if (p.residual != nullptr) {
      arriveExpecting(haveResidual(), chunksOfBlock * kResultBytes);
      for (int chunk = 0; chunk < chunksOfBlock; ++chunk)
        copyBox3(result + chunk * kResultBytes, params.residual, haveResidual(), n + chunk * CHUNK, m, 0);
    }
    if (q.ahead != kAheadOfB) copyWeights();
    if (isTeam || q.residual == nullptr) return;
    arriveExpecting(haveSecondResidual(), params.chunks * kResultBytes);
    for (int chunk = 0; chunk < params.chunks; ++chunk)
      copyBox3(ends + chunk * kResultBytes, params.secondResidual, haveSecondResidual(), n2 + chunk * CHUNK, m, 0);
  }

  // A result that others read is stored once.
  __device__ __forceinline__ bool isStoring() const { return params.isKept && n2 == 0; }

  __device__ __forceinline__ void computeFirst() const {
    const int within = threadIdx.x / 32 % 4 * 16;
    for (int chunk = threadIdx.x / 128; chunk < chunksOfBlock; chunk += GROUPS) {
      Values sums;
      beginSums(sums, p, n + chunk * CHUNK);
      multiplyFirst(sums, chunk);
      const uint32_t own = result + chunk * kResultBytes + within * End::kRowBytes;
      if (p.residual != nullptr) waitBarrier(haveResidual(), 0);
      End::formulate(p, sums, p.residual != nullptr ? own : 0, [] {});
      End::put(sums, own);
      fenceForCopies();
      __syncwarp();
      if (isStoring() && threadIdx.x % 32 == 0) End::storeBoxes(params, m + within, n + chunk * CHUNK, own);
    }
  }

  // Sums begin with the bias: it is read while operands are on their way.
  static __device__ __forceinline__ void beginSums(Values& sums, const GemmParams& p, int first) {
#pragma unroll
    for (int j = 0; j < CHUNK / 8; ++j) {
      const int column = first + 8 * j + (threadIdx.x & 3) * 2;
      const bool isThere = p.bias != nullptr && column < p.n;
      const float2 bias = isThere ? __ldg(reinterpret_cast<const float2*>(p.bias + column)) : make_float2(0.0f, 0.0f);
      sums[j][0] = sums[j][2] = bias.x;
      sums[j][1] = sums[j][3] = bias.y;
    }
  }

  __device__ __forceinline__ void multiplyFirst(Values& sums, int chunk) const {
#pragma unroll 1
    for (int panel = 0; panel < params.panels; ++panel) {
      waitBarrier(havePanel(panel), 0);
      const uint64_t a = describeTile<kRowBytes>(rows + panel * kPanelBytesA);
      const uint64_t b = describeTile<kRowBytes>(columns + panel * chunkBytesB + chunk * kChunkBytes);
      warpgroupArrive();
      // What lies beyond k is zero. In units of 16 bytes: 16 halves along k.
#pragma unroll
      for (int step = 0; step < BK / 16; ++step) wgmma64<CHUNK, T>(sums, a + step * 2, b + step * 2, 1);
      warpgroupCommit();
    }
    warpgroupWait<0>();
  }

  // The second product's sums over this block's columns alone.
  __device__ __forceinline__ void computeParts() const {
    for (int chunk = threadIdx.x / 128; chunk < params.chunks; chunk += GROUPS) {
      Values sums;
#pragma unroll
      for (int j = 0; j < CHUNK / 8; ++j)
#pragma unroll
        for (int q = 0; q < 4; ++q) sums[j][q] = 0.0f;
      multiplySecond(sums, chunk);
      putSums(sums, chunk);
    }
  }

  // What storeBoxes wants to know.
  struct Second {
    const GemmParams& p;
    const TensorMap& d;
  };

  __device__ __forceinline__ void computeSecond() const {
    const int within = threadIdx.x / 32 % 4 * 16;
    for (int chunk = threadIdx.x / 128; chunk < params.chunks; chunk += GROUPS) {
      Values sums;
      beginSums(sums, q, n2 + chunk * CHUNK);
      multiplySecond(sums, chunk);
      const uint32_t own = ends + chunk * kResultBytes + within * End::kRowBytes;
      if (q.residual != nullptr) waitBarrier(haveSecondResidual(), 0);
      End::formulate(q, sums, q.residual != nullptr ? own : 0, [] {});
      End::put(sums, own);
      fenceForCopies();
      __syncwarp();
      if (threadIdx.x % 32 == 0) End::storeBoxes(Second{q, params.to}, m + within, n2 + chunk * CHUNK, own);
    }
  }

  __device__ __forceinline__ void multiplySecond(Values& sums, int chunk) const {
#pragma unroll 1
    for (int piece = 0; piece < chunksOfBlock; ++piece) {
      const uint64_t a = describeTile<End::kRowBytes>(result + piece * kResultBytes);
      // A panel of the weights is as long as one or two chunks.
      const int along = piece * CHUNK;
      const uint32_t panel = weights + (along / BK * params.chunks + chunk) * kChunkBytes;
      const uint64_t b = describeTile<kRowBytes>(panel) + along % BK * sizeof(T) / 16;
      warpgroupArrive();
#pragma unroll
      for (int step = 0; step < kStepsOfChunk; ++step) wgmma64<CHUNK, T>(sums, a + step * 2, b + step * 2, 1);
      warpgroupCommit();
    }
    warpgroupWait<0>();
  }

  // Where the first product's operands were.
  __device__ __forceinline__ void putSums(const Values& sums, int chunk) const {
    const int lane = threadIdx.x & 31, row = threadIdx.x / 32 % 4 * 16 + (lane >> 2);
    const uint32_t to = rows + (row * pitch + chunk * CHUNK + (lane & 3) * 2) * 4;
#pragma unroll
    for (int j = 0; j < CHUNK / 8; ++j)
#pragma unroll
      for (int half = 0; half < 2; ++half)
        asm volatile("st.shared.v2.f32 [%0], {%1, %2};" ::"r"(to + (half * 8 * pitch + j * 8) * 4), "f"(sums[j][2 * half]),
                     "f"(sums[j][2 * half + 1]) : "memory");
  }

  // Four columns of a row, and what is added to them.
  struct Cell {
    int row, column;
    float4 bias;
    uint2 residual;
  };

  // Each block of a team has some of the rows, a thread a cell at a time. `index` of those of the block.
  __device__ __forceinline__ Cell cellOf(int index) const {
    const int rowsOfBlock = kRows / blocksOfTeam(), fours = q.n / 4, within = index / fours;
    Cell cell{rankInTeam() * rowsOfBlock + within, (index - within * fours) * 4, make_float4(0.0f, 0.0f, 0.0f, 0.0f), make_uint2(0, 0)};
    if (within >= rowsOfBlock || m + cell.row >= q.m) {
      cell.row = kRows;
      return cell;
    }
    if (q.bias != nullptr) cell.bias = __ldg(reinterpret_cast<const float4*>(q.bias + cell.column));
    if (q.residual != nullptr)
      cell.residual = *reinterpret_cast<const uint2*>(static_cast<const T*>(q.residual) + (int64_t)(m + cell.row) * q.rM + cell.column);
    return cell;
  }

  // What the first cell wants came while the team was waited for.
  __device__ __forceinline__ void finishCells(Cell cell) const {
    const int blocks = blocksOfTeam();
#pragma unroll 1
    for (int index = threadIdx.x; cell.row < kRows; cell = cellOf(index)) {
      index += kThreads;
      store(addUp(rows + (cell.row * pitch + cell.column) * 4, blocks), cell);
    }
  }

  // In the order of blocks; loads of four are in flight at a time.
  static __device__ __forceinline__ float4 addUp(uint32_t own, int blocks) {
    float4 sum = make_float4(0.0f, 0.0f, 0.0f, 0.0f);
#pragma unroll 1
    for (int from = 0; from < blocks; from += 4) {
      float4 parts[4];
#pragma unroll
      for (int i = 0; i < 4; ++i) parts[i] = from + i < blocks ? loadOf(own, from + i) : make_float4(0.0f, 0.0f, 0.0f, 0.0f);
#pragma unroll
      for (int i = 0; i < 4; ++i) {
        sum.x += parts[i].x;
        sum.y += parts[i].y;
        sum.z += parts[i].z;
        sum.w += parts[i].w;
      }
    }
    return sum;
  }

  __device__ __forceinline__ void store(float4 sum, const Cell& cell) const {
    float v[4] = {sum.x + cell.bias.x, sum.y + cell.bias.y, sum.z + cell.bias.z, sum.w + cell.bias.w};
#pragma unroll
    for (int i = 0; i < 4; ++i) v[i] = activate(clipOf(v[i], q.firstLow, q.firstHigh), q.first);
    if (q.residual != nullptr) {
      const float2 low = PairOf<T>::to(reinterpret_cast<const Pair&>(cell.residual.x));
      const float2 high = PairOf<T>::to(reinterpret_cast<const Pair&>(cell.residual.y));
      v[0] += low.x, v[1] += low.y, v[2] += high.x, v[3] += high.y;
    }
#pragma unroll
    for (int i = 0; i < 4; ++i) v[i] = clipOf(v[i], q.lastLow, q.lastHigh);
    uint2 words;
    reinterpret_cast<Pair&>(words.x) = PairOf<T>::from(make_float2(v[0], v[1]));
    reinterpret_cast<Pair&>(words.y) = PairOf<T>::from(make_float2(v[2], v[3]));
    *reinterpret_cast<uint2*>(static_cast<T*>(q.d) + (int64_t)(m + cell.row) * q.dM + cell.column) = words;
  }
};
