// Products of up to 32 rows with weights of 4 bits: the weights are read once, expanded in registers, and multiplied on
// Tensor Cores with FP32 sums. What bounds it is the memory that the weights come from.
//
// A block has 16 rows of weights (columns of the result) and its warps cut k among themselves. A lane holds 32 neighbouring codes of
// two rows, 16 bytes each; which k an operand of mma stands for is free as long as both operands agree, so that expanding
// needs no shuffles: of eight codes in a word, the pairs (0,4), (1,5), (2,6), (3,7) come out of one mask each.
#include "../common/launch.cuh"
#include "../common/mma.cuh"
#include "../gemm/params.cuh"
#include "few.cuh"
#include "params.generated.cuh"

constexpr int kWarps = 8;
constexpr int kRows = 16;
// k of a warp's step: four lanes of 32 codes.
constexpr int kChunk = 128;
// Steps whose weights are asked for together: sums of many rows leave registers for fewer.
template <int TILES> constexpr int batchOf = TILES == 4 ? 3 : 4;

__device__ __forceinline__ uint32_t maskedOr(uint32_t word, uint32_t mask, uint32_t bits) { return (word & mask) | bits; }

// Expands eight codes to (code - zero) · scale, each difference exact.
template <typename T> struct Expand;

template <> struct Expand<__half> {
  __half2 zeroLow, zeroHigh, scale;
  // 1024 + code in the low four bits of the fraction; 1024 + 16 code in the next four.
  __device__ __forceinline__ Expand(int zero, __half scale) : scale(__half2half2(scale)) {
    zeroLow = __half2half2(__ushort_as_half(static_cast<unsigned short>(0x6400 | zero)));
    zeroHigh = __half2half2(__ushort_as_half(static_cast<unsigned short>(0x5400 | (zero << 4))));
  }
  __device__ __forceinline__ void operator()(uint32_t word, uint32_t (&pairs)[4]) const {
    const __half2 sixteenth = __half2half2(__ushort_as_half(0x2c00));
#pragma unroll
    for (int i = 0; i < 2; ++i, word >>= 8) {
      const uint32_t low = maskedOr(word, 0x000f000f, 0x64006400), high = maskedOr(word, 0x00f000f0, 0x64006400);
      const __half2 first = __hmul2(__hsub2(reinterpret_cast<const __half2&>(low), zeroLow), scale);
      const __half2 second = __hmul2(__hfma2(reinterpret_cast<const __half2&>(high), sixteenth, __hneg2(zeroHigh)), scale);
      pairs[2 * i] = reinterpret_cast<const uint32_t&>(first);
      pairs[2 * i + 1] = reinterpret_cast<const uint32_t&>(second);
    }
  }
};

template <> struct Expand<__nv_bfloat16> {
  __nv_bfloat162 zero, scale;
  // 128 + code: seven bits of fraction hold four and no more.
  __device__ __forceinline__ Expand(int zeroCode, __nv_bfloat16 factor) : scale(__bfloat162bfloat162(factor)) {
    zero = __bfloat162bfloat162(__ushort_as_bfloat16(static_cast<unsigned short>(0x4300 | zeroCode)));
  }
  __device__ __forceinline__ void operator()(uint32_t word, uint32_t (&pairs)[4]) const {
#pragma unroll
    for (int i = 0; i < 4; ++i, word >>= 4) {
      const uint32_t bits = maskedOr(word, 0x000f000f, 0x43004300);
      const __nv_bfloat162 value = __hmul2(__hsub2(reinterpret_cast<const __nv_bfloat162&>(bits), zero), scale);
      pairs[i] = reinterpret_cast<const uint32_t&>(value);
    }
  }
};

// A lane's codes of both rows for one step, and where they stand.
template <typename T> struct Weights {
  uint4 codes[2];
  T scales[2];
  int zeros[2];

  __device__ __forceinline__ void load(const NBitsParams& q, int row, int k, bool inside) {
#pragma unroll
    for (int i = 0; i < 2; ++i) {
      const int n = row + 8 * i;
      codes[i] = make_uint4(0, 0, 0, 0);
      scales[i] = fromFloat<T>(0.0f);
      zeros[i] = 8;
      if (!inside || n >= q.p.n) continue;
      const int64_t at = static_cast<int64_t>(n) * q.blocks;
      const int block = k >> q.blockShift;
      codes[i] = __ldcs(reinterpret_cast<const uint4*>(q.codes + (at << (q.blockShift - 1)) + k / 2));
      scales[i] = static_cast<const T*>(q.scales)[at + block];
      if (q.zeros != nullptr) {
        zeros[i] = q.zeros[static_cast<int64_t>(n) * ((q.blocks + 1) / 2) + block / 2] >> (block % 2 * 4) & 15;
      }
    }
  }
};

