// Tiles of an operand on their way to shared memory, 16-byte chunks swizzled so that ldmatrix meets no bank twice.
#pragma once
#include "../common/copy.cuh"
#include "params.cuh"

// Which chunk of a row of ROW_BYTES holds chunk `chunk`. WORDS: for 32-bit elements that single loads gather from four rows.
template <int ROW_BYTES, bool WORDS>
__device__ __forceinline__ int swizzled(int row, int chunk) {
  static_assert(ROW_BYTES == 64 || ROW_BYTES % 128 == 0, "a row of 64 bytes or whole multiples of 128");
  if constexpr (WORDS) return chunk ^ ((row & 3) << 1);
  else if constexpr (ROW_BYTES == 64) return chunk ^ ((row >> 1) & 3);
  else return chunk ^ (row & 7);
}

__device__ __forceinline__ int clampBytes(int bytes, int most) { return max(0, min(bytes, most)); }

// One chunk by asynchronous copies of `grain` bytes each: 16, 8 or 4.
__device__ __forceinline__ void copyChunk(uint32_t to, const char* from, int bytes, int grain) {
  if (grain == 16) {
    cpAsync<16>(to, from, bytes);
  } else if (grain == 8) {
#pragma unroll
    for (int i = 0; i < 16; i += 8) {
      const int part = clampBytes(bytes - i, 8);
      cpAsync<8>(to + i, part > 0 ? from + i : from, part);
    }
  } else {
#pragma unroll
    for (int i = 0; i < 16; i += 4) {
      const int part = clampBytes(bytes - i, 4);
      cpAsync<4>(to + i, part > 0 ? from + i : from, part);
    }
  }
}

// 16 bytes at any even address, as the aligned words that cover them.
struct RawChunk {
  uint32_t words[5];
  uint32_t shift;
};

// `before` and `after` say how many elements of the row lie in front of `from` and from it on.
__device__ __forceinline__ void fetchRaw(RawChunk& raw, const char* from, int before, int after) {
  if (before >= 1 && after >= 10) {
    const uint32_t odd = static_cast<uint32_t>(reinterpret_cast<uintptr_t>(from)) & 2u;
    const uint32_t* words = reinterpret_cast<const uint32_t*>(from - odd);
#pragma unroll
    for (int i = 0; i < 5; ++i) raw.words[i] = words[i];
    raw.shift = odd * 8;
  } else {
    const uint16_t* halves = reinterpret_cast<const uint16_t*>(from);
#pragma unroll
    for (int i = 0; i < 4; ++i) {
      const uint32_t low = 2 * i < after ? halves[2 * i] : 0;
      const uint32_t high = 2 * i + 1 < after ? halves[2 * i + 1] : 0;
      raw.words[i] = low | high << 16;
    }
    raw.words[4] = 0;
    raw.shift = 0;
  }
}

__device__ __forceinline__ uint4 assembled(const RawChunk& raw) {
  return make_uint4(__funnelshift_r(raw.words[0], raw.words[1], raw.shift),
                    __funnelshift_r(raw.words[1], raw.words[2], raw.shift),
                    __funnelshift_r(raw.words[2], raw.words[3], raw.shift),
                    __funnelshift_r(raw.words[3], raw.words[4], raw.shift));
}

// Loads tiles of ROWS rows of COLUMNS neighbouring elements. ALONG_K: a row is one m (or n), its columns are k; else a
// row is one k. `outer` is the operand's other size, m or n.
template <typename T, int ROWS, int COLUMNS, int THREADS, bool ALONG_K, bool ODD>
struct TileLoader {
  static constexpr int kElements = 16 / sizeof(T);
  static constexpr int kRowBytes = COLUMNS * sizeof(T);
  static constexpr int kBytes = ROWS * kRowBytes;
  static constexpr int kChunks = COLUMNS / kElements;
  static constexpr int kStep = THREADS / kChunks;  // rows between two chunks of one thread
  static constexpr int kPerThread = (ROWS + kStep - 1) / kStep;
  static constexpr bool kWords = sizeof(T) == 4 && !ALONG_K;
  static_assert(THREADS % kChunks == 0, "a thread keeps its column");

  const char* base;  // where this thread's first chunk of the next tile is
  const char* safe;  // any valid address, for copies of nothing
  int64_t rowBytes;  // between rows, in memory
  int row, chunk;
  int rowsLeft;     // rows from `row` on that exist
  int columnsLeft;  // elements from this thread's column on that exist
  int columnsBefore;
  int grain;

  __device__ __forceinline__ TileLoader(const void* operand, int64_t offset, int stride, int outerBegin, int outer,
                                        int kBegin, int kEnd, int grain)
      : grain(grain) {
    row = threadIdx.x / kChunks;
    chunk = threadIdx.x % kChunks;
    const int firstRow = (ALONG_K ? outerBegin : kBegin) + row;
    const int firstColumn = (ALONG_K ? kBegin : outerBegin) + chunk * kElements;
    safe = static_cast<const char*>(operand);
    rowBytes = (int64_t)stride * (int)sizeof(T);
    base = safe + offset * (int)sizeof(T) + firstRow * rowBytes + (int64_t)firstColumn * (int)sizeof(T);
    rowsLeft = (ALONG_K ? outer : kEnd) - firstRow;
    columnsLeft = (ALONG_K ? kEnd : outer) - firstColumn;
    columnsBefore = firstColumn;
  }

  __device__ __forceinline__ uint32_t target(uint32_t tile, int i) const {
    const int r = row + i * kStep;
    return tile + r * kRowBytes + (swizzled<kRowBytes, kWords>(r, chunk) << 4);
  }

  __device__ __forceinline__ bool holds(int i) const {
    return ROWS % kStep == 0 || row + i * kStep < ROWS;
  }

  __device__ __forceinline__ void load(uint32_t tile) const {
    const int bytes = clampBytes(columnsLeft * (int)sizeof(T), 16);
    const char* from = base;
#pragma unroll
    for (int i = 0; i < kPerThread; ++i) {
      const int wanted = i * kStep < rowsLeft ? bytes : 0;
      if (holds(i)) copyChunk(target(tile, i), wanted > 0 ? from : safe, wanted, grain);
      from += kStep * rowBytes;
    }
  }

  // For rows at any even address: first to registers …
  __device__ __forceinline__ void fetch(RawChunk (&raw)[kPerThread]) const {
    const char* from = base;
#pragma unroll
    for (int i = 0; i < kPerThread; ++i) {
      const bool exists = holds(i) && i * kStep < rowsLeft && columnsLeft > 0;
      fetchRaw(raw[i], exists ? from : safe, columnsBefore, exists ? columnsLeft : 0);
      from += kStep * rowBytes;
    }
  }

  // … then, when there is nothing better to do, on.
  __device__ __forceinline__ void store(uint32_t tile, const RawChunk (&raw)[kPerThread]) const {
#pragma unroll
    for (int i = 0; i < kPerThread; ++i) {
      if (holds(i)) storeShared16(target(tile, i), assembled(raw[i]));
    }
  }

  __device__ __forceinline__ void advance() {
    if constexpr (ALONG_K) {
      base += kRowBytes;
      columnsLeft -= COLUMNS;
      columnsBefore += COLUMNS;
    } else {
      base += ROWS * rowBytes;
      rowsLeft -= ROWS;
    }
  }
};
