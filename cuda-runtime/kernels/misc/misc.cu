// Fourier transforms, determinants and inverses, losses, distances: right, and fast enough for what they are.
#include "../common/launch.cuh"
#include "../common/scalar.cuh"

constexpr int kMaxRank = 8;
constexpr int kThreads = 256;

// --- Discrete Fourier transform, one bin a thread ---

struct FourierParams {
  const void* x;
  // One factor a sample; null for none.
  const void* window;
  void* y;
  int outerRank;
  int outerSizes[kMaxRank];
  int outerStridesX[kMaxRank];
  int outerStridesY[kMaxRank];
  int outer;
  // Samples that are there (others are 0), points of the transform, bins that are wanted.
  int given;
  int length;
  int bins;
  int strideX;
  int strideY;
  int strideWindow;
  // Strides of the imaginary part; whether there is one.
  int partStrideX;
  int partStrideY;
  int isComplexX;
  int isComplexY;
  int isInverse;
  // The samples beyond the middle are the conjugates of those before it.
  int isMirrored;
  int xType;
  int yType;
  int windowType;
};
static_assert(sizeof(FourierParams) == 192, "kernels/misc/fourier.ts writes this struct");

__device__ __forceinline__ void sincosTurns(float turns, float* sine, float* cosine) { sincospif(2.0f * turns, sine, cosine); }
__device__ __forceinline__ void sincosTurns(double turns, double* sine, double* cosine) { sincospi(2.0 * turns, sine, cosine); }

template <typename Acc> struct Complex {
  Acc real;
  Acc imaginary;
};

template <typename Acc> __device__ Complex<Acc> sampleAt(const FourierParams& p, int64_t base, int at) {
  const bool isMirror = p.isMirrored && at > p.length / 2;
  const int from = isMirror ? p.length - at : at;
  if (from >= p.given) return {Acc(0), Acc(0)};
  const int64_t x = base + static_cast<int64_t>(from) * p.strideX;
  const Acc factor = p.window == nullptr ? Acc(1)
                                         : loadAs<Acc>(p.window, static_cast<int64_t>(from) * p.strideWindow, p.windowType);
  const Acc real = loadAs<Acc>(p.x, x, p.xType);
  const Acc imaginary = p.isComplexX ? loadAs<Acc>(p.x, x + p.partStrideX, p.xType) : Acc(0);
  return {factor * real, factor * (isMirror ? -imaginary : imaginary)};
}

template <typename Acc> __device__ void fourier(const FourierParams& p) {
  __shared__ Complex<Acc> tile[kThreads];
  // Signals are spread over the grid's second and third axis.
  const int64_t outer = static_cast<int64_t>(blockIdx.z) * gridDim.y + blockIdx.y;
  if (outer >= p.outer) return;
  const int64_t base = offsetOf(static_cast<int>(outer), p.outerSizes, p.outerStridesX, p.outerRank);
  const int bin = blockIdx.x * kThreads + threadIdx.x;
  Acc real = 0;
  Acc imaginary = 0;
  for (int start = 0; start < p.length; start += kThreads) {
    __syncthreads();
    if (start + static_cast<int>(threadIdx.x) < p.length) tile[threadIdx.x] = sampleAt<Acc>(p, base, start + threadIdx.x);
    __syncthreads();
    // The angle in whole steps of a turn divided by `length`, kept below one turn.
    int phase = static_cast<int>(static_cast<int64_t>(bin) * start % p.length);
    const int step = bin % p.length;
    const int count = min(kThreads, p.length - start);
    for (int i = 0; i < count; i++) {
      Acc sine;
      Acc cosine;
      sincosTurns(static_cast<Acc>(phase) / static_cast<Acc>(p.length), &sine, &cosine);
      if (!p.isInverse) sine = -sine;
      real += tile[i].real * cosine - tile[i].imaginary * sine;
      imaginary += tile[i].real * sine + tile[i].imaginary * cosine;
      phase = phase >= p.length - step ? phase - (p.length - step) : phase + step;
    }
  }
  if (bin >= p.bins) return;
  if (p.isInverse) {
    real /= static_cast<Acc>(p.length);
    imaginary /= static_cast<Acc>(p.length);
  }
  const int64_t y = offsetOf(static_cast<int>(outer), p.outerSizes, p.outerStridesY, p.outerRank) +
                    static_cast<int64_t>(bin) * p.strideY;
  storeAs<Acc>(p.y, y, p.yType, real);
  if (p.isComplexY) storeAs<Acc>(p.y, y + p.partStrideY, p.yType, imaginary);
}

extern "C" __global__ void __launch_bounds__(kThreads) fourier_f32(const __grid_constant__ FourierParams p) { beginKernel(); fourier<float>(p); }
extern "C" __global__ void __launch_bounds__(kThreads) fourier_f64(const __grid_constant__ FourierParams p) { beginKernel(); fourier<double>(p); }

// --- Determinant and inverse by elimination with pivots, a block a matrix ---

struct MatrixParams {
  const void* x;
  // Packed [outer, size, width]: width is `size`, or twice that for an inverse.
  void* work;
  void* y;
  int outerRank;
  int outerSizes[kMaxRank];
  int outerStridesX[kMaxRank];
  int outerStridesY[kMaxRank];
  int size;
  int rowStrideX;
  int columnStrideX;
  int rowStrideY;
  int columnStrideY;
  int xType;
  int yType;
};
static_assert(sizeof(MatrixParams) == 152, "kernels/misc/matrix.ts writes this struct");

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

