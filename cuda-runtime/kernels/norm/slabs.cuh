// GroupNorm where channels are innermost. A slab is whole groups and whole runs of eight channels of one sample; a block takes
// some of its positions. A thread keeps to one run of channels, so that what belongs to a channel stays in its registers; it
// takes RUNS of its positions at a time.
#pragma once
#include "../common/activation.cuh"
#include "../common/divisor.cuh"
#include "../common/launch.cuh"
#include "vector.cuh"
#include "params.generated.cuh"

constexpr int kSlabThreads = 512, kRunChannels = 8, kSlabGroups = 64;

// The part of a slab that a block has, and of it a thread. grid: chunks of positions, slabs, samples.
struct SlabPlace {
  int columns, column;  // Runs of channels: of the slab, and the thread's.
  int rows, row;        // Positions that the block takes at a time, and the thread's first; a thread from `rows` on has none.
  int first, count;     // Of positions: the block's.
  int each, more;       // Positions of a row's threads: `each`, and one more of the first `more` rows.

  __device__ __forceinline__ explicit SlabPlace(const GroupSlabParams& p) : columns(p.columns.size), rows(p.rows.size) {
    row = quotientOf(threadIdx.x, p.columns);
    column = static_cast<int>(threadIdx.x) - row * columns;
    first = blockIdx.x * p.chunk;
    count = countOf(p, blockIdx.x);
    each = quotientOf(count, p.rows);
    more = count - each * rows;
  }
  // Positions of the slab's block `chunk`.
  __device__ __forceinline__ static int countOf(const GroupSlabParams& p, int chunk) {
    return max(0, min(p.chunk, p.positions - chunk * p.chunk));
  }
  __device__ __forceinline__ int countOfRow(int of) const { return of < rows ? each + (of < more) : 0; }
  // Times that a thread takes up to `runs` of its positions.
  __device__ __forceinline__ int batches(int runs) const { return (each + (more > 0) + runs - 1) / runs; }
  // That of the thread's run `run`.
  __device__ __forceinline__ int position(int run) const { return first + row + run * rows; }
  __device__ __forceinline__ int channel(const GroupSlabParams& p) const {
    return static_cast<int>(blockIdx.y) * p.slab + column * kRunChannels;
  }
};

// Channels of a run that belong to a group, both counted within the slab.
__device__ __forceinline__ int sharedChannels(int column, int group, int channels) {
  return min((column + 1) * kRunChannels, (group + 1) * channels) - max(column * kRunChannels, group * channels);
}

// Runs of channels of one thread, kept as they are stored.
template <typename T, int RUNS> struct SlabRuns {
  Run<T, kRunChannels> runs[RUNS];
  int count;

  __device__ __forceinline__ void load(const GroupSlabParams& p, const SlabPlace& at, int batch) {
    count = max(0, min(RUNS, at.countOfRow(at.row) - batch * RUNS));
    const int64_t step = static_cast<int64_t>(at.rows) * p.xPosition;
    const T* from = static_cast<const T*>(p.x) + static_cast<int64_t>(blockIdx.z) * p.xSample +
                    static_cast<int64_t>(at.position(batch * RUNS)) * p.xPosition + at.channel(p);
#pragma unroll
    for (int j = 0; j < RUNS; j++, from += step) {
      if (j < count) runs[j].load(from);
    }
  }
  __device__ __forceinline__ void get(int run, float* out) const {
    runs[run].widen(out);
  }
};

// What a thread's channels are to their groups: up to SIDES groups meet in a run.
template <int SIDES> struct Sides {
  int firstGroup;        // Of the slab's, that of the run's first channel.
  int of[kRunChannels];  // The side of a channel.

  __device__ __forceinline__ Sides(const GroupSlabParams& p, int column) {
    firstGroup = quotientOf(column * kRunChannels, p.channels);
    int within = column * kRunChannels - firstGroup * p.channels.size, side = 0;
#pragma unroll
    for (int c = 0; c < kRunChannels; c++) {
      of[c] = side;
      if (++within == p.channels.size) within = 0, side++;
    }
  }
  // Sums of the channels of each side.
  __device__ __forceinline__ void fold(const float* perChannel, float* perSide) const {
#pragma unroll
    for (int s = 0; s < SIDES; s++) {
      perSide[s] = 0.0f;
#pragma unroll
      for (int c = 0; c < kRunChannels; c++) perSide[s] += of[c] == s ? perChannel[c] : 0.0f;
    }
  }
  __device__ __forceinline__ float pick(const float* perSide, int channel) const {
    float value = perSide[0];
#pragma unroll
    for (int s = 1; s < SIDES; s++) value = of[channel] == s ? perSide[s] : value;
    return value;
  }
};

