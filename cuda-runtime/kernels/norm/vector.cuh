// Runs of WIDTH neighbouring floats of any type as one or two 16-byte accesses, and reductions over a row's threads.
#pragma once
#include "../common/storage.cuh"

template <typename T> struct StorageOf;
template <> struct StorageOf<float> { static constexpr int code = kFloat32; };
template <> struct StorageOf<__half> { static constexpr int code = kFloat16; };
template <> struct StorageOf<__nv_bfloat16> { static constexpr int code = kBFloat16; };

// Eight halves in 16 bytes, two in 4: as raw words, so that one register move does for both half types.
template <int WIDTH> struct HalfRun;
template <> struct HalfRun<8> { using Words = uint4; };
template <> struct HalfRun<2> { using Words = uint32_t; };

template <typename T> __device__ __forceinline__ float2 unpackPair(uint32_t word);
template <> __device__ __forceinline__ float2 unpackPair<__half>(uint32_t word) {
  __half2 pair;
  memcpy(&pair, &word, 4);
  return __half22float2(pair);
}
template <> __device__ __forceinline__ float2 unpackPair<__nv_bfloat16>(uint32_t word) {
  __nv_bfloat162 pair;
  memcpy(&pair, &word, 4);
  return __bfloat1622float2(pair);
}

template <typename T> __device__ __forceinline__ uint32_t packPair(float a, float b);
template <> __device__ __forceinline__ uint32_t packPair<__half>(float a, float b) {
  const __half2 pair = __floats2half2_rn(a, b);
  uint32_t word;
  memcpy(&word, &pair, 4);
  return word;
}
template <> __device__ __forceinline__ uint32_t packPair<__nv_bfloat16>(float a, float b) {
  const __nv_bfloat162 pair = __floats2bfloat162_rn(a, b);
  uint32_t word;
  memcpy(&word, &pair, 4);
  return word;
}

// A run as it is stored. WIDTH is 8, 2 or 1; for 8 and 2 its address is a multiple of its bytes, at most 16.
template <typename T, int WIDTH> struct Run {
  static constexpr int kWords = WIDTH * sizeof(T) < 4 ? 1 : WIDTH * sizeof(T) / 4;
  uint32_t words[kWords];

  __device__ __forceinline__ void load(const T* at) {
    if constexpr (WIDTH == 1) {
      memcpy(words, at, sizeof(T));
    } else if constexpr (kWords == 8) {
      const uint4 low = reinterpret_cast<const uint4*>(at)[0], high = reinterpret_cast<const uint4*>(at)[1];
      words[0] = low.x; words[1] = low.y; words[2] = low.z; words[3] = low.w;
      words[4] = high.x; words[5] = high.y; words[6] = high.z; words[7] = high.w;
    } else if constexpr (kWords == 4) {
      const uint4 all = *reinterpret_cast<const uint4*>(at);
      words[0] = all.x; words[1] = all.y; words[2] = all.z; words[3] = all.w;
    } else if constexpr (kWords == 2) {
      const uint2 all = *reinterpret_cast<const uint2*>(at);
      words[0] = all.x; words[1] = all.y;
    } else {
      words[0] = *reinterpret_cast<const uint32_t*>(at);
    }
  }
  // For WIDTH 8: to an address as `load` takes it.
  __device__ __forceinline__ void store(T* at) const {
#pragma unroll
    for (int i = 0; i < kWords / 4; i++)
      reinterpret_cast<uint4*>(at)[i] = make_uint4(words[4 * i], words[4 * i + 1], words[4 * i + 2], words[4 * i + 3]);
  }
  // Elements from `from` to `to` alone; zeros for the others.
  __device__ __forceinline__ void loadPart(const T* at, int from, int to) {
#pragma unroll
    for (int i = 0; i < kWords; i++) words[i] = 0;
#pragma unroll
    for (int i = 0; i < WIDTH; i++) {
      if (i < from || i >= to) continue;
      if constexpr (sizeof(T) == 4) words[i] = reinterpret_cast<const uint32_t*>(at)[i];
      else words[i / 2] |= static_cast<uint32_t>(reinterpret_cast<const uint16_t*>(at)[i]) << (i % 2 * 16);
    }
  }
  __device__ __forceinline__ void widen(float* out) const {
    if constexpr (WIDTH == 1) {
      T one;
      memcpy(&one, words, sizeof(T));
      out[0] = toFloat(one);
    } else if constexpr (sizeof(T) == 4) {
#pragma unroll
      for (int i = 0; i < WIDTH; i++) out[i] = __uint_as_float(words[i]);
    } else {
#pragma unroll
      for (int i = 0; i < WIDTH / 2; i++) {
        const float2 pair = unpackPair<T>(words[i]);
        out[2 * i] = pair.x; out[2 * i + 1] = pair.y;
      }
    }
  }
};

