// Integer functions (chapter 6.3), and those common to integers and floats: min, max, clamp, select, abs.
#pragma once
namespace metal {
using ::uint; using ::ushort; using ::uchar; using ::ulong; using ::half;
using ::size_t; using ::ptrdiff_t;
using ::int8_t; using ::uint8_t; using ::int16_t; using ::uint16_t; using ::int32_t; using ::uint32_t; using ::int64_t; using ::uint64_t;
#define MSL_USING(T) using ::T##2; using ::T##3; using ::T##4;
MSL_NUMBERS(MSL_USING)
#undef MSL_USING
template <class T> MSL_INL constexpr T msl_min(T a, T b) { return b < a ? b : a; }
template <class T> MSL_INL constexpr T msl_max(T a, T b) { return a < b ? b : a; }
// Two arguments of different arithmetic types meet in their common type, as overloads would.
template <class T> struct msl_arith { static constexpr bool value = is_integral_v<T> || is_floating_point_v<T>; };
#ifdef __clang__
#define MSL_WHOLE(name) if constexpr (is_integral_v<T>) return __builtin_elementwise_##name(a, b);
#else
#define MSL_WHOLE(name)
#endif
#define MSL_MINMAX(name) \
    template <class A, class B, class = enable_if_t<msl_arith<A>::value && msl_arith<B>::value>> \
    MSL_INL constexpr auto name(A a, B b) { typedef decltype(true ? a : b) C; \
        if constexpr (is_same_v<A, B>) return msl_##name<A>(a, b); else return msl_##name<C>(C(a), C(b)); } \
    template <class T, int N> MSL_INL vec<T, N> name(vec<T, N> a, vec<T, N> b) { \
        MSL_WHOLE(name) vec<T, N> r; for (int i = 0; i < N; i++) r[i] = msl_##name<T>(a[i], b[i]); return r; } \
    template <class T, int N> MSL_INL vec<T, N> name(vec<T, N> a, T b) { \
        vec<T, N> r; for (int i = 0; i < N; i++) r[i] = msl_##name<T>(a[i], b); return r; } \
    MSL_MIXED2(name)
template <class T> using msl_unsigned = conditional_t<sizeof(T) == 1, uchar, conditional_t<sizeof(T) == 2, ushort, conditional_t<sizeof(T) == 4, uint, ulong>>>;
MSL_MINMAX(min)
MSL_MINMAX(max)
#undef MSL_WHOLE
#undef MSL_MINMAX
template <class T> MSL_INL T min3(T a, T b, T c) { return min(min(a, b), c); }
template <class T> MSL_INL T max3(T a, T b, T c) { return max(max(a, b), c); }
template <class T, class A, class B> MSL_INL T clamp(T x, A a, B b) { return min(max(x, T(a)), T(b)); }
template <class T> MSL_INL T select(T a, T b, bool c) { return c ? b : a; }
template <class T, int N, class M> MSL_INL vec<T, N> select(vec<T, N> a, vec<T, N> b, vec<M, N> c) {
    vec<T, N> r;
    for (int i = 0; i < N; i++) r[i] = c[i] ? b[i] : a[i];
    return r;
}
template <class T, int N> MSL_INL bool any(vec<T, N> v) { bool r = false; for (int i = 0; i < N; i++) r |= (bool)v[i]; return r; }
template <class T, int N> MSL_INL bool all(vec<T, N> v) { bool r = true; for (int i = 0; i < N; i++) r &= (bool)v[i]; return r; }
MSL_INL bool any(bool v) { return v; }
MSL_INL bool all(bool v) { return v; }
// The least integer stays what it is.
MSL_INL int abs(int a) { return a < 0 ? int(0u - uint(a)) : a; }
MSL_INL long abs(long a) { return a < 0 ? long(0ul - ulong(a)) : a; }
template <class T, class = enable_if_t<is_integral_v<T>>> MSL_INL T abs(T a) { return a < T(0) ? T(-a) : a; }
template <class T, int N> MSL_INL vec<T, N> abs(vec<T, N> v) { vec<T, N> r; for (int i = 0; i < N; i++) r[i] = v[i] < T(0) ? T(-v[i]) : v[i]; return r; }
MSL_INL uint absdiff(uint a, uint b) { return a < b ? b - a : a - b; }
MSL_INL uint absdiff(int a, int b) { return a < b ? uint(b) - uint(a) : uint(a) - uint(b); }
template <class T> MSL_INL msl_unsigned<T> absdiff(T a, T b) { typedef msl_unsigned<T> U; return a < b ? U(U(b) - U(a)) : U(U(a) - U(b)); }
template <class T, int N> MSL_INL vec<msl_unsigned<T>, N> absdiff(vec<T, N> a, vec<T, N> b) {
    vec<msl_unsigned<T>, N> r;
    for (int i = 0; i < N; i++) r[i] = absdiff(T(a[i]), T(b[i]));
    return r;
}
MSL_MIXED2(absdiff)
template <class T, class = enable_if_t<sizeof(T) < 4>> MSL_INL T mulhi(T a, T b) { return T((long(a) * long(b)) >> (8 * sizeof(T))); }
MSL_INL uint mulhi(uint a, uint b) { return uint(((uint64_t)a * b) >> 32); }
MSL_INL int mulhi(int a, int b) { return int(((int64_t)a * b) >> 32); }
MSL_INL ulong mulhi(ulong a, ulong b) { return ulong(((unsigned __int128)a * b) >> 64); }
MSL_INL long mulhi(long a, long b) { return long(((__int128)a * b) >> 64); }
MSL_EACH2(mulhi)
template <class T> MSL_INL T madhi(T a, T b, T c) { return mulhi(a, b) + c; }
template <class T> MSL_INL T madsat(T a, T b, T c) {
    typedef conditional_t<sizeof(T) == 8, conditional_t<is_signed_v<T>, __int128, unsigned __int128>, conditional_t<is_signed_v<T>, long, ulong>> W;
    const W r = W(a) * W(b) + W(c), low = numeric_limits<T>::min(), high = numeric_limits<T>::max();
    return T(r < low ? low : r > high ? high : r);
}
MSL_EACH3(madsat)
MSL_INL int mul24(int a, int b) { return a * b; }
MSL_INL uint mul24(uint a, uint b) { return a * b; }
MSL_EACH2(mul24)
template <class T> MSL_INL T mad24(T a, T b, T c) { return a * b + c; }
template <class T> MSL_INL T addsat(T a, T b) { T r; return __builtin_add_overflow(a, b, &r) ? (b < T(0) ? numeric_limits<T>::min() : numeric_limits<T>::max()) : r; }
template <class T> MSL_INL T subsat(T a, T b) { T r; return __builtin_sub_overflow(a, b, &r) ? (b < T(0) || numeric_limits<T>::min() == T(0) ? (b < T(0) ? numeric_limits<T>::max() : T(0)) : numeric_limits<T>::min()) : r; }
MSL_EACH2(addsat) MSL_EACH2(subsat)
template <class T> MSL_INL T hadd(T a, T b) { return (a >> 1) + (b >> 1) + (a & b & T(1)); }
template <class T> MSL_INL T rhadd(T a, T b) { return (a >> 1) + (b >> 1) + ((a | b) & T(1)); }
MSL_MIXED2(hadd) MSL_MIXED2(rhadd) MSL_MIXED3(madhi) MSL_MIXED3(mad24)
template <class T> MSL_INL T popcount(T x) { return T(sizeof(T) == 8 ? __builtin_popcountll(x) : __builtin_popcount(sizeof(T) < 4 ? uint(x) & ((1u << (8 * sizeof(T) % 32)) - 1u) : uint(x))); }
template <class T> MSL_INL T clz(T x) {
    if constexpr (sizeof(T) == 8) return T(x ? __builtin_clzll(x) : 64);
    else if constexpr (sizeof(T) == 4) return T(x ? __builtin_clz(x) : 32);
    else { uint m = uint(x) & ((1u << (8 * sizeof(T))) - 1u); return T(m ? __builtin_clz(m) - (32 - 8 * sizeof(T)) : 8 * sizeof(T)); }
}
template <class T> MSL_INL T ctz(T x) { return T(x ? (sizeof(T) == 8 ? __builtin_ctzll(x) : __builtin_ctz(uint(x))) : sizeof(T) * 8); }
template <class T> MSL_INL T reverse_bits(T v) {
    ulong x = (ulong)v;
    x = ((x >> 1) & 0x5555555555555555ul) | ((x & 0x5555555555555555ul) << 1);
    x = ((x >> 2) & 0x3333333333333333ul) | ((x & 0x3333333333333333ul) << 2);
    x = ((x >> 4) & 0x0f0f0f0f0f0f0f0ful) | ((x & 0x0f0f0f0f0f0f0f0ful) << 4);
    return T(__builtin_bswap64(x) >> (64 - 8 * sizeof(T)));
}
#ifdef __clang__
MSL_INL uint reverse_bits(uint v) { return __builtin_bitreverse32(v); }
#endif
MSL_EACH1(popcount) MSL_EACH1(clz) MSL_EACH1(ctz) MSL_EACH1(reverse_bits)
template <class T> MSL_INL T rotate(T x, T n) {
    const uint bits = sizeof(T) * 8, k = uint(n) & (bits - 1);
    return k ? T((x << k) | (msl_unsigned<T>(x) >> (bits - k))) : x;
}
MSL_EACH2(rotate)
template <class T> MSL_INL T extract_bits(T x, uint offset, uint bits) {
    const uint w = sizeof(T) * 8;
    return bits == 0 ? T(0) : T(T(x << (w - bits - offset)) >> (w - bits));
}
template <class T> MSL_INL T insert_bits(T base, T ins, uint offset, uint bits) {
    T m = (bits >= sizeof(T) * 8 ? T(~T(0)) : T((T(1) << bits) - 1));
    return T((base & ~T(m << offset)) | T((ins & m) << offset));
}
template <class T, int N> MSL_INL vec<T, N> extract_bits(vec<T, N> x, uint offset, uint bits) {
    vec<T, N> r;
    for (int i = 0; i < N; i++) r[i] = extract_bits(T(x[i]), offset, bits);
    return r;
}
template <class T, int N> MSL_INL vec<T, N> insert_bits(vec<T, N> base, vec<T, N> ins, uint offset, uint bits) {
    vec<T, N> r;
    for (int i = 0; i < N; i++) r[i] = insert_bits(T(base[i]), T(ins[i]), offset, bits);
    return r;
}
}  // namespace metal
#ifdef MSL_PTX
// For text under `#if MSL_PTX`. clang extends the signs of both factors and multiplies 64-bit words otherwise.
MSL_INL long msl_mul_wide(int a, int b) {
    long r;
    __asm__("mul.wide.s32 %0, %1, %2;" : "=l"(r) : "r"(a), "r"(b));
    return r;
}
// Keeps the compiler from taking the next wide product for one of 64-bit words.
MSL_INL void msl_opaque(uint& x) { __asm__("" : "+r"(x)); }
// a + b + C as one instruction of the pipe of logic. C is in constant memory, so the driver's compiler does not know it. Of a sum of two words it
// makes a product by one where it takes the pipe of products for the less busy one.
template <uint C> MSL_INL uint msl_add3(uint a, uint b) {
    uint r;
    __asm__("{ .reg .u32 c; ld.const.u32 c, [%3]; add.u32 %0, %1, %2; add.u32 %0, %0, c; }" : "=r"(r) : "r"(a), "r"(b), "i"(&msl_unknown<C>));
    return r;
}
// A load of what nobody reads again, and a store of what nobody reads before the kernel ends: the cache need not keep them.
MSL_INL uint4 msl_load_last(const uint4* p) {
    uint x, y, z, w;
    __asm__ volatile("ld.global.lu.v4.u32 {%0, %1, %2, %3}, [%4];" : "=r"(x), "=r"(y), "=r"(z), "=r"(w) : "l"(p) : "memory");
    return uint4{x, y, z, w};
}
MSL_INL void msl_store_past(uint4* p, uint4 v) {
    __asm__ volatile("st.global.cs.v4.u32 [%0], {%1, %2, %3, %4};" : : "l"(p), "r"(v.x), "r"(v.y), "r"(v.z), "r"(v.w) : "memory");
}
#endif
