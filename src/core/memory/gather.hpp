// The source of a large message: pieces of memory that travel one behind the other.
#pragma once

#include "base/bulk_copy.hpp"

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
  /// Starts at the beginning of `parts`. False: there is no memory for the list.
  [[nodiscard]] bool assign(std::span<const Bytes> parts) noexcept {
    std::byte* memory = reserve(parts.size_bytes());
    if (memory == nullptr) return false;
    if (!parts.empty()) std::memcpy(memory, parts.data(), parts.size_bytes());
    count_ = parts.size();
    part_ = done_ = 0;
    return true;
  }
  /// Instead of a list: room for `size` bytes that are put together here; nullptr: there is none.
  [[nodiscard]] std::byte* stage(std::size_t size) noexcept {
    count_ = 0;
    return reserve(size);
  }
  void clear() noexcept {
    count_ = 0;
    if (capacity_ > kKept) {
      memory_.reset();
      capacity_ = 0;
    }
  }
  [[nodiscard]] bool has_parts() const noexcept { return count_ != 0; }

  /// Copies the next `size` bytes of the parts, which have as many left.
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
  static constexpr std::size_t kKept = std::size_t{64} << 10;  // larger lists are given back

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
  std::size_t part_ = 0;  // the next one to be copied ...
  std::size_t done_ = 0;  // ... and how much of it has been
};

}  // namespace weft::core