template <typename T, int TILES>
__device__ __forceinline__ void multiply(float (&sums)[TILES][4], const NBitsParams& q, const Weights<T>& w, int k) {
  const int group = threadIdx.x % 32 / 4;
  const Expand<T> first(w.zeros[0], w.scales[0]), second(w.zeros[1], w.scales[1]);
  const uint32_t words[2][4] = {{w.codes[0].x, w.codes[0].y, w.codes[0].z, w.codes[0].w},
                                {w.codes[1].x, w.codes[1].y, w.codes[1].z, w.codes[1].w}};
#pragma unroll
  for (int i = 0; i < 4; ++i) {
    uint32_t upper[4], lower[4];
    first(words[0][i], upper);
    second(words[1][i], lower);
    const uint32_t a[2][4] = {{upper[0], lower[0], upper[1], lower[1]}, {upper[2], lower[2], upper[3], lower[3]}};
#pragma unroll
    for (int tile = 0; tile < TILES; ++tile) {
      const int m = tile * 8 + group;
      uint4 x = make_uint4(0, 0, 0, 0);
      if (m < q.p.m && k + 8 * i < q.p.k) {
        x = *reinterpret_cast<const uint4*>(static_cast<const T*>(q.p.a) + static_cast<int64_t>(m) * q.p.aM + k + 8 * i);
      }
      uint32_t b[4];
      pairsOf(x, b);
      mma16816(sums[tile], a[0], b[0], b[1], T());
      mma16816(sums[tile], a[1], b[2], b[3], T());
    }
  }
}

template <typename T, int TILES> __device__ __forceinline__ void fewRows(const NBitsParams& q) {
  __shared__ float partial[kWarps][TILES * 8][kRows];
  constexpr int kBatch = batchOf<TILES>;
  const int warp = threadIdx.x / 32, lane = threadIdx.x % 32;
  const int n0 = blockIdx.x * kRows, row = n0 + lane / 4;
  const int codes = q.blocks << q.blockShift;
  const int chunks = (codes + kChunk - 1) / kChunk, own = (chunks + kWarps - 1) / kWarps;
  const int begin = warp * own, end = min(begin + own, chunks);
  Weights<T> weights[kBatch];
  const auto load = [&](int from) {
#pragma unroll
    for (int i = 0; i < kBatch; ++i) {
      const int k = (from + i) * kChunk + lane % 4 * 32;
      weights[i].load(q, row, k, from + i < end && k < codes);
    }
  };
  // Weights do not change: they are on their way while the launch before still computes the rows.
  load(begin);
  beginKernel();
  float sums[TILES][4] = {};
  for (int chunk = begin; chunk < end; chunk += kBatch) {
    if (chunk > begin) load(chunk);
#pragma unroll
    for (int i = 0; i < kBatch; ++i) {
      if (chunk + i < end) multiply<T, TILES>(sums, q, weights[i], (chunk + i) * kChunk + lane % 4 * 32);
    }
  }
#pragma unroll
  for (int tile = 0; tile < TILES; ++tile) {
#pragma unroll
    for (int i = 0; i < 4; ++i) partial[warp][tile * 8 + lane % 4 * 2 + i % 2][lane / 4 + i / 2 * 8] = sums[tile][i];
  }
  __syncthreads();
  Place at = {};
  for (int index = threadIdx.x; index < TILES * 8 * kRows; index += kWarps * 32) {
    const int m = index / kRows, n = n0 + index % kRows;
    if (m >= q.p.m || n >= q.p.n) continue;
    float sum = 0.0f;
#pragma unroll
    for (int i = 0; i < kWarps; ++i) sum += partial[i][m][index % kRows];
    finish(q.p, at, m, n, sum);
  }
}

#define NBITS(TYPE, NAME, TILES)                                                                     \
  extern "C" __global__ void __launch_bounds__(32 * kWarps, TILES == 1 ? 3 : TILES == 2 ? 2 : 1) nbits4_##NAME##_m##TILES(                \
      const __grid_constant__ NBitsParams q) { fewRows<TYPE, TILES>(q); }

// hot: nbits4_*
NBITS(__half, f16, 1)
NBITS(__half, f16, 2)
NBITS(__half, f16, 4)
NBITS(__nv_bfloat16, bf16, 1)
NBITS(__nv_bfloat16, bf16, 2)
NBITS(__nv_bfloat16, bf16, 4)

// Blocks to a multiprocessor: before sm_90 the compiler wants more registers than three leave.
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ < 900
#define FEW_BLOCKS 2
#else
#define FEW_BLOCKS 3
#endif
#define NBITS_FEW(TYPE, NAME, ZEROS, FLAG)                                                           \
  extern "C" __global__ void __launch_bounds__(256, FEW_BLOCKS) nbits4_##NAME##_few##ZEROS(const __grid_constant__ NBitsParams q) { \
    extern __shared__ __align__(16) unsigned char rows[];                                            \
    FewRows<TYPE, FLAG>(q, rows).run();                                                              \
  }

NBITS_FEW(__half, f16, , false)
NBITS_FEW(__half, f16, _zeros, true)
NBITS_FEW(__nv_bfloat16, bf16, , false)
NBITS_FEW(__nv_bfloat16, bf16, _zeros, true)