// Of a thread's channels; zeros where it has none.
template <typename T> __device__ __forceinline__ void loadAddend(const GroupSlabParams& p, const SlabPlace& at, float* addend) {
#pragma unroll
  for (int c = 0; c < kRunChannels; c++) addend[c] = 0.0f;
  if (p.addend == nullptr || at.row >= at.rows) return;
  const T* from = static_cast<const T*>(p.addend) + static_cast<int64_t>(blockIdx.z) * p.addendSample +
                  static_cast<int64_t>(at.channel(p)) * p.addendChannel;
#pragma unroll
  for (int c = 0; c < kRunChannels; c++) addend[c] = toFloat(from[c * p.addendChannel]);
}

// What stands for each of a thread's channels.
struct ChannelParameters {
  float addend[kRunChannels], scale[kRunChannels], bias[kRunChannels];

  template <typename T> __device__ __forceinline__ void load(const GroupSlabParams& p, const SlabPlace& at) {
    const int firstOfSlab = blockIdx.y * p.slabGroups;
    int group = quotientOf(at.column * kRunChannels, p.channels);
    int within = at.column * kRunChannels - group * p.channels.size;
    loadAddend<T>(p, at, addend);
#pragma unroll
    for (int c = 0; c < kRunChannels; c++) {
      const int parameter = p.parameterPerGroup ? firstOfSlab + group : at.channel(p) + c;
      scale[c] = p.scale == nullptr || at.row >= at.rows ? 1.0f : p.scale[parameter];
      bias[c] = p.bias == nullptr || at.row >= at.rows ? 0.0f : p.bias[parameter];
      if (++within == p.channels.size) within = 0, group++;
    }
  }
};

// Means and centred squares of a thread's channels over positions of it.
struct ChannelMoments {
  float mean[kRunChannels], squares[kRunChannels], positions;

  // Those of x and what is added to it: loaded here, registers are few before.
  template <typename T> __device__ __forceinline__ void addTo(const GroupSlabParams& p, const SlabPlace& at) {
    if (p.addend == nullptr) return;
    float addend[kRunChannels];
    loadAddend<T>(p, at, addend);
#pragma unroll
    for (int c = 0; c < kRunChannels; c++) mean[c] += addend[c];
  }

  // Of each side: its channels have as many positions.
  template <int SIDES>
  __device__ __forceinline__ void join(const GroupSlabParams& p, const Sides<SIDES>& sides, int column, float* meanOf,
                                       float* squaresOf) const {
    float deviations[kRunChannels];
    sides.fold(mean, meanOf);
#pragma unroll
    for (int s = 0; s < SIDES; s++) {
      const int channels = sharedChannels(column, sides.firstGroup + s, p.channels.size);
      meanOf[s] = channels > 0 ? __fdividef(meanOf[s], static_cast<float>(channels)) : 0.0f;
    }
#pragma unroll
    for (int c = 0; c < kRunChannels; c++) {
      const float delta = mean[c] - sides.pick(meanOf, c);
      deviations[c] = squares[c] + positions * delta * delta;
    }
    sides.fold(deviations, squaresOf);
  }
};

