// Products of few rows: every element of b is read once and multiplied by ROWS rows of a, on CUDA cores.
#pragma once
#include <type_traits>
#include "../common/launch.cuh"
#include "params.cuh"

// An unsigned type of as many bytes, that one load brings.
template <typename T, int BYTES>
using Loaded = typename std::conditional<
    BYTES == 16, uint4,
    typename std::conditional<BYTES == 8, uint2, typename std::conditional<BYTES == 4, uint32_t, T>::type>::type>::type;

template <typename T, int N>
using Wide = Loaded<T, static_cast<int>(sizeof(T) * N)>;

// `wide` is a copy: of a reference each element would be loaded by itself.
template <typename T, int N>
__device__ __forceinline__ void unpack(float (&to)[N], Wide<T, N> wide) {
  static_assert(sizeof(wide) == sizeof(T) * N, "one load");
  const T* values = reinterpret_cast<const T*>(&wide);
#pragma unroll
  for (int i = 0; i < N; ++i) to[i] = toFloat(values[i]);
}

template <typename T, int N>
__device__ __forceinline__ void loadPack(float (&to)[N], const T* from) {
  const Wide<T, N> wide = *reinterpret_cast<const Wide<T, N>*>(from);
  unpack<T, N>(to, wide);
}

// b with unit stride along k: one warp computes COLUMNS columns, its lanes running along k, N elements each.
template <typename T, int ROWS, int N>
struct SkinnyAlongK {
  static constexpr int kColumns = 2;
  static constexpr int kWarps = 4;

  static __device__ __forceinline__ void run(const GemmParams& p) {
    const Place at = placeOf(p);
    const int lane = threadIdx.x & 31;
    const int n0 = (at.tileN * kWarps + threadIdx.x / 32) * kColumns;
    const int m0 = at.tileM * ROWS;
    if (n0 >= p.n) return beginKernelEarly();
    const T* rowsA[ROWS];
    const T* rowsB[kColumns];
#pragma unroll
    for (int i = 0; i < ROWS; ++i)
      rowsA[i] = static_cast<const T*>(p.a) + at.a + (int64_t)min(m0 + i, p.m - 1) * p.aM;
#pragma unroll
    for (int j = 0; j < kColumns; ++j)
      rowsB[j] = static_cast<const T*>(p.b) + at.b + (int64_t)min(n0 + j, p.n - 1) * p.bN;
    float sums[ROWS][kColumns] = {};
    const int begin = kBegin(p, at);
    const int end = kEnd(p, at);
#pragma unroll
    for (int j = 0; j < kColumns; ++j) prefetchAhead(rowsB[j] + begin, end - begin);
    beginKernelEarly();
    const int whole = begin + max(0, end - begin) / N * N;
#pragma unroll(ROWS == 1 ? 4 : 2)
    for (int k = begin + lane * N; k < whole; k += 32 * N) add<N>(sums, rowsA, rowsB, k);
    if (N > 1 && whole + lane < end) add<1>(sums, rowsA, rowsB, whole + lane);

    float mine = 0.0f;
#pragma unroll
    for (int i = 0; i < ROWS; ++i) {
#pragma unroll
      for (int j = 0; j < kColumns; ++j) {
        float sum = sums[i][j];
#pragma unroll
        for (int distance = 16; distance > 0; distance /= 2) sum += __shfl_xor_sync(0xffffffffu, sum, distance);
        if (lane == i * kColumns + j) mine = sum;
      }
    }
    const int m = m0 + lane / kColumns;
    const int n = n0 + lane % kColumns;
    if (lane < ROWS * kColumns && m < p.m && n < p.n) finish(p, at, m, n, mine);
  }

  // Of a row of b, the lines of the first few steps: more of all blocks' would drive each other out of L2.
  static __device__ __forceinline__ void prefetchAhead(const T* row, int count) {
    constexpr int kOfLine = 128 / sizeof(T), kLines = 8;
    const int k = (threadIdx.x & 31) * kOfLine;
    if (k < min(count, kLines * kOfLine)) prefetchToL2(row + k);
  }

