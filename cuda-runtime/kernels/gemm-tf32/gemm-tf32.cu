// Products of matrices of float32, rounded to TF32, on Tensor Cores: sm_80 and later.
// hot: t*
#include "../gemm/entries.cuh"

#if !defined(__CUDA_ARCH__) || __CUDA_ARCH__ >= 800
#include "entries.generated.cuh"
#endif
