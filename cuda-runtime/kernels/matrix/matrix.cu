// Determinant and inverse by elimination with pivots, a block a matrix.
#include "../common/launch.cuh"
#include "../common/scalar.cuh"
#include "params.generated.cuh"

constexpr int kThreads = 256;

template <typename Acc> __device__ __forceinline__ Acc magnitude(Acc x) { return x < Acc(0) ? -x : x; }

// Row of the largest magnitude in a column, from row `first` on; the first of equal ones.
template <typename Acc> __device__ int pivotOf(const Acc* work, int size, int width, int column, int first, Acc* sizes, int* rows) {
  Acc largest = Acc(-1);
  int row = first;
  for (int at = first + threadIdx.x; at < size; at += kThreads) {
    const Acc own = magnitude(work[static_cast<int64_t>(at) * width + column]);
    if (own > largest) {
      largest = own;
      row = at;
    }
  }
  sizes[threadIdx.x] = largest;
  rows[threadIdx.x] = row;
  for (int step = kThreads / 2; step > 0; step /= 2) {
    __syncthreads();
    if (threadIdx.x < step) {
      const Acc other = sizes[threadIdx.x + step];
      const int otherRow = rows[threadIdx.x + step];
      if (other > sizes[threadIdx.x] || (other == sizes[threadIdx.x] && otherRow < rows[threadIdx.x])) {
        sizes[threadIdx.x] = other;
        rows[threadIdx.x] = otherRow;
      }
    }
  }
  __syncthreads();
  const int found = rows[0];
  __syncthreads();
  return found;
}

template <typename Acc> __device__ void swapRows(Acc* work, int width, int a, int b) {
  for (int column = threadIdx.x; column < width; column += kThreads) {
    const Acc held = work[static_cast<int64_t>(a) * width + column];
    work[static_cast<int64_t>(a) * width + column] = work[static_cast<int64_t>(b) * width + column];
    work[static_cast<int64_t>(b) * width + column] = held;
  }
}

template <typename Acc, bool IsInverse> __device__ void eliminate(const MatrixParams& p) {
  __shared__ Acc sizes[kThreads];
  __shared__ int rows[kThreads];
  const int size = p.size;
  const int width = IsInverse ? 2 * size : size;
  Acc* work = static_cast<Acc*>(p.work) + static_cast<int64_t>(blockIdx.x) * size * width;
  const int64_t x = offsetOf(blockIdx.x, p.outerSizes, p.outerStridesX, p.outerRank);
  const int64_t y = offsetOf(blockIdx.x, p.outerSizes, p.outerStridesY, p.outerRank);
  for (int at = threadIdx.x; at < size * width; at += kThreads) {
    const int row = at / width;
    const int column = at - row * width;
    work[at] = column < size ? loadAs<Acc>(p.x, x + static_cast<int64_t>(row) * p.rowStrideX + static_cast<int64_t>(column) * p.columnStrideX, p.xType)
                             : (column - size == row ? Acc(1) : Acc(0));
  }
  __syncthreads();
  Acc determinant = Acc(1);
  for (int k = 0; k < size; k++) {
    const int pivotRow = pivotOf(work, size, width, k, k, sizes, rows);
    if (pivotRow != k) {
      swapRows(work, width, k, pivotRow);
      determinant = -determinant;
    }
    __syncthreads();
    const Acc pivot = work[static_cast<int64_t>(k) * width + k];
    determinant *= pivot;
    // A singular matrix: its determinant is 0, and there is nothing left to eliminate.
    if (!IsInverse && pivot == Acc(0)) break;
    const int span = width - k - 1;
    const int firstRow = IsInverse ? 0 : k + 1;
    for (int at = threadIdx.x; at < (size - firstRow) * span; at += kThreads) {
      const int row = firstRow + at / span;
      const int column = k + 1 + at % span;
      if (row == k) continue;
      const Acc factor = work[static_cast<int64_t>(row) * width + k] / pivot;
      work[static_cast<int64_t>(row) * width + column] -= factor * work[static_cast<int64_t>(k) * width + column];
    }
    __syncthreads();
  }
  if constexpr (IsInverse) {
    for (int at = threadIdx.x; at < size * size; at += kThreads) {
      const int row = at / size;
      const int column = at - row * size;
      const Acc value = work[static_cast<int64_t>(row) * width + size + column] / work[static_cast<int64_t>(row) * width + row];
      storeAs<Acc>(p.y, y + static_cast<int64_t>(row) * p.rowStrideY + static_cast<int64_t>(column) * p.columnStrideY, p.yType, value);
    }
  } else if (threadIdx.x == 0) {
    storeAs<Acc>(p.y, y, p.yType, determinant);
  }
}

extern "C" __global__ void __launch_bounds__(kThreads) determinant_f32(const __grid_constant__ MatrixParams p) { beginKernel(); eliminate<float, false>(p); }
extern "C" __global__ void __launch_bounds__(kThreads) determinant_f64(const __grid_constant__ MatrixParams p) { beginKernel(); eliminate<double, false>(p); }
extern "C" __global__ void __launch_bounds__(kThreads) inverse_f32(const __grid_constant__ MatrixParams p) { beginKernel(); eliminate<float, true>(p); }
extern "C" __global__ void __launch_bounds__(kThreads) inverse_f64(const __grid_constant__ MatrixParams p) { beginKernel(); eliminate<double, true>(p); }
