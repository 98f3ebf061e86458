// Probe of a kernel that the runtime does not have yet (bench/results/stem-planes.md): a convolution of few channels on Hopper's Tensor
// Cores without im2col. Phases of the stride are planes of eight channels; a tile's pixels come to shared memory once, and a tap is an
// offset of wgmma's descriptor, whose core matrices are eight pixels of one plane. Checks 4,000 outputs against FP64 and prints times:
//
//   nvcc -std=c++17 -arch=sm_90a -O3 -o stem-planes bench/gpu/stem-planes.cu && ./stem-planes
#include <cuda_fp16.h>
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <vector>
#include "../../cuda-runtime/kernels/common/barrier.cuh"
#include "../../cuda-runtime/kernels/common/wgmma.cuh"

// a, lbo: of each step along k, bytes to its first eight channels in a stage, and from there to the other eight.
struct P {
  const __half* planes; const __half* w; const float* bias; __half* y;
  int planeCount, span, steps, wp, hp, width, height, images, positions; long planePixels;
  int a[64], lbo[64]; 
};
__device__ __forceinline__ uint32_t sh(const void* p) { return (uint32_t)__cvta_generic_to_shared(p); }
__device__ __forceinline__ void bulk(uint32_t to, const void* from, int bytes, uint32_t bar) {
  asm volatile("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1], %2, [%3];" ::"r"(to), "l"(from), "r"(bytes), "r"(bar) : "memory");
}
__device__ __forceinline__ uint64_t desc(uint32_t at, int lbo, int sbo) {
  return uint64_t((at & 0x3FFFF) >> 4) | uint64_t(lbo >> 4) << 16 | uint64_t(sbo >> 4) << 32;
}
template <int BN, int BLOCKS_M, int STAGES>
__global__ void __launch_bounds__(288, 2) stem(const __grid_constant__ P p) {
  extern __shared__ __align__(128) unsigned char shared[];
  constexpr int BM = BLOCKS_M * 128;
  const uint32_t base = sh(shared);
  const int stageBytes = p.planeCount * p.span * 16, weightBytes = p.steps * 2 * BN * 16;
  const uint32_t weights = base, ring = base + weightBytes, slabs = ring + STAGES * stageBytes, bars = slabs + 8 * 16 * (BN * 2 + 16);
  auto full = [&](int s) { return bars + s * 8; };
  auto empty = [&](int s) { return bars + (STAGES + s) * 8; };
  const uint32_t wbar = bars + 2 * STAGES * 8;
  if (threadIdx.x == 0) {
    for (int s = 0; s < STAGES; ++s) { initBarrier(full(s), 1); initBarrier(empty(s), 2); }
    initBarrier(wbar, 1);
    fenceBarrierInit();
  }
  __syncthreads();
  const int tiles = (p.positions + BM - 1) / BM;
  if (threadIdx.x >= 256) {
    if (threadIdx.x == 256) {
      arriveExpecting(wbar, weightBytes);
      bulk(weights, p.w, weightBytes, wbar);
      int s = 0, parity = 0;
      for (int t = blockIdx.x; t < tiles; t += gridDim.x) {
        waitBarrier(empty(s), parity ^ 1);
        arriveExpecting(full(s), stageBytes);
        for (int i = 0; i < p.planeCount; ++i)
          bulk(ring + s * stageBytes + i * p.span * 16, p.planes + (i * p.planePixels + (long)t * BM) * 8, p.span * 16, full(s));
        if (++s == STAGES) { s = 0; parity ^= 1; }
      }
    }
    return;
  }
  const int group = threadIdx.x / 128, warp = threadIdx.x / 32, lane = threadIdx.x & 31;
  const uint32_t own = slabs + warp * 16 * (BN * 2 + 16);
  float2 bias[BN / 8];
  for (int j = 0; j < BN / 8; ++j) bias[j] = make_float2(p.bias[8 * j + (lane & 3) * 2], p.bias[8 * j + (lane & 3) * 2 + 1]);
  waitBarrier(wbar, 0);
  int s = 0, parity = 0;
  for (int t = blockIdx.x; t < tiles; t += gridDim.x) {
    float d[BLOCKS_M][BN / 8][4];
    waitBarrier(full(s), parity);
    const uint32_t from = ring + s * stageBytes + group * BLOCKS_M * 64 * 16;
    warpgroupArrive();
#pragma unroll 1
    for (int k = 0; k < p.steps; ++k) {
      const uint64_t b = desc(weights + k * 2 * BN * 16, BN * 16, 128);
#pragma unroll
      for (int i = 0; i < BLOCKS_M; ++i) wgmma64<BN, __half>(d[i], desc(from + p.a[k] + i * 64 * 16, p.lbo[k], 128), b, k > 0);
    }
    warpgroupCommit();
    warpgroupWait<0>();
    if (threadIdx.x % 128 == 0) arrive(empty(s));
    if (++s == STAGES) { s = 0; parity ^= 1; }
#pragma unroll
    for (int i = 0; i < BLOCKS_M; ++i) {
      __syncwarp();
      constexpr int PITCH = BN * 2 + 16;
      const uint32_t to = own + lane % 16 * PITCH + lane / 16 * 16;
#pragma unroll
      for (int j = 0; j < BN / 8; j += 2) {
        uint32_t r[4];
#pragma unroll
        for (int q = 0; q < 4; ++q) {
          const int jj = j + q / 2;
          float2 v = make_float2(d[i][jj][q % 2 * 2] + bias[jj].x, d[i][jj][q % 2 * 2 + 1] + bias[jj].y);
          v.x = fmaxf(v.x, 0.f), v.y = fmaxf(v.y, 0.f);
          __half2 h = __float22half2_rn(v);
          r[q] = reinterpret_cast<uint32_t&>(h);
        }
        asm volatile("stmatrix.sync.aligned.m8n8.x4.shared.b16 [%0], {%1, %2, %3, %4};" ::"r"(to + 16 * j), "r"(r[0]), "r"(r[1]), "r"(r[2]), "r"(r[3]) : "memory");
      }
      __syncwarp();
      constexpr int LANES = BN / 8, ROWS = 32 / LANES;
      const int m0 = t * BM + group * BLOCKS_M * 64 + i * 64 + warp % 4 * 16;
#pragma unroll
      for (int row = lane / LANES; row < 16; row += ROWS) {
        const int m = m0 + row, line = m / p.wp, x = m - line * p.wp, n = line / p.hp, y = line - n * p.hp;
        uint4 v;
        asm volatile("ld.shared.v4.u32 {%0,%1,%2,%3}, [%4];" : "=r"(v.x), "=r"(v.y), "=r"(v.z), "=r"(v.w) : "r"(own + row * PITCH + lane % LANES * 16));
        if (x < p.width && y < p.height && n < p.images)
          *reinterpret_cast<uint4*>(p.y + ((long)(n * p.height + y) * p.width + x) * BN + lane % LANES * 8) = v;
      }
    }
  }
}
// x NCHW halves -> [phase of h][n][hp][wp][8], channel = phase of w * C + c
__global__ void pack(const __half* x, __half* planes, int C, int H, int W, int S, int pad, int hp, int wp, int images, long planePixels) {
  const long at = (long)blockIdx.x * 256 + threadIdx.x;
  const int phase = blockIdx.y;
  if (at >= planePixels) return;
  const int col = at % wp; const long line = at / wp; const int row = line % hp; const int n = line / hp;
  union { __half h[8]; uint4 all; } v; v.all = make_uint4(0, 0, 0, 0);
  const int hy = row * S + phase - pad;
  if (n < images && hy >= 0 && hy < H)
    for (int pw = 0; pw < S; ++pw) {
      const int hx = col * S + pw - pad;
      if (hx >= 0 && hx < W) for (int c = 0; c < C; ++c) v.h[pw * C + c] = x[((long)(n * C + c) * H + hy) * W + hx];
    }
  *reinterpret_cast<uint4*>(planes + (phase * planePixels + at) * 8) = v.all;
}
template <int BN, int BLOCKS_M, int STAGES>
void run(const char* name, int images, int H, int K, int S, int pad) {
  const int C = 3, W = H, out = (H + 2 * pad - K) / S + 1, R = (K + S - 1) / S;
  P p{};
  p.wp = out + R - 1, p.hp = out + R - 1, p.width = p.height = out, p.images = images, p.planeCount = S;
  p.positions = images * p.hp * p.wp;
  constexpr int BM = BLOCKS_M * 128;
  p.span = BM + (R - 1) * p.wp + R - 1;
  p.planePixels = (p.positions + BM - 1) / BM * BM + p.span;
  std::vector<int> at; std::vector<int> tapOf, phaseOf, sOf;
  for (int ph = 0; ph < S; ++ph) for (int r = 0; r * S + ph < K; ++r) for (int s = 0; s < R; ++s) { at.push_back((ph * p.span + r * p.wp + s) * 16); tapOf.push_back(r); phaseOf.push_back(ph); sOf.push_back(s); }
  const int real = at.size();
  if (at.size() % 2) at.push_back(at.back());
  p.steps = at.size() / 2;
  for (int k = 0; k < p.steps; ++k) p.a[k] = at[2 * k], p.lbo[k] = at[2 * k + 1] - at[2 * k];
  std::vector<__half> x((size_t)images * C * H * W), w((size_t)p.steps * 2 * BN * 8), y((size_t)images * out * out * BN);
  std::vector<float> wf((size_t)BN * C * K * K), b(BN);
  for (auto& v : x) v = __float2half((rand() % 2001 - 1000) / 1000.f);
  for (auto& v : wf) v = __half2float(__float2half((rand() % 2001 - 1000) / 4000.f));
  for (auto& v : b) v = (rand() % 1000) / 1000.f;
  for (int c = 0; c < real; ++c) for (int f = 0; f < BN; ++f) for (int pw = 0; pw < S; ++pw) for (int ch = 0; ch < C; ++ch) {
    const int kh = tapOf[c] * S + phaseOf[c], kw = sOf[c] * S + pw;
    if (kh < K && kw < K) w[((size_t)c * BN + f) * 8 + pw * C + ch] = __float2half(wf[((f * C + ch) * K + kh) * K + kw]);
  }
  __half *dx, *dp, *dw, *dy; float* db;
  cudaMalloc(&dx, x.size() * 2); cudaMalloc(&dp, (size_t)S * p.planePixels * 16); cudaMalloc(&dw, w.size() * 2); cudaMalloc(&dy, y.size() * 2); cudaMalloc(&db, BN * 4);
  cudaMemcpy(dx, x.data(), x.size() * 2, cudaMemcpyHostToDevice); cudaMemcpy(dw, w.data(), w.size() * 2, cudaMemcpyHostToDevice); cudaMemcpy(db, b.data(), BN * 4, cudaMemcpyHostToDevice);
  cudaMemset(dy, 0, y.size() * 2);
  p.planes = dp, p.w = dw, p.bias = db, p.y = dy;
  const int bytes = p.steps * 2 * BN * 16 + STAGES * S * p.span * 16 + 8 * 16 * (BN * 2 + 16) + 8 * (2 * STAGES + 1);
  auto kernel = stem<BN, BLOCKS_M, STAGES>;
  cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, bytes);
  int blocks = 0; cudaOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, kernel, 288, bytes);
  const dim3 pg((p.planePixels + 255) / 256, S);
  auto doPack = [&] { pack<<<pg, 256>>>(dx, dp, C, H, W, S, pad, p.hp, p.wp, images, p.planePixels); };
  auto doConv = [&] { kernel<<<132 * (blocks > 0 ? blocks : 1), 288, bytes>>>(p); };
  auto time = [&](auto f) { std::vector<float> all; cudaEvent_t a, e; cudaEventCreate(&a); cudaEventCreate(&e);
    for (int i = 0; i < 30; ++i) { cudaEventRecord(a); for (int j = 0; j < 5; ++j) f(); cudaEventRecord(e); cudaEventSynchronize(e); float ms; cudaEventElapsedTime(&ms, a, e); all.push_back(ms * 200); }
    std::sort(all.begin(), all.end()); return all[15]; };
  const float tp = time(doPack), tc = time(doConv);
  auto err = cudaDeviceSynchronize();
  cudaMemcpy(y.data(), dy, y.size() * 2, cudaMemcpyDeviceToHost);
  double worst = 0;
  for (int i = 0; i < 4000; ++i) {
    const int n = rand() % images, oy = i % 3 ? rand() % out : (i % 2 ? 0 : out - 1), ox = i % 5 ? rand() % out : (i % 2 ? 0 : out - 1), f = rand() % BN;
    double sum = b[f];
    for (int c = 0; c < C; ++c) for (int r = 0; r < K; ++r) for (int s = 0; s < K; ++s) {
      const int hy = oy * S + r - pad, hx = ox * S + s - pad;
      if (hy >= 0 && hy < H && hx >= 0 && hx < W) sum += (double)__half2float(x[((size_t)(n * C + c) * H + hy) * W + hx]) * wf[((f * C + c) * K + r) * K + s];
    }
    sum = std::max(sum, 0.0);
    worst = std::max(worst, fabs(sum - __half2float(y[(((size_t)n * out + oy) * out + ox) * BN + f])) / (1 + fabs(sum)));
  }
  const double moved = (double)S * p.planePixels * 16 + y.size() * 2.0;
  printf("%s BN %d BM %d stages %d: pack %.1f us, conv %.1f us (%.0f GB/s of %.1f MB), %d blocks/SM, %d B, steps %d, worst %.2e, %s\n", name, BN, BM, STAGES, tp, tc, moved / tc / 1e3, moved / 1e6, blocks, bytes, p.steps, worst, cudaGetErrorString(err));
  cudaFree(dx); cudaFree(dp); cudaFree(dw); cudaFree(dy); cudaFree(db);
}
int main() {
  run<64, 2, 3>("7x7 / 2, batch 32, 224", 32, 224, 7, 2, 3);
  run<64, 1, 3>("7x7 / 2, batch 32, 224", 32, 224, 7, 2, 3);
  run<64, 2, 3>("7x7 / 2, batch 1, 224", 1, 224, 7, 2, 3);
  run<32, 2, 3>("3x3 / 2, batch 32, 224", 32, 224, 3, 2, 1);
  run<32, 2, 3>("3x3 / 2, batch 32, 640", 32, 640, 3, 2, 1);
  run<64, 2, 2>("3x3 / 2, batch 32, 640", 32, 640, 3, 2, 1);
  run<64, 2, 3>("3x3, batch 8, 64", 8, 64, 3, 1, 1);
  return 0;
}
