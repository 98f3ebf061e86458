// What attention on Tensor Cores does with scores one by one, and how rows come to shared memory.
#pragma once
#include "../common/approximate.cuh"
#include "../common/copy.cuh"
#include <cstdint>

constexpr float kLog2E = 1.4426950408889634f;
// Of finite scores in powers of two.
constexpr float kLowest = -1e30f;

// 1 - 2 / (e^2x + 1): right to FP32 rounding of a number around 1, which is all that a cap needs.
__device__ __forceinline__ float tanhFast(float x) {
  return 1.0f - __fdividef(2.0f, exp2Fast(2.8853900817779268f * x) + 1.0f);
}

// ROWS rows of a matrix to shared memory, D + 8 elements apart; beyond `rows` and `dim` zeros. D is a multiple of 16;
// addresses of rows are multiples of 16 bytes. By THREADS threads, of which each keeps its column, so that one pointer moves on.
template <typename T, int ROWS, int D, int THREADS>
__device__ __forceinline__ void copyRows(int thread, uint32_t to, const T* from, int rowStride, int rows, int dim) {
  constexpr int chunks = D / 8, pitch = (D + 8) * 2, rowsAtOnce = THREADS / chunks;
  const int first = thread / chunks, col = thread % chunks * 8;
  if (first >= rowsAtOnce) return;
  const int bytes = min(max(dim - col, 0), 8) * 2;
  const T* at = from + static_cast<int64_t>(first) * rowStride + col;
  to += first * pitch + col * 2;
#pragma unroll
  for (int row = 0; row < ROWS; row += rowsAtOnce) {
    if (ROWS % rowsAtOnce != 0 && row + rowsAtOnce > ROWS && first + row >= ROWS) break;
    const bool inside = bytes > 0 && first + row < rows;
    cpAsync<16>(to + row * pitch, inside ? at : from, inside ? bytes : 0);
    at += static_cast<int64_t>(rowsAtOnce) * rowStride;
  }
}
