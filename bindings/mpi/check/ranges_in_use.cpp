#include "bindings/mpi/check/ranges_in_use.hpp"

#include <bit>

namespace weft::mpi {

namespace {

std::size_t class_of(const MemoryRange& range) noexcept {
  return static_cast<std::size_t>(std::bit_width(range.length()));
}
/// The longest length of a class.
std::uintptr_t longest_of(std::size_t number) noexcept { return ~std::uintptr_t{0} >> (64 - number); }

}  // namespace

void RangesInUse::add(const MemoryRange& range, const void* user) {
  if (range.length() > 0) classes_[class_of(range)].emplace(range.begin, Used{range, user});
}

void RangesInUse::remove(const MemoryRange& range, const void* user) noexcept {
  Class& same = classes_[class_of(range)];
  const auto [first, end] = same.equal_range(range.begin);
  for (auto each = first; each != end; ++each)
    if (each->second.user == user) {
      same.erase(each);
      return;
    }
}

const void* RangesInUse::find_overlap(const MemoryRange& range) const noexcept {
  if (range.length() == 0) return nullptr;
  for (std::size_t number = 1; number < classes_.size(); ++number) {
    const Class& same = classes_[number];
    if (same.empty()) continue;
    const std::uintptr_t longest = longest_of(number);
    const auto end = same.lower_bound(range.end);
    for (auto each = same.upper_bound(range.begin > longest ? range.begin - longest : 0); each != end; ++each)
      if (each->second.range.end > range.begin) return each->second.user;
  }
  return nullptr;
}

}  // namespace weft::mpi