// Over those positions that are loaded; zeros where there are none.
template <typename T, int RUNS> __device__ __forceinline__ ChannelMoments batchMoments(const SlabRuns<T, RUNS>& runs) {
  ChannelMoments of = {};
  float v[kRunChannels];
  of.positions = static_cast<float>(runs.count);
#pragma unroll
  for (int j = 0; j < RUNS; j++) {
    if (j >= runs.count) continue;
    runs.get(j, v);
#pragma unroll
    for (int c = 0; c < kRunChannels; c++) of.mean[c] += v[c];
  }
  const float share = __fdividef(1.0f, fmaxf(of.positions, 1.0f));
#pragma unroll
  for (int c = 0; c < kRunChannels; c++) of.mean[c] *= share;
#pragma unroll
  for (int j = 0; j < RUNS; j++) {
    if (j >= runs.count) continue;
    runs.get(j, v);
#pragma unroll
    for (int c = 0; c < kRunChannels; c++) of.squares[c] += (v[c] - of.mean[c]) * (v[c] - of.mean[c]);
  }
  return of;
}

// Over all positions of a thread; the first of them are loaded.
template <typename T, int RUNS>
__device__ __forceinline__ ChannelMoments threadMoments(const GroupSlabParams& p, const SlabPlace& at, SlabRuns<T, RUNS>& runs) {
  ChannelMoments all = batchMoments<T, RUNS>(runs);
  const int batches = at.batches(RUNS);
#pragma unroll 1
  for (int batch = 1; batch < batches; batch++) {
    runs.load(p, at, batch);
    if (runs.count == 0) break;
    const ChannelMoments of = batchMoments<T, RUNS>(runs);
    const float share = __fdividef(of.positions, all.positions + of.positions), weight = all.positions * share;
#pragma unroll
    for (int c = 0; c < kRunChannels; c++) {
      const float delta = of.mean[c] - all.mean[c];
      all.mean[c] += delta * share;
      all.squares[c] += of.squares[c] + delta * delta * weight;
    }
    all.positions += of.positions;
  }
  return all;
}

// Mean and centred squares of a group over the block's positions, by a warp, the same in each of its threads.
template <int SIDES>
__device__ __forceinline__ float2 groupMoments(const GroupSlabParams& p, const SlabPlace& at,
                                               const float2 (*ofThreads)[kSlabThreads], int group) {
  const int channels = p.channels.size, lane = threadIdx.x % 32;
  const int from = group * channels / kRunChannels, width = ((group + 1) * channels - 1) / kRunChannels + 1 - from;
  const float oneByWidth = __fdividef(1.0f, static_cast<float>(width)), elements = static_cast<float>(at.count * channels);
  const auto countAndMoments = [&](int i) {
    const int row = static_cast<int>((static_cast<float>(i) + 0.5f) * oneByWidth), column = from + i - row * width;
    const float2 of = ofThreads[group - quotientOf(column * kRunChannels, p.channels)][row * at.columns + column];
    const int count = at.countOfRow(row) * sharedChannels(column, group, channels);
    return make_float3(static_cast<float>(count), of.x, of.y);
  };
  float sum = 0.0f, squares = 0.0f;
#pragma unroll 4
  for (int i = lane; i < width * at.rows; i += 32) {
    const float3 of = countAndMoments(i);
    sum += of.x * of.y;
  }
  const float mean = __fdividef(reduceWarp(sum, Add()), fmaxf(elements, 1.0f));
#pragma unroll 4
  for (int i = lane; i < width * at.rows; i += 32) {
    const float3 of = countAndMoments(i);
    squares += of.z + of.x * (of.y - mean) * (of.y - mean);
  }
  return make_float2(mean, reduceWarp(squares, Add()));
}

// Of each group over the block's positions, to `ofGroups` in shared memory.
template <int SIDES>
__device__ __forceinline__ void blockMoments(const GroupSlabParams& p, const SlabPlace& at, const Sides<SIDES>& sides,
                                             const ChannelMoments& own, float2* ofGroups) {
  __shared__ float2 ofThreads[SIDES][kSlabThreads];
  float mean[SIDES], squares[SIDES];
  own.join<SIDES>(p, sides, at.column, mean, squares);
#pragma unroll
  for (int s = 0; s < SIDES; s++) ofThreads[s][threadIdx.x] = make_float2(mean[s], squares[s]);
  __syncthreads();
  for (int group = threadIdx.x / 32; group < p.slabGroups; group += blockDim.x / 32) {
    const float2 of = groupMoments<SIDES>(p, at, ofThreads, group);
    if (threadIdx.x % 32 == 0) ofGroups[group] = of;
  }
}

