// Folds of a whole operand: a threadgroup folds a part of it; a second launch folds the parts.
#include "fold.h"
#include "formats.h"
#include "math.h"
#include "params.h"

#define EACH(expression) \
    MSL_UNROLL for (uint j = 0; j < n; j++) { R v = F::value(x.v[j]); acc[j] = (expression); } \
    break;

/// out[g] = fold of part g of src, times a factor if asked for: 16 bytes per thread and step.
/// Cost: min(p.part, p.count) products, sizeof(T) * min(p.part, p.count) bytes per threadgroup.
/// Lengths: src p.count, out groups.
/// Requires: p.aligned == 0 or p.part % (16 / sizeof(T)) == 0 or groups == 1.
template <typename T, typename R, typename F>
[[max_total_threads_per_threadgroup(256)]]
kernel void reduce_elements(device const T* src [[buffer(0)]], device R* out [[buffer(1)]],
                            constant ReduceParams& p [[buffer(2)]], uint tid [[thread_index_in_threadgroup]],
                            uint tpg [[threads_per_threadgroup]], uint group [[threadgroup_position_in_grid]]) {
    threadgroup R scratch[256];
    constexpr uint n = 16 / sizeof(T);
    R identity = low_bits<R>::value(p.identity), acc[n];
    ulong begin = ulong(group) * p.part, end = min(begin + p.part, p.count);
    MSL_UNROLL for (uint j = 0; j < n; j++) acc[j] = identity;
    for (ulong i = begin + ulong(tid) * n; i < end; i += ulong(tpg) * n) {
        Pack<T> x = load_pack(src, i, end, p.aligned != 0, F::bits(identity));
        switch (p.op) {
            case 0: EACH(wrap_add(acc[j], v))
            case 1: EACH(wrap_mul(acc[j], v))
            case 2: EACH(v < acc[j] ? v : acc[j])
            default: EACH(v > acc[j] ? v : acc[j])
        }
    }
    MSL_UNROLL for (uint width = n / 2; width > 0; width /= 2)
        for (uint j = 0; j < width; j++) acc[j] = fold(p.op, acc[j], acc[j + width]);
    R result = group_fold(p.op, acc[0], scratch, tid, tpg);
    if (tid == 0) out[group] = p.scaled != 0 ? wrap_mul(result, low_bits<R>::value(p.factor)) : result;
}
#define REDUCE_AS(name, T, R, F) \
    template [[host_name(name)]] kernel void reduce_elements<T, R, F>(device const T*, device R*, constant ReduceParams&, uint, uint, uint);
#define REDUCE(name, T) REDUCE_AS(name, T, T, Same<T>)
REDUCE_AS("reduce_f32", float, float, Single)
REDUCE_AS("reduce_f64", wide, wide, Double)
REDUCE("reduce_i8", char)
REDUCE("reduce_i16", short)
REDUCE("reduce_i32", int)
REDUCE("reduce_i64", long)
REDUCE("reduce_u8", uchar)
REDUCE("reduce_u16", ushort)
REDUCE("reduce_u32", uint)
REDUCE("reduce_u64", ulong)
REDUCE_AS("reduce_f16", ushort, float, Half)
REDUCE_AS("reduce_bf16", ushort, float, Brain)

/// out[0] = fold of `count` parts, times a factor if asked for, rounded; one threadgroup.
/// Cost: p.count products, 4 * p.count bytes per threadgroup.
/// Lengths: parts p.count, out 1.
template <typename T, typename F>
[[max_total_threads_per_threadgroup(256)]]
kernel void round_fold(device const float* parts [[buffer(0)]], device T* out [[buffer(1)]],
                       constant ReduceParams& p [[buffer(2)]], uint tid [[thread_index_in_threadgroup]],
                       uint tpg [[threads_per_threadgroup]]) {
    threadgroup float scratch[256];
    float acc = low_bits<float>::value(p.identity);
    for (ulong i = tid; i < p.count; i += tpg) acc = fold(p.op, acc, parts[i]);
    float result = group_fold(p.op, acc, scratch, tid, tpg);
    if (tid == 0) out[0] = F::bits(p.scaled != 0 ? result * low_bits<float>::value(p.factor) : result);
}
template [[host_name("round_f16")]] kernel void round_fold<ushort, Half>(device const float*, device ushort*, constant ReduceParams&, uint, uint);
template [[host_name("round_bf16")]] kernel void round_fold<ushort, Brain>(device const float*, device ushort*, constant ReduceParams&, uint, uint);

// t ln p, 0 where t is.
template <typename T> inline T times_log(T t, T p) { return t == T(0) ? T(0) : t * real_log(p); }

/// out[g] = sum of the loss terms of part g: two loads per element, up to two logarithms.
/// Cost: 32 * min(p.part, p.count) products, 2 * sizeof(T) * min(p.part, p.count) bytes per threadgroup.
/// Lengths: predicted, target p.count, out groups.
template <typename T, typename R, typename F>
[[max_total_threads_per_threadgroup(256)]]
kernel void loss_terms(device const T* predicted [[buffer(0)]], device const T* target [[buffer(1)]],
                       device R* out [[buffer(2)]], constant ReduceParams& p [[buffer(3)]],
                       uint tid [[thread_index_in_threadgroup]], uint tpg [[threads_per_threadgroup]],
                       uint group [[threadgroup_position_in_grid]]) {
    threadgroup R scratch[256];
    ulong begin = ulong(group) * p.part, end = min(begin + p.part, p.count);
    R acc = R(0);
    for (ulong i = begin + tid; i < end; i += tpg) {
        R x = F::value(predicted[i]), t = F::value(target[i]);
        if (p.op == 0) acc += (x - t) * (x - t);
        else acc += times_log(t, x);
        if (p.op == 2) acc += times_log(R(1) - t, R(1) - x);
    }
    R result = group_fold(0u, acc, scratch, tid, tpg);
    if (tid == 0) out[group] = result;
}
#define LOSS(name, T, R, F) \
    template [[host_name(name)]] kernel void loss_terms<T, R, F>(device const T*, device const T*, device R*, constant ReduceParams&, uint, uint, uint);
LOSS("loss_f32", float, float, Single)
LOSS("loss_f64", wide, wide, Double)
LOSS("loss_f16", ushort, float, Half)
LOSS("loss_bf16", ushort, float, Brain)