// --- Loss over classes: a warp to a position ---

struct LossParams {
  const void* x;
  const void* labels;
  // One a class; null for ones.
  const void* weights;
  void* losses;
  // The weight that each loss counts with; null where nobody asks.
  float* counts;
  // The logarithm of the softmax; null where nobody asks.
  void* logarithms;
  int rank;
  // Positions: batch and everything behind the classes.
  int sizes[kMaxRank];
  int stridesX[kMaxRank];
  int stridesLabels[kMaxRank];
  int stridesLosses[kMaxRank];
  int stridesLogarithms[kMaxRank];
  int positions;
  int classes;
  int classStrideX;
  int classStrideLogarithms;
  int strideWeights;
  int isSoftmax;
  int hasIgnored;
  int ignored;
  int xType;
  int labelType;
  int weightType;
  int lossType;
  int logarithmType;
};
static_assert(sizeof(LossParams) == 264, "kernels/misc/loss.ts writes this struct");

__device__ __forceinline__ float logSumExpOf(const LossParams& p, int64_t base, int lane) {
  float top = lowestOf<float>();
  for (int at = lane; at < p.classes; at += 32) top = fmaxf(top, loadFloat(p.x, base + static_cast<int64_t>(at) * p.classStrideX, p.xType));
  for (int step = 16; step > 0; step /= 2) top = fmaxf(top, __shfl_xor_sync(0xffffffffu, top, step));
  float sum = 0.0f;
  for (int at = lane; at < p.classes; at += 32) sum += expf(loadFloat(p.x, base + static_cast<int64_t>(at) * p.classStrideX, p.xType) - top);
  for (int step = 16; step > 0; step /= 2) sum += __shfl_xor_sync(0xffffffffu, sum, step);
  return top + logf(sum);
}

extern "C" __global__ void __launch_bounds__(kThreads) loss_f32(const __grid_constant__ LossParams p) {
  beginKernel();
  const int lane = threadIdx.x % 32;
  const int64_t at = static_cast<int64_t>(blockIdx.x) * (kThreads / 32) + threadIdx.x / 32;
  if (at >= p.positions) return;
  const int position = static_cast<int>(at);
  const int64_t base = offsetOf(position, p.sizes, p.stridesX, p.rank);
  const float normalizer = p.isSoftmax ? logSumExpOf(p, base, lane) : 0.0f;
  if (p.logarithms != nullptr) {
    const int64_t to = offsetOf(position, p.sizes, p.stridesLogarithms, p.rank);
    for (int c = lane; c < p.classes; c += 32) {
      const float x = loadFloat(p.x, base + static_cast<int64_t>(c) * p.classStrideX, p.xType);
      storeFloat(p.logarithms, to + static_cast<int64_t>(c) * p.classStrideLogarithms, p.logarithmType, x - normalizer);
    }
  }
  if (lane != 0) return;
  const int64_t label = loadAs<int64_t>(p.labels, offsetOf(position, p.sizes, p.stridesLabels, p.rank), p.labelType);
  const bool isIgnored = p.hasIgnored && label == p.ignored;
  const bool isClass = label >= 0 && label < p.classes;
  float weight = isIgnored ? 0.0f : 1.0f;
  float loss = 0.0f;
  if (!isIgnored) {
    if (isClass && p.weights != nullptr) weight = loadFloat(p.weights, label * p.strideWeights, p.weightType);
    // A label that is no class: nothing that could be read.
    loss = isClass ? -weight * (loadFloat(p.x, base + label * p.classStrideX, p.xType) - normalizer) : __int_as_float(0x7fc00000);
  }
  storeFloat(p.losses, offsetOf(position, p.sizes, p.stridesLosses, p.rank), p.lossType, loss);
  if (p.counts != nullptr) p.counts[position] = weight;
}

// --- Distances between rows: a [rows, width], b [columns, width] ---

struct DistanceParams {
  const void* a;
  const void* b;
  void* y;
  int rows;
  int columns;
  int width;
  int rowStrideA;
  int strideA;
  int rowStrideB;
  int strideB;
  int rowStrideY;
  int columnStrideY;
  int isSquared;
  int aType;
  int bType;
  int yType;
};
static_assert(sizeof(DistanceParams) == 80, "kernels/misc/distance.ts writes this struct");

template <typename Acc> __device__ void distances(const DistanceParams& p) {
  const int64_t at = static_cast<int64_t>(blockIdx.x) * kThreads + threadIdx.x;
  if (at >= static_cast<int64_t>(p.rows) * p.columns) return;
  const int64_t row = at / p.columns;
  const int64_t column = at - row * p.columns;
  Acc sum = 0;
  for (int i = 0; i < p.width; i++) {
    const Acc difference = loadAs<Acc>(p.a, row * p.rowStrideA + static_cast<int64_t>(i) * p.strideA, p.aType) -
                           loadAs<Acc>(p.b, column * p.rowStrideB + static_cast<int64_t>(i) * p.strideB, p.bType);
    sum += difference * difference;
  }
  storeAs<Acc>(p.y, row * p.rowStrideY + column * p.columnStrideY, p.yType, p.isSquared ? sum : static_cast<Acc>(sqrt(sum)));
}

extern "C" __global__ void __launch_bounds__(kThreads) distance_f32(const __grid_constant__ DistanceParams p) { beginKernel(); distances<float>(p); }
extern "C" __global__ void __launch_bounds__(kThreads) distance_f64(const __grid_constant__ DistanceParams p) { beginKernel(); distances<double>(p); }
