// Distances between rows: a [rows, width], b [columns, width].
#include "../common/launch.cuh"
#include "../common/scalar.cuh"
#include "params.generated.cuh"

constexpr int kThreads = 256;

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
