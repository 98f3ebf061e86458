// Copies from global to shared memory, one function a PTX instruction. Before sm_80 they are plain loads and stores.
#pragma once
#include <cstdint>

__device__ __forceinline__ uint32_t sharedAddress(const void* pointer) {
  return static_cast<uint32_t>(__cvta_generic_to_shared(pointer));
}

__device__ __forceinline__ void storeShared16(uint32_t to, uint4 v) {
  asm volatile("st.shared.v4.b32 [%0], {%1, %2, %3, %4};" ::"r"(to), "r"(v.x), "r"(v.y), "r"(v.z), "r"(v.w) : "memory");
}

__device__ __forceinline__ void storeShared4(uint32_t to, uint32_t v) {
  asm volatile("st.shared.b32 [%0], %1;" ::"r"(to), "r"(v) : "memory");
}

__device__ __forceinline__ uint4 loadShared16(uint32_t from) {
  uint4 v;
  asm volatile("ld.shared.v4.b32 {%0, %1, %2, %3}, [%4];" : "=r"(v.x), "=r"(v.y), "=r"(v.z), "=r"(v.w) : "r"(from) : "memory");
  return v;
}

// Copies `bytes` (0…SIZE, a multiple of the element) and fills the rest with zeros; nothing is read when it is 0.
// SIZE is the alignment that both addresses need. 16 bypasses L1.
template <int SIZE>
__device__ __forceinline__ void cpAsync(uint32_t to, const void* from, int bytes) {
#if __CUDA_ARCH__ >= 800
  if constexpr (SIZE == 16) {
    asm volatile("cp.async.cg.shared.global.L2::128B [%0], [%1], 16, %2;" ::"r"(to), "l"(from), "r"(bytes) : "memory");
  } else {
    asm volatile("cp.async.ca.shared.global [%0], [%1], %2, %3;" ::"r"(to), "l"(from), "n"(SIZE), "r"(bytes) : "memory");
  }
#else
  uint32_t words[SIZE / 4];
#pragma unroll
  for (int i = 0; i < SIZE / 4; ++i) {
    const char* at = static_cast<const char*>(from) + 4 * i;
    words[i] = 0;
    if (bytes >= 4 * i + 4) words[i] = *reinterpret_cast<const uint32_t*>(at);
    else if (bytes >= 4 * i + 2) words[i] = *reinterpret_cast<const uint16_t*>(at);
    asm volatile("st.shared.b32 [%0], %1;" ::"r"(to + 4 * i), "r"(words[i]) : "memory");
  }
#endif
}

__device__ __forceinline__ void cpAsyncCommit() {
#if __CUDA_ARCH__ >= 800
  asm volatile("cp.async.commit_group;" ::: "memory");
#endif
}

// Waits until at most `PENDING` of this thread's latest groups are under way.
template <int PENDING>
__device__ __forceinline__ void cpAsyncWait() {
#if __CUDA_ARCH__ >= 800
  asm volatile("cp.async.wait_group %0;" ::"n"(PENDING) : "memory");
#endif
}
