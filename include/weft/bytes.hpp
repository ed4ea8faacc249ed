// Views of bytes: the form in which every post takes its payload and its buffer.
#pragma once

#include <weft/detail/language.hpp>

#include <cstddef>
#include <initializer_list>
#include <span>
#include <type_traits>
#include <utility>

namespace weft {

/// A read-only view of bytes, the form in which every post takes its payload.
using Bytes = std::span<const std::byte>;

/// Memory that an operation fills.
using MutableBytes = std::span<std::byte>;

namespace detail {

/// A contiguous range of elements, or a view of one: std::vector, std::string, std::string_view, std::array,
/// std::span, and types of the program that have data() and size() as these do.
template <class T>
concept ElementsInARow = requires(T& range, const T& constant) {
  constant.data();
  requires std::is_pointer_v<decltype(range.data())>;
  requires std::is_object_v<std::remove_pointer_t<decltype(range.data())>>;
  static_cast<std::size_t>(range.size());
};

template <class T>
inline constexpr bool is_initializer_list = false;
template <class T>
inline constexpr bool is_initializer_list<std::initializer_list<T>> = true;

template <class T>
inline constexpr bool is_character =
    std::is_same_v<T, char> || std::is_same_v<T, wchar_t> || std::is_same_v<T, char8_t> ||
    std::is_same_v<T, char16_t> || std::is_same_v<T, char32_t>;

/// Returns true when the bytes of a T refer to another object, as far as its type tells: pointers, views,
/// iterators, smart pointers, std::reference_wrapper, and arrays or optionals of these.
template <class T>
consteval bool refers_elsewhere() {
  if constexpr (std::is_array_v<T>) {
    return refers_elsewhere<std::remove_cv_t<std::remove_all_extents_t<T>>>();
  } else if constexpr (std::is_pointer_v<T> || std::is_null_pointer_v<T> || std::is_function_v<T> ||
                       std::is_member_function_pointer_v<T> || is_initializer_list<T>) {
    return true;
  } else if constexpr (ElementsInARow<T>) {
    // A range that contains its elements counts as an array. Its elements are constant when the range is,
    // which is not so for a view.
    using Element = std::remove_pointer_t<decltype(std::declval<T&>().data())>;
    using SeenConstant = std::remove_pointer_t<decltype(std::declval<const T&>().data())>;
    constexpr bool kHasThem = requires { std::tuple_size<T>::value; }
    || (!std::is_const_v<Element> && std::is_const_v<SeenConstant>);
    return !kHasThem || refers_elsewhere<std::remove_cv_t<Element>>();
  } else if constexpr (requires(T & optional) {
                         optional.has_value();
                         *optional;
                       }) {
    return refers_elsewhere<std::remove_cvref_t<decltype(*std::declval<T&>())>>();
  } else if constexpr (requires(T & pointer) { *pointer; }) {
    return true;
  } else {
    return requires(const T& reference) {
      requires std::is_same_v<decltype(reference.get()), typename T::type&>;
    };  // std::reference_wrapper
  }
}

template <class T>
consteval void check_bytes() {
  static_assert(!refers_elsewhere<T>(),
                "weft: the bytes of pointers, views and iterators mean nothing to another process: send what "
                "they point to");
  static_assert(std::is_trivially_copyable_v<T>,
                "weft: only trivially copyable objects can be sent as their bytes: serialize others into a "
                "std::vector<std::byte> and send that");
}

/// The common part of bytes_of() and mutable_bytes_of(). T: type and value category of their argument.
template <class T>
[[nodiscard]] constexpr auto bytes_in(std::remove_reference_t<T>& value) noexcept {
  using Value = std::remove_reference_t<T>;
  using Plain = std::remove_cv_t<Value>;
  if constexpr (std::is_array_v<Value> && std::extent_v<Value> != 0) {
    static_assert(std::is_lvalue_reference_v<T>,
                  "weft: the elements of a temporary are gone before the operation ends: give it a name");
    check_bytes<Plain>();
    static_assert(!is_character<std::remove_cv_t<std::remove_extent_t<Value>>> ||
                      !std::is_const_v<std::remove_extent_t<Value>>,
                  "weft: an array of constant characters may be a text, whose last zero is no part of it, or "
                  "an array: write bytes_of(std::string_view(text)) for the characters of a text, and "
                  "std::as_bytes(std::span(array)) for all elements of an array");
    return std::span<std::remove_extent_t<Value>>(value);
  } else if constexpr (std::is_pointer_v<Plain> || std::is_null_pointer_v<Plain> ||
                       std::is_function_v<Plain> || std::is_array_v<Value>) {
    static_assert(
        !std::is_same_v<T, T>,
        "weft: bytes_of a pointer would send the address: write bytes_of(std::string_view(text)) for "
        "the characters of a text, bytes_of(*pointer) for one object, and "
        "bytes_of(std::span(pointer, count)) for several");
  } else if constexpr (is_initializer_list<Plain>) {
    static_assert(!std::is_same_v<T, T>,
                  "weft: the elements of a std::initializer_list are gone before the operation ends: write "
                  "const std::array values{...}; bytes_of(values)");
  } else if constexpr (ElementsInARow<Value>) {
    using Element = std::remove_pointer_t<decltype(value.data())>;
    static_assert(std::is_lvalue_reference_v<T> || std::ranges::enable_borrowed_range<Plain>,
                  "weft: the elements of a temporary are gone before the operation ends: give it a name");
    check_bytes<std::remove_cv_t<Element>>();
    return std::span<Element>(value.data(), static_cast<std::size_t>(value.size()));
  } else {
    check_bytes<Plain>();
    return std::span<Value>(&value, 1);
  }
}

}  // namespace detail

/// Returns a view of the bytes of `value`, without a copy; it is valid as long as they are.
///
/// - An object that is trivially copyable: its representation. A temporary lasts to the end of the statement.
/// - A range with data() and size() of trivially copyable elements, such as std::vector, std::string,
///   std::string_view, std::array and std::span: its elements, none if it is empty. A temporary that owns its
///   elements is refused.
/// - An array: its elements, all of them; a char[8] is 8 bytes, whatever it holds.
///
/// Refused by the compiler, with a message that says what to write instead: arrays of constant characters,
/// such as "text", which may be a text or an array; pointers (const char* among them),
/// std::initializer_list, iterators, and arrays or ranges of these or of views, whose bytes are
/// addresses that mean nothing to the receiver; and types that are not trivially copyable. Members of a class
/// are not examined: a struct that contains a pointer or a std::string_view is sent as it lies in memory,
/// address included. To send the representation of an object that is refused, use
/// std::as_bytes(std::span(&value, 1)).
template <class T>
[[nodiscard]] constexpr Bytes bytes_of(T&& value) noexcept {
  return std::as_bytes(detail::bytes_in<T>(value));
}
template <class T>
[[nodiscard]] constexpr Bytes bytes_of(std::initializer_list<T> values) noexcept {
  return std::as_bytes(detail::bytes_in<std::initializer_list<T>>(values));
}

/// Returns a view of the bytes of `value`, to be filled by a receive or a get: a variable, an array, or the
/// elements of a range that may be changed. An array of characters is taken as a whole. The compiler refuses
/// the types that bytes_of() refuses, and constant elements.
template <class T>
[[nodiscard]] constexpr MutableBytes mutable_bytes_of(T&& value) noexcept {
  using Elements = decltype(detail::bytes_in<T>(value));
  static_assert(!std::is_const_v<typename Elements::element_type>,
                "weft: what is constant cannot be filled: give mutable_bytes_of a variable");
  static_assert(std::is_lvalue_reference_v<T> || std::ranges::enable_borrowed_range<std::remove_cv_t<T>>,
                "weft: a temporary is gone before the operation ends: give it a name");
  if constexpr (std::is_const_v<typename Elements::element_type>)
    return {};
  else
    return std::as_writable_bytes(detail::bytes_in<T>(value));
}

}  // namespace weft
