// Elements of a number that another rank has announced, while they come.
#pragma once

#include <weft/bytes.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace weft::parcel::ports {

/// Lets an array grow as its bytes come, and never by much more than have come: a rank that announces a
/// number and sends nothing costs nothing. The owner has checked that the number may be.
template <class T>
class ArrivingArray {
 public:
  /// As many bytes as are good to be asked for at first.
  static constexpr std::size_t kFirst = std::size_t{1} << 16;

  /// Begins anew, with `count` elements to come. The array stays where it is.
  void expect(std::vector<T>& array, std::uint64_t count) noexcept {
    array_ = &array;
    bytes_ = count * sizeof(T);
    came_ = 0;
  }
  /// Where the next `most` bytes are to be put, or as many as are left. Throws std::bad_alloc. Moves those
  /// that have come: nothing may be written meanwhile.
  [[nodiscard]] MutableBytes room(std::size_t most) {
    const std::size_t end = came_ + std::min<std::uint64_t>(most, bytes_ - came_);
    if (array_->size() * sizeof(T) < end) array_->resize((end + sizeof(T) - 1) / sizeof(T));
    return std::as_writable_bytes(std::span(*array_)).subspan(came_, end - came_);
  }
  /// Where that is not given: as much once more as has come.
  [[nodiscard]] MutableBytes room() { return room(std::max(kFirst, came_)); }
  /// The next `count` bytes have come, or, before their room is used, are to come.
  void came(std::size_t count) noexcept { came_ += count; }
  /// They do not come yet.
  void did_not_come(std::size_t count) noexcept { came_ -= count; }
  [[nodiscard]] bool is_complete() const noexcept { return came_ == bytes_; }

 private:
  std::vector<T>* array_ = nullptr;
  std::uint64_t bytes_ = 0;
  std::size_t came_ = 0;
};

}  // namespace weft::parcel::ports
