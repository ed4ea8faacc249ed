// Reads numbers and strings from bytes that need not be well-formed.
#pragma once

#include <cstdint>
#include <cstring>
#include <string_view>

namespace weft::mpi {

/// Behind the end everything reads as zero, and is_good() is false from then on.
class ByteReader {
 public:
  explicit ByteReader(std::string_view bytes) noexcept : bytes_(bytes) {}

  [[nodiscard]] bool is_good() const noexcept { return is_good_; }
  [[nodiscard]] bool at_end() const noexcept { return position_ >= bytes_.size(); }
  [[nodiscard]] std::size_t position() const noexcept { return position_; }

  void skip(std::uint64_t count) noexcept { static_cast<void>(take(count)); }
  /// The next `count` bytes.
  std::string_view take(std::uint64_t count) noexcept {
    if (count > bytes_.size() - position_) {
      is_good_ = false;
      position_ = bytes_.size();
      return {};
    }
    const std::string_view taken = bytes_.substr(position_, static_cast<std::size_t>(count));
    position_ += static_cast<std::size_t>(count);
    return taken;
  }
  /// A number in the order of bytes of this machine.
  template <class T>
  T number() noexcept {
    T value{};
    if (const std::string_view taken = take(sizeof value); !taken.empty())
      std::memcpy(&value, taken.data(), sizeof value);
    return value;
  }
  std::uint64_t number_of(unsigned bytes) noexcept {
    switch (bytes) {
      case 1:
        return number<std::uint8_t>();
      case 2:
        return number<std::uint16_t>();
      case 4:
        return number<std::uint32_t>();
      case 8:
        return number<std::uint64_t>();
      default:
        skip(bytes);
        return 0;
    }
  }
  /// LEB128 without a sign.
  std::uint64_t variable() noexcept {
    std::uint64_t value = 0;
    for (unsigned shift = 0;; shift += 7) {
      const auto byte = number<std::uint8_t>();
      if (shift < 64) value |= std::uint64_t{byte & 0x7fU} << shift;
      if ((byte & 0x80) == 0) return value;
    }
  }
  /// LEB128 with a sign.
  std::int64_t signed_variable() noexcept {
    std::uint64_t value = 0;
    for (unsigned shift = 0;;) {
      const auto byte = number<std::uint8_t>();
      if (shift < 64) value |= std::uint64_t{byte & 0x7fU} << shift;
      shift += 7;
      if ((byte & 0x80) != 0) continue;
      if ((byte & 0x40) != 0 && shift < 64) value |= ~std::uint64_t{0} << shift;
      return static_cast<std::int64_t>(value);
    }
  }
  /// Up to the next zero byte.
  std::string_view text() noexcept {
    const std::size_t end = bytes_.find('\0', position_);
    if (end == std::string_view::npos) {
      is_good_ = false;
      position_ = bytes_.size();
      return {};
    }
    const std::string_view found = bytes_.substr(position_, end - position_);
    position_ = end + 1;
    return found;
  }

 private:
  std::string_view bytes_;
  std::size_t position_ = 0;
  bool is_good_ = true;
};

}  // namespace weft::mpi
