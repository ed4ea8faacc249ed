// Arrays for parcels: what a std::vector of trivially copyable elements is, without its costs.
//
//     weft::parcel::Array<double> row(2048);            // not cleared
//     runtime.apply(1, action<&add_row>, std::move(row));
//     void add_row(weft::parcel::Array<double> row);    // lies where it has arrived, where that is possible
//
// Its memory comes from a pool and is never cleared; one that arrives in a single message (up to
// WEFT_PACKET_SIZE, over weft) is not even copied out of it. A vector is cleared when it is made, and its
// memory goes back to the system where the heap shrinks.
#pragma once

#include <weft/parcel/detail/array_memory.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <new>
#include <ranges>
#include <span>
#include <type_traits>
#include <utility>

namespace weft::parcel {

/// A row of trivially copyable elements that is moved, not copied. One thread at a time, as a container.
///
/// Parameter and result of actions, alone and in containers, and a member of types with serialize(). Pointers
/// to its elements stay valid when it is moved, and until its runtime ends: an array that has arrived lives
/// on, but then elsewhere.
template <class T>
class Array {
  static_assert(std::is_trivially_copyable_v<T> && std::is_trivially_destructible_v<T>,
                "weft: the elements of an Array are copied as bytes: use std::vector for others");
  static_assert(alignof(T) <= detail::kArrayAlignment,
                "weft: the elements of an Array are aligned by 64 at most");

 public:
  using value_type = T;
  using size_type = std::size_t;
  using iterator = T*;
  using const_iterator = const T*;

  Array() noexcept = default;
  /// Elements with any contents. Throws std::bad_alloc.
  explicit Array(std::size_t count) : size_(count) {
    if (count > SIZE_MAX / sizeof(T)) throw std::bad_alloc();
    if (count != 0) memory_ = detail::ArrayMemory(detail::take_array_block(count * sizeof(T)));
  }
  Array(std::size_t count, const T& value) : Array(count) { std::fill(begin(), end(), value); }
  /// A copy of the elements of a vector, a span or another row in memory.
  template <std::ranges::contiguous_range Range>
  requires std::is_same_v<std::ranges::range_value_t<Range>, T>
  explicit Array(const Range& from) : Array(std::ranges::size(from)) {
    if (size_ != 0) std::memcpy(data(), std::ranges::data(from), size_ * sizeof(T));
  }
  Array(Array&& other) noexcept : memory_(std::move(other.memory_)), size_(std::exchange(other.size_, 0)) {}
  Array& operator=(Array&& other) noexcept {
    memory_ = std::move(other.memory_);
    if (this != &other) size_ = std::exchange(other.size_, 0);
    return *this;
  }
  ~Array() = default;
  Array(const Array&) = delete;
  Array& operator=(const Array&) = delete;

  [[nodiscard]] Array copy() const { return size_ == 0 ? Array() : Array(std::span(data(), size_)); }

  [[nodiscard]] T* data() noexcept { return reinterpret_cast<T*>(memory_.data()); }
  [[nodiscard]] const T* data() const noexcept { return reinterpret_cast<const T*>(memory_.data()); }
  [[nodiscard]] std::size_t size() const noexcept { return size_; }
  [[nodiscard]] bool empty() const noexcept { return size_ == 0; }
  [[nodiscard]] T* begin() noexcept { return data(); }
  [[nodiscard]] T* end() noexcept { return data() + size_; }
  [[nodiscard]] const T* begin() const noexcept { return data(); }
  [[nodiscard]] const T* end() const noexcept { return data() + size_; }
  [[nodiscard]] T& operator[](std::size_t index) noexcept { return data()[index]; }
  [[nodiscard]] const T& operator[](std::size_t index) const noexcept { return data()[index]; }
  [[nodiscard]] T& front() noexcept { return data()[0]; }
  [[nodiscard]] const T& front() const noexcept { return data()[0]; }
  [[nodiscard]] T& back() noexcept { return data()[size_ - 1]; }
  [[nodiscard]] const T& back() const noexcept { return data()[size_ - 1]; }

  friend bool operator==(const Array& left, const Array& right) {
    return std::equal(left.begin(), left.end(), right.begin(), right.end());
  }

 private:
  friend class Reader;
  /// Over a block that holds so many elements.
  Array(detail::ArrayBlock* block, std::size_t count) noexcept : memory_(block), size_(count) {}

  detail::ArrayMemory memory_;
  std::size_t size_ = 0;
};

}  // namespace weft::parcel
