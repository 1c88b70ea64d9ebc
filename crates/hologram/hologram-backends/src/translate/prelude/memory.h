// Memory: hg_ld* and hg_st* access device memory and hg_lds* and hg_sts* threadgroup memory, little-endian, at any offset.

METAL_FUNC bool hg_out(ulong o, ulong size, ulong width) { return o > size || size - o < width; }

// Loads and stores of `m[o]` and the bytes behind it. What is aligned goes at once: `place` says so, the address in device memory
// and the offset in threadgroup memory, which begins at a multiple of 16 (a threadgroup pointer converts to no number). Bytes have no
// type here, so they are reached as vectors: compilers take an access of a scalar type for one that other scalar types never meet.
#if MSL_HOST && !HG_AS_APPLE
#define HG_MEMORY(ld, st, space, place) \
    METAL_FUNC uchar ld##1(space const uchar* m, ulong o) { return m[o]; } \
    METAL_FUNC ushort ld##2(space const uchar* m, ulong o) { ushort v; __builtin_memcpy(&v, m + o, 2); return v; } \
    METAL_FUNC uint ld##4(space const uchar* m, ulong o) { uint v; __builtin_memcpy(&v, m + o, 4); return v; } \
    METAL_FUNC ulong ld##8(space const uchar* m, ulong o) { ulong v; __builtin_memcpy(&v, m + o, 8); return v; } \
    METAL_FUNC void st##1(space uchar* m, ulong o, uchar v) { m[o] = v; } \
    METAL_FUNC void st##2(space uchar* m, ulong o, ushort v) { __builtin_memcpy(m + o, &v, 2); } \
    METAL_FUNC void st##4(space uchar* m, ulong o, uint v) { __builtin_memcpy(m + o, &v, 4); } \
    METAL_FUNC void st##8(space uchar* m, ulong o, ulong v) { __builtin_memcpy(m + o, &v, 8); }
#else
#define HG_MEMORY(ld, st, space, place) \
    METAL_FUNC uchar ld##1(space const uchar* m, ulong o) { return m[o]; } \
    METAL_FUNC ushort ld##2(space const uchar* m, ulong o) { \
        if ((place & 1) == 0) return as_type<ushort>(*(space const uchar2*)(m + o)); \
        return (ushort)(m[o] | (uint)m[o + 1] << 8); } \
    METAL_FUNC uint ld##4(space const uchar* m, ulong o) { \
        if ((place & 3) == 0) return as_type<uint>(*(space const uchar4*)(m + o)); \
        return m[o] | (uint)m[o + 1] << 8 | (uint)m[o + 2] << 16 | (uint)m[o + 3] << 24; } \
    METAL_FUNC ulong ld##8(space const uchar* m, ulong o) { \
        if ((place & 7) == 0) return as_type<ulong>(*(space const uint2*)(m + o)); \
        return ld##4(m, o) | (ulong)ld##4(m, o + 4) << 32; } \
    METAL_FUNC void st##1(space uchar* m, ulong o, uchar v) { m[o] = v; } \
    METAL_FUNC void st##2(space uchar* m, ulong o, ushort v) { \
        if ((place & 1) == 0) { *(space uchar2*)(m + o) = as_type<uchar2>(v); return; } \
        m[o] = (uchar)v; m[o + 1] = (uchar)(v >> 8); } \
    METAL_FUNC void st##4(space uchar* m, ulong o, uint v) { \
        if ((place & 3) == 0) { *(space uchar4*)(m + o) = as_type<uchar4>(v); return; } \
        m[o] = (uchar)v; m[o + 1] = (uchar)(v >> 8); m[o + 2] = (uchar)(v >> 16); m[o + 3] = (uchar)(v >> 24); } \
    METAL_FUNC void st##8(space uchar* m, ulong o, ulong v) { \
        if ((place & 7) == 0) { *(space uint2*)(m + o) = as_type<uint2>(v); return; } \
        st##4(m, o, (uint)v); st##4(m, o + 4, (uint)(v >> 32)); }
#endif
HG_MEMORY(hg_ld, hg_st, device, (ulong)(m + o))
HG_MEMORY(hg_lds, hg_sts, threadgroup, o)

// The vector type that as many bytes are reached as.
template <uint S> struct hg_held;
template <> struct hg_held<1> { typedef uchar type; };
template <> struct hg_held<2> { typedef uchar2 type; };
template <> struct hg_held<4> { typedef uchar4 type; };
template <> struct hg_held<8> { typedef uint2 type; };
template <> struct hg_held<16> { typedef uint4 type; };

// Aligned values of any width at byte `o`.
template <class T> METAL_FUNC T hg_at(device const uchar* m, ulong o) {
#if MSL_HOST && !HG_AS_APPLE
    T v;
    __builtin_memcpy(&v, m + o, sizeof(T));
    return v;
#else
    return as_type<T>(*(device const typename hg_held<sizeof(T)>::type*)(m + o));
#endif
}
template <class T> METAL_FUNC void hg_put(device uchar* m, ulong o, T v) {
#if MSL_HOST && !HG_AS_APPLE
    __builtin_memcpy(m + o, &v, sizeof(T));
#else
    typedef typename hg_held<sizeof(T)>::type held;
    *(device held*)(m + o) = as_type<held>(v);
#endif
}

// Orders a lane's accesses as others see them; Apple's language has no fence before 3.2, and nothing is ordered there.
METAL_FUNC void hg_fence() {
#if MSL_PTX
    __nvvm_membar_sys();
#elif MSL_HOST
    __atomic_thread_fence(__ATOMIC_SEQ_CST);
#endif
}
