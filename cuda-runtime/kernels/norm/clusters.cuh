// GroupNorm of innermost channels in one launch: the blocks of a cluster keep a slab in their shared memory, and read each
// other's statistics there.
#pragma once
#include "../common/cluster.cuh"
#include "../common/copy.cuh"
#include "slabs.cuh"

constexpr int kClusterThreads = 256;

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
    cpAsyncWait<0>();
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

// Over a thread's positions.
template <typename T> __device__ __forceinline__ ChannelMoments keptMoments(const KeptRuns<T>& runs) {
  ChannelMoments of = {};
  float v[kRunChannels];
  of.positions = static_cast<float>(runs.count);
#pragma unroll 4
  for (int run = 0; run < runs.count; run++) {
    runs.get(run).widen(v);
#pragma unroll
    for (int c = 0; c < kRunChannels; c++) of.mean[c] += v[c];
  }
  const float share = __fdividef(1.0f, fmaxf(of.positions, 1.0f));
#pragma unroll
  for (int c = 0; c < kRunChannels; c++) of.mean[c] *= share;
#pragma unroll 4
  for (int run = 0; run < runs.count; run++) {
    runs.get(run).widen(v);
#pragma unroll
    for (int c = 0; c < kRunChannels; c++) of.squares[c] += (v[c] - of.mean[c]) * (v[c] - of.mean[c]);
  }
  return of;
}

// Of the cluster's blocks one a lane, joined in the same order in each of them.
__device__ __forceinline__ void joinCluster(const GroupSlabParams& p, const float2* ofGroups, float2* statistics) {
  const int lane = threadIdx.x % 32;
  const float channels = static_cast<float>(p.channels.size), elements = static_cast<float>(p.positions) * channels;
  const float own = lane < p.chunks ? static_cast<float>(SlabPlace::countOf(p, lane)) * channels : 0.0f;
  for (int group = threadIdx.x / 32; group < p.slabGroups; group += blockDim.x / 32) {
    const float2 of = lane < p.chunks ? loadFromBlock(ofGroups + group, lane) : make_float2(0.0f, 0.0f);
    const float mean = __fdividef(reduceWarp(own * of.x, Add()), elements);
    const float squares = reduceWarp(of.y + own * (of.x - mean) * (of.x - mean), Add());
    if (lane == 0) statistics[group] = statisticsOf(p, make_float2(mean, squares));
  }
}

// grid: blocks of a cluster, slabs, samples. Shared memory: of each thread, the runs that it has at most.
template <typename T, int SIDES> __device__ __forceinline__ void normalizeByCluster(const GroupSlabParams& p) {
  extern __shared__ uint4 kept[];
  __shared__ float2 ofGroups[kSlabGroups], statistics[kSlabGroups];
  const SlabPlace at(p);
  beginKernel();
  KeptRuns<T> runs{kept, 0};
  runs.load(p, at);
  ChannelMoments own = keptMoments<T>(runs);
  own.addTo<T>(p, at);
  const Sides<SIDES> sides(p, at.column);
  blockMoments<SIDES>(p, at, sides, own, ofGroups);
  __syncwarp();
  arriveCluster();
  ChannelParameters parameters;
  parameters.load<T>(p, at);
  waitCluster();
  joinCluster(p, ofGroups, statistics);
  __syncthreads();
  arriveCluster();
  if (runs.count > 0) {
    float a[kRunChannels], b[kRunChannels];
    factorsOf(p, at, parameters, statistics, a, b);
    const int64_t step = static_cast<int64_t>(at.rows) * p.yPosition;
    int64_t to = offsetInY(p, at, 0);
#pragma unroll 2
    for (int run = 0; run < runs.count; run++, to += step) storeRunAt<T>(p, to, runs.get(run), a, b);
  }
  __syncwarp();
  // No block ends while another one may still read from it.
  waitCluster();
}

#define GROUP_CLUSTER_SIDES(T, TYPE, SIDES)                                                                 \
  extern "C" __global__ void __launch_bounds__(kClusterThreads, 4) groupslab_##TYPE##_s##SIDES##_cluster(   \
      const __grid_constant__ GroupSlabParams p) { normalizeByCluster<T, SIDES>(p); }
#define GROUP_CLUSTER(T, TYPE)                                                                              \
  GROUP_CLUSTER_SIDES(T, TYPE, 2)                                                                           \
  GROUP_CLUSTER_SIDES(T, TYPE, 4)

GROUP_CLUSTER(float, f32)
GROUP_CLUSTER(__half, f16)
GROUP_CLUSTER(__nv_bfloat16, bf16)
