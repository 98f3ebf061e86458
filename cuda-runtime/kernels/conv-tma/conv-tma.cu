// Convolution forward as a product on Hopper's Tensor Cores: output positions times filters over taps and channels. TMA
// walks the image for the rows of a tile (its im2col mode), and puts zeros where the window hangs over.
// only: 90a
// hot: conv_*
#include "../common/launch.cuh"
#include "../core/hopper-product.cuh"
#include "../core/hopper-sum.cuh"
#include "params.generated.cuh"

// Along k: taps, and in each of them boxes of channels; those that are not there are zero in both operands.
template <int BM, int BN, int PANELS>
struct ImageOperands {
  using Params = ConvTmaParams;
  static constexpr int kPanels = PANELS;
  static constexpr bool kDescribedAlike = true;
  static constexpr int kChannels = 64 / PANELS;
  const Params& params;
  const int n, group;
  int box, tap, tapX, tapY, tapZ;
  int x, y, z, image;

  static __device__ __forceinline__ void prefetch(const Params& params) {
    prefetchMap(params.x);
    prefetchMap(params.w);
  }

  __device__ __forceinline__ ImageOperands(const Params& params, const Place& at, int k)
      : params(params), n(at.tileN * BN), group(at.tileN * BN / params.filtersOfGroup) {
    const int first = k / kChannels;
    box = first % params.boxesOfTap;
    tap = first / params.boxesOfTap;
    tapX = tap % params.kernel[2];
    tapY = tap / params.kernel[2] % params.kernel[1];
    tapZ = tap / params.kernel[2] / params.kernel[1];
    int position = at.tileM * BM;
    x = position % params.output[2] * params.stride[2] - params.pad[2];
    position /= params.output[2];
    y = position % params.output[1] * params.stride[1] - params.pad[1];
    position /= params.output[1];
    z = position % params.output[0] * params.stride[0] - params.pad[0];
    image = position / params.output[0];
  }

  template <bool A, bool B>
  __device__ __forceinline__ void copy(uint32_t toA, uint32_t toB, uint32_t barrier) {
#pragma unroll
    for (int panel = 0; panel < PANELS; ++panel) {
      if constexpr (A) copyRows(toA + panel * BM * kChannels * 2, barrier);
      if constexpr (B) copyBox3(toB + panel * BN * kChannels * 2, params.w, barrier, box * kChannels, tap, n);
      next();
    }
  }

  __device__ __forceinline__ void copyRows(uint32_t to, uint32_t barrier) const {
    // Behind the last tap there is nothing, in no channel.
    const bool isOver = tap >= params.taps;
    const int channel = isOver ? params.channels + 63 & ~63 : group * params.channelsOfGroup + box * kChannels;
    const int byX = isOver ? 0 : tapX * params.dilation[2], byY = isOver ? 0 : tapY * params.dilation[1];
    if (params.isVolume) {
      const int byZ = isOver ? 0 : tapZ * params.dilation[0];
      copyPositions5(to, params.x, barrier, channel, x, y, z, image, byX, byY, byZ);
    } else {
      copyPositions4(to, params.x, barrier, channel, x, y, image, byX, byY);
    }
  }

  __device__ __forceinline__ void next() {
    if (++box < params.boxesOfTap) return;
    box = 0;
    ++tap;
    if (++tapX < params.kernel[2]) return;
    tapX = 0;
    if (++tapY < params.kernel[1]) return;
    tapY = 0;
    ++tapZ;
  }
};

template <int BM, int BN> using WholeRows = ImageOperands<BM, BN, 1>;
template <int BM, int BN> using HalfRows = ImageOperands<BM, BN, 2>;
template <int BM, int BN> using QuarterRows = ImageOperands<BM, BN, 4>;

#define CONV(NAME, ROWS, T, TOGETHER, BLOCKS_M, BN, STAGES, COPIES)                                        \
  extern "C" __global__ void __launch_bounds__(384, blocksOfProduct((TOGETHER ? 128 : 64) * BLOCKS_M, BN, ROWS<64, 64>::kPanels)) \
      NAME(const __grid_constant__ ConvTmaParams params) {                                                 \
    extern __shared__ __align__(1024) unsigned char shared[];                                              \
    HopperProduct<ROWS, T, TOGETHER, BLOCKS_M, BN, STAGES, COPIES>(params, shared).run();                  \
  }

// The launch says how many blocks are a team.
#define SUM(NAME, ROWS, T, BM, BN, STAGES, BLOCKS)                                                               \
  extern "C" __global__ void __launch_bounds__(384, BLOCKS) NAME(const __grid_constant__ ConvTmaParams params) { \
    extern __shared__ __align__(1024) unsigned char shared[];                                                    \
    HopperSum<ROWS, T, BM, BN, STAGES>(params, shared).run();                                                    \
  }

#include "entries.generated.cuh"
