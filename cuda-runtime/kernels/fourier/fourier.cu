// Discrete Fourier transform, one bin a thread.
#include "../common/launch.cuh"
#include "../common/scalar.cuh"
#include "params.generated.cuh"

constexpr int kThreads = 256;

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
