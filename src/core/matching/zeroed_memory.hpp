// Memory that costs nothing until it is touched.
#pragma once

#include <cstddef>

namespace weft::core {

/// Zeroed, aligned to pages, of fixed size: a bound in address space, of which pages become resident when
/// they are written first. So tables and pools never move what they hold and never allocate later.
class ZeroedMemory {
 public:
  /// Throws weft::Error, which names `purpose`.
  ZeroedMemory(std::size_t bytes, const char* purpose);
  ~ZeroedMemory();
  ZeroedMemory(const ZeroedMemory&) = delete;
  ZeroedMemory& operator=(const ZeroedMemory&) = delete;

  [[nodiscard]] void* data() const noexcept { return data_; }

 private:
  void* data_;
  std::size_t bytes_;
};

}  // namespace weft::core
