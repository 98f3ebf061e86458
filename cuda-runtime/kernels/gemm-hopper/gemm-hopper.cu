// Products of halves on Hopper's Tensor Cores. Both operands have their unit stride along k, rows at multiples of 16 bytes.
// only: 90a
// hot: h*, s*
#include "../common/launch.cuh"
#include "../core/hopper-product.cuh"
#include "../core/hopper-sum.cuh"
#include "params.generated.cuh"

// Both lie as matrices.
template <int BM, int BN>
struct TiledOperands {
  using Params = HopperParams;
  static constexpr int kPanels = 1;
  static constexpr bool kDescribedAlike = false;
  const Params& params;
  const bool isWide;
  const int m, n;
  int k;
  int za[3], zb[3];

  static __device__ __forceinline__ void prefetch(const Params& params) {
    prefetchMap(params.a);
    prefetchMap(params.b);
  }

  __device__ __forceinline__ TiledOperands(const Params& params, const Place& at, int k)
      : params(params), isWide(params.p.batch[0] > 1 || params.p.batch[1] > 1), m(at.tileM * BM), n(at.tileN * BN), k(k) {
#pragma unroll
    for (int i = 0; i < 3; ++i) {
      za[i] = params.p.aBatch[2 - i] == 0 ? 0 : at.batch[2 - i];
      zb[i] = params.p.bBatch[2 - i] == 0 ? 0 : at.batch[2 - i];
    }
  }

  template <bool A, bool B>
  __device__ __forceinline__ void copy(uint32_t toA, uint32_t toB, uint32_t barrier) {
    if (isWide) {
      if constexpr (A) copyBox5(toA, params.a, barrier, k, m, za);
      if constexpr (B) copyBox5(toB, params.b, barrier, k, n, zb);
    } else {
      if constexpr (A) copyBox3(toA, params.a, barrier, k, m, za[0]);
      if constexpr (B) copyBox3(toB, params.b, barrier, k, n, zb[0]);
    }
    k += 64;
  }
};

#define HOPPER(NAME, T, TOGETHER, BLOCKS_M, BN, STAGES, COPIES)                                    \
  extern "C" __global__ void __launch_bounds__(384, blocksOfProduct((TOGETHER ? 128 : 64) * BLOCKS_M, BN, 1)) \
      NAME(const __grid_constant__ HopperParams params) {                                          \
    extern __shared__ __align__(1024) unsigned char shared[];                                      \
    HopperProduct<TiledOperands, T, TOGETHER, BLOCKS_M, BN, STAGES, COPIES>(params, shared).run(); \
  }

// The launch says how many blocks are a team.
#define SUM(NAME, T, BM, BN, STAGES, BLOCKS)                                                                    \
  extern "C" __global__ void __launch_bounds__(384, BLOCKS) NAME(const __grid_constant__ HopperParams params) { \
    extern __shared__ __align__(1024) unsigned char shared[];                                                   \
    HopperSum<TiledOperands, T, BM, BN, STAGES>(params, shared).run();                                          \
  }

#include "entries.generated.cuh"
