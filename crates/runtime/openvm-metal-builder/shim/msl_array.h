// array<T, N> (chapter 2.12): elements that are copied and assigned as a whole.
#pragma once
namespace metal {
template <class T, size_t N> struct array {
    T elements[N];
    constexpr T& operator[](size_t i) { return elements[i]; }
    constexpr const T& operator[](size_t i) const { return elements[i]; }
    constexpr size_t size() const { return N; }
    constexpr bool empty() const { return false; }
};
}  // namespace metal
