// Matrices (chapter 2.3 and 6.8) by columns.
#pragma once
namespace metal {
// R numbers as a vector; constant where they are.
template <class T, int R> MSL_INL constexpr vec<T, R> msl_column(const T* p) {
    if constexpr (R == 2) return vec<T, 2>{p[0], p[1]};
    else if constexpr (R == 3) return vec<T, 3>{p[0], p[1], p[2]};
    else return vec<T, 4>{p[0], p[1], p[2], p[3]};
}
// C columns of R elements.
template <class T, int C, int R> struct matrix {
    typedef vec<T, R> column;
    column columns[C];
    matrix() = default;
    // `s` on the diagonal.
    MSL_INL constexpr explicit matrix(T s) : columns{} {
        for (int c = 0; c < C; c++) {
            const T all[4] = {c == 0 ? s : T(0), c == 1 ? s : T(0), c == 2 ? s : T(0), c == 3 ? s : T(0)};
            columns[c] = msl_column<T, R>(all);
        }
    }
#ifdef MSL_LINT
    // Constants are in an address space of their own.
    template <class... A> matrix(A...);
    matrix(const matrix&) = default;
    matrix(const __constant matrix&);
    column operator[](int c) const __constant;
#else
    // From columns, from elements.
    template <class... A, enable_if_t<sizeof...(A) == C, int> = 0> MSL_INL constexpr matrix(A... a) : columns{static_cast<column>(a)...} {}
    template <class... A, enable_if_t<sizeof...(A) == C * R, int*> = nullptr> MSL_INL constexpr matrix(A... a) : columns{} {
        const T all[] = {T(a)...};
        for (int c = 0; c < C; c++) columns[c] = msl_column<T, R>(all + R * c);
    }
#endif
    template <class U> MSL_INL explicit matrix(matrix<U, C, R> o) {
        for (int i = 0; i < C * R; i++) columns[i / R][i % R] = T(o.columns[i / R][i % R]);
    }
    MSL_INL column& operator[](int c) { return columns[c]; }
    MSL_INL const column& operator[](int c) const { return columns[c]; }
    MSL_INL matrix& operator+=(matrix o) { return *this = *this + o; }
    MSL_INL matrix& operator-=(matrix o) { return *this = *this - o; }
    MSL_INL matrix& operator*=(T s) { return *this = *this * s; }
    MSL_INL matrix& operator*=(matrix<T, C, C> o) { return *this = *this * o; }
};
#define MSL_MAP(expr) matrix<T, C, R> m; for (int c = 0; c < C; c++) m.columns[c] = expr; return m;
#define MSL_MATRIX template <class T, int C, int R> MSL_INL
MSL_MATRIX matrix<T, C, R> operator+(matrix<T, C, R> a, matrix<T, C, R> b) { MSL_MAP(a[c] + b[c]) }
MSL_MATRIX matrix<T, C, R> operator-(matrix<T, C, R> a, matrix<T, C, R> b) { MSL_MAP(a[c] - b[c]) }
MSL_MATRIX matrix<T, C, R> operator-(matrix<T, C, R> a) { MSL_MAP(-a[c]) }
MSL_MATRIX matrix<T, C, R> operator*(matrix<T, C, R> a, typename msl_same<T>::type s) { MSL_MAP(a[c] * s) }
MSL_MATRIX matrix<T, C, R> operator*(typename msl_same<T>::type s, matrix<T, C, R> a) { MSL_MAP(a[c] * s) }
MSL_MATRIX vec<T, R> operator*(matrix<T, C, R> a, vec<T, C> v) {
    vec<T, R> r = a[0] * v[0];
    for (int c = 1; c < C; c++) r += a[c] * v[c];
    return r;
}
MSL_MATRIX vec<T, C> operator*(vec<T, R> v, matrix<T, C, R> a) { vec<T, C> r; for (int c = 0; c < C; c++) r[c] = dot(v, a[c]); return r; }
template <class T, int C, int R, int K> MSL_INL matrix<T, C, R> operator*(matrix<T, K, R> a, matrix<T, C, K> b) { MSL_MAP(a * b[c]) }
MSL_MATRIX bool operator==(matrix<T, C, R> a, matrix<T, C, R> b) {
    bool same = true;
    for (int c = 0; c < C; c++) same &= all(a[c] == b[c]);
    return same;
}
MSL_MATRIX matrix<T, R, C> transpose(matrix<T, C, R> a) {
    matrix<T, R, C> m;
    for (int c = 0; c < C; c++)
        for (int r = 0; r < R; r++) m[r][c] = a[c][r];
    return m;
}
template <class T> MSL_INL T determinant(matrix<T, 2, 2> a) { return a[0][0] * a[1][1] - a[1][0] * a[0][1]; }
template <class T> MSL_INL T determinant(matrix<T, 3, 3> a) { return dot(a[0], cross(a[1], a[2])); }
template <class T> MSL_INL T determinant(matrix<T, 4, 4> a) {
    // Products of the minors of the first two columns and of the last two.
    T d = 0;
    for (int i = 0; i < 3; i++)
        for (int j = i + 1; j < 4; j++) {
            int k = i == 0 ? (j == 1 ? 2 : 1) : 0, l = 6 - i - j - k;
            T p = (a[0][i] * a[1][j] - a[0][j] * a[1][i]) * (a[2][k] * a[3][l] - a[2][l] * a[3][k]);
            d += (i + j) & 1 ? p : T(-p);
        }
    return d;
}
#undef MSL_MAP
#undef MSL_MATRIX
#define MSL_MATRICES(T, R) \
    typedef matrix<T, 2, R> T##2x##R; \
    typedef matrix<T, 3, R> T##3x##R; \
    typedef matrix<T, 4, R> T##4x##R;
MSL_MATRICES(float, 2) MSL_MATRICES(float, 3) MSL_MATRICES(float, 4) MSL_MATRICES(half, 2) MSL_MATRICES(half, 3) MSL_MATRICES(half, 4)
#undef MSL_MATRICES
}  // namespace metal
