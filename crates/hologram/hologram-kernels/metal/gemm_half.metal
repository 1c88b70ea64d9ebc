// Products of matrices of halves, summed up in `float`.
#include "gemm.h"

GEMM("gemm_f16_128", ushort, float, Half, 128, 128, 16, 8, 8)
GEMM("gemm_f16_32", ushort, float, Half, 32, 32, 16, 4, 4)
GEMV("gemv_f16", ushort, float, Half)
GEMM("gemm_bf16_128", ushort, float, Brain, 128, 128, 16, 8, 8)
GEMM("gemm_bf16_32", ushort, float, Brain, 32, 32, 16, 4, 4)
GEMV("gemv_bf16", ushort, float, Brain)
