#pragma once
// Several points of a thread, and where they lie.
#include "../field/fp_ext.h"

// The V points of a thread: neighbours from i on, read and written at once, or on CPUs V vectors, `apart` points from one
// to the next.
#if LANE_WIDTH > 1
inline index_l constraint_point(index_l i, uint j, uint apart) { return i + ulong(j * apart); }
template <uint V> inline void constraint_load(device const Fp* p, index_l i, uint apart, thread FpL* v) {
    MSL_UNROLL for (uint j = 0; j < V; j++) v[j] = lane_load(p, constraint_point(i, j, apart));
}
template <uint V> inline void constraint_store(device Fp* p, index_l i, uint apart, thread const FpL* v) {
    MSL_UNROLL for (uint j = 0; j < V; j++) lane_store(p, constraint_point(i, j, apart), v[j]);
}
template <uint V> inline void constraint_load_register(threadgroup const Fp* p, index_l i, uint apart, thread FpL* v) {
    MSL_UNROLL for (uint j = 0; j < V; j++) v[j] = lane_load(p, constraint_point(i, j, apart));
}
template <uint V> inline void constraint_store_register(threadgroup Fp* p, index_l i, uint apart, thread const FpL* v) {
    MSL_UNROLL for (uint j = 0; j < V; j++) lane_store(p, constraint_point(i, j, apart), v[j]);
}
#else
template <uint V> struct ConstraintWords {
    typedef Fp T;
    static T join(thread const Fp* v) { return v[0]; }
    static void split(T w, thread Fp* v) { v[0] = w; }
};
template <> struct ConstraintWords<2u> {
    typedef uint2 T;
    static T join(thread const Fp* v) { return uint2(v[0].v, v[1].v); }
    static void split(T w, thread Fp* v) {
        v[0].v = w.x;
        v[1].v = w.y;
    }
};
template <> struct ConstraintWords<4u> {
    typedef uint4 T;
    static T join(thread const Fp* v) { return uint4(v[0].v, v[1].v, v[2].v, v[3].v); }
    static void split(T w, thread Fp* v) {
        v[0].v = w.x;
        v[1].v = w.y;
        v[2].v = w.z;
        v[3].v = w.w;
    }
};
inline index_l constraint_point(index_l i, uint j, uint) { return i + ulong(j); }
template <uint V> inline void constraint_load(device const Fp* p, index_l i, uint, thread FpL* v) {
    ConstraintWords<V>::split(((device const typename ConstraintWords<V>::T*)(p + i))[0], v);
}
template <uint V> inline void constraint_store(device Fp* p, index_l i, uint, thread const FpL* v) {
    ((device typename ConstraintWords<V>::T*)(p + i))[0] = ConstraintWords<V>::join(v);
}
template <uint V> inline void constraint_load_register(threadgroup const Fp* p, index_l i, uint, thread FpL* v) {
    ConstraintWords<V>::split(((threadgroup const typename ConstraintWords<V>::T*)(p + i))[0], v);
}
template <uint V> inline void constraint_store_register(threadgroup Fp* p, index_l i, uint, thread const FpL* v) {
    ((threadgroup typename ConstraintWords<V>::T*)(p + i))[0] = ConstraintWords<V>::join(v);
}
#endif
/// The same for extension elements in planes, `stride` words apart.
template <uint V>
inline void constraint_load_points(device const Fp* p, ulong stride, index_l i, uint apart, thread FpExtL* v) {
    MSL_UNROLL for (uint k = 0; k < 4u; k++) {
        FpL w[V];
        constraint_load<V>(p + k * stride, i, apart, w);
        MSL_UNROLL for (uint j = 0; j < V; j++) v[j].c[k] = w[j];
    }
}
template <uint V>
inline void constraint_store_points(device Fp* p, ulong stride, index_l i, uint apart, thread const FpExtL* v) {
    MSL_UNROLL for (uint k = 0; k < 4u; k++) {
        FpL w[V];
        MSL_UNROLL for (uint j = 0; j < V; j++) w[j] = v[j].c[k];
        constraint_store<V>(p + k * stride, i, apart, w);
    }
}
