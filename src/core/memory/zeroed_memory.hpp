// Memory that costs nothing until it is touched.
#pragma once

#include <cstddef>

namespace weft::core {

/// Zeroed, page-aligned memory of fixed size: a bound in address space, whose pages become resident when they
/// are first written. So tables and pools never move their contents and never allocate later.
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