  template <int WIDTH>
  static __device__ __forceinline__ void add(float (&sums)[ROWS][kColumns], const T* const (&rowsA)[ROWS],
                                             const T* const (&rowsB)[kColumns], int k) {
    float y[kColumns][WIDTH];
#pragma unroll
    for (int j = 0; j < kColumns; ++j) loadPack<T, WIDTH>(y[j], rowsB[j] + k);
#pragma unroll
    for (int i = 0; i < ROWS; ++i) {
      float x[WIDTH];
      loadPack<T, WIDTH>(x, rowsA[i] + k);
#pragma unroll
      for (int j = 0; j < kColumns; ++j)
#pragma unroll
        for (int q = 0; q < WIDTH; ++q) sums[i][j] = fmaf(x[q], y[j][q], sums[i][j]);
    }
  }
};

// Short rows of b, with unit stride along k: LANES lanes have LANES columns, N elements of each at a time, of eight columns together.
// They halve the columns that they have sums of until each has one, so that a warp stores 32 side by side.
template <typename T, int ROWS, int N, int LANES>
struct SkinnyShort {
  static constexpr int kWarps = 4;
  static constexpr int kAtOnce = 8;
  static constexpr int kChunks = LANES / kAtOnce;

  static __device__ __forceinline__ void run(const GemmParams& p) {
    const Place at = placeOf(p);
    const int lane = threadIdx.x & (LANES - 1);
    const int n0 = at.tileN * kWarps * 32 + (threadIdx.x & ~(LANES - 1));
    const int m0 = at.tileM * ROWS;
    beginKernelEarly();
    if ((n0 & ~31) >= p.n) return;
    const T* rowsA[ROWS];
#pragma unroll
    for (int i = 0; i < ROWS; ++i)
      rowsA[i] = static_cast<const T*>(p.a) + at.a + (int64_t)min(m0 + i, p.m - 1) * p.aM;
    const T* b = static_cast<const T*>(p.b) + at.b + (int64_t)min(n0, p.n - 1) * p.bN;
    const int last = max(0, min(LANES, p.n - n0) - 1);
    const int begin = kBegin(p, at);
    const int end = kEnd(p, at);
    const int whole = begin + max(0, end - begin) / N * N;
    float sums[ROWS][kChunks] = {};
    // Every lane of a warp takes part in its shuffles: those behind the end with zeros.
#pragma unroll 1
    for (int k = begin; k < whole; k += LANES * N) add<N>(sums, rowsA, b, k + lane * N, whole, lane, last, p.bN);
    if (N > 1 && whole < end) add<1>(sums, rowsA, b, whole + lane, end, lane, last, p.bN);
    const int n = n0 + lane % kChunks * kAtOnce + lane / kChunks;
#pragma unroll
    for (int i = 0; i < ROWS; ++i) {
      const float sum = mineOf<kChunks, kChunks / 2>(sums[i], lane);
      if (m0 + i < p.m && n < p.n) finish(p, at, m0 + i, n, sum);
    }
  }

  template <int WIDTH>
  static __device__ __forceinline__ void add(float (&sums)[ROWS][kChunks], const T* const (&rowsA)[ROWS], const T* b,
                                             int k, int end, int lane, int last, int64_t step) {
    float x[ROWS][WIDTH] = {};
    const bool isInside = k < end;
    if (isInside) {
#pragma unroll
      for (int i = 0; i < ROWS; ++i) loadPack<T, WIDTH>(x[i], rowsA[i] + k);
    }
#pragma unroll
    for (int chunk = 0; chunk < kChunks; ++chunk) {
      float parts[ROWS][kAtOnce] = {};
      if (isInside) addColumns<WIDTH>(parts, x, b + k, chunk * kAtOnce, last, step);
#pragma unroll
      for (int i = 0; i < ROWS; ++i) sums[i][chunk] += mineOf<kAtOnce, LANES / 2>(parts[i], lane);
    }
  }

  template <int WIDTH>
  static __device__ __forceinline__ void addColumns(float (&parts)[ROWS][kAtOnce], const float (&x)[ROWS][WIDTH],
                                                    const T* b, int first, int last, int64_t step) {
    Wide<T, WIDTH> wide[kAtOnce];
#pragma unroll
    for (int j = 0; j < kAtOnce; ++j)
      wide[j] = *reinterpret_cast<const Wide<T, WIDTH>*>(b + min(first + j, last) * step);
#pragma unroll
    for (int j = 0; j < kAtOnce; ++j) {
      float y[WIDTH];
      unpack<T, WIDTH>(y, wide[j]);
#pragma unroll
      for (int i = 0; i < ROWS; ++i)
#pragma unroll
        for (int q = 0; q < WIDTH; ++q) parts[i][j] = fmaf(x[i][q], y[q], parts[i][j]);
    }
  }

