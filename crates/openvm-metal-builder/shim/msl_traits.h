// Type traits and numeric limits.
#pragma once
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
    MSL_YES(is_integral, uint) MSL_YES(is_integral, long) MSL_YES(is_integral, ulong))
MSL_KIND(is_floating_point, MSL_YES(is_floating_point, half) MSL_YES(is_floating_point, float))
template <class T> constexpr bool is_unsigned_v = T(-1) > T(0);
template <class T> constexpr bool is_signed_v = T(-1) < T(0);
template <class A, class B> constexpr bool is_convertible_v = requires(void (*f)(B), A a) { f(a); };

template <class T> struct numeric_limits {
    static constexpr int digits = sizeof(T) * 8 - (T(-1) < T(0));
    static constexpr bool is_signed = T(-1) < T(0);
    static constexpr T min() { return is_signed ? T(1ull << (sizeof(T) * 8 - 1)) : T(0); }
    static constexpr T max() { return T(~min()); }
    static constexpr T lowest() { return min(); }
};
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
}  // namespace metal
