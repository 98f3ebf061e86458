// One product of halves with many rows, few columns and little along k, which memory bounds: the columns' operand stays in shared memory
// for a block's life, tiles of rows come in by TMA, and several blocks share a multiprocessor, so that one's end is in the time of another's
// loads, products and stores.
#pragma once
#include "../common/barrier.cuh"
#include "../common/launch.cuh"
#include "../core/thin-end.cuh"
#include "narrow.cuh"
#include "params.generated.cuh"

// Groups of four warps compute 64 rows by W columns each; GROUPS_M of them lie one below the other, GROUPS_N side by side. One warp more
// has tiles copied.
template <typename T, int W, int GROUPS_M, int GROUPS_N>
struct ThinProduct {
  static constexpr int kGroups = GROUPS_M * GROUPS_N;
  static constexpr int kWarps = 4 * kGroups;
  static constexpr int kRows = 64 * GROUPS_M;
  static constexpr int kColumns = W * GROUPS_N;
  using End = ThinEnd<T, W>;
  // Also what every part of shared memory is a multiple of: the swizzle's period.
  static constexpr int kAlign = 1024;

  const ThinParams& params;
  const GemmParams& p;
  // In shared memory: the columns' operand, the ring, what warps store from, a bias for each column, barriers.
  uint32_t columns, ring, ends, bias, barriers;
  int rowBytes, panelBytesA, panelBytesB, operandBytes, stageBytes;

  __device__ __forceinline__ ThinProduct(const ThinParams& params, uint32_t shared) : params(params), p(params.p) {
    rowBytes = params.panel * sizeof(T);
    panelBytesA = kRows * rowBytes;
    panelBytesB = kColumns * rowBytes;
    operandBytes = params.panels * panelBytesA;
    stageBytes = operandBytes + (p.residual == nullptr ? 0 : kGroups * End::kResidualBytes);
    columns = shared;
    ring = columns + wholeOf(params.panels * panelBytesB);
    stageBytes = wholeOf(stageBytes);
    ends = ring + params.stages * stageBytes;
    bias = ends + kWarps * End::kBytes;
    barriers = bias + kColumns * 4;
  }

  static __device__ __forceinline__ int wholeOf(int bytes) { return (bytes + kAlign - 1) / kAlign * kAlign; }
  __device__ __forceinline__ uint32_t full(int stage) const { return barriers + 8 + stage * 16; }
  __device__ __forceinline__ uint32_t empty(int stage) const { return barriers + 16 + stage * 16; }
  __device__ __forceinline__ uint32_t haveColumns() const { return barriers; }
  // Blocks of one column of tiles follow each other, and those of one row are neighbours, which find it in L2.
  __device__ __forceinline__ int firstColumn() const { return blockIdx.x % p.tilesN * kColumns; }

  __device__ __forceinline__ void run() {
    const bool isCopying = threadIdx.x == kWarps * 32;
    if (isCopying) {
      prefetchMap(params.a);
      prefetchMap(params.b);
      initBarrier(haveColumns(), 1);
      for (int stage = 0; stage < params.stages; ++stage) {
        initBarrier(full(stage), 1);
        initBarrier(empty(stage), kWarps);
      }
      fenceBarrierInit();
      // Weights need not wait for the launches before this one.
      if (p.ahead == kAheadOfB) copyColumns();
    }
    __syncthreads();
    beginKernel();
    if (threadIdx.x < kWarps * 32) {
      fillBias();
      syncGroup<kWarps * 32>(1);
      computeAll();
    } else if (isCopying) {
      if (p.ahead != kAheadOfB) copyColumns();
      copyAll();
    }
  }

  // By the warps that compute.
  __device__ __forceinline__ void fillBias() const {
    for (int i = threadIdx.x; i < kColumns; i += kWarps * 32) {
      const int n = firstColumn() + i;
      const float value = p.bias != nullptr && n < p.n ? p.bias[n] : 0.0f;
      asm volatile("st.shared.f32 [%0], %1;" ::"r"(bias + i * 4), "f"(value) : "memory");
    }
  }

  template <typename Work>
  __device__ __forceinline__ void forEachTile(Work work) const {
    const int step = gridDim.x / p.tilesN;
    Place place;
#pragma unroll 1
    for (int tile = blockIdx.x / p.tilesN; tile < p.tilesM; tile += step) {
      work(tile * kRows, place);
      place.next(params.stages);
    }
  }

