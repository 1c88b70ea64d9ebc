// Folds of a whole operand: a threadgroup folds a part of it; a second launch folds the parts.
#include "fold.h"
#include "math.h"
#include "params.h"

/// out[g] = fold of part g of src, times a factor if asked for: 16 bytes per thread and step.
template <typename T>
[[max_total_threads_per_threadgroup(256)]]
kernel void reduce_elements(device const T* src [[buffer(0)]], device T* out [[buffer(1)]],
                            constant ReduceParams& p [[buffer(2)]], uint tid [[thread_index_in_threadgroup]],
                            uint tpg [[threads_per_threadgroup]], uint group [[threadgroup_position_in_grid]]) {
    threadgroup T scratch[256];
    constexpr uint n = 16 / sizeof(T);
    T identity = low_bits<T>::value(p.identity);
    ulong begin = ulong(group) * p.part, end = min(begin + p.part, p.count);
    Pack<T> acc;
    MSL_UNROLL for (uint j = 0; j < n; j++) acc.v[j] = identity;
    for (ulong i = begin + ulong(tid) * n; i < end; i += ulong(tpg) * n) {
        Pack<T> x = load_pack(src, i, end, p.aligned != 0, identity);
        switch (p.op) {
            case 0: MSL_UNROLL for (uint j = 0; j < n; j++) acc.v[j] = plus(acc.v[j], x.v[j]); break;
            case 1: MSL_UNROLL for (uint j = 0; j < n; j++) acc.v[j] = times(acc.v[j], x.v[j]); break;
            case 2: MSL_UNROLL for (uint j = 0; j < n; j++) acc.v[j] = x.v[j] < acc.v[j] ? x.v[j] : acc.v[j]; break;
            default: MSL_UNROLL for (uint j = 0; j < n; j++) acc.v[j] = x.v[j] > acc.v[j] ? x.v[j] : acc.v[j]; break;
        }
    }
    MSL_UNROLL for (uint width = n / 2; width > 0; width /= 2)
        for (uint j = 0; j < width; j++) acc.v[j] = fold(p.op, acc.v[j], acc.v[j + width]);
    T result = group_fold(p.op, acc.v[0], scratch, tid, tpg);
    if (tid == 0) out[group] = p.scaled != 0 ? times(result, low_bits<T>::value(p.factor)) : result;
}
#define REDUCE(name, T) \
    template [[host_name(name)]] kernel void reduce_elements<T>(device const T*, device T*, constant ReduceParams&, uint, uint, uint);
REDUCE("reduce_f32", float)
REDUCE("reduce_f64", wide)
REDUCE("reduce_i8", char)
REDUCE("reduce_i16", short)
REDUCE("reduce_i32", int)
REDUCE("reduce_i64", long)
REDUCE("reduce_u8", uchar)
REDUCE("reduce_u16", ushort)
REDUCE("reduce_u32", uint)
REDUCE("reduce_u64", ulong)

// t ln p, 0 where t is.
template <typename T> inline T times_log(T t, T p) { return t == T(0) ? T(0) : t * real_log(p); }

/// out[g] = sum of the loss terms of part g: 8 bytes (16 for 64 bits) per element, up to two logarithms.
template <typename T>
[[max_total_threads_per_threadgroup(256)]]
kernel void loss_terms(device const T* predicted [[buffer(0)]], device const T* target [[buffer(1)]],
                       device T* out [[buffer(2)]], constant ReduceParams& p [[buffer(3)]],
                       uint tid [[thread_index_in_threadgroup]], uint tpg [[threads_per_threadgroup]],
                       uint group [[threadgroup_position_in_grid]]) {
    threadgroup T scratch[256];
    ulong begin = ulong(group) * p.part, end = min(begin + p.part, p.count);
    T acc = T(0);
    for (ulong i = begin + tid; i < end; i += tpg) {
        T x = predicted[i], t = target[i];
        if (p.op == 0) acc += (x - t) * (x - t);
        else acc += times_log(t, x);
        if (p.op == 2) acc += times_log(T(1) - t, T(1) - x);
    }
    T result = group_fold(0u, acc, scratch, tid, tpg);
    if (tid == 0) out[group] = result;
}
#define LOSS(name, T) \
    template [[host_name(name)]] kernel void loss_terms<T>(device const T*, device const T*, device T*, constant ReduceParams&, uint, uint, uint);
LOSS("loss_f32", float)
LOSS("loss_f64", wide)