// What a channel's elements are multiplied by and what is added then, of the groups' mean and inverse deviation.
__device__ __forceinline__ void factorsOf(const GroupSlabParams& p, const SlabPlace& at, const ChannelParameters& parameters,
                                          const float2* statistics, float* a, float* b) {
  int group = quotientOf(at.column * kRunChannels, p.channels);
  int within = at.column * kRunChannels - group * p.channels.size;
#pragma unroll
  for (int c = 0; c < kRunChannels; c++) {
    const float2 of = statistics[group];
    a[c] = of.y * parameters.scale[c];
    b[c] = parameters.bias[c] + (parameters.addend[c] - of.x) * a[c];
    if (++within == p.channels.size) within = 0, group++;
  }
}

// Normalized elements of the thread's run at a position.
template <typename T>
__device__ __forceinline__ void storeRunAt(const GroupSlabParams& p, int64_t to, const Run<T, kRunChannels>& run, const float* a,
                                           const float* b) {
  float v[kRunChannels];
  run.widen(v);
#pragma unroll
  for (int c = 0; c < kRunChannels; c++) {
    const float y = v[c] * a[c] + b[c];
    v[c] = p.silu ? y * sigmoidOf(y) : y;
  }
  storeRunOf<kRunChannels>(p.y, to, p.yType, v);
}

__device__ __forceinline__ int64_t offsetInY(const GroupSlabParams& p, const SlabPlace& at, int run) {
  return static_cast<int64_t>(blockIdx.z) * p.ySample + static_cast<int64_t>(at.position(run)) * p.yPosition + at.channel(p);
}

template <typename T, int RUNS>
__device__ __forceinline__ void storeSlab(const GroupSlabParams& p, const SlabPlace& at, const SlabRuns<T, RUNS>& runs, int batch,
                                          const float* a, const float* b) {
  const int64_t step = static_cast<int64_t>(at.rows) * p.yPosition;
  int64_t to = offsetInY(p, at, batch * RUNS);
#pragma unroll
  for (int j = 0; j < RUNS; j++, to += step) {
    if (j < runs.count) storeRunAt<T>(p, to, runs.runs[j], a, b);
  }
}

__device__ __forceinline__ float2 statisticsOf(const GroupSlabParams& p, float2 moments) {
  const float elements = static_cast<float>(p.positions) * static_cast<float>(p.channels.size);
  return make_float2(moments.x, rsqrtf(moments.y / elements + p.epsilon));
}

// A block has all positions of its slab, which is read once: no more than a thread loads at a time.
template <typename T, int RUNS, int SIDES> __device__ __forceinline__ void normalizeSlab(const GroupSlabParams& p) {
  __shared__ float2 ofGroups[kSlabGroups];
  const SlabPlace at(p);
  const Sides<SIDES> sides(p, at.column);
  beginKernel();
  SlabRuns<T, RUNS> runs;
  runs.load(p, at, 0);
  ChannelParameters parameters;
  parameters.load<T>(p, at);
  float a[kRunChannels], b[kRunChannels];
  ChannelMoments own = batchMoments<T, RUNS>(runs);
  own.addTo<T>(p, at);
  blockMoments<SIDES>(p, at, sides, own, ofGroups);
  __syncthreads();
  if (threadIdx.x < p.slabGroups) ofGroups[threadIdx.x] = statisticsOf(p, ofGroups[threadIdx.x]);
  __syncthreads();
  if (runs.count == 0) return;
  factorsOf(p, at, parameters, ofGroups, a, b);
  storeSlab<T, RUNS>(p, at, runs, 0, a, b);
}

template <typename T, int RUNS, int SIDES> __device__ __forceinline__ void slabStatistics(const GroupSlabParams& p) {
  __shared__ float2 ofGroups[kSlabGroups];
  const SlabPlace at(p);
  beginKernel();
  SlabRuns<T, RUNS> runs;
  runs.load(p, at, 0);
  ChannelMoments own = threadMoments<T, RUNS>(p, at, runs);
  own.addTo<T>(p, at);
  const Sides<SIDES> sides(p, at.column);
  blockMoments<SIDES>(p, at, sides, own, ofGroups);
  __syncthreads();
  const int64_t first = (static_cast<int64_t>(blockIdx.z) * gridDim.y + blockIdx.y) * p.slabGroups;
  for (int group = threadIdx.x; group < p.slabGroups; group += blockDim.x) {
    reinterpret_cast<float2*>(p.partial)[(first + group) * p.chunks + blockIdx.x] = ofGroups[group];
  }
}

