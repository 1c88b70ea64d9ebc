// Functions of integers of every size, of scalars and of vectors.
#include <metal_stdlib>
using namespace metal;

// One value in two words.
template <class T> T load(device const uint* p) { return T(ulong(p[0]) | ulong(p[1]) << 32); }
struct Results {
    device uint* out;
    uint differing;
    template <class T> void put(T x) {
        ulong v = ulong(x);
        out[0] = uint(v);
        out[1] = uint(v >> 32);
        out += 2;
    }
    // A scalar result and the same from vectors, in which it stands third.
    template <class T, class V> void put(T x, V v) {
        put(x);
        differing += v[2] == x ? 0 : 1;
    }
};

template <class T> void integers(device const uint* in, device uint* out) {
    typedef vec<T, 4> V;
    const T a = load<T>(in), b = load<T>(in + 2), c = load<T>(in + 4);
    const uint offset = in[6], bits = in[7];
    V x = V(T(1)), y = V(T(2)), z = V(T(3));
    x[2] = a; y[2] = b; z[2] = c;
    Results r = {out + 1, 0};
    // The least number has no absolute value.
    const T s = a < T(0) && a == numeric_limits<T>::min() ? T(a + T(1)) : a;
    r.put(abs(s), abs(V(s)));
    r.put(absdiff(a, b), absdiff(x, y));
    r.put(addsat(a, b), addsat(x, y));
    r.put(subsat(a, b), subsat(x, y));
    r.put(hadd(a, b), hadd(x, y));
    r.put(rhadd(a, b), rhadd(x, y));
    r.put(clz(a), clz(x));
    r.put(ctz(a), ctz(x));
    r.put(popcount(a), popcount(x));
    r.put(reverse_bits(a), reverse_bits(x));
    r.put(rotate(a, b), rotate(x, b));
    r.put(mulhi(a, b), mulhi(x, y));
    r.put(madhi(a, b, c), madhi(x, y, c));
    r.put(madsat(a, b, c), madsat(x, y, z));
    r.put(min(a, b), min(x, b));
    r.put(max(a, b), max(a, y));
    r.put(min3(a, b, c), min3(x, y, z));
    r.put(max3(a, b, c), max3(x, y, c));
    r.put(median3(a, b, c), median3(x, y, z));
    r.put(clamp(a, min(b, c), max(b, c)), clamp(x, min(b, c), max(y, z)));
    r.put(extract_bits(a, offset, bits), extract_bits(x, offset, bits));
    r.put(insert_bits(a, b, offset, bits), insert_bits(x, y, offset, bits));
    out[0] = r.differing;
}
#define KERNEL(T) \
    kernel void integers_##T(device const uint* in [[buffer(0)]], device uint* out [[buffer(1)]], \
                             constant uint& n [[buffer(2)]], uint gid [[thread_position_in_grid]]) { \
        if (gid >= n) return; \
        integers<T>(in + 8 * gid, out + 45 * gid); \
    }
KERNEL(char) KERNEL(uchar) KERNEL(short) KERNEL(ushort) KERNEL(int) KERNEL(uint) KERNEL(long) KERNEL(ulong)

// Products of 24-bit numbers.
kernel void products(device const uint* in [[buffer(0)]], device uint* out [[buffer(1)]], constant uint& n [[buffer(2)]],
                     uint gid [[thread_position_in_grid]]) {
    if (gid >= n) return;
    uint a = in[2 * gid] >> 8, b = in[2 * gid + 1] >> 8;
    int s = int(in[2 * gid]) >> 8, t = int(in[2 * gid + 1]) >> 8;
    out[4 * gid] = mul24(a, b);
    out[4 * gid + 1] = mad24(uint2(a), uint2(b), uint2(7)).y;
    out[4 * gid + 2] = uint(mul24(int3(s), int3(t)).z);
    out[4 * gid + 3] = uint(mad24(s, t, -7));
}
