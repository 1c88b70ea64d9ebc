// Relaxed atomics.
#pragma once
namespace metal {
enum memory_order { memory_order_relaxed = 0 };
template <class T> struct atomic { T v; };
typedef atomic<uint> atomic_uint;
typedef atomic<int> atomic_int;
typedef atomic<ulong> atomic_ulong;
typedef atomic<bool> atomic_bool;
typedef atomic<float> atomic_float;
#define MSL_FETCH(name) \
    template <class T, class U> MSL_INL T atomic_fetch_##name##_explicit(volatile atomic<T>* p, U x, memory_order) { \
        return __atomic_fetch_##name((T*)&p->v, (T)x, __ATOMIC_RELAXED); }
MSL_FETCH(add) MSL_FETCH(sub) MSL_FETCH(and) MSL_FETCH(or) MSL_FETCH(xor)
#undef MSL_FETCH
template <class T, class U> MSL_INL void atomic_store_explicit(volatile atomic<T>* p, U x, memory_order) {
    T y = (T)x;
    __atomic_store((T*)&p->v, &y, __ATOMIC_RELAXED);
}
template <class T> MSL_INL T atomic_load_explicit(const volatile atomic<T>* p, memory_order) {
    T r;
    __atomic_load((T*)&p->v, &r, __ATOMIC_RELAXED);
    return r;
}
template <class T, class U> MSL_INL T atomic_exchange_explicit(volatile atomic<T>* p, U x, memory_order) {
    T y = (T)x, r;
    __atomic_exchange((T*)&p->v, &y, &r, __ATOMIC_RELAXED);
    return r;
}
template <class T> MSL_INL bool atomic_compare_exchange_weak_explicit(volatile atomic<T>* p, T* expected, T desired, memory_order, memory_order) {
    return __atomic_compare_exchange((T*)&p->v, expected, &desired, true, __ATOMIC_RELAXED, __ATOMIC_RELAXED);
}
template <class T, class F> MSL_INL T msl_atomic_update(volatile atomic<T>* p, F f) {
    T old = atomic_load_explicit(p, memory_order_relaxed);
    while (!atomic_compare_exchange_weak_explicit(p, &old, f(old), memory_order_relaxed, memory_order_relaxed)) {}
    return old;
}
template <class T, class U> MSL_INL T atomic_fetch_min_explicit(volatile atomic<T>* p, U x, memory_order) {
    return msl_atomic_update(p, [=](T a) { return (T)x < a ? (T)x : a; });
}
template <class T, class U> MSL_INL T atomic_fetch_max_explicit(volatile atomic<T>* p, U x, memory_order) {
    return msl_atomic_update(p, [=](T a) { return a < (T)x ? (T)x : a; });
}
template <class U> MSL_INL float atomic_fetch_add_explicit(volatile atomic<float>* p, U x, memory_order) {
    return msl_atomic_update(p, [=](float a) { return a + (float)x; });
}
template <class U> MSL_INL float atomic_fetch_sub_explicit(volatile atomic<float>* p, U x, memory_order) {
    return msl_atomic_update(p, [=](float a) { return a - (float)x; });
}
template <class T, class U> MSL_INL void atomic_min_explicit(volatile atomic<T>* p, U x, memory_order o) { atomic_fetch_min_explicit(p, x, o); }
template <class T, class U> MSL_INL void atomic_max_explicit(volatile atomic<T>* p, U x, memory_order o) { atomic_fetch_max_explicit(p, x, o); }
}  // namespace metal
