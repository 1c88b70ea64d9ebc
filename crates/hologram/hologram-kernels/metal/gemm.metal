// Products of matrices of `float` and of 64-bit floats.
#include "gemm.h"

GEMM("gemm_f32_128", float, float, Single, 128, 128, 16, 8, 8)
GEMM("gemm_f32_64", float, float, Single, 64, 64, 16, 4, 4)
GEMM("gemm_f32_32", float, float, Single, 32, 32, 16, 4, 4)
GEMM("gemm_f64_64", wide, wide, Double, 64, 64, 16, 4, 4)
GEMV("gemv_f32", float, float, Single)
GEMV("gemv_f64", wide, wide, Double)
