// Operators of reductions, and reductions in the form that code without templates uses.
#pragma once

#include <weft/detail/language.hpp>

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <type_traits>

namespace weft {

// Besides these operators, a reduction accepts any function object or function pointer that combines two
// elements and is trivially copyable, associative and commutative.

/// The operators of the library.
namespace operators {

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

}  // namespace operators

/// A reduction whose element type is known at run time only, for layers in C, Python or of other interfaces:
/// the operator of Collective::reduce and allreduce, whose buffers then are any contiguous ranges, counted in
/// bytes; weft::Error when their length is no multiple of element_size.
struct AnyReduction {
  /// to[i] = to[i] op from[i], for `count` elements. Each range begins at an element of a buffer of the
  /// program, or of a buffer that is aligned to 16 bytes; the ranges do not overlap. Must be associative
  /// and the same on all ranks, and must not throw.
  using Apply = void (*)(void* to, const void* from, std::size_t count, void* context);

  std::size_t element_size = 0;  ///< bytes, 1 to 2^30; weft::Error otherwise
  Apply apply = nullptr;         ///< weft::Error when null
  /// Passed to apply(); must outlive the operation. Any thread that progresses the device may call apply().
  void* context = nullptr;
  /// false: elements are combined in the order of ranks, by algorithms which may take longer; the same on all
  /// ranks.
  bool is_commutative = true;
};

namespace detail {

/// Names an operator of this header and the kind of its elements, alike on all ranks; 0: an operator of the
/// program.
enum class KnownOperator : std::uint8_t { none, sum, product, min, max, bit_and, bit_or, bit_xor };
enum class ElementKind : std::uint8_t { other, floating, signed_integer, unsigned_integer };

template <class Op>
[[nodiscard]] consteval KnownOperator known_operator() noexcept {
  if constexpr (std::is_same_v<Op, operators::Sum>) return KnownOperator::sum;
  if constexpr (std::is_same_v<Op, operators::Product>) return KnownOperator::product;
  if constexpr (std::is_same_v<Op, operators::Min>) return KnownOperator::min;
  if constexpr (std::is_same_v<Op, operators::Max>) return KnownOperator::max;
  if constexpr (std::is_same_v<Op, operators::BitAnd>) return KnownOperator::bit_and;
  if constexpr (std::is_same_v<Op, operators::BitOr>) return KnownOperator::bit_or;
  if constexpr (std::is_same_v<Op, operators::BitXor>) return KnownOperator::bit_xor;
  return KnownOperator::none;
}
template <class T>
[[nodiscard]] consteval ElementKind element_kind() noexcept {
  if constexpr (std::is_floating_point_v<T>) return ElementKind::floating;
  if constexpr (std::is_integral_v<T>)
    return std::is_signed_v<T> ? ElementKind::signed_integer : ElementKind::unsigned_integer;
  return ElementKind::other;
}

/// Element type and operator of a reduction.
struct Reduction {
  static constexpr std::size_t kOperatorBytes = 64;
  using Apply = void (*)(std::byte* to, const std::byte* a, const std::byte* b, std::size_t count,
                         const std::byte* op);

  std::size_t element = 1;  ///< bytes
  KnownOperator known = KnownOperator::none;
  ElementKind kind = ElementKind::other;  ///< with a known operator only
  /// to[i] = op(a[i], b[i]); `to` may be `a`.
  Apply apply = nullptr;
  bool is_ordered = false;  ///< not commutative
  std::size_t operator_size = 0;
  alignas(16) std::byte operator_bytes[kOperatorBytes] = {};
};

[[nodiscard]] inline Reduction reduction_of(const AnyReduction& any) noexcept {
  Reduction reduction;
  reduction.element = any.element_size;
  reduction.is_ordered = !any.is_commutative;
  // Without the padding at the end, which has no value that could be compared.
  reduction.operator_size = offsetof(AnyReduction, is_commutative);
  std::memcpy(reduction.operator_bytes, &any, offsetof(AnyReduction, is_commutative));
  reduction.apply = [](std::byte* to, const std::byte* a, const std::byte* b, std::size_t count,
                       const std::byte* bytes) {
    const AnyReduction& any_of = *reinterpret_cast<const AnyReduction*>(bytes);
    if (count == 0) return;
    if (to != a) std::memcpy(to, a, count * any_of.element_size);
    any_of.apply(to, b, count, any_of.context);
  };
  return reduction;
}

template <class T, class Op>
[[nodiscard]] Reduction reduction_of(const Op& op) noexcept {
  static_assert(std::is_trivially_copyable_v<Op> && sizeof(Op) <= Reduction::kOperatorBytes,
                "an operator is trivially copyable and has at most 64 bytes");
  static_assert(std::is_invocable_r_v<T, const Op&, const T&, const T&>,
                "an operator combines two elements into one");
  Reduction reduction;
  reduction.element = sizeof(T);
  reduction.known = known_operator<Op>();
  if constexpr (known_operator<Op>() != KnownOperator::none) reduction.kind = element_kind<T>();
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
#if !defined(__clang__)  // which has no such promise, and looks for overlaps itself
#pragma GCC ivdep
#endif
    for (std::size_t index = 0; index < count; ++index) target[index] = combine(left[index], right[index]);
  };
  return reduction;
}

}  // namespace detail
}  // namespace weft
