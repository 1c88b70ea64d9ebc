// Operations on each row of a matrix: a threadgroup per row.
#include "fold.h"
#include "formats.h"
#include "math.h"
#include "params.h"

/// dst[row] = exp(x - max) / sum of them: a row is read twice, written twice and read once more; rows of halves are read
/// three times and written once, with exponentials calculated twice.
/// Cost: 32 * p.cols products, 5 * sizeof(T) * p.cols bytes per threadgroup.
/// Lengths: src, dst (p.first + groups) * p.cols.
/// InPlace: src, dst.
template <typename T, typename R, typename F>
[[max_total_threads_per_threadgroup(1024)]]
kernel void softmax_rows(device const T* src [[buffer(0)]], device T* dst [[buffer(1)]],
                         constant RowParams& p [[buffer(2)]], uint tid [[thread_index_in_threadgroup]],
                         uint tpg [[threads_per_threadgroup]], uint group [[threadgroup_position_in_grid]]) {
    threadgroup R scratch[1024];
    ulong row = (p.first + group) * p.cols;
    R most = low_bits<R>::value(p.least);
    for (ulong i = tid; i < p.cols; i += tpg) {
        R x = F::value(src[row + i]);
        most = x > most ? x : most;
    }
    most = group_fold(3u, most, scratch, tid, tpg);
    R sum = R(0);
    for (ulong i = tid; i < p.cols; i += tpg) {
        R e = real_exp(F::value(src[row + i]) - most);
        if (F::exact == 1) dst[row + i] = F::bits(e);
        sum += e;
    }
    R factor = R(1) / group_fold(0u, sum, scratch, tid, tpg);
    for (ulong i = tid; i < p.cols; i += tpg) {
        R e = F::exact == 1 ? F::value(dst[row + i]) : real_exp(F::value(src[row + i]) - most);
        dst[row + i] = F::bits(e * factor);
    }
}
#define SOFTMAX(name, T, R, F) \
    template [[host_name(name)]] kernel void softmax_rows<T, R, F>(device const T*, device T*, constant RowParams&, uint, uint, uint);
SOFTMAX("softmax_f32", float, float, Single)
SOFTMAX("softmax_f64", wide, wide, Double)
SOFTMAX("softmax_f16", ushort, float, Half)
SOFTMAX("softmax_bf16", ushort, float, Brain)

/// dst[row] = (x - mean) / sqrt(variance + epsilon) * gamma + beta: a row is read three times, written once.
/// Cost: 8 * p.cols products, 4 * sizeof(T) * p.cols bytes per threadgroup.
/// Lengths: src, dst (p.first + groups) * p.cols, gamma, beta p.cols.
/// InPlace: src, dst.
template <typename T, typename R, typename F>
[[max_total_threads_per_threadgroup(1024)]]
kernel void layer_norm_rows(device const T* src [[buffer(0)]], device const T* gamma [[buffer(1)]],
                            device const T* beta [[buffer(2)]], device T* dst [[buffer(3)]],
                            constant RowParams& p [[buffer(4)]], uint tid [[thread_index_in_threadgroup]],
                            uint tpg [[threads_per_threadgroup]], uint group [[threadgroup_position_in_grid]]) {
    threadgroup R scratch[1024];
    ulong row = (p.first + group) * p.cols;
    R sum = R(0);
    for (ulong i = tid; i < p.cols; i += tpg) sum += F::value(src[row + i]);
    R mean = group_fold(0u, sum, scratch, tid, tpg) / R(p.cols);
    R squares = R(0);
    for (ulong i = tid; i < p.cols; i += tpg) {
        R d = F::value(src[row + i]) - mean;
        squares += d * d;
    }
    R variance = group_fold(0u, squares, scratch, tid, tpg) / R(p.cols);
    R factor = R(1) / real_sqrt(variance + low_bits<R>::value(p.epsilon));
    for (ulong i = tid; i < p.cols; i += tpg) {
        R normal = (F::value(src[row + i]) - mean) * factor;
        dst[row + i] = F::bits(normal * F::value(gamma[i]) + F::value(beta[i]));
    }
}
#define LAYER_NORM(name, T, R, F) \
    template [[host_name(name)]] kernel void layer_norm_rows<T, R, F>(device const T*, device const T*, device const T*, device T*, \
                                                                      constant RowParams&, uint, uint, uint);
LAYER_NORM("layer_norm_f32", float, float, Single)
LAYER_NORM("layer_norm_f64", wide, wide, Double)
LAYER_NORM("layer_norm_f16", ushort, float, Half)
LAYER_NORM("layer_norm_bf16", ushort, float, Brain)
