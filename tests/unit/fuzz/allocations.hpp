// How much memory is asked for at a time.
#pragma once

#include <cstddef>

namespace weft::fuzz {

/// While it lives, operator new of this program notes the largest piece that any thread asks for. One at a
/// time.
class LargestAllocation {
 public:
  LargestAllocation() noexcept;
  ~LargestAllocation();
  LargestAllocation(const LargestAllocation&) = delete;
  LargestAllocation& operator=(const LargestAllocation&) = delete;

  [[nodiscard]] std::size_t bytes() const noexcept;
};

}  // namespace weft::fuzz
