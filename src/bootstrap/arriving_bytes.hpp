// Bytes of a length that another process has announced, while they come.
#pragma once

#include <algorithm>
#include <cstddef>
#include <span>
#include <utility>
#include <vector>

namespace weft::bootstrap {

/// Takes memory as bytes come, and never for much more than have come: who announces a length and sends
/// nothing costs nothing. The owner has checked that the length may be.
class ArrivingBytes {
 public:
  /// As much as is taken for the first that come.
  static constexpr std::size_t kFirst = 4096;

  /// Begins anew, with `length` bytes to come. Throws std::bad_alloc, as room() does.
  void expect(std::size_t length) {
    bytes_.clear();
    came_ = 0;
    length_ = length;
  }
  /// Where the next bytes are to be put; empty when all have come.
  [[nodiscard]] std::span<std::byte> room() {
    if (came_ == bytes_.size() && came_ < length_)
      bytes_.resize(std::min(length_, std::max(kFirst, 2 * came_)));
    return std::span(bytes_).subspan(came_);
  }
  /// The first `count` bytes of room() have come.
  void came(std::size_t count) noexcept { came_ += count; }
  [[nodiscard]] bool is_complete() const noexcept { return came_ == length_; }
  /// All bytes, once they are complete; nothing is expected any more.
  [[nodiscard]] std::vector<std::byte> take() noexcept {
    came_ = length_ = 0;
    return std::exchange(bytes_, {});
  }

 private:
  std::vector<std::byte> bytes_;  // what has come, and room
  std::size_t came_ = 0;
  std::size_t length_ = 0;
};

}  // namespace weft::bootstrap
