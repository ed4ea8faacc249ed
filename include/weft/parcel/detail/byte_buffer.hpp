// A growing row of bytes that is not cleared when it grows, with room for a short parcel in place.
#pragma once

#include <weft/bytes.hpp>

#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <new>

namespace weft::parcel::detail {

class ByteBuffer {
 public:
  static constexpr std::size_t kInPlace = 256;

  ByteBuffer() noexcept : data_(storage_) {}
  ~ByteBuffer() { free_heap(); }
  ByteBuffer(ByteBuffer&& other) noexcept : data_(storage_) { take(other); }
  ByteBuffer& operator=(ByteBuffer&& other) noexcept {
    if (this != &other) {
      free_heap();
      take(other);
    }
    return *this;
  }

  /// Makes room for `size` more bytes and returns where they lie; throws std::bad_alloc.
  std::byte* grow(std::size_t size) {
    if (size > capacity_ - size_) [[unlikely]]
      enlarge(size);
    std::byte* const begin = data_ + size_;
    size_ += size;
    return begin;
  }
  void append(Bytes bytes) {
    if (!bytes.empty()) std::memcpy(grow(bytes.size()), bytes.data(), bytes.size());
  }
  void clear() noexcept { size_ = 0; }
  void shrink_to(std::size_t size) noexcept { size_ = size; }

  [[nodiscard]] std::byte* data() noexcept { return data_; }
  [[nodiscard]] std::size_t size() const noexcept { return size_; }
  [[nodiscard]] std::size_t capacity() const noexcept { return capacity_; }
  [[nodiscard]] bool empty() const noexcept { return size_ == 0; }
  [[nodiscard]] Bytes bytes() const noexcept { return {data_, size_}; }

 private:
  void enlarge(std::size_t size) {
    std::size_t capacity = 2 * capacity_;
    if (capacity < size_ + size) capacity = size_ + size;
    auto* const grown = static_cast<std::byte*>(std::realloc(data_ == storage_ ? nullptr : data_, capacity));
    if (grown == nullptr) throw std::bad_alloc();
    if (data_ == storage_) std::memcpy(grown, storage_, size_);
    data_ = grown;
    capacity_ = capacity;
  }
  void free_heap() noexcept {
    if (data_ != storage_) std::free(data_);
  }
  void take(ByteBuffer& other) noexcept {
    size_ = other.size_;
    if (other.data_ == other.storage_) {
      data_ = storage_;
      capacity_ = kInPlace;
      std::memcpy(storage_, other.storage_, size_);
    } else {
      data_ = other.data_;
      capacity_ = other.capacity_;
      other.data_ = other.storage_;
      other.capacity_ = kInPlace;
    }
    other.size_ = 0;
  }

  std::byte* data_;
  std::size_t size_ = 0;
  std::size_t capacity_ = kInPlace;
  alignas(16) std::byte storage_[kInPlace];
};

}  // namespace weft::parcel::detail
