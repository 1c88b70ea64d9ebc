// 8x8 matrices over a SIMD-group of 32 lanes: lane l holds the elements (row, column) and (row, column + 1) of
// msl_matrix_place(l), as on Apple GPUs. A SIMD-group of one lane cannot hold a matrix: such versions stop the program,
// and the run time takes the version on fibers.
#pragma once
namespace metal {
struct msl_matrix_at { uint row, column; };
MSL_INL msl_matrix_at msl_matrix_place(uint lane) {
    return {((lane >> 2) & 4) | ((lane >> 1) & 3), ((lane >> 1) & 4) | ((lane << 1) & 2)};
}
// The lane that holds (row, column), and which of its two elements that is.
MSL_INL ushort msl_matrix_lane(uint row, uint column) {
    return ushort(((row & 4) << 2) | ((column & 4) << 1) | ((row & 3) << 1) | ((column >> 1) & 1));
}
template <class T, int COLUMNS, int ROWS> struct simdgroup_matrix {
    static_assert(ROWS == 8 && COLUMNS == 8, "SIMD-group matrices have 8 rows and 8 columns");
    typedef vec<T, 2> storage_type;
    storage_type msl_elements;
    simdgroup_matrix() = default;
    // `value` on the diagonal.
    explicit simdgroup_matrix(T value) {
        const msl_matrix_at p = msl_matrix_place(msl_lane_id());
        msl_elements[0] = p.row == p.column ? value : T(0);
        msl_elements[1] = p.row == p.column + 1 ? value : T(0);
    }
    MSL_INL storage_type& thread_elements() { return msl_elements; }
    MSL_INL const storage_type& thread_elements() const { return msl_elements; }
};
typedef simdgroup_matrix<float, 8, 8> simdgroup_float8x8;
typedef simdgroup_matrix<half, 8, 8> simdgroup_half8x8;
#ifdef __clang__
typedef simdgroup_matrix<bfloat, 8, 8> simdgroup_bfloat8x8;
#endif
#if !defined(MSL_PTX) && !defined(MSL_FIBER)
MSL_INL void msl_matrix_needs_lanes() { __builtin_trap(); }
#else
MSL_INL void msl_matrix_needs_lanes() {}
#endif
template <class T, int C, int R = C> MSL_INL simdgroup_matrix<T, C, R> make_filled_simdgroup_matrix(T value) {
    simdgroup_matrix<T, C, R> m;
    m.msl_elements[0] = value;
    m.msl_elements[1] = value;
    return m;
}
template <class T, int C, int R = C> MSL_INL simdgroup_matrix<T, C, R> make_diagonal_simdgroup_matrix(T value) {
    return simdgroup_matrix<T, C, R>(value);
}
// Offset of element (row, column) of the matrix whose first element is at `origin` = (column, row).
MSL_INL ulong msl_matrix_offset(uint row, uint column, ulong pitch, ulong2 origin, bool transpose) {
    const ulong r = transpose ? column : row, c = transpose ? row : column;
    return (origin.y + r) * pitch + origin.x + c;
}
template <class T> MSL_INL void simdgroup_load(
    simdgroup_matrix<T, 8, 8>& m, const T* source, ulong elements_per_row = 8, ulong2 origin = ulong2{0, 0}, bool transpose = false) {
    msl_matrix_needs_lanes();
    const msl_matrix_at p = msl_matrix_place(msl_lane_id());
    for (uint e = 0; e < 2; e++)
        m.msl_elements[e] = source[msl_matrix_offset(p.row, p.column + e, elements_per_row, origin, transpose)];
}
template <class T> MSL_INL void simdgroup_store(
    const simdgroup_matrix<T, 8, 8>& m, T* target, ulong elements_per_row = 8, ulong2 origin = ulong2{0, 0}, bool transpose = false) {
    msl_matrix_needs_lanes();
    const msl_matrix_at p = msl_matrix_place(msl_lane_id());
    for (uint e = 0; e < 2; e++)
        target[msl_matrix_offset(p.row, p.column + e, elements_per_row, origin, transpose)] = m.msl_elements[e];
}
// d = a b + c: 16 products a lane, all in float, rounded once. Each lane reads 16 bytes of others: on fibers all that it needs
// after one exchange, on NVIDIA GPUs 12 bytes in each of 8 steps.
template <class D, class A, class B, class C> MSL_INL void simdgroup_multiply_accumulate(
    simdgroup_matrix<D, 8, 8>& d, const simdgroup_matrix<A, 8, 8>& a, const simdgroup_matrix<B, 8, 8>& b, const simdgroup_matrix<C, 8, 8>& c) {
    msl_matrix_needs_lanes();
    const msl_matrix_at p = msl_matrix_place(msl_lane_id());
    const float own[4] = {(float)a.msl_elements[0], (float)a.msl_elements[1], (float)b.msl_elements[0], (float)b.msl_elements[1]};
    float d0 = (float)c.msl_elements[0], d1 = (float)c.msl_elements[1];
#ifdef MSL_FIBER
    const unsigned char* all = msl_rt->simd_exchange(own, sizeof(own), __builtin_LINE());
    for (uint k = 0; k < 8; k++) {
        float x[4], y[4];
        __builtin_memcpy(x, all + 16 * msl_matrix_lane(p.row, k), sizeof(x));
        __builtin_memcpy(y, all + 16 * msl_matrix_lane(k, p.column), sizeof(y));
        d0 = __builtin_fmaf(x[k & 1], y[2], d0);
        d1 = __builtin_fmaf(x[k & 1], y[3], d1);
    }
#else
    for (uint k = 0; k < 8; k++) {
        const float x = simd_shuffle(own[k & 1], msl_matrix_lane(p.row, k));
        d0 = __builtin_fmaf(x, simd_shuffle(own[2], msl_matrix_lane(k, p.column)), d0);
        d1 = __builtin_fmaf(x, simd_shuffle(own[3], msl_matrix_lane(k, p.column)), d1);
    }
#endif
    d.msl_elements[0] = (D)d0;
    d.msl_elements[1] = (D)d1;
}
template <class D, class A, class B> MSL_INL void simdgroup_multiply(
    simdgroup_matrix<D, 8, 8>& d, const simdgroup_matrix<A, 8, 8>& a, const simdgroup_matrix<B, 8, 8>& b) {
    simdgroup_multiply_accumulate(d, a, b, make_filled_simdgroup_matrix<float, 8, 8>(0.0f));
}
}  // namespace metal
