// The source of a large message: pieces of memory that are sent one behind the other.
#pragma once

#include "base/memory/bulk_copy.hpp"

#include <weft/types.hpp>

#include <cstddef>
#include <cstring>
#include <memory>
#include <new>
#include <span>

namespace weft::core {

/// A copy of the poster's list, so that only the buffers are borrowed and not the list of them. Its memory
/// stays with the record that it belongs to: once grown, it is reused without allocation.
class GatherList {
 public:
  /// Copies the list, and starts at the beginning of `parts`. Returns false when there is no memory for the
  /// list.
  [[nodiscard]] bool assign(std::span<const Bytes> parts) noexcept {
    std::byte* memory = reserve(parts.size_bytes());
    if (memory == nullptr) return false;
    if (!parts.empty()) std::memcpy(memory, parts.data(), parts.size_bytes());
    count_ = parts.size();
    part_ = done_ = 0;
    return true;
  }
  /// Provides memory, in place of a list, for `size` bytes that the caller writes; returns nullptr when there
  /// is none.
  [[nodiscard]] std::byte* stage(std::size_t size) noexcept {
    count_ = 0;
    return reserve(size);
  }
  void clear() noexcept {
    count_ = 0;
    if (capacity_ > kMostRetained) {
      memory_.reset();
      capacity_ = 0;
    }
  }
  [[nodiscard]] bool has_parts() const noexcept { return count_ != 0; }

  /// Copies all of `bytes`, or of `parts` unless that is empty, `size` bytes together, into staged memory;
  /// returns it, or nullptr.
  [[nodiscard]] const std::byte* stage(Bytes bytes, std::span<const Bytes> parts, std::size_t size) noexcept {
    std::byte* const staged = stage(size);
    if (staged == nullptr) return nullptr;
    if (parts.empty() && size != 0) base::copy_bulk(staged, bytes.data(), size);
    std::byte* to = staged;
    for (const Bytes& part : parts) {
      if (!part.empty()) base::copy_bulk(to, part.data(), part.size());
      to += part.size();
    }
    return staged;
  }

  /// Copies the next `size` bytes of the parts, which have at least as many left.
  void copy(std::byte* to, std::size_t size) noexcept {
    while (size != 0) {
      Bytes part;
      std::memcpy(&part, memory_.get() + part_ * sizeof part, sizeof part);
      const std::size_t rest = part.size() - done_;
      const std::size_t count = rest < size ? rest : size;
      if (count != 0) base::copy_bulk(to, part.data() + done_, count);
      to += count;
      size -= count;
      done_ += count;
      if (count == rest) {
        ++part_;
        done_ = 0;
      }
    }
  }

 private:
  static constexpr std::size_t kMostRetained = std::size_t{64} << 10;  // the memory of larger lists is freed

  [[nodiscard]] std::byte* reserve(std::size_t size) noexcept {
    if (size > capacity_ || memory_ == nullptr) {
      const std::size_t room = size < 8 * sizeof(Bytes) ? 8 * sizeof(Bytes) : size;
      memory_.reset(new (std::nothrow) std::byte[room]);
      capacity_ = memory_ != nullptr ? room : 0;
    }
    return memory_.get();
  }

  static_assert(std::is_trivially_copyable_v<Bytes>);
  std::unique_ptr<std::byte[]> memory_;
  std::size_t capacity_ = 0;
  std::size_t count_ = 0;
  std::size_t part_ = 0;  // the next part to be copied ...
  std::size_t done_ = 0;  // ... and the number of its bytes that have been copied
};

}  // namespace weft::core
