// Products of matrices of float16 on Tensor Cores.
// hot: t*
#include "entries.cuh"

TENSOR_HALVES(__half)
