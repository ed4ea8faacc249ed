// Ranges of memory that are in use, found by what overlaps them.
#pragma once

#include <array>
#include <cstdint>
#include <map>

namespace weft::mpi {

/// Bytes of the process; `end` is behind the last one.
struct MemoryRange {
  std::uintptr_t begin = 0, end = 0;
  [[nodiscard]] std::uintptr_t length() const noexcept { return end - begin; }
};

/// Ranges, each with a pointer that tells who uses it. They may overlap each other, and be the same. Those of
/// no bytes are in nobody's way: they are not kept.
class RangesInUse {
 public:
  void add(const MemoryRange& range, const void* user);
  /// Takes a range out that was added with this user.
  void remove(const MemoryRange& range, const void* user) noexcept;
  /// The user of a range that overlaps this one; nullptr where there is none.
  [[nodiscard]] const void* find_overlap(const MemoryRange& range) const noexcept;

 private:
  struct Used {
    MemoryRange range;
    const void* user;
  };
  // By the number of binary digits of their lengths, and there by where they begin: so those that overlap a
  // range begin less than the longest length of their class in front of it.
  using Class = std::multimap<std::uintptr_t, Used>;
  std::array<Class, 65> classes_;
};

}  // namespace weft::mpi