  // A stage of the ring, and the parity of its barriers' phases.
  struct Place {
    int stage = 0, parity = 0;
    __device__ __forceinline__ void next(int stages) {
      stage = stage + 1 == stages ? 0 : stage + 1;
      if (stage == 0) parity ^= 1;
    }
  };

  __device__ __forceinline__ void copyColumns() const {
    const int n = firstColumn();
    arriveExpecting(haveColumns(), params.panels * panelBytesB);
    for (int panel = 0; panel < params.panels; ++panel)
      for (int group = 0; group < GROUPS_N; ++group)
        copyBox3(columns + panel * panelBytesB + group * W * rowBytes, params.b, haveColumns(), panel * params.panel, n + group * W, 0);
  }

  __device__ __forceinline__ void copyAll() const {
    const int n = firstColumn();
    const bool hasResidual = p.residual != nullptr;
    const int bytes = operandBytes + (hasResidual ? kGroups * End::kResidualBytes : 0);
    forEachTile([&](int m, const Place& at) {
      // The first round finds the ring empty: the phase before the first one counts as over.
      waitBarrier(empty(at.stage), at.parity ^ 1);
      arriveExpecting(full(at.stage), bytes);
      const uint32_t to = ring + at.stage * stageBytes;
      for (int panel = 0; panel < params.panels; ++panel)
        copyBox3(to + panel * panelBytesA, params.a, full(at.stage), panel * params.panel, m, 0);
      if (hasResidual) copyResidual(m, n, to + operandBytes, full(at.stage));
    });
  }

  __device__ __forceinline__ void copyResidual(int m, int n, uint32_t to, uint32_t barrier) const {
    for (int group = 0; group < kGroups; ++group)
      for (int box = 0; box < End::kBoxes; ++box)
        copyBox3(to + group * End::kResidualBytes + box * 4 * End::kBoxBytes, params.residual, barrier,
                 n + group / GROUPS_M * W + box * End::kBoxColumns, m + group % GROUPS_M * 64, 0);
  }

  __device__ __forceinline__ void computeAll() const {
    const int warp = threadIdx.x / 32, group = warp / 4, within = warp % 4 * 16;
    const int groupM = group % GROUPS_M, groupN = group / GROUPS_M;
    const uint32_t own = ends + warp * End::kBytes;
    const uint32_t ownBias = bias + (groupN * W + (threadIdx.x & 3) * 2) * 4;
    const bool hasResidual = p.residual != nullptr;
    waitBarrier(haveColumns(), 0);
    forEachTile([&](int m, const Place& at) {
      const uint32_t stage = ring + at.stage * stageBytes;
      const auto release = [&] {
        if (threadIdx.x % 32 == 0) arrive(empty(at.stage));
      };
      float sums[W / 8][4];
      // Sums begin with the bias: nobody waits for it later.
      beginSums(sums, ownBias);
      waitBarrier(full(at.stage), at.parity);
      multiply(sums, stage + groupM * 64 * rowBytes, columns + groupN * W * rowBytes);
      if (!hasResidual) release();
      const uint32_t residual = stage + operandBytes + group * End::kResidualBytes + within * End::kRowBytes;
      End::finish(params, sums, m + groupM * 64 + within, firstColumn() + groupN * W, own, hasResidual ? residual : 0, release);
    });
    if (threadIdx.x % 32 == 0) waitStoresRead();
  }

  static __device__ __forceinline__ void beginSums(float (&sums)[W / 8][4], uint32_t from) {
#pragma unroll
    for (int j = 0; j < W / 8; ++j) {
      asm volatile("ld.shared.v2.f32 {%0, %1}, [%2];" : "=f"(sums[j][0]), "=f"(sums[j][1]) : "r"(from + j * 32) : "memory");
      sums[j][2] = sums[j][0];
      sums[j][3] = sums[j][1];
    }
  }

  __device__ __forceinline__ void multiply(float (&sums)[W / 8][4], uint32_t rowsAt, uint32_t columnsAt) const {
    uint64_t a = describeRows(rowsAt, rowBytes), b = describeRows(columnsAt, rowBytes);
    int left = params.panel, k = p.k;
#pragma unroll 1
    do {
      warpgroupArrive();
      addProduct<W, T>(sums, a, b);
      warpgroupCommit();
      // In units of 16 bytes: 16 halves along k, and behind a box' last ones the next box.
      a += 2, b += 2, left -= 16, k -= 16;
      if (left == 0) {
        left = params.panel;
        a += (panelBytesA - rowBytes) / 16;
        b += (panelBytesB - rowBytes) / 16;
      }
    } while (k > 0);
    warpgroupWait<0>();
  }
};
