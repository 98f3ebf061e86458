// Convolutions of codes of a byte on Hopper's Tensor Cores, as products of positions and filters over taps and channels. TMA walks through
// the image for the rows of a tile (its im2col mode), and puts zeros where the window hangs over: the zero point is 0.
// only: 90a
// hot: codes_*
#include "../gemm-int8-hopper/hopper-codes-sum.cuh"

// Along k: taps, and in each of them boxes of channels, PARTS of them a stage; those that are not there are zero in both operands.
template <int PARTS, int BM, int BN>
struct Image {
  static constexpr int kRowBytes = 128 / PARTS;
  static constexpr Stored kStored = Stored::codes;
  const CodeMapsParams& maps;
  const CodeProductParams& p;
  const int n;
  int box = 0, tap = 0, tapX = 0, tapY = 0;
  int x, y, image;

  static __device__ __forceinline__ int stepsOf(const CodeMapsParams& maps) {
    return (maps.taps * maps.boxesOfTap + PARTS - 1) / PARTS;
  }

  __device__ __forceinline__ Image(const CodeMapsParams& maps, int m, int n, int) : maps(maps), p(maps.p), n(n) {
    image = m / p.outPositions;
    const int position = m - image * p.outPositions;
    y = position / p.outWidth * p.strideY - p.padY;
    x = position % p.outWidth * p.strideX - p.padX;
  }

  // To a step along k.
  __device__ __forceinline__ void skip(int steps) {
    const int boxes = steps * PARTS;
    tap = boxes / maps.boxesOfTap;
    box = boxes - tap * maps.boxesOfTap;
    tapY = tap / p.tapsX;
    tapX = tap - tapY * p.tapsX;
  }

  __device__ __forceinline__ void copy(uint32_t toA, uint32_t toB, uint32_t barrier) {
#pragma unroll
    for (int part = 0; part < PARTS; ++part) {
      // Behind the last tap there is nothing, in no channel.
      const bool isOver = tap >= maps.taps;
      const int channel = isOver ? p.channels + 127 & ~127 : box * kRowBytes;
      copyPositions4(toA + part * BM * kRowBytes, maps.a, barrier, channel, x, y, image, isOver ? 0 : tapX * p.dilationX,
                     isOver ? 0 : tapY * p.dilationY);
      copyBox3(toB + part * BN * kRowBytes, maps.b, barrier, box * kRowBytes, tap, n);
      next();
    }
  }

 private:
  __device__ __forceinline__ void next() {
    if (++box < maps.boxesOfTap) return;
    box = 0;
    ++tap;
    if (++tapX < p.tapsX) return;
    tapX = 0;
    ++tapY;
  }
};

template <int BM, int BN> using Whole = Image<1, BM, BN>;
template <int BM, int BN> using Halves = Image<2, BM, BN>;
template <int BM, int BN> using Quarters = Image<4, BM, BN>;

#define CONV(NAME, ROWS, A, B, BLOCKS_M, BN, STAGES)                                                           \
  extern "C" __global__ void __launch_bounds__(384, 1) NAME(const __grid_constant__ CodeMapsParams maps) {     \
    extern __shared__ __align__(1024) unsigned char shared[];                                                  \
    HopperCodes<ROWS, A, B, false, BLOCKS_M, BN, STAGES>(maps, shared).run();                                  \
  }
// GROUPS multiply, in RESIDENT blocks of a multiprocessor.
#define MANY(NAME, ROWS, A, B, BN, STAGES, GROUPS, RESIDENT)                                                                        \
  extern "C" __global__ void __launch_bounds__(128 * (GROUPS + 1), RESIDENT) NAME(const __grid_constant__ CodeMapsParams maps) {    \
    extern __shared__ __align__(1024) unsigned char shared[];                                                                     \
    HopperCodes<ROWS, A, B, false, 1, BN, STAGES, GROUPS, RESIDENT>(maps, shared).run();                                           \
  }
#define CONV_OF(NAME, A, B)                                    \
  CONV(codes_conv_##NAME##_h128x128_1, Whole, A, B, 2, 128, 6)   \
  CONV(codes_conv_##NAME##_h128x64_1, Whole, A, B, 2, 64, 8)     \
  CONV(codes_conv_##NAME##_h128x64_2, Halves, A, B, 2, 64, 8)    \
  CONV(codes_conv_##NAME##_h128x64_4, Quarters, A, B, 2, 64, 8)  \
  CONV(codes_conv_##NAME##_h64x128_1, Whole, A, B, 1, 128, 8)    \
  CONV(codes_conv_##NAME##_h64x64_1, Whole, A, B, 1, 64, 12)     \
  CONV(codes_conv_##NAME##_h64x64_2, Halves, A, B, 1, 64, 12)    \
  CONV(codes_conv_##NAME##_h64x32_1, Whole, A, B, 1, 32, 16)     \
  CONV(codes_conv_##NAME##_h64x32_2, Halves, A, B, 1, 32, 16)    \
  CONV(codes_conv_##NAME##_h64x32_4, Quarters, A, B, 1, 32, 16)  \
  MANY(codes_conv_##NAME##_d64x64_1, Whole, A, B, 64, 5, 2, 2)   \
  MANY(codes_conv_##NAME##_d64x64_2, Halves, A, B, 64, 5, 2, 2)  \
  MANY(codes_conv_##NAME##_d64x32_1, Whole, A, B, 32, 7, 2, 2)   \
  MANY(codes_conv_##NAME##_d64x32_2, Halves, A, B, 32, 7, 2, 2)  \
  MANY(codes_conv_##NAME##_t64x128_1, Whole, A, B, 128, 7, 3, 1)

CONV_OF(s8s8, S8, S8)
CONV_OF(u8s8, U8, S8)

CODES_SUM(codes_conv_s8s8_s64x64_1, Whole, S8, S8, 64, 6)
CODES_SUM(codes_conv_u8s8_s64x64_1, Whole, U8, S8, 64, 6)
CODES_SUM(codes_conv_s8s8_s64x64_2, Halves, S8, S8, 64, 6)
CODES_SUM(codes_conv_u8s8_s64x64_2, Halves, U8, S8, 64, 6)
CODES_SUM(codes_conv_s8s8_s64x32_1, Whole, S8, S8, 32, 8)
CODES_SUM(codes_conv_u8s8_s64x32_1, Whole, U8, S8, 32, 8)
CODES_SUM(codes_conv_s8s8_s64x32_2, Halves, S8, S8, 32, 8)
CODES_SUM(codes_conv_u8s8_s64x32_2, Halves, U8, S8, 32, 8)
