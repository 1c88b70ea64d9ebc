// Elementwise operations: a thread reads, calculates and writes 16 bytes of elements.
#include "formats.h"
#include "math.h"
#include "params.h"

#define EACH_REAL(expression) \
    MSL_UNROLL for (uint j = 0; j < m; j++) { R v = r[j]; r[j] = (expression); } \
    break;
#define EACH(expression) \
    MSL_UNROLL for (uint j = 0; j < 16 / sizeof(T); j++) { T v = x.v[j]; x.v[j] = (expression); } \
    break;

/// dst[i] = operation `op` of src[i] for floats: one load and one store of 16 bytes per thread.
/// Cost: 16 * (16 / sizeof(T)) products, 32 bytes per thread.
/// Lengths: src, dst p.count.
/// InPlace: src, dst.
/// Requires: p.first <= p.count, p.aligned == 0 or p.first % (16 / sizeof(T)) == 0.
template <typename T, typename F>
kernel void map_real(device const T* src [[buffer(0)]], device T* dst [[buffer(1)]],
                     constant MapParams& p [[buffer(2)]], uint gid [[thread_position_in_grid]]) {
    if (gid >= p.threads) return;
    typedef typename F::real R;
    ulong at = p.first + ulong(gid) * (16 / sizeof(T));
    R low = F::value(low_bits<T>::value(p.low)), high = F::value(low_bits<T>::value(p.high));
    Pack<T> x = load_pack(src, at, p.count, p.aligned != 0, F::bits(R(1)));
    // Eight halves in two rounds: half of the code, which drivers compile.
    constexpr uint n = 16 / sizeof(T), m = n < 4 ? n : 4;
    MSL_ROLLED for (uint first = 0; first < n; first += m) {
        R r[m];
        MSL_UNROLL for (uint j = 0; j < m; j++) {
            T a = x.v[j], b = x.v[(j + m) % n];
            r[j] = F::value(first == 0 ? a : b);
        }
        switch (p.op) {
            case 0: EACH_REAL(real_abs(v))
            case 1: EACH_REAL(-v)
            case 2: EACH_REAL(real_exp(v))
            case 3: EACH_REAL(real_log(v))
            case 4: EACH_REAL(real_sqrt(v))
            case 5: EACH_REAL(R(1) / real_sqrt(v))
            case 6: EACH_REAL(real_sin(v))
            case 7: EACH_REAL(real_cos(v))
            case 8: EACH_REAL(real_tan(v))
            case 9: EACH_REAL(real_tanh(v))
            case 10: EACH_REAL(real_sigmoid(v))
            case 11: EACH_REAL(v > R(0) ? v : R(0))
            case 12: EACH_REAL(real_erf(v))
            case 13: EACH_REAL(real_ceil(v))
            case 14: EACH_REAL(real_floor(v))
            case 15: EACH_REAL(real_rint(v))
            case 16: EACH_REAL(R(1) / v)
            case 17: EACH_REAL(real_gelu(v))
            case 32: EACH_REAL(v < low ? low : v > high ? high : v)
            default: EACH_REAL(low)
        }
        MSL_UNROLL for (uint j = 0; j < m; j++) {
            // Values, not places, are chosen: places must be known to stay in registers.
            T y = F::bits(r[j]), b = x.v[(j + m) % n];
            x.v[(j + m) % n] = first == 0 ? b : y;
            T a = x.v[j];
            x.v[j] = first == 0 ? y : a;
        }
    }
    store_pack(dst, at, p.count, p.aligned != 0, x);
}
template [[host_name("map_f32")]] kernel void map_real<float, Single>(device const float*, device float*, constant MapParams&, uint);
template [[host_name("map_f64")]] kernel void map_real<wide, Double>(device const wide*, device wide*, constant MapParams&, uint);
template [[host_name("map_f16")]] kernel void map_real<ushort, Half>(device const ushort*, device ushort*, constant MapParams&, uint);
template [[host_name("map_bf16")]] kernel void map_real<ushort, Brain>(device const ushort*, device ushort*, constant MapParams&, uint);

/// dst[i] = operation `op` of src[i] for integers: one load and one store of 16 bytes per thread.
/// Cost: 16 / sizeof(T) products, 32 bytes per thread.
/// Lengths: src, dst p.count.
/// InPlace: src, dst.
/// Requires: p.first <= p.count, p.aligned == 0 or p.first % (16 / sizeof(T)) == 0.
template <typename T>
kernel void map_integer(device const T* src [[buffer(0)]], device T* dst [[buffer(1)]],
                        constant MapParams& p [[buffer(2)]], uint gid [[thread_position_in_grid]]) {
    if (gid >= p.threads) return;
    ulong at = p.first + ulong(gid) * (16 / sizeof(T));
    T low = low_bits<T>::value(p.low), high = low_bits<T>::value(p.high);
    Pack<T> x = load_pack(src, at, p.count, p.aligned != 0, T(1));
    switch (p.op) {
        case 0: EACH(v < T(0) ? wrap_sub(T(0), v) : v)
        case 1: EACH(wrap_sub(T(0), v))
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
