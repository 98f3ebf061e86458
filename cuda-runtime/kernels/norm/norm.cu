// LayerNorm and RMSNorm over rows, GroupNorm over groups of channels, and normalizations over chosen axes.
// Statistics in FP32: the mean first, then the centred squares.
#include "rows.cuh"
#include "stay.cuh"
#include "groups.cuh"
#include "slabs.cuh"
#include "teams.cuh"
#include "axes.cuh"
