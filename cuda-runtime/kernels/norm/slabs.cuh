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
  template <typename Sums> __device__ __forceinline__ void addTo(Sums& sums) const {
#pragma unroll
    for (int j = 0; j < RUNS; j++) {
      if (j < count) sums.add(runs[j]);
    }
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

// What the elements of each side's group are told from: the first of them that the block has. A sample of the same numbers, so that
// few digits are lost by it: relatively, of the squares, no more than a block has elements of the group by FP32's last digit.
template <int SIDES> struct Pivots {
  float of[SIDES];

  // Of the slab's groups, once the block has met.
  __device__ __forceinline__ static float* ofBlock() {
    __shared__ float ofGroups[kSlabGroups];
    return ofGroups;
  }

  // Everywhere within x, so that nothing is asked before.
  template <typename T>
  __device__ __forceinline__ void load(const GroupSlabParams& p, const SlabPlace& at, const Sides<SIDES>& sides) {
    const int64_t sample = blockIdx.z, position = min(at.first, p.positions - 1);
    const T* from = static_cast<const T*>(p.x) + sample * p.xSample + position * p.xPosition;
    int channel[SIDES];
#pragma unroll
    for (int s = 0; s < SIDES; s++) {
      channel[s] = static_cast<int>(blockIdx.y) * p.slab + min(sides.firstGroup + s, p.slabGroups - 1) * p.channels.size;
      of[s] = toFloat(from[channel[s]]);
    }
    if (p.addend == nullptr) return;
    const T* addend = static_cast<const T*>(p.addend) + sample * p.addendSample;
#pragma unroll
    for (int s = 0; s < SIDES; s++) of[s] += toFloat(addend[static_cast<int64_t>(channel[s]) * p.addendChannel]);
  }
  __device__ __forceinline__ void tell(const GroupSlabParams& p, const SlabPlace& at, const Sides<SIDES>& sides) const {
#pragma unroll
    for (int s = 0; s < SIDES; s++) {
      if (at.row == 0 && sides.firstGroup + s < p.slabGroups) ofBlock()[sides.firstGroup + s] = of[s];
    }
  }
};

// Sums of a thread's channels, and of squares, both of what elements are more than their group's pivot: those of threads add up.
struct ChannelSums {
  float less[kRunChannels], sum[kRunChannels], squares[kRunChannels];

  // `less`: the pivot, without what is added to the channel.
  template <int SIDES>
  __device__ __forceinline__ ChannelSums(const Sides<SIDES>& sides, const Pivots<SIDES>& pivots, const float* addend) {
#pragma unroll
    for (int c = 0; c < kRunChannels; c++) {
      less[c] = sides.pick(pivots.of, c) - addend[c];
      sum[c] = squares[c] = 0.0f;
    }
  }
  template <typename T> __device__ __forceinline__ void add(const Run<T, kRunChannels>& run) {
    float v[kRunChannels];
    run.widen(v);
#pragma unroll
    for (int c = 0; c < kRunChannels; c++) {
      v[c] -= less[c];
      sum[c] += v[c];
      squares[c] += v[c] * v[c];
    }
  }
};

// Mean and centred squares, of the sums of what so many elements are more than the pivot.
__device__ __forceinline__ float2 momentsOf(float2 sums, float pivot, float elements) {
  const float more = __fdividef(sums.x, fmaxf(elements, 1.0f));
  return make_float2(pivot + more, fmaxf(sums.y - sums.x * more, 0.0f));
}

// Where the sums of a column are: of a warp's lanes, or of a row where no two lanes of a warp have the same column.
__device__ __forceinline__ int firstThread(const GroupSlabParams& p, const SlabPlace& at, int part, int column) {
  if (at.columns >= 32) return part * at.columns + column;
  const int start = 32 * part, lane = column - (start - static_cast<int>(quotientOf(start, p.columns)) * at.columns);
  return start + (lane < 0 ? lane + at.columns : lane);
}

// Of each group over the block's positions: `tell(group, mean and centred squares)`, in one lane of a warp. Lanes that have the same
// column add up first, so that few places in shared memory are read.
template <int SIDES, int THREADS = kSlabThreads, typename Tell>
__device__ __forceinline__ void joinBlock(const GroupSlabParams& p, const SlabPlace& at, const Sides<SIDES>& sides,
                                          const ChannelSums& own, const Tell& tell) {
  __shared__ float2 ofLanes[SIDES][THREADS];
  const int lane = threadIdx.x % 32, warps = blockDim.x / 32;
  float sum[SIDES], squares[SIDES];
  sides.fold(own.sum, sum);
  sides.fold(own.squares, squares);
  for (int step = at.columns; step < 32; step *= 2) {
#pragma unroll
    for (int s = 0; s < SIDES; s++) {
      const float more = __shfl_down_sync(0xffffffffu, sum[s], step), moreSquares = __shfl_down_sync(0xffffffffu, squares[s], step);
      if (lane + step < 32) sum[s] += more, squares[s] += moreSquares;
    }
  }
#pragma unroll
  for (int s = 0; s < SIDES; s++) ofLanes[s][threadIdx.x] = make_float2(sum[s], squares[s]);
  __syncthreads();
  const int parts = at.columns < 32 ? warps : at.rows, channels = p.channels.size;
  for (int group = threadIdx.x / 32; group < p.slabGroups; group += warps) {
    const int from = group * channels / kRunChannels, width = ((group + 1) * channels - 1) / kRunChannels + 1 - from;
    const float oneByWidth = __fdividef(1.0f, static_cast<float>(width));
    float2 all = make_float2(0.0f, 0.0f);
    for (int i = lane; i < width * parts; i += 32) {
      const int part = static_cast<int>((static_cast<float>(i) + 0.5f) * oneByWidth), column = from + i - part * width;
      const float2 of = ofLanes[group - quotientOf(column * kRunChannels, p.channels)][firstThread(p, at, part, column)];
      all.x += of.x, all.y += of.y;
    }
    all.x = reduceWarp(all.x, Add()), all.y = reduceWarp(all.y, Add());
    if (lane == 0) tell(group, momentsOf(all, Pivots<SIDES>::ofBlock()[group], static_cast<float>(at.count * channels)));
  }
}

// Mean and centred squares of a group of the slab over all of its blocks, the same in each thread of a warp; `ofBlock` has a block's.
template <typename OfBlock>
__device__ __forceinline__ float2 joinBlocks(const GroupSlabParams& p, const OfBlock& ofBlock) {
  const float channels = static_cast<float>(p.channels.size), pivot = ofBlock(0).x;
  float2 all = make_float2(0.0f, 0.0f);
#pragma unroll 4
  for (int block = threadIdx.x % 32; block < p.chunks; block += 32) {
    const float2 of = ofBlock(block);
    const float elements = static_cast<float>(SlabPlace::countOf(p, block)) * channels, more = of.x - pivot;
    all.x += elements * more;
    all.y += of.y + elements * more * more;
  }
  all.x = reduceWarp(all.x, Add()), all.y = reduceWarp(all.y, Add());
  return momentsOf(all, pivot, static_cast<float>(p.positions) * channels);
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

// Both y sigmoid(y), by one reciprocal: it is the special functions that this waits for. Below -41 the factor stays 2^-60.
__device__ __forceinline__ void siluOfTwo(float& a, float& b) {
  constexpr float kLog2e = 1.4426950408889634f, kMost = 60.0f;
  const float ofA = 1.0f + exp2Fast(fminf(-kLog2e * a, kMost)), ofB = 1.0f + exp2Fast(fminf(-kLog2e * b, kMost));
  const float both = reciprocalFast(ofA * ofB);
  a *= both * ofB;
  b *= both * ofA;
}

// Normalized elements of the thread's run at a position.
template <typename T>
__device__ __forceinline__ void storeRunAt(const GroupSlabParams& p, int64_t to, const Run<T, kRunChannels>& run, const float* a,
                                           const float* b) {
  float v[kRunChannels];
  run.widen(v);
#pragma unroll
  for (int c = 0; c < kRunChannels; c++) v[c] = v[c] * a[c] + b[c];
  if (p.silu) {
#pragma unroll
    for (int c = 0; c < kRunChannels; c += 2) siluOfTwo(v[c], v[c + 1]);
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

// Of the slab's groups, a row each: what each of its blocks found.
__device__ __forceinline__ float2* partialOf(const GroupSlabParams& p) {
  const int64_t slab = static_cast<int64_t>(blockIdx.z) * gridDim.y + blockIdx.y;
  return reinterpret_cast<float2*>(p.partial) + slab * p.slabGroups * p.chunks;
}

__device__ __forceinline__ float2 statisticsOf(const GroupSlabParams& p, float2 moments) {
  const float elements = static_cast<float>(p.positions) * static_cast<float>(p.channels.size);
  return make_float2(moments.x, rsqrtf(moments.y / elements + p.epsilon));
}

// A block has all positions of its slab, which is read once: no more than a thread loads at a time.
template <typename T, int RUNS, int SIDES> __device__ __forceinline__ void normalizeSlab(const GroupSlabParams& p) {
  __shared__ float2 statistics[kSlabGroups];
  const SlabPlace at(p);
  const Sides<SIDES> sides(p, at.column);
  beginKernel();
  Pivots<SIDES> pivots;
  pivots.template load<T>(p, at, sides);
  SlabRuns<T, RUNS> runs;
  runs.load(p, at, 0);
  ChannelParameters parameters;
  parameters.load<T>(p, at);
  ChannelSums own(sides, pivots, parameters.addend);
  pivots.tell(p, at, sides);
  runs.addTo(own);
  joinBlock<SIDES>(p, at, sides, own, [&](int group, float2 of) { statistics[group] = statisticsOf(p, of); });
  __syncthreads();
  if (runs.count == 0) return;
  float a[kRunChannels], b[kRunChannels];
  factorsOf(p, at, parameters, statistics, a, b);
  storeSlab<T, RUNS>(p, at, runs, 0, a, b);
}

template <typename T, int RUNS, int SIDES> __device__ __forceinline__ void slabStatistics(const GroupSlabParams& p) {
  const SlabPlace at(p);
  const Sides<SIDES> sides(p, at.column);
  beginKernel();
  Pivots<SIDES> pivots;
  pivots.template load<T>(p, at, sides);
  SlabRuns<T, RUNS> runs;
  runs.load(p, at, 0);
  float addend[kRunChannels];
  loadAddend<T>(p, at, addend);
  ChannelSums own(sides, pivots, addend);
  pivots.tell(p, at, sides);
  runs.addTo(own);
  const int batches = at.batches(RUNS);
#pragma unroll 1
  for (int batch = 1; batch < batches; batch++) {
    runs.load(p, at, batch);
    runs.addTo(own);
  }
  float2* partial = partialOf(p);
  joinBlock<SIDES>(p, at, sides, own, [&](int group, float2 of) { partial[group * p.chunks + blockIdx.x] = of; });
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
  const float2* partial = partialOf(p);
  for (int group = threadIdx.x / 32; group < p.slabGroups; group += blockDim.x / 32) {
    const float2 of = joinBlocks(p, [&](int block) { return partial[group * p.chunks + block]; });
    if (threadIdx.x % 32 == 0) statistics[group] = statisticsOf(p, of);
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