  // Lanes of a pair swap the halves of their sums that the other one keeps.
  template <int COUNT, int DISTANCE>
  static __device__ __forceinline__ float mineOf(float (&sums)[COUNT], int lane) {
    if constexpr (COUNT == 1) {
      return sums[0];
    } else {
      const bool isUpper = lane & DISTANCE;
      float half[COUNT / 2];
#pragma unroll
      for (int j = 0; j < COUNT / 2; ++j) {
        const float given = isUpper ? sums[j] : sums[j + COUNT / 2];
        half[j] = (isUpper ? sums[j + COUNT / 2] : sums[j]) + __shfl_xor_sync(0xffffffffu, given, DISTANCE);
      }
      return mineOf<COUNT / 2, DISTANCE / 2>(half, lane);
    }
  }
};

// b with unit stride along n: a lane has N neighbouring columns, LANES lanes beside each other; the other lanes and the
// eight warps take turns along k. a may have any strides.
template <typename T, int ROWS, int N, int LANES>
struct SkinnyAlongN {
  static constexpr int kWarps = 8;
  static constexpr int kColumns = LANES * N;
  static constexpr int kPhases = kWarps * (32 / LANES);

  static __device__ __forceinline__ void run(const GemmParams& p) {
    __shared__ float partial[kWarps][ROWS][kColumns];
    const Place at = placeOf(p);
    const int lane = threadIdx.x & 31;
    const int warp = threadIdx.x / 32;
    const int n0 = at.tileN * kColumns;
    const int m0 = at.tileM * ROWS;
    const int column = n0 + lane % LANES * N;
    float sums[ROWS][N] = {};
    const T* b = static_cast<const T*>(p.b) + at.b + column;
    const T* a[ROWS];
#pragma unroll
    for (int i = 0; i < ROWS; ++i) a[i] = static_cast<const T*>(p.a) + at.a + (int64_t)min(m0 + i, p.m - 1) * p.aM;
    const int end = kEnd(p, at);
    beginKernelEarly();
    const int first = kBegin(p, at) + warp * (32 / LANES) + lane / LANES;
    if (column + N <= p.n) {
#pragma unroll 4
      for (int k = first; k < end; k += kPhases) {
        float y[N];
        loadPack<T, N>(y, b + (int64_t)k * p.bK);
        add(sums, a, y, (int64_t)k * p.aK);
      }
    } else if (column < p.n) {
      for (int k = first; k < end; k += kPhases) {
        float y[N];
#pragma unroll
        for (int q = 0; q < N; ++q) y[q] = column + q < p.n ? toFloat(b[(int64_t)k * p.bK + q]) : 0.0f;
        add(sums, a, y, (int64_t)k * p.aK);
      }
    }
#pragma unroll
    for (int i = 0; i < ROWS; ++i) {
#pragma unroll
      for (int q = 0; q < N; ++q) {
        float sum = sums[i][q];
#pragma unroll
        for (int distance = 16; distance >= LANES; distance /= 2) sum += __shfl_xor_sync(0xffffffffu, sum, distance);
        if (lane < LANES) partial[warp][i][lane * N + q] = sum;
      }
    }
    __syncthreads();
#pragma unroll 1
    for (int index = threadIdx.x; index < ROWS * kColumns; index += kWarps * 32) {
      const int i = index / kColumns;
      const int j = index % kColumns;
      float sum = 0.0f;
#pragma unroll
      for (int w = 0; w < kWarps; ++w) sum += partial[w][i][j];
      if (m0 + i < p.m && n0 + j < p.n) finish(p, at, m0 + i, n0 + j, sum);
    }
  }

  static __device__ __forceinline__ void add(float (&sums)[ROWS][N], const T* const (&a)[ROWS], const float (&y)[N],
                                             int64_t at) {
#pragma unroll
    for (int i = 0; i < ROWS; ++i) {
      const float x = toFloat(a[i][at]);
#pragma unroll
      for (int q = 0; q < N; ++q) sums[i][q] = fmaf(x, y[q], sums[i][q]);
    }
  }
};
