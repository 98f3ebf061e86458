// GroupNorm of innermost channels in one launch: blocks that run at the same time keep a slab in their shared memory, and tell each
// other what they found: those of a cluster in shared memory, up to as many as the GPU has multiprocessors in global memory.
#pragma once
#include "../common/cluster.cuh"
#include "../common/copy.cuh"
#include "../common/meeting.cuh"
#include "slabs.cuh"

constexpr int kTeamThreads = 512;

// A thread's runs in shared memory; only it reads them. Neighbouring threads have neighbouring pieces of 16 bytes.
template <typename T> struct KeptRuns {
  static constexpr int kPieces = kRunChannels * sizeof(T) / 16;
  uint4* pieces;
  int count;

  __device__ __forceinline__ uint4* piece(int run, int of) const {
    return pieces + (run * kPieces + of) * static_cast<int>(blockDim.x) + static_cast<int>(threadIdx.x);
  }
  // All of them are on their way at once.
  __device__ __forceinline__ void load(const GroupSlabParams& p, const SlabPlace& at) {
    count = at.countOfRow(at.row);
    const int64_t step = static_cast<int64_t>(at.rows) * p.xPosition;
    const T* from = static_cast<const T*>(p.x) + static_cast<int64_t>(blockIdx.z) * p.xSample +
                    static_cast<int64_t>(at.position(0)) * p.xPosition + at.channel(p);
#pragma unroll 4
    for (int run = 0; run < count; run++, from += step) {
#pragma unroll
      for (int of = 0; of < kPieces; of++)
        cpAsync<16>(sharedAddress(piece(run, of)), reinterpret_cast<const uint4*>(from) + of, 16);
    }
    cpAsyncCommit();
  }
  __device__ __forceinline__ Run<T, kRunChannels> get(int run) const {
    Run<T, kRunChannels> out;
#pragma unroll
    for (int of = 0; of < kPieces; of++) {
      const uint4 four = *piece(run, of);
      out.words[4 * of] = four.x; out.words[4 * of + 1] = four.y; out.words[4 * of + 2] = four.z; out.words[4 * of + 3] = four.w;
    }
    return out;
  }
};

// The blocks of a slab. `tell`: what this one found of a group; `joined`: over all of them, in every block in the same order.
struct ClusterTeam {
  float2* found;

  __device__ __forceinline__ explicit ClusterTeam(const GroupSlabParams&) {
    __shared__ float2 ofGroups[kSlabGroups];
    found = ofGroups;
  }
  __device__ __forceinline__ void tell(const GroupSlabParams&, int group, float2 of) const { found[group] = of; }
  __device__ __forceinline__ void told(const GroupSlabParams&) const {
    __syncwarp();
    arriveCluster();
  }
  __device__ __forceinline__ void meet() const { waitCluster(); }
  __device__ __forceinline__ float2 joined(const GroupSlabParams& p, int group) const {
    return joinBlocks(p, [&](int block) { return loadFromBlock(found + group, block); });
  }
  // No block ends while another one may still read from it.
  __device__ __forceinline__ void hasRead() const {
    __syncwarp();
    arriveCluster();
  }
  __device__ __forceinline__ void leave() const {
    __syncwarp();
    waitCluster();
  }
};

struct GridTeam {
  __device__ __forceinline__ explicit GridTeam(const GroupSlabParams&) { meeting().begin(); }
  __device__ __forceinline__ static Meeting meeting() { return Meeting{static_cast<int>(blockIdx.z * gridDim.y + blockIdx.y)}; }
  __device__ __forceinline__ void tell(const GroupSlabParams& p, int group, float2 of) const {
    partialOf(p)[group * p.chunks + blockIdx.x] = of;
  }
  __device__ __forceinline__ void told(const GroupSlabParams& p) const {
    __syncthreads();
    meeting().arrive(blockIdx.x, p.chunks);
  }
  __device__ __forceinline__ void meet() const {
    meeting().wait();
    __syncthreads();
  }
  __device__ __forceinline__ float2 joined(const GroupSlabParams& p, int group) const {
    const float2* found = partialOf(p) + group * p.chunks;
    return joinBlocks(p, [&](int block) { return __ldcg(found + block); });
  }
  __device__ __forceinline__ void hasRead() const {}
  __device__ __forceinline__ void leave() const {}
};

// grid: blocks of a slab, slabs, samples. Shared memory: of each thread, the runs that it has at most.
template <typename T, int SIDES, typename TEAM> __device__ __forceinline__ void normalizeTogether(const GroupSlabParams& p) {
  extern __shared__ uint4 kept[];
  __shared__ float2 statistics[kSlabGroups];
  const SlabPlace at(p);
  const Sides<SIDES> sides(p, at.column);
  beginKernel();
  const TEAM team(p);
  KeptRuns<T> runs{kept, 0};
  runs.load(p, at);
  {
    Pivots<SIDES> pivots;
    pivots.template load<T>(p, at, sides);
    float addend[kRunChannels];
    loadAddend<T>(p, at, addend);
    ChannelSums own(sides, pivots, addend);
    pivots.tell(p, at, sides);
    cpAsyncWait<0>();
#pragma unroll 2
    for (int run = 0; run < runs.count; run++) own.add(runs.get(run));
    joinBlock<SIDES, kTeamThreads>(p, at, sides, own, [&](int group, float2 of) { team.tell(p, group, of); });
  }
  team.told(p);
  ChannelParameters parameters;
  parameters.load<T>(p, at);
  team.meet();
  for (int group = threadIdx.x / 32; group < p.slabGroups; group += blockDim.x / 32) {
    const float2 of = team.joined(p, group);
    if (threadIdx.x % 32 == 0) statistics[group] = statisticsOf(p, of);
  }
  __syncthreads();
  team.hasRead();
  if (runs.count > 0) {
    float a[kRunChannels], b[kRunChannels];
    factorsOf(p, at, parameters, statistics, a, b);
    const int64_t step = static_cast<int64_t>(at.rows) * p.yPosition;
    int64_t to = offsetInY(p, at, 0);
#pragma unroll 2
    for (int run = 0; run < runs.count; run++, to += step) storeRunAt<T>(p, to, runs.get(run), a, b);
  }
  team.leave();
}

// Of clusters several blocks share a multiprocessor, of a grid's each has one.
#define GROUP_TEAM(T, TYPE, SIDES, WAY, TEAM, BLOCKS)                                                        \
  extern "C" __global__ void __launch_bounds__(kTeamThreads, BLOCKS) groupslab_##TYPE##_s##SIDES##_##WAY(    \
      const __grid_constant__ GroupSlabParams p) { normalizeTogether<T, SIDES, TEAM>(p); }
#define GROUP_TEAMS(T, TYPE)                        \
  GROUP_TEAM(T, TYPE, 2, cluster, ClusterTeam, 2)   \
  GROUP_TEAM(T, TYPE, 4, cluster, ClusterTeam, 2)   \
  GROUP_TEAM(T, TYPE, 2, grid, GridTeam, 1)         \
  GROUP_TEAM(T, TYPE, 4, grid, GridTeam, 1)

GROUP_TEAMS(float, f32)
GROUP_TEAMS(__half, f16)
GROUP_TEAMS(__nv_bfloat16, bf16)
