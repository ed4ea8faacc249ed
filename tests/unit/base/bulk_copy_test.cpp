#include "base/memory/bulk_copy.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace weft::base {
namespace {

constexpr std::size_t kLine = 64;
constexpr std::size_t kPage = 4096;
constexpr std::byte kGuard{0xa5};

/// Never 0, and different in neighbouring bytes and lines.
std::byte pattern(std::size_t place) { return static_cast<std::byte>(1 + (place * 7 + place / 61) % 255); }

/// A source and a target at chosen places of their pages, with guards around the target.
class Places {
 public:
  Places(std::size_t to, std::size_t from, std::size_t size) : size_(size) {
    target_ = aligned(memory_[0]) + kPage + to;
    source_ = aligned(memory_[1]) + kPage + from;
    std::fill(target_ - kLine, target_ + size + kLine, kGuard);
    for (std::size_t place = 0; place < size; ++place) source_[place] = pattern(place);
  }

  std::byte* to() { return target_; }
  std::byte* from() { return source_; }

  [[nodiscard]] bool is_copied() const {
    for (std::size_t place = 0; place < size_; ++place)
      if (target_[place] != pattern(place)) return false;
    return std::all_of(target_ - kLine, target_, [](std::byte each) { return each == kGuard; }) &&
           std::all_of(target_ + size_, target_ + size_ + kLine,
                       [](std::byte each) { return each == kGuard; });
  }
  [[nodiscard]] bool is_source_intact() const {
    for (std::size_t place = 0; place < size_; ++place)
      if (source_[place] != pattern(place)) return false;
    return true;
  }
  /// Whether some byte has been overwritten in each line that the source lies in.
  [[nodiscard]] bool is_every_line_overwritten() const {
    const auto line_of = [](const std::byte* at) { return reinterpret_cast<std::uintptr_t>(at) / kLine; };
    for (std::size_t place = 0; place < size_;) {
      bool is_overwritten = false;
      const std::uintptr_t line = line_of(source_ + place);
      for (; place < size_ && line_of(source_ + place) == line; ++place)
        is_overwritten = is_overwritten || source_[place] == std::byte{0};
      if (!is_overwritten) return false;
    }
    return true;
  }

 private:
  std::byte* aligned(std::unique_ptr<std::byte[]>& memory) const {
    memory = std::make_unique<std::byte[]>(size_ + 5 * kPage);
    return memory.get() + (kPage - reinterpret_cast<std::uintptr_t>(memory.get()) % kPage);
  }

  const std::size_t size_;
  std::unique_ptr<std::byte[]> memory_[2];
  std::byte* target_ = nullptr;
  std::byte* source_ = nullptr;
};

std::string name_of(std::size_t to, std::size_t from, std::size_t size) {
  return std::to_string(size) + " bytes from " + std::to_string(from) + " to " + std::to_string(to);
}

const std::vector<std::size_t> kOffsets{0, 1, 8, 15, 16, 31, 33, 48, 63, 64, 80, 127, 4031, 4095};

TEST(BulkCopy, BlocksCopyEverythingAndNothingElse) {
  for (std::size_t size : {64, 65, 79, 127, 128, 129, 191, 192, 193, 1000, 2048, 2049, 4096, 32768 + 16})
    for (std::size_t to : kOffsets)
      for (std::size_t from : kOffsets) {
        Places places(to, from, size);
        copy_blocks(places.to(), places.from(), size);
        ASSERT_TRUE(places.is_copied()) << name_of(to, from, size);
        ASSERT_TRUE(places.is_source_intact()) << name_of(to, from, size);
      }
}

TEST(BulkCopy, MovedBlocksAreCopiedAndOverwrittenLineByLine) {
  for (std::size_t size : {64, 65, 79, 127, 128, 129, 191, 192, 193, 1000, 1024, 2049, 4096, 32768})
    for (std::size_t to : kOffsets)
      for (std::size_t from : kOffsets) {
        Places places(to, from, size);
        move_blocks(places.to(), places.from(), size);
        ASSERT_TRUE(places.is_copied()) << name_of(to, from, size);
        ASSERT_TRUE(places.is_every_line_overwritten()) << name_of(to, from, size);
      }
}

TEST(BulkCopy, ChoosesAmongCopiesThatAllCopy) {
  for (std::size_t size : {0, 1, 63, 2047, 2048, 2049, 5000, 70000})
    for (std::size_t behind : {0, 1, 8, 15, 16, 31, 32, 33, 2048, 4095}) {
      Places places(behind, 0, size);
      copy_bulk(places.to(), places.from(), size);
      ASSERT_TRUE(places.is_copied()) << name_of(behind, 0, size);
      ASSERT_TRUE(places.is_source_intact()) << name_of(behind, 0, size);
    }
}

}  // namespace
}  // namespace weft::base
