// Attention of halves on Hopper's Tensor Cores. One thread has the copy engine fill rings of keys and of values; GROUPS warpgroups of
// 64 queries each multiply. A group's products with values run while the next step's scores become weights, and groups take turns at
// the Tensor Cores: one's softmax hides behind another's products. Sums and softmax are FP32, weights go as halves through registers.
#pragma once
#include "../attention/rows.cuh"
#include "../common/barrier.cuh"
#include "../common/copy.cuh"
#include "../common/mma.cuh"
#include "../common/tensor-copy.cuh"
#include "../core/team.cuh"
#include "../core/turn.cuh"
#include "order.cuh"
#include "params.generated.cuh"
#include "place.cuh"
#include "registers.cuh"
#include "rows.cuh"
#include "store.cuh"

// Heads up to D, which is a multiple of 16; BK keys a step, STAGES of keys and as many of values. PAIR: two blocks of a cluster have
// neighbouring tiles of one head, and each fetches half of the keys and values for both.
template <typename T, int D, int GROUPS, int BK, int STAGES, bool PAIR> struct HopperAttention {
  static constexpr int kBlocks = PAIR ? 2 : 1;
  static constexpr int kQueries = 64 * GROUPS;
  static constexpr int kThreads = GROUPS * 128 + (GROUPS == 1 ? 32 : 128);
  static constexpr int kSteps = (D + 15) / 16;
  // Of 64 elements: rows of 128 bytes, swizzled.
  static constexpr int kPanels = (D + 63) / 64;
  static constexpr int kQueryPanelBytes = kQueries * 128, kPanelBytes = BK * 128;
  static constexpr int kQueryBytes = kPanels * kQueryPanelBytes, kStageBytes = kPanels * kPanelBytes;
  // Those of the next tile arrive meanwhile. One warpgroup leaves that to the other blocks of its multiprocessor.
  static constexpr int kQueryStages = GROUPS == 1 ? 1 : 2;
  static constexpr int kRingsAt = kQueryStages * kQueryBytes, kBarriersAt = kRingsAt + 2 * STAGES * kStageBytes;
  using QueryTurn = Turn<kQueryStages>;

  static constexpr int kOwnKeys = BK / kBlocks;  // of a step, that this block fetches
  static_assert(kOwnKeys % 8 == 0, "swizzled in groups of eight rows");
  using Work = HopperWork<kQueries, BK, kBlocks>;
  using Rows = HopperRows<T, BK>;

  const AttentionHopperParams& params;
  const AttentionParams& p;
  const uint32_t base;
  const float factor;  // of scores in powers of two
  const int rank, own, stride;  // in the cluster; cluster, and clusters
  const HopperPlace first;      // found while the launch in front is not done yet

  __device__ __forceinline__ HopperAttention(const AttentionHopperParams& params, unsigned char* shared)
      : params(params), p(params.p), base(sharedAddress(shared)), factor(p.scale * kLog2E), rank(PAIR ? rankInTeam() : 0),
        own(blockIdx.x / kBlocks), stride(gridDim.x / kBlocks), first(p, kBlocks * kQueries, own) {}

  __device__ __forceinline__ uint32_t keysAt(int stage) const { return base + kRingsAt + stage * kStageBytes; }
  __device__ __forceinline__ uint32_t valuesAt(int stage) const { return keysAt(STAGES + stage); }
  __device__ __forceinline__ uint32_t queriesAt(int stage) const { return base + stage * kQueryBytes; }
  __device__ __forceinline__ uint32_t barrier(int kind, int stage) const { return base + kBarriersAt + (kind * STAGES + stage) * 8; }
  __device__ __forceinline__ uint32_t queriesFull(int stage) const { return barrier(4, stage); }
  __device__ __forceinline__ uint32_t queriesEmpty(int stage) const { return barrier(4, kQueryStages + stage); }
  __device__ __forceinline__ uint32_t keysFull(int stage) const { return barrier(0, stage); }
  __device__ __forceinline__ uint32_t keysEmpty(int stage) const { return barrier(1, stage); }
  __device__ __forceinline__ uint32_t valuesFull(int stage) const { return barrier(2, stage); }
  __device__ __forceinline__ uint32_t valuesEmpty(int stage) const { return barrier(3, stage); }

  __device__ __forceinline__ void run() {
    if (threadIdx.x == 0) {
      prefetchMap(params.q);
      prefetchMap(params.k);
      prefetchMap(params.v);
      for (int stage = 0; stage < kQueryStages; ++stage) {
        initBarrier(queriesFull(stage), 1);
        initBarrier(queriesEmpty(stage), GROUPS * 4);
      }
      for (int stage = 0; stage < STAGES; ++stage) {
        initBarrier(keysFull(stage), 1);
        initBarrier(valuesFull(stage), 1);
        initBarrier(keysEmpty(stage), kBlocks * GROUPS);
        initBarrier(valuesEmpty(stage), kBlocks * GROUPS);
      }
      fenceBarrierInit();
    }
    // The other block may copy into this one, and arrive here, from now on.
    if constexpr (PAIR) {
      arriveTeam<false>();
      waitTeam();
    } else {
      __syncthreads();
    }
    beginKernel();
    if (threadIdx.x >= GROUPS * 128) {
      if constexpr (GROUPS == 2) keepRegisters<24>();
      if constexpr (GROUPS == 3) keepRegisters<32>();
      if (threadIdx.x == GROUPS * 128) copyAll();
    } else {
      if constexpr (GROUPS == 2) takeRegisters<240>();
      if constexpr (GROUPS == 3) takeRegisters<160>();
      computeAll();
    }
  }

  // Blocks stay: operands of the next tile are on their way while this one is finished.
  template <typename Use> __device__ __forceinline__ void forEachWork(Use use) const {
    const int works = (p.queries + kBlocks * kQueries - 1) / (kBlocks * kQueries) * p.heads * p.batch * p.splits;
    HopperPlace place = first;
#pragma unroll 1
    for (int round = 0, index = own; index < works;) {
      use(Work(p, place, rank));
      // Back and forth: who had a long tile of a round has a short one of the next.
      ++round;
      index = round * stride + (round % 2 == 0 ? own : stride - 1 - own);
      if (index < works) place = HopperPlace(p, kBlocks * kQueries, index);
    }
  }

  __device__ __forceinline__ void copyAll() const {
    Turn<STAGES> turn;
    QueryTurn queries;
    forEachWork([&](const Work& work) {
#pragma unroll 1
      for (int step = 0; step < work.steps; ++step) {
        const int key = work.begin + step * BK;
        // The first round finds the rings empty: the phase before the first one counts as over.
        waitBarrier(keysEmpty(turn.stage), turn.parity ^ 1);
        copyStage(keysAt(turn.stage), params.k, keysFull(turn.stage), key, work.place);
        if (step == 0) {
          waitBarrier(queriesEmpty(queries.stage), queries.parity ^ 1);
          copyQueries(work.place, queries.stage);
          queries.next();
        }
        waitBarrier(valuesEmpty(turn.stage), turn.parity ^ 1);
        copyStage(valuesAt(turn.stage), params.v, valuesFull(turn.stage), key, work.place);
        turn.next();
      }
    });
    if constexpr (PAIR) awaitReaders(turn);
  }

  // Shared memory is the block's until the other one has arrived here for the last time.
  __device__ __forceinline__ void awaitReaders(Turn<STAGES> turn) const {
#pragma unroll 1
    for (int i = 0; i < STAGES; ++i, turn.next()) {
      waitBarrier(keysEmpty(turn.stage), turn.parity ^ 1);
      waitBarrier(valuesEmpty(turn.stage), turn.parity ^ 1);
    }
  }

  __device__ __forceinline__ void copyQueries(const HopperPlace& place, int stage) const {
    arriveExpecting(queriesFull(stage), kQueryBytes);
#pragma unroll
    for (int panel = 0; panel < kPanels; ++panel) {
      copyBox4(queriesAt(stage) + panel * kQueryPanelBytes, params.q, queriesFull(stage), panel * 64, place.firstQuery, place.head,
               place.sample);
    }
  }

  __device__ __forceinline__ void copyStage(uint32_t to, const TensorMap& map, uint32_t full, int key, const HopperPlace& place) const {
    arriveExpecting(full, kStageBytes);
#pragma unroll
    for (int panel = 0; panel < kPanels; ++panel) {
      const uint32_t at = to + panel * kPanelBytes + rank * (kOwnKeys * 128);
      if constexpr (PAIR) copyBox4ToBoth(at, map, full, panel * 64, key + rank * kOwnKeys, place.kvHead, place.sample);
      else copyBox4(at, map, full, panel * 64, key, place.kvHead, place.sample);
    }
  }

  // Rows lane / 4 and 8 further of the warp's 16.
  __device__ __forceinline__ int queryOf(const Work& work, int half) const {
    return work.place.firstQuery + static_cast<int>(threadIdx.x) / 32 * 16 + static_cast<int>(threadIdx.x) % 32 / 4 + half * 8;
  }

  __device__ __forceinline__ void computeAll() const {
    Turn<STAGES> keys, values;
    QueryTurn queries;
    forEachWork([&](const Work& work) {
      float sums[D / 8][4];  // of values, not yet divided
      Rows rows(p, factor, queryOf(work, 0));
#pragma unroll
      for (int n = 0; n < D / 8; ++n) sums[n][0] = sums[n][1] = sums[n][2] = sums[n][3] = 0.0f;
      if (work.steps > 0) {
        waitBarrier(queriesFull(queries.stage), queries.parity);
        const uint32_t from = queriesAt(queries.stage);
        if constexpr (GROUPS == 1) streamInTurn(work, from, sums, rows, keys, values);
        else streamOverlapped(work, from, sums, rows, keys, values);
      }
      finish(work, sums, rows, queriesAt(queries.stage));
      if (work.steps > 0) {
        fenceForTensorCores();
        __syncwarp();
        if (threadIdx.x % 32 == 0) arrive(queriesEmpty(queries.stage));
        queries.next();
      }
    });
  }

  // One after the other: other blocks of the multiprocessor multiply meanwhile, and there is less code, which takes longer to fetch than to
  // run where it runs a few times.
  __device__ __forceinline__ void streamInTurn(const Work& work, uint32_t queries, float (&sums)[D / 8][4], Rows& rows,
                                               Turn<STAGES>& keys, Turn<STAGES>& values) const {
#pragma unroll 1
    for (int step = 0; step < work.steps; ++step) {
      float scores[BK / 8][4];
      uint32_t weights[BK / 16][4];
      finishKeys(scores, queries, keys);
      rows.weigh(work, scores, work.begin + step * BK);
      rows.rescale(sums);
      rows.pack(weights, scores);
      finishValues(sums, weights, values);
    }
  }

  // Products with values run while the next step's scores become weights.
  __device__ __forceinline__ void streamOverlapped(const Work& work, uint32_t queries, float (&sums)[D / 8][4], Rows& rows,
                                                   Turn<STAGES>& keys, Turn<STAGES>& values) const {
    const Order<GROUPS> order(threadIdx.x / 128, work.steps - 1);
    uint32_t weights[BK / 16][4];
    {
      float scores[BK / 8][4];
      finishKeys(scores, queries, keys);
      rows.weigh(work, scores, work.begin);
      rows.pack(weights, scores);
    }
#pragma unroll 1
    for (int step = 1; step < work.steps; ++step) {
      float scores[BK / 8][4];
      waitBarrier(keysFull(keys.stage), keys.parity);
      order.wait();
      warpgroupArrive();
      multiplyKeys(scores, queries, keys.stage);
      warpgroupCommit();
      waitBarrier(valuesFull(values.stage), values.parity);
      warpgroupArrive();
      multiplyValues(sums, weights, values.stage);
      warpgroupCommit();
      order.pass(step);
      warpgroupWait<1>();
      release(keysEmpty(keys.stage));
      keys.next();
      rows.weigh(work, scores, work.begin + step * BK);
      warpgroupWait<0>();
      release(valuesEmpty(values.stage));
      values.next();
      rows.rescale(sums);
      rows.pack(weights, scores);
    }
    finishValues(sums, weights, values);
  }

  // A step's scores, waited for.
  __device__ __forceinline__ void finishKeys(float (&scores)[BK / 8][4], uint32_t queries, Turn<STAGES>& keys) const {
    waitBarrier(keysFull(keys.stage), keys.parity);
    warpgroupArrive();
    multiplyKeys(scores, queries, keys.stage);
    warpgroupCommit();
    warpgroupWait<0>();
    release(keysEmpty(keys.stage));
    keys.next();
  }

  // A step's part of the sums, waited for.
  __device__ __forceinline__ void finishValues(float (&sums)[D / 8][4], const uint32_t (&weights)[BK / 16][4],
                                               Turn<STAGES>& values) const {
    waitBarrier(valuesFull(values.stage), values.parity);
    warpgroupArrive();
    multiplyValues(sums, weights, values.stage);
    warpgroupCommit();
    warpgroupWait<0>();
    release(valuesEmpty(values.stage));
    values.next();
  }

  // To whoever fetches for the stage.
  __device__ __forceinline__ void release(uint32_t empty) const {
    if constexpr (PAIR) {
      if (threadIdx.x % 128 < 2) arriveAt(empty, threadIdx.x % 128);
    } else {
      if (threadIdx.x % 128 == 0) arrive(empty);
    }
  }

  __device__ __forceinline__ void multiplyKeys(float (&scores)[BK / 8][4], uint32_t queries, int stage) const {
    const uint64_t a = describeTile(queries + threadIdx.x / 128 * 64 * 128), b = describeTile(keysAt(stage));
#pragma unroll
    for (int step = 0; step < kSteps; ++step) {
      // In units of 16 bytes: 16 halves along the head.
      const int panel = step / 4, within = step % 4 * 2;
      wgmma64<BK, T>(scores, a + panel * (kQueryPanelBytes / 16) + within, b + panel * (kPanelBytes / 16) + within, step > 0);
    }
  }

  __device__ __forceinline__ void multiplyValues(float (&sums)[D / 8][4], const uint32_t (&weights)[BK / 16][4], int stage) const {
    const uint64_t b = describeColumns(valuesAt(stage), kPanelBytes);
#pragma unroll
    for (int step = 0; step < BK / 16; ++step) wgmmaRegisters<D, T>(sums, weights[step], b + step * (16 * 128 / 16));
  }

  __device__ __forceinline__ void finish(const Work& work, float (&sums)[D / 8][4], Rows& rows, uint32_t queries) const {
    const HopperStore<T, D, kQueryPanelBytes> store{p, work.place, rows.query};
    rows.addUp();
    if (p.splits > 1) {
      store.partial(sums, rows.maximum, rows.total, factor);
      return;
    }
    rows.divide(sums, p.zeroEmpty);
    // The queries of a tile without keys were not fetched: those of the next one may be on their way.
    if (work.steps > 0 && store.suitsChunks()) store.chunks(sums, queries + threadIdx.x / 32 * (16 * 128));
    else store.pairs(sums);
  }
};
