// Products of halves on Hopper's Tensor Cores. Both operands have their unit stride along k, rows at multiples of 16 bytes.
// only: 90a
// hot: h*, p*, s*
#include "../common/launch.cuh"
#include "../core/hopper-product.cuh"
#include "../core/hopper-sum.cuh"
#include "params.generated.cuh"

// Both lie as matrices. Of a pair, each block copies half of the rows of b.
template <int BM, int BN, bool IS_PAIR>
struct TiledOperands {
  using Params = HopperParams;
  static constexpr int kPanels = 1;
  static constexpr bool kIsPair = IS_PAIR;
  static constexpr int kHalfOfB = BN / 2;
  static_assert(kHalfOfB % 8 == 0, "groups of rows that are swizzled together");
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
      : params(params), isWide(params.p.batch[0] > 1 || params.p.batch[1] > 1), m(at.tileM * BM), n(at.tileN * BN + own()), k(k) {
#pragma unroll
    for (int i = 0; i < 3; ++i) {
      za[i] = params.p.aBatch[2 - i] == 0 ? 0 : at.batch[2 - i];
      zb[i] = params.p.bBatch[2 - i] == 0 ? 0 : at.batch[2 - i];
    }
  }

  // Where this block's rows of b begin in a tile.
  static __device__ __forceinline__ int own() { return IS_PAIR ? rankInTeam() * kHalfOfB : 0; }

  __device__ __forceinline__ void copy(uint32_t toA, uint32_t toB, uint32_t barrier) {
    if (isWide) {
      copyBox5(toA, params.a, barrier, k, m, za);
      if constexpr (IS_PAIR) copyBox5ToBoth(toB + own() * 128, params.b, barrier, k, n, zb);
      else copyBox5(toB, params.b, barrier, k, n, zb);
    } else {
      copyBox3(toA, params.a, barrier, k, m, za[0]);
      if constexpr (IS_PAIR) copyBox3ToBoth(toB + own() * 128, params.b, barrier, k, n, zb[0]);
      else copyBox3(toB, params.b, barrier, k, n, zb[0]);
    }
    k += 64;
  }
};

template <int BM, int BN> using OwnOperands = TiledOperands<BM, BN, false>;
template <int BM, int BN> using SharedOperands = TiledOperands<BM, BN, true>;

#define HOPPER(NAME, T, TOGETHER, BLOCKS_M, BN, STAGES)                                                    \
  extern "C" __global__ void __launch_bounds__(384, 1) NAME(const __grid_constant__ HopperParams params) { \
    extern __shared__ __align__(1024) unsigned char shared[];                                              \
    HopperProduct<OwnOperands, T, TOGETHER, BLOCKS_M, BN, STAGES>(params, shared).run();                   \
  }

// Blocks 2 i and 2 i + 1 of the grid are a pair: no launch has to say so, and none can forget it.
#define PAIR(NAME, T, TOGETHER, BLOCKS_M, BN, STAGES)                                                        \
  extern "C" __global__ void __cluster_dims__(2, 1, 1) __launch_bounds__(384, 1)                             \
      NAME(const __grid_constant__ HopperParams params) {                                                    \
    extern __shared__ __align__(1024) unsigned char shared[];                                                \
    HopperProduct<SharedOperands, T, TOGETHER, BLOCKS_M, BN, STAGES>(params, shared).run();                  \
  }

// The launch says how many blocks are a team.
#define SUM(NAME, T, BN, STAGES)                                                                           \
  extern "C" __global__ void __launch_bounds__(384, 1) NAME(const __grid_constant__ HopperParams params) { \
    extern __shared__ __align__(1024) unsigned char shared[];                                              \
    HopperSum<OwnOperands, T, BN, STAGES>(params, shared).run();                                           \
  }

#include "entries.generated.cuh"
