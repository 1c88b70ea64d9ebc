// Transcendental functions on NVIDIA GPUs from the ex2, lg2, sin and cos approximations.
// Errors are those of Metal's fast math; included inside namespace metal.
#pragma once
MSL_INL float msl_ex2(float x) { return __nvvm_ex2_approx_f(x); }
MSL_INL float msl_lg2(float x) { return __nvvm_lg2_approx_f(x); }
MSL_F1(exp2, msl_ex2(x)) MSL_F1(log2, msl_lg2(x))
MSL_F1(exp, msl_ex2(x * 1.44269504f)) MSL_F1(exp10, msl_ex2(x * 3.32192809f))
MSL_F1(log, msl_lg2(x) * 0.69314718f) MSL_F1(log10, msl_lg2(x) * 0.30103000f)
MSL_F1(sin, __nvvm_sin_approx_f(x)) MSL_F1(cos, __nvvm_cos_approx_f(x)) MSL_F1(tan, __nvvm_sin_approx_f(x) / __nvvm_cos_approx_f(x))
MSL_F1(sinh, 0.5f * (exp(x) - exp(-x))) MSL_F1(cosh, 0.5f * (exp(x) + exp(-x)))
MSL_F1(tanh, 1.0f - 2.0f / (exp(2.0f * x) + 1.0f))
MSL_F1(asinh, log(x + __builtin_sqrtf(x * x + 1.0f))) MSL_F1(acosh, log(x + __builtin_sqrtf(x * x - 1.0f)))
MSL_F1(atanh, 0.5f * log((1.0f + x) / (1.0f - x)))
MSL_INL float msl_atan01(float x) {
    // Minimax polynomial on [0, 1], error below 1e-5.
    float s = x * x;
    return x * (0.99997726f + s * (-0.33262347f + s * (0.19354346f + s * (-0.11643287f + s * (0.05265332f - s * 0.01172120f)))));
}
MSL_INL float msl_atan(float x) {
    float a = __builtin_fabsf(x), r = a > 1.0f ? 1.57079633f - msl_atan01(1.0f / a) : msl_atan01(a);
    return x < 0.0f ? -r : r;
}
MSL_F1(atan, msl_atan(x))
MSL_F1(asin, msl_atan(x / __builtin_sqrtf(1.0f - x * x))) MSL_F1(acos, 1.57079633f - msl_atan(x / __builtin_sqrtf(1.0f - x * x)))
MSL_F2(pow, msl_ex2(y * msl_lg2(x))) MSL_F2(powr, msl_ex2(y * msl_lg2(x)))
MSL_F2(atan2, y == 0.0f ? (x > 0.0f ? 1.57079633f : -1.57079633f) : msl_atan(x / y) + (y < 0.0f ? (x < 0.0f ? -3.14159265f : 3.14159265f) : 0.0f))
MSL_F2(fmod, x - y * __builtin_truncf(x / y))
