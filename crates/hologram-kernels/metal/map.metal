// Elementwise operations: a thread reads, calculates and writes 16 bytes of elements.
#include "formats.h"
#include "math.h"
#include "params.h"

#define EACH(expression) \
    MSL_UNROLL for (uint j = 0; j < 16 / sizeof(T); j++) { R v = F::value(x.v[j]); x.v[j] = F::bits(expression); } \
    break;

/// dst[i] = operation `op` of src[i] for floats: one load and one store of 16 bytes per thread.
template <typename T, typename F>
kernel void map_real(device const T* src [[buffer(0)]], device T* dst [[buffer(1)]],
                     constant MapParams& p [[buffer(2)]], uint gid [[thread_position_in_grid]]) {
    if (gid >= p.threads) return;
    typedef typename F::real R;
    ulong at = p.first + ulong(gid) * (16 / sizeof(T));
    R low = F::value(low_bits<T>::value(p.low)), high = F::value(low_bits<T>::value(p.high));
    Pack<T> x = load_pack(src, at, p.count, p.aligned != 0, F::bits(R(1)));
    switch (p.op) {
        case 0: EACH(real_abs(v))
        case 1: EACH(-v)
        case 2: EACH(real_exp(v))
        case 3: EACH(real_log(v))
        case 4: EACH(real_sqrt(v))
        case 5: EACH(R(1) / real_sqrt(v))
        case 6: EACH(real_sin(v))
        case 7: EACH(real_cos(v))
        case 8: EACH(real_tan(v))
        case 9: EACH(real_tanh(v))
        case 10: EACH(real_sigmoid(v))
        case 11: EACH(v > R(0) ? v : R(0))
        case 12: EACH(real_erf(v))
        case 13: EACH(real_ceil(v))
        case 14: EACH(real_floor(v))
        case 15: EACH(real_rint(v))
        case 16: EACH(R(1) / v)
        case 17: EACH(real_gelu(v))
        case 32: EACH(v < low ? low : v > high ? high : v)
        default: EACH(low)
    }
    store_pack(dst, at, p.count, p.aligned != 0, x);
}
template [[host_name("map_f32")]] kernel void map_real<float, Single>(device const float*, device float*, constant MapParams&, uint);
template [[host_name("map_f64")]] kernel void map_real<wide, Double>(device const wide*, device wide*, constant MapParams&, uint);
template [[host_name("map_f16")]] kernel void map_real<ushort, Half>(device const ushort*, device ushort*, constant MapParams&, uint);
template [[host_name("map_bf16")]] kernel void map_real<ushort, Brain>(device const ushort*, device ushort*, constant MapParams&, uint);

/// dst[i] = operation `op` of src[i] for integers: one load and one store of 16 bytes per thread.
template <typename T>
kernel void map_integer(device const T* src [[buffer(0)]], device T* dst [[buffer(1)]],
                        constant MapParams& p [[buffer(2)]], uint gid [[thread_position_in_grid]]) {
    if (gid >= p.threads) return;
    typedef T R;
    typedef Same<T> F;
    ulong at = p.first + ulong(gid) * (16 / sizeof(T));
    T low = low_bits<T>::value(p.low), high = low_bits<T>::value(p.high);
    Pack<T> x = load_pack(src, at, p.count, p.aligned != 0, T(1));
    switch (p.op) {
        case 0: EACH(v < T(0) ? minus(T(0), v) : v)
        case 1: EACH(minus(T(0), v))
        case 11: EACH(v > T(0) ? v : T(0))
        case 32: EACH(v < low ? low : v > high ? high : v)
        default: EACH(low)
    }
    store_pack(dst, at, p.count, p.aligned != 0, x);
}
template [[host_name("map_i8")]] kernel void map_integer<char>(device const char*, device char*, constant MapParams&, uint);
template [[host_name("map_i16")]] kernel void map_integer<short>(device const short*, device short*, constant MapParams&, uint);
template [[host_name("map_i32")]] kernel void map_integer<int>(device const int*, device int*, constant MapParams&, uint);
template [[host_name("map_i64")]] kernel void map_integer<long>(device const long*, device long*, constant MapParams&, uint);
template [[host_name("map_u8")]] kernel void map_integer<uchar>(device const uchar*, device uchar*, constant MapParams&, uint);
template [[host_name("map_u16")]] kernel void map_integer<ushort>(device const ushort*, device ushort*, constant MapParams&, uint);
template [[host_name("map_u32")]] kernel void map_integer<uint>(device const uint*, device uint*, constant MapParams&, uint);
template [[host_name("map_u64")]] kernel void map_integer<ulong>(device const ulong*, device ulong*, constant MapParams&, uint);