template <typename T, int WIDTH> __device__ __forceinline__ void loadRun(const T* at, float* out) {
  Run<T, WIDTH> run;
  run.load(at);
  run.widen(out);
}

template <typename T, int WIDTH> __device__ __forceinline__ void storeRun(T* at, const float* values) {
  if constexpr (WIDTH == 1) {
    at[0] = fromFloat<T>(values[0]);
  } else if constexpr (sizeof(T) == 4 && WIDTH == 8) {
    reinterpret_cast<float4*>(at)[0] = make_float4(values[0], values[1], values[2], values[3]);
    reinterpret_cast<float4*>(at)[1] = make_float4(values[4], values[5], values[6], values[7]);
  } else if constexpr (sizeof(T) == 4) {
    reinterpret_cast<float2*>(at)[0] = make_float2(values[0], values[1]);
  } else {
    uint32_t words[WIDTH / 2];
#pragma unroll
    for (int i = 0; i < WIDTH / 2; i++) words[i] = packPair<T>(values[2 * i], values[2 * i + 1]);
    typename HalfRun<WIDTH>::Words run;
    memcpy(&run, words, sizeof(run));
    *reinterpret_cast<typename HalfRun<WIDTH>::Words*>(at) = run;
  }
}

// The same with the type known at run time: one uniform branch.
template <int WIDTH>
__device__ __forceinline__ void loadRunOf(const void* base, int64_t index, int type, float* out) {
  if (type == kFloat16) loadRun<__half, WIDTH>(static_cast<const __half*>(base) + index, out);
  else if (type == kBFloat16) loadRun<__nv_bfloat16, WIDTH>(static_cast<const __nv_bfloat16*>(base) + index, out);
  else loadRun<float, WIDTH>(static_cast<const float*>(base) + index, out);
}

template <int WIDTH>
__device__ __forceinline__ void storeRunOf(void* base, int64_t index, int type, const float* values) {
  if (type == kFloat16) storeRun<__half, WIDTH>(static_cast<__half*>(base) + index, values);
  else if (type == kBFloat16) storeRun<__nv_bfloat16, WIDTH>(static_cast<__nv_bfloat16*>(base) + index, values);
  else storeRun<float, WIDTH>(static_cast<float*>(base) + index, values);
}

struct Add { __device__ __forceinline__ float operator()(float a, float b) const { return a + b; } };
// NaN where either is NaN, so that a row with one is NaN throughout.
struct Max {
  __device__ __forceinline__ float operator()(float a, float b) const {
#if __CUDA_ARCH__ >= 800
    float larger;
    asm("max.NaN.f32 %0, %1, %2;" : "=f"(larger) : "f"(a), "f"(b));
    return larger;
#else
    return a > b || a != a ? a : b;
#endif
  }
};

// Over LANES neighbouring lanes, a power of two, the same in each.
template <int LANES, typename Op> __device__ __forceinline__ float reduceLanes(float x, Op op) {
#pragma unroll
  for (int offset = LANES / 2; offset > 0; offset /= 2) x = op(x, __shfl_xor_sync(0xffffffffu, x, offset));
  return x;
}
template <typename Op> __device__ __forceinline__ float reduceWarp(float x, Op op) { return reduceLanes<32>(x, op); }

