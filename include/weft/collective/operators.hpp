// Operators of reductions, and reductions as what is not a template sees them.
#pragma once

#include <concepts>
#include <cstddef>
#include <cstring>
#include <type_traits>

namespace weft {

// Any function object or function pointer that combines two elements, is trivially copyable, associative and
// commutative will do as well as these.

struct Sum {
  template <class T>
  constexpr T operator()(const T& a, const T& b) const noexcept {
    return static_cast<T>(a + b);
  }
};
struct Product {
  template <class T>
  constexpr T operator()(const T& a, const T& b) const noexcept {
    return static_cast<T>(a * b);
  }
};
struct Min {
  template <class T>
  constexpr T operator()(const T& a, const T& b) const noexcept {
    return b < a ? b : a;
  }
};
struct Max {
  template <class T>
  constexpr T operator()(const T& a, const T& b) const noexcept {
    return a < b ? b : a;
  }
};
struct BitAnd {
  template <std::integral T>
  constexpr T operator()(T a, T b) const noexcept {
    return static_cast<T>(a & b);
  }
};
struct BitOr {
  template <std::integral T>
  constexpr T operator()(T a, T b) const noexcept {
    return static_cast<T>(a | b);
  }
};
struct BitXor {
  template <std::integral T>
  constexpr T operator()(T a, T b) const noexcept {
    return static_cast<T>(a ^ b);
  }
};

namespace detail {

/// Element type and operator of a reduction.
struct Reduction {
  static constexpr std::size_t kOperatorBytes = 64;
  using Apply = void (*)(std::byte* to, const std::byte* a, const std::byte* b, std::size_t count,
                         const std::byte* op);

  std::size_t element = 1;  ///< bytes
  /// to[i] = op(a[i], b[i]); `to` may be `a`.
  Apply apply = nullptr;
  std::size_t operator_size = 0;
  alignas(16) std::byte operator_bytes[kOperatorBytes] = {};
};

template <class T, class Op>
[[nodiscard]] Reduction reduction_of(const Op& op) noexcept {
  static_assert(std::is_trivially_copyable_v<Op> && sizeof(Op) <= Reduction::kOperatorBytes,
                "an operator is trivially copyable and has at most 64 bytes");
  static_assert(std::is_invocable_r_v<T, const Op&, const T&, const T&>,
                "an operator combines two elements into one");
  Reduction reduction;
  reduction.element = sizeof(T);
  if constexpr (!std::is_empty_v<Op>) {
    reduction.operator_size = sizeof(Op);
    std::memcpy(reduction.operator_bytes, &op, sizeof(Op));
  }
  reduction.apply = [](std::byte* to, const std::byte* a, const std::byte* b, std::size_t count,
                       const std::byte* bytes) {
    const Op& combine = *reinterpret_cast<const Op*>(bytes);
    T* target = reinterpret_cast<T*>(to);
    const T* left = reinterpret_cast<const T*>(a);
    const T* right = reinterpret_cast<const T*>(b);
#pragma GCC ivdep
    for (std::size_t index = 0; index < count; ++index) target[index] = combine(left[index], right[index]);
  };
  return reduction;
}

}  // namespace detail
}  // namespace weft
