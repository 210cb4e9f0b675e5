// Support for the shims that call a user's function through an argument array.
// args[i] points at the value of argument i. Every check is a static_assert in the unit, so
// that a function whose parameters do not fit the plan does not compile.
#pragma once
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <type_traits>
#include <utility>

namespace kw_shim {

template <class... P> struct list {};

template <std::size_t I, class L> struct pick;
template <class H, class... P> struct pick<0, list<H, P...>> { using type = H; };
template <std::size_t I, class H, class... P>
struct pick<I, list<H, P...>> : pick<I - 1, list<P...>> {};

template <class F> struct kw_signature;
template <class R, class... P> struct kw_signature<R (*)(P...)> {
    static constexpr std::size_t kw_count = sizeof...(P);
    static constexpr bool kw_returns_nothing = std::is_void_v<R>;
    using parameters = list<P...>;
};
template <class R, class... P> struct kw_signature<R (*)(P...) noexcept> : kw_signature<R (*)(P...)> {};

template <class T> using bare = std::remove_cv_t<T>;
template <class T, std::size_t N>
inline constexpr bool signed_int = std::is_integral_v<T> && std::is_signed_v<T> && sizeof(T) == N &&
                                   !std::is_same_v<T, bool>;

// Element types by the plan's names. Half types differ between compilers: any two-byte type will do.
struct kw_float64 { template <class T> static constexpr bool holds = std::is_same_v<T, double>; };
struct kw_float32 { template <class T> static constexpr bool holds = std::is_same_v<T, float>; };
struct kw_float16 { template <class T> static constexpr bool holds = std::is_trivially_copyable_v<T> && sizeof(T) == 2; };
struct kw_bfloat16 : kw_float16 {};
struct kw_int64 { template <class T> static constexpr bool holds = signed_int<T, 8>; };
struct kw_int32 { template <class T> static constexpr bool holds = signed_int<T, 4>; };
struct kw_int16 { template <class T> static constexpr bool holds = signed_int<T, 2>; };
struct kw_int8 { template <class T> static constexpr bool holds = signed_int<T, 1>; };
struct kw_uint8 { template <class T> static constexpr bool holds = std::is_same_v<T, unsigned char>; };
struct kw_boolean { template <class T> static constexpr bool holds = std::is_same_v<T, bool> || std::is_same_v<T, unsigned char>; };

template <class T, class D> constexpr bool points_to() {
    if constexpr (!std::is_pointer_v<T>) return false;
    else if constexpr (std::is_void_v<std::remove_pointer_t<T>> || std::is_function_v<std::remove_pointer_t<T>>) return false;
    else return D::template holds<bare<std::remove_pointer_t<T>>>;
}

// A parameter beyond the last is the count's fault, and is reported there alone.
template <class F, std::size_t I, class D> constexpr bool kw_buffer() {
    if constexpr (I < kw_signature<F>::kw_count) return points_to<typename pick<I, typename kw_signature<F>::parameters>::type, D>();
    else return true;
}
template <class F, std::size_t I, class D> constexpr bool kw_number() {
    if constexpr (I < kw_signature<F>::kw_count) return D::template holds<bare<typename pick<I, typename kw_signature<F>::parameters>::type>>;
    else return true;
}

template <class T> inline T read(void *from) {
    T value{};
    std::memcpy(&value, from, sizeof value);
    return value;
}

template <class R, class... P, std::size_t... I>
inline void kw_invoke(R (*function)(P...), void *const *args, std::index_sequence<I...>) {
    if constexpr ((std::is_trivially_copyable_v<P> && ...) && (std::is_default_constructible_v<P> && ...))
        function(read<std::remove_cv_t<P>>(args[I])...);
}
template <class R, class... P> inline void kw_invoke(R (*function)(P...), void *const *args) {
    kw_invoke(function, args, std::index_sequence_for<P...>{});
}

}  // namespace kw_shim
