// Products of matrices of float16 on Tensor Cores.
// hot: t*
#include "entries.cuh"
#include "entries.generated.cuh"