// The same grid. What chunks found is joined in every block, always in the same order. A block goes back from its last
// positions, which the launch before read last, to its first: the L2 may still have them.
template <typename T, int RUNS> __device__ __forceinline__ void applySlab(const GroupSlabParams& p) {
  __shared__ float2 statistics[kSlabGroups];
  const SlabPlace at(p);
  SlabRuns<T, RUNS> runs;
  int batch = at.batches(RUNS) - 1;
  beginKernel();
  runs.load(p, at, batch);
  const int lane = threadIdx.x % 32;
  const int64_t first = (static_cast<int64_t>(blockIdx.z) * gridDim.y + blockIdx.y) * p.slabGroups;
  const float channels = static_cast<float>(p.channels.size), elements = static_cast<float>(p.positions) * channels;
  for (int group = threadIdx.x / 32; group < p.slabGroups; group += blockDim.x / 32) {
    const float2* partial = reinterpret_cast<const float2*>(p.partial) + (first + group) * p.chunks;
    float sum = 0.0f, squares = 0.0f;
#pragma unroll 4
    for (int chunk = lane; chunk < p.chunks; chunk += 32)
      sum += static_cast<float>(SlabPlace::countOf(p, chunk)) * channels * partial[chunk].x;
    const float mean = __fdividef(reduceWarp(sum, Add()), elements);
#pragma unroll 4
    for (int chunk = lane; chunk < p.chunks; chunk += 32) {
      const float2 of = partial[chunk];
      squares += of.y + static_cast<float>(SlabPlace::countOf(p, chunk)) * channels * (of.x - mean) * (of.x - mean);
    }
    squares = reduceWarp(squares, Add());
    if (lane == 0) statistics[group] = statisticsOf(p, make_float2(mean, squares));
  }
  ChannelParameters parameters;
  parameters.load<T>(p, at);
  __syncthreads();
  if (at.row >= at.rows) return;
  float a[kRunChannels], b[kRunChannels];
  factorsOf(p, at, parameters, statistics, a, b);
  storeSlab<T, RUNS>(p, at, runs, batch, a, b);
#pragma unroll 1
  while (--batch >= 0) {
    runs.load(p, at, batch);
    storeSlab<T, RUNS>(p, at, runs, batch, a, b);
  }
}

// Sides: up to how many groups meet in a run.
// Two blocks of an SM at least (four of half the threads): those of a launch that stays are all there at once.
#define GROUP_SLAB_SIDES(T, TYPE, RUNS, SIDES)                                                              \
  extern "C" __global__ void __launch_bounds__(kSlabThreads, 1) groupslab_##TYPE##_s##SIDES##_whole(                         \
      const __grid_constant__ GroupSlabParams p) { normalizeSlab<T, RUNS, SIDES>(p); }       \
  extern "C" __global__ void __launch_bounds__(kSlabThreads, 2) groupslab_##TYPE##_s##SIDES##_statistics(   \
      const __grid_constant__ GroupSlabParams p) { slabStatistics<T, RUNS, SIDES>(p); }
#define GROUP_SLAB(T, TYPE, RUNS)                                                                           \
  GROUP_SLAB_SIDES(T, TYPE, RUNS, 2)                                                                        \
  GROUP_SLAB_SIDES(T, TYPE, RUNS, 4)                                                                        \
  GROUP_SLAB_SIDES(T, TYPE, RUNS, 8)                                                                        \
  extern "C" __global__ void __launch_bounds__(kSlabThreads, 2) groupslab_##TYPE##_apply(                   \
      const __grid_constant__ GroupSlabParams p) { applySlab<T, RUNS>(p); }

// Runs of a thread: what fits the registers of two blocks an SM.
GROUP_SLAB(float, f32, 2)
GROUP_SLAB(__half, f16, 4)
GROUP_SLAB(__nv_bfloat16, bf16, 4)
