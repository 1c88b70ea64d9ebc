// Geometric functions (chapter 6.7) of vectors of float and half.
#pragma once
namespace metal {
template <class T, int N> MSL_INL T dot(vec<T, N> a, vec<T, N> b) { T s = 0; for (int i = 0; i < N; i++) s += a[i] * b[i]; return s; }
template <class T, int N> MSL_INL T length_squared(vec<T, N> a) { return dot(a, a); }
template <class T, int N> MSL_INL T length(vec<T, N> a) { return sqrt(dot(a, a)); }
template <class T, int N> MSL_INL T distance(vec<T, N> a, vec<T, N> b) { return length(a - b); }
template <class T, int N> MSL_INL T distance_squared(vec<T, N> a, vec<T, N> b) { return length_squared(a - b); }
template <class T, int N> MSL_INL vec<T, N> normalize(vec<T, N> a) { return a * rsqrt(dot(a, a)); }
template <class T> MSL_INL vec<T, 3> cross(vec<T, 3> a, vec<T, 3> b) {
    return vec<T, 3>{T(a.y * b.z - a.z * b.y), T(a.z * b.x - a.x * b.z), T(a.x * b.y - a.y * b.x)};
}
template <class T, int N> MSL_INL vec<T, N> faceforward(vec<T, N> n, vec<T, N> i, vec<T, N> reference) { return dot(reference, i) < T(0) ? n : -n; }
template <class T, int N> MSL_INL vec<T, N> reflect(vec<T, N> i, vec<T, N> n) { return i - n * T(T(2) * dot(n, i)); }
template <class T, int N> MSL_INL vec<T, N> refract(vec<T, N> i, vec<T, N> n, typename msl_same<T>::type eta) {
    T d = dot(n, i), k = T(T(1) - eta * eta * (T(1) - d * d));
    return k < T(0) ? vec<T, N>(T(0)) : i * eta - n * T(eta * d + sqrt(k));
}
MSL_MIXED2(dot) MSL_MIXED2(distance) MSL_MIXED2(distance_squared) MSL_MIXED2(cross) MSL_MIXED2(reflect)
}  // namespace metal
