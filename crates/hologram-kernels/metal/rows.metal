// Operations on each row of a matrix: a threadgroup per row.
#include "fold.h"
#include "math.h"
#include "params.h"

/// dst[row] = exp(x - max) / sum of them: a row is read twice, written twice and read once more.
template <typename T>
[[max_total_threads_per_threadgroup(1024)]]
kernel void softmax_rows(device const T* src [[buffer(0)]], device T* dst [[buffer(1)]],
                         constant RowParams& p [[buffer(2)]], uint tid [[thread_index_in_threadgroup]],
                         uint tpg [[threads_per_threadgroup]], uint group [[threadgroup_position_in_grid]]) {
    threadgroup T scratch[1024];
    ulong row = (p.first + group) * p.cols;
    T most = low_bits<T>::value(p.least);
    for (ulong i = tid; i < p.cols; i += tpg) {
        T x = src[row + i];
        most = x > most ? x : most;
    }
    most = group_fold(3u, most, scratch, tid, tpg);
    T sum = T(0);
    for (ulong i = tid; i < p.cols; i += tpg) {
        T e = real_exp(src[row + i] - most);
        dst[row + i] = e;
        sum += e;
    }
    T factor = T(1) / group_fold(0u, sum, scratch, tid, tpg);
    for (ulong i = tid; i < p.cols; i += tpg) dst[row + i] *= factor;
}
#define SOFTMAX(name, T) \
    template [[host_name(name)]] kernel void softmax_rows<T>(device const T*, device T*, constant RowParams&, uint, uint, uint);
SOFTMAX("softmax_f32", float)
SOFTMAX("softmax_f64", wide)

/// dst[row] = (x - mean) / sqrt(variance + epsilon) * gamma + beta: a row is read three times, written once.
template <typename T>
[[max_total_threads_per_threadgroup(1024)]]
kernel void layer_norm_rows(device const T* src [[buffer(0)]], device const T* gamma [[buffer(1)]],
                            device const T* beta [[buffer(2)]], device T* dst [[buffer(3)]],
                            constant RowParams& p [[buffer(4)]], uint tid [[thread_index_in_threadgroup]],
                            uint tpg [[threads_per_threadgroup]], uint group [[threadgroup_position_in_grid]]) {
    threadgroup T scratch[1024];
    ulong row = (p.first + group) * p.cols;
    T sum = T(0);
    for (ulong i = tid; i < p.cols; i += tpg) sum += src[row + i];
    T mean = group_fold(0u, sum, scratch, tid, tpg) / T(p.cols);
    T squares = T(0);
    for (ulong i = tid; i < p.cols; i += tpg) {
        T d = src[row + i] - mean;
        squares += d * d;
    }
    T variance = group_fold(0u, squares, scratch, tid, tpg) / T(p.cols);
    T factor = T(1) / real_sqrt(variance + low_bits<T>::value(p.epsilon));
    for (ulong i = tid; i < p.cols; i += tpg)
        dst[row + i] = (src[row + i] - mean) * factor * gamma[i] + beta[i];
}
#define LAYER_NORM(name, T) \
    template [[host_name(name)]] kernel void layer_norm_rows<T>(device const T*, device const T*, device const T*, device T*, \
                                                                constant RowParams&, uint, uint, uint);
LAYER_NORM("layer_norm_f32", float)
LAYER_NORM("layer_norm_f64", wide)