// Over all threads of the block (whole warps, at most 1,024), the same in each; `scratch` has 32 floats.
template <typename Op> __device__ __forceinline__ float reduceBlock(float x, float neutral, float* scratch, Op op) {
  x = reduceWarp(x, op);
  const int warps = blockDim.x / 32, lane = threadIdx.x & 31;
  if (warps == 1) return x;
  __syncthreads();  // scratch may still be read for the reduction before
  if (lane == 0) scratch[threadIdx.x / 32] = x;
  __syncthreads();
  return reduceWarp(lane < warps ? scratch[lane] : neutral, op);
}

constexpr int kBlock = 0;

// The threads of one row: LANES of a warp (blockDim.y warps in a block), or the whole block (kBlock).
template <int LANES> struct RowThreads {
  float* scratch;
  __device__ __forceinline__ int lane() const {
    return LANES == kBlock ? static_cast<int>(threadIdx.x) : static_cast<int>(threadIdx.x) % LANES;
  }
  __device__ __forceinline__ int count() const { return LANES == kBlock ? static_cast<int>(blockDim.x) : LANES; }
  __device__ __forceinline__ int row() const {
    if constexpr (LANES == kBlock) return static_cast<int>(blockIdx.x);
    else return static_cast<int>((blockIdx.x * blockDim.y + threadIdx.y) * (32 / LANES) + threadIdx.x / LANES);
  }
  template <typename Op> __device__ __forceinline__ float reduce(float x, float neutral, Op op) const {
    if constexpr (LANES == kBlock) return reduceBlock(x, neutral, scratch, op);
    else return reduceLanes<LANES>(x, op);
  }
};

// How a row is cut into runs. PHASED: rows follow each other from a multiple of 16 bytes on and start anywhere, runs start at
// multiples of 16 bytes, so that the first and the last run of a row hold elements that are not its own.
template <typename T, int WIDTH, bool PHASED> struct RowCut {
  int phase, cols;
  bool isLast;  // Behind the last row there is nothing to be read.

  __device__ __forceinline__ RowCut(const T* row, int cols, bool isLast) : phase(0), cols(cols), isLast(isLast) {
    if constexpr (PHASED) phase = static_cast<int>(reinterpret_cast<uintptr_t>(row) % 16 / sizeof(T));
  }
  __device__ __forceinline__ int column(int run) const { return run * WIDTH - phase; }
  // Whether the run at a column holds any element of the row.
  __device__ __forceinline__ bool has(int col) const { return col < cols; }
  __device__ __forceinline__ bool owns(int col) const {
    return !PHASED || static_cast<unsigned>(col) < static_cast<unsigned>(cols);
  }
  __device__ __forceinline__ bool isWhole(int col) const { return !PHASED || (col >= 0 && col + WIDTH <= cols); }
  // Nothing is loaded where there is nothing of the row; what is loaded may be others'.
  __device__ __forceinline__ void loadSome(const T* row, int col, Run<T, WIDTH>& out) const {
    if (PHASED && isLast && !isWhole(col)) out.loadPart(row + col, -col, cols - col);
    else if (has(col)) out.load(row + col);
  }
  // `fill` for what is not the row's.
  __device__ __forceinline__ void widen(const Run<T, WIDTH>& run, int col, float fill, float* out) const {
    run.widen(out);
#pragma unroll
    for (int i = 0; i < WIDTH; i++) {
      if (!has(col) || !owns(col + i)) out[i] = fill;
    }
  }
  __device__ __forceinline__ void load(const T* row, int col, float fill, float* out) const {
    Run<T, WIDTH> run;
    loadSome(row, col, run);
    widen(run, col, fill, out);
  }
  __device__ __forceinline__ void store(void* base, int64_t index, int type, int col, const float* values) const {
    if (isWhole(col)) {
      storeRunOf<WIDTH>(base, index + col, type, values);
      return;
    }
#pragma unroll
    for (int i = 0; i < WIDTH; i++) {
      if (owns(col + i)) storeFloat(base, index + col + i, type, values[i]);
    }
  }
};
