// Elementwise operations of two operands: a thread reads twice 16 bytes, and writes 16.
#include "formats.h"
#include "math.h"
#include "params.h"
#include "quotient.h"

#define EACH(expression) \
    MSL_UNROLL for (uint j = 0; j < 16 / sizeof(T); j++) { R v = F::value(x.v[j]), w = F::value(y.v[j]); x.v[j] = F::bits(expression); } \
    break;

template <typename T>
inline Pack<T> right_operand(device const T* b, ulong at, constant ZipParams& p, T one) {
    if (p.scalar == 0) return load_pack(b, at, p.count, p.aligned != 0, one);
    Pack<T> y;
    MSL_UNROLL for (uint j = 0; j < 16 / sizeof(T); j++) y.v[j] = low_bits<T>::value(p.value);
    return y;
}

/// dst[i] = a[i] `op` b[i] (or a constant) for floats: 16 bytes of each per thread.
/// Cost: 16 * (16 / sizeof(T)) products, 48 bytes per thread.
/// Lengths: a, dst p.count, b p.scalar == 0 ? p.count : 0.
/// InPlace: a, b, dst.
/// Requires: p.first <= p.count, p.aligned == 0 or p.first % (16 / sizeof(T)) == 0.
template <typename T, typename F>
kernel void zip_real(device const T* a [[buffer(0)]], device const T* b [[buffer(1)]], device T* dst [[buffer(2)]],
                     constant ZipParams& p [[buffer(3)]], uint gid [[thread_position_in_grid]]) {
    if (gid >= p.threads) return;
    typedef typename F::real R;
    ulong at = p.first + ulong(gid) * (16 / sizeof(T));
    Pack<T> x = load_pack(a, at, p.count, p.aligned != 0, F::bits(R(1)));
    Pack<T> y = right_operand(b, at, p, F::bits(R(1)));
    switch (p.op) {
        case 0: EACH(v + w)
        case 1: EACH(v - w)
        case 2: EACH(v * w)
        case 3: EACH(v / w)
        case 4: EACH(real_pow(v, w))
        case 5: EACH(smaller(v, w))
        case 6: EACH(larger(v, w))
        default: EACH(real_atan2(v, w))
    }
    store_pack(dst, at, p.count, p.aligned != 0, x);
}
template [[host_name("zip_f32")]] kernel void zip_real<float, Single>(device const float*, device const float*, device float*, constant ZipParams&, uint);
template [[host_name("zip_f64")]] kernel void zip_real<wide, Double>(device const wide*, device const wide*, device wide*, constant ZipParams&, uint);
template [[host_name("zip_f16")]] kernel void zip_real<ushort, Half>(device const ushort*, device const ushort*, device ushort*, constant ZipParams&, uint);
template [[host_name("zip_bf16")]] kernel void zip_real<ushort, Brain>(device const ushort*, device const ushort*, device ushort*, constant ZipParams&, uint);

/// dst[i] = a[i] `op` b[i] (or a constant) for integers, without quotients: 16 bytes of each per thread.
/// Cost: 16 / sizeof(T) products, 48 bytes per thread.
/// Lengths: a, dst p.count, b p.scalar == 0 ? p.count : 0.
/// InPlace: a, b, dst.
/// Requires: p.first <= p.count, p.aligned == 0 or p.first % (16 / sizeof(T)) == 0.
template <typename T>
kernel void zip_integer(device const T* a [[buffer(0)]], device const T* b [[buffer(1)]], device T* dst [[buffer(2)]],
                        constant ZipParams& p [[buffer(3)]], uint gid [[thread_position_in_grid]]) {
    if (gid >= p.threads) return;
    typedef T R;
    typedef Same<T> F;
    ulong at = p.first + ulong(gid) * (16 / sizeof(T));
    Pack<T> x = load_pack(a, at, p.count, p.aligned != 0, T(1));
    Pack<T> y = right_operand(b, at, p, T(1));
    switch (p.op) {
        case 0: EACH(wrap_add(v, w))
        case 1: EACH(wrap_sub(v, w))
        case 2: EACH(wrap_mul(v, w))
        case 5: EACH(w < v ? w : v)
        default: EACH(w > v ? w : v)
    }
    store_pack(dst, at, p.count, p.aligned != 0, x);
}
#define ZIP(name, T) \
    template [[host_name(name)]] kernel void zip_integer<T>(device const T*, device const T*, device T*, constant ZipParams&, uint);
ZIP("zip_i8", char)
ZIP("zip_i16", short)
ZIP("zip_i32", int)
ZIP("zip_i64", long)
ZIP("zip_u8", uchar)
ZIP("zip_u16", ushort)
ZIP("zip_u32", uint)
ZIP("zip_u64", ulong)

template <typename T> inline T quotient(T a, T b) {
    if (b == T(0)) return a;
    if (T(-1) < T(0) && b == T(-1)) return wrap_sub(T(0), a);
    return exact_quotient(a, b);
}

/// dst[i] = a[i] / b[i] (or a constant) for integers; fault[0] = 1 if a divisor is zero. 16 bytes of each per thread.
/// Cost: 8 * (16 / sizeof(T)) products, 48 bytes per thread.
/// Lengths: a, dst p.count, b p.scalar == 0 ? p.count : 0, fault 1.
/// InPlace: a, b, dst.
/// Requires: p.first <= p.count, p.aligned == 0 or p.first % (16 / sizeof(T)) == 0.
template <typename T>
kernel void divide_integer(device const T* a [[buffer(0)]], device const T* b [[buffer(1)]], device T* dst [[buffer(2)]],
                           constant ZipParams& p [[buffer(3)]], device atomic_uint* fault [[buffer(4)]],
                           uint gid [[thread_position_in_grid]]) {
    if (gid >= p.threads) return;
    ulong at = p.first + ulong(gid) * (16 / sizeof(T));
    Pack<T> x = load_pack(a, at, p.count, p.aligned != 0, T(1));
    Pack<T> y = right_operand(b, at, p, T(1));
    bool zero = false;
    MSL_UNROLL for (uint j = 0; j < 16 / sizeof(T); j++) {
        zero = zero || y.v[j] == T(0);
        x.v[j] = quotient(x.v[j], y.v[j]);
    }
    if (zero) atomic_store_explicit(fault, 1u, memory_order_relaxed);
    store_pack(dst, at, p.count, p.aligned != 0, x);
}
#define DIVIDE(name, T) \
    template [[host_name(name)]] kernel void divide_integer<T>(device const T*, device const T*, device T*, constant ZipParams&, \
                                                               device atomic_uint*, uint);
DIVIDE("divide_i8", char)
DIVIDE("divide_i16", short)
DIVIDE("divide_i32", int)
DIVIDE("divide_i64", long)
DIVIDE("divide_u8", uchar)
DIVIDE("divide_u16", ushort)
DIVIDE("divide_u32", uint)
DIVIDE("divide_u64", ulong)
