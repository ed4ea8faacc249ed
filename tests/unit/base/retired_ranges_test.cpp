// Addresses of regions that are gone: nothing lies there, and they are not used again soon.
#include "base/memory/retired_ranges.hpp"

#include <gtest/gtest.h>

#include <sys/mman.h>
#include <unistd.h>
#include <cerrno>
#include <fstream>
#include <limits>
#include <string>
#include <vector>

namespace weft::base {
namespace {

using namespace std::chrono_literals;

constexpr std::size_t kPage = 4096;

std::byte* map_file(std::size_t bytes) {
  const int file = ::memfd_create("weft-retired-test", MFD_CLOEXEC);
  EXPECT_EQ(::ftruncate(file, static_cast<off_t>(bytes)), 0);
  void* base = ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
  EXPECT_NE(base, MAP_FAILED);
  ::close(file);
  return static_cast<std::byte*>(base);
}

bool is_mapped(std::byte* base, std::size_t bytes) {
  std::vector<unsigned char> pages(bytes / kPage);
  return ::mincore(base, bytes, pages.data()) == 0 || errno != ENOMEM;
}

std::size_t mappings_of_the_file() {
  std::ifstream file("/proc/self/maps");
  std::size_t count = 0;
  for (std::string line; std::getline(file, line);)
    if (line.find("weft-retired-test") != std::string::npos) ++count;
  return count;
}

TEST(RetiredRanges, leave_the_file_and_can_be_accessed) {
  RetiredRanges ranges(8, 1 << 20, 0s);
  std::byte* const base = map_file(2 * kPage);
  base[0] = std::byte{1};
  ranges.retire(base, 2 * kPage);
  EXPECT_EQ(mappings_of_the_file(), 0U);
  EXPECT_EQ(base[0], std::byte{0});
  base[kPage] = std::byte{2};
  EXPECT_EQ(ranges.count(), 1U);
}

TEST(RetiredRanges, are_used_again_when_many_others_have_followed) {
  RetiredRanges ranges(3, std::numeric_limits<std::uint64_t>::max(), 0s);
  std::vector<std::byte*> bases;
  for (int i = 0; i < 5; ++i) bases.push_back(map_file(kPage));
  for (std::byte* base : bases) ranges.retire(base, kPage);
  EXPECT_EQ(ranges.count(), 3U);
  EXPECT_FALSE(is_mapped(bases[0], kPage));
  EXPECT_FALSE(is_mapped(bases[1], kPage));
  for (int i = 2; i < 5; ++i) EXPECT_TRUE(is_mapped(bases[static_cast<std::size_t>(i)], kPage));
}

TEST(RetiredRanges, are_used_again_when_large_ones_have_followed) {
  RetiredRanges ranges(100, 4 * kPage, 0s);
  std::byte* const small = map_file(kPage);
  std::byte* const large = map_file(4 * kPage);
  ranges.retire(small, kPage);
  ranges.retire(large, 4 * kPage);
  EXPECT_EQ(ranges.count(), 1U);
  EXPECT_FALSE(is_mapped(small, kPage));
  EXPECT_TRUE(is_mapped(large, 4 * kPage));
}

TEST(RetiredRanges, stay_out_of_use_while_they_are_young) {
  RetiredRanges ranges(1, kPage, 24h);
  std::byte* const first = map_file(kPage);
  ranges.retire(first, kPage);
  for (int i = 0; i < 10; ++i) ranges.retire(map_file(kPage), kPage);
  EXPECT_EQ(ranges.count(), 11U);
  EXPECT_TRUE(is_mapped(first, kPage));
}

}  // namespace
}  // namespace weft::base
