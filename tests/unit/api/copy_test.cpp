// Copies of a few bytes: all of them and nothing else, whether or not the compiler knows how many.
#include <weft/detail/copy.hpp>

#include <gtest/gtest.h>

#include <array>
#include <cstring>
#include <utility>

namespace weft::detail {
namespace {

constexpr std::size_t kMost = 48;
constexpr std::byte kUntouched{0xee};

class CopyTest : public testing::Test {
 protected:
  CopyTest() {
    to_.fill(kUntouched);
    for (std::size_t at = 0; at < from_.size(); ++at) from_[at] = static_cast<std::byte>(at + 1);
  }
  std::byte* to() { return to_.data() + 8; }
  void expect_copied(std::size_t size) {
    for (std::size_t at = 0; at < to_.size(); ++at) {
      const bool is_inside = at >= 8 && at < 8 + size;
      ASSERT_EQ(to_[at], is_inside ? from_[at - 8] : kUntouched) << "byte " << at << " of a copy of " << size;
    }
    to_.fill(kUntouched);
  }
  template <std::size_t... kSizes>
  void copy_each(std::index_sequence<kSizes...>) {
    (
        [&] {
          copy_small(to(), from_.data(), kSizes);
          expect_copied(kSizes);
        }(),
        ...);
  }

  std::array<std::byte, kMost + 24> to_{};
  std::array<std::byte, kMost> from_{};
};

/// A word, and what is copied behind it.
class CopyBehindTest : public CopyTest {
 protected:
  void expect_behind(std::size_t size) {
    std::uint64_t word = 0;
    std::memcpy(&word, to(), sizeof word);
    ASSERT_EQ(word, kWord) << "before a copy of " << size;
    for (std::size_t at = 0; at < to_.size(); ++at) {
      if (at >= 8 && at < 16) continue;
      const bool is_inside = at >= 16 && at < 16 + size;
      ASSERT_EQ(to_[at], is_inside ? from_[at - 16] : kUntouched)
          << "byte " << at << " of a copy of " << size;
    }
    to_.fill(kUntouched);
  }
  template <std::size_t... kSizes>
  void copy_each(std::index_sequence<kSizes...>) {
    (
        [&] {
          copy_behind(to(), kWord, from_.data(), kSizes);
          expect_behind(kSizes);
        }(),
        ...);
  }
  static constexpr std::uint64_t kWord = 0xa1b2c3d4e5f60718;
};

TEST_F(CopyBehindTest, of_sizes_that_the_compiler_knows) { copy_each(std::make_index_sequence<kMost + 1>()); }

TEST_F(CopyBehindTest, of_sizes_that_it_does_not_know) {
  volatile std::size_t hidden = 0;
  for (std::size_t size = 0; size <= kMost; ++size) {
    hidden = size;
    copy_behind(to(), kWord, from_.data(), hidden);
    expect_behind(size);
  }
}

TEST_F(CopyTest, of_sizes_that_the_compiler_knows) { copy_each(std::make_index_sequence<kMost + 1>()); }

TEST_F(CopyTest, of_sizes_that_it_does_not_know) {
  volatile std::size_t hidden = 0;
  for (std::size_t size = 0; size <= kMost; ++size) {
    hidden = size;
    copy_small(to(), from_.data(), hidden);
    expect_copied(size);
  }
}

}  // namespace
}  // namespace weft::detail
