// Type traits and numeric limits.
#pragma once
// Limits of integers; other people's kernels specialise it for types of their own, as Apple's headers let them.
template <class T> struct _numeric_limits_impl {
    static constexpr int digits = sizeof(T) * 8 - (T(-1) < T(0));
    static constexpr bool is_signed = T(-1) < T(0);
    static constexpr T min() { return is_signed ? T(1ull << (sizeof(T) * 8 - 1)) : T(0); }
    static constexpr T max() { return T(~min()); }
    static constexpr T lowest() { return min(); }
};
namespace metal {
template <class T, T V> struct integral_constant {
    static constexpr T value = V;
    typedef T value_type;
    constexpr operator T() const { return V; }
};
typedef integral_constant<bool, true> true_type;
typedef integral_constant<bool, false> false_type;
template <bool B> using bool_constant = integral_constant<bool, B>;
template <class A, class B> struct is_same : false_type {};
template <class A> struct is_same<A, A> : true_type {};
template <class A, class B> constexpr bool is_same_v = is_same<A, B>::value;
template <bool B, class T = void> struct enable_if {};
template <class T> struct enable_if<true, T> { using type = T; };
template <bool B, class T = void> using enable_if_t = typename enable_if<B, T>::type;
template <bool B, class T, class F> struct conditional { using type = T; };
template <class T, class F> struct conditional<false, T, F> { using type = F; };
template <bool B, class T, class F> using conditional_t = typename conditional<B, T, F>::type;
template <class T> struct remove_const { using type = T; };
template <class T> struct remove_const<const T> { using type = T; };
template <class T> struct remove_volatile { using type = T; };
template <class T> struct remove_volatile<volatile T> { using type = T; };
template <class T> struct remove_cv { using type = typename remove_const<typename remove_volatile<T>::type>::type; };
template <class T> struct remove_reference { using type = T; };
template <class T> struct remove_reference<T&> { using type = T; };
template <class T> struct remove_reference<T&&> { using type = T; };
template <class T> using remove_const_t = typename remove_const<T>::type;
template <class T> using remove_cv_t = typename remove_cv<T>::type;
template <class T> using remove_reference_t = typename remove_reference<T>::type;
template <class T> struct make_scalar { using type = remove_cv_t<T>; };
template <class T, int N> struct make_scalar<vec<T, N>> { using type = T; };
template <class T> using make_scalar_t = typename make_scalar<T>::type;
#define MSL_KIND(name, types) \
    template <class T> struct name : false_type {}; \
    types \
    template <class T> constexpr bool name##_v = name<remove_cv_t<T>>::value;
#define MSL_YES(n, T) template <> struct n<T> : true_type {};
MSL_KIND(is_integral, MSL_YES(is_integral, bool) MSL_YES(is_integral, char) MSL_YES(is_integral, int8_t)
    MSL_YES(is_integral, uchar) MSL_YES(is_integral, short) MSL_YES(is_integral, ushort) MSL_YES(is_integral, int)
    MSL_YES(is_integral, uint) MSL_YES(is_integral, long) MSL_YES(is_integral, ulong)
    // int64_t and uint64_t of some targets.
    MSL_YES(is_integral, long long) MSL_YES(is_integral, unsigned long long))
MSL_KIND(is_floating_point, MSL_YES(is_floating_point, half) MSL_YES(is_floating_point, float))
#ifdef __clang__
template <> struct is_floating_point<bfloat> : true_type {};
#endif
template <class T> struct vec_elements : integral_constant<int, 1> {};
template <class T, int N> struct vec_elements<vec<T, N>> : integral_constant<int, N> {};
template <class T> constexpr bool is_unsigned_v = T(-1) > T(0);
template <class T> constexpr bool is_signed_v = T(-1) < T(0);
template <class B> void msl_takes(B);
template <class A, class B, class = void> struct is_convertible : false_type {};
template <class A, class B> struct is_convertible<A, B, decltype(msl_takes<B>(*(A*)nullptr))> : true_type {};
template <class A, class B> constexpr bool is_convertible_v = is_convertible<A, B>::value;

template <class T> struct numeric_limits : _numeric_limits_impl<T> {};
template <> struct numeric_limits<bool> {
    static constexpr bool min() { return false; }
    static constexpr bool max() { return true; }
    static constexpr bool lowest() { return false; }
};
template <> struct numeric_limits<float> {
    static constexpr int digits = 24;
    static constexpr float min() { return __FLT_MIN__; }
    static constexpr float max() { return __FLT_MAX__; }
    static constexpr float lowest() { return -__FLT_MAX__; }
    static constexpr float epsilon() { return __FLT_EPSILON__; }
    static constexpr float infinity() { return __builtin_inff(); }
    static constexpr float quiet_NaN() { return __builtin_nanf(""); }
};
template <> struct numeric_limits<half> {
    static constexpr int digits = 11;
    static constexpr half min() { return half(6.103515625e-05f); }
    static constexpr half max() { return half(65504.0f); }
    static constexpr half lowest() { return half(-65504.0f); }
    static constexpr half epsilon() { return half(9.765625e-04f); }
    static constexpr half infinity() { return half(__builtin_inff()); }
    static constexpr half quiet_NaN() { return half(__builtin_nanf("")); }
};
#ifdef __clang__
template <> struct numeric_limits<bfloat> {
    static constexpr int digits = 8;
    static constexpr bfloat bits(ushort b) { return __builtin_bit_cast(bfloat, b); }
    static constexpr bfloat min() { return bits(0x0080); }
    static constexpr bfloat max() { return bits(0x7f7f); }
    static constexpr bfloat lowest() { return bits(0xff7f); }
    static constexpr bfloat epsilon() { return bits(0x3c00); }
    static constexpr bfloat infinity() { return bits(0x7f80); }
    static constexpr bfloat quiet_NaN() { return bits(0x7fc0); }
};
#endif
// Not in the specification: names of Apple's headers that other people's kernels use.
template <class T> struct __is_valid_simdgroup_type
    : bool_constant<(is_integral_v<make_scalar_t<T>> || is_floating_point_v<make_scalar_t<T>>) && !is_same_v<make_scalar_t<T>, bool>> {};
template <class T> struct _fp_encoding_traits;
template <> struct _fp_encoding_traits<float> {
    static constexpr uint sign_mask = 0x80000000u, exponent_mask = 0x7f800000u, mantissa_mask = 0x007fffffu, inf_mask = exponent_mask;
};
template <> struct _fp_encoding_traits<half> {
    static constexpr ushort sign_mask = 0x8000u, exponent_mask = 0x7c00u, mantissa_mask = 0x03ffu, inf_mask = exponent_mask;
};
}  // namespace metal
// `static_cast`, which clang does not have between half and bfloat; the front end writes msl_static_cast<T>(...).
template <class T, class U> MSL_INL constexpr T msl_static_cast(U u) {
#ifdef __clang__
    constexpr bool narrow = (metal::is_same_v<T, half> && metal::is_same_v<U, bfloat>) || (metal::is_same_v<T, bfloat> && metal::is_same_v<U, half>);
    if constexpr (narrow) return static_cast<T>(static_cast<float>(u));
    else
#endif
    return static_cast<T>(u);
}
