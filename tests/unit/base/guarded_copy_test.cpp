// Copies to and from memory that may not be accessible: they say so, and change nothing else.
#include "base/memory/guarded_copy.hpp"

#include <gtest/gtest.h>

#include <sys/mman.h>
#include <sys/uio.h>
#include <unistd.h>
#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <cstring>
#include <string>
#include <thread>
#include <vector>

namespace weft::base {
namespace {

using guarded_copy::Way;

constexpr std::size_t kPageBytes = 4096;
constexpr std::size_t kBytes = 64 * kPageBytes;

/// Memory of which the second half has another protection.
class HalfOfIt {
 public:
  explicit HalfOfIt(int protection)
      : base_(static_cast<std::byte*>(
            ::mmap(nullptr, kBytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0))) {
    std::fill_n(base_, kBytes, std::byte{1});
    ::mprotect(half(), kBytes / 2, protection);
  }
  ~HalfOfIt() { ::munmap(base_, kBytes); }
  HalfOfIt(const HalfOfIt&) = delete;
  HalfOfIt& operator=(const HalfOfIt&) = delete;
  [[nodiscard]] std::byte* base() const { return base_; }
  [[nodiscard]] std::byte* half() const { return base_ + kBytes / 2; }

 private:
  std::byte* base_;
};

class GuardedCopy : public testing::TestWithParam<Way> {
 protected:
  void SetUp() override {
    std::byte byte{};
    const iovec place{&byte, 1};
    if (GetParam() == Way::cross_memory && ::process_vm_readv(::getpid(), &place, 1, &place, 1, 0) < 0 &&
        errno == ENOSYS)
      GTEST_SKIP() << "there is no process_vm_readv, as under qemu-user";
  }
  static bool write(std::byte* to, std::size_t size) {
    const std::vector<std::byte> from(size, std::byte{7});
    return guarded_copy::copy(to, from.data(), size, true, GetParam());
  }
  static bool read(std::byte* from, std::size_t size) {
    std::vector<std::byte> to(size, std::byte{7});
    const bool is_done = guarded_copy::copy(to.data(), from, size, false, GetParam());
    if (is_done) {
      EXPECT_TRUE(std::equal(to.begin(), to.end(), from));
    }
    return is_done;
  }
};

INSTANTIATE_TEST_SUITE_P(by, GuardedCopy, testing::Values(Way::cross_memory, Way::file), [](const auto& way) {
  return std::string(way.param == Way::file ? "file" : "cross_memory");
});

TEST_P(GuardedCopy, copies_any_size) {
  const HalfOfIt memory(PROT_READ | PROT_WRITE);
  for (const std::size_t size : {std::size_t{0}, std::size_t{1}, std::size_t{8}, kPageBytes + 3, kBytes}) {
    std::fill_n(memory.base(), kBytes, std::byte{1});
    EXPECT_TRUE(write(memory.base(), size));
    EXPECT_EQ(std::count(memory.base(), memory.base() + kBytes, std::byte{7}), size);
    EXPECT_TRUE(read(memory.base(), size));
  }
}

TEST_P(GuardedCopy, refuses_what_cannot_be_written) {
  const HalfOfIt memory(PROT_READ);
  EXPECT_TRUE(write(memory.base(), kBytes / 2));
  EXPECT_FALSE(write(memory.half(), 8));
  EXPECT_FALSE(write(memory.half() - 4, 8));
  EXPECT_FALSE(write(memory.base(), kBytes));
  EXPECT_EQ(std::count(memory.half(), memory.half() + kBytes / 2, std::byte{1}), kBytes / 2);
  EXPECT_TRUE(read(memory.base(), kBytes));
}

TEST_P(GuardedCopy, refuses_what_cannot_be_read) {
  const HalfOfIt memory(PROT_NONE);
  EXPECT_TRUE(read(memory.base(), kBytes / 2));
  EXPECT_FALSE(read(memory.half(), 8));
  EXPECT_FALSE(read(memory.base(), kBytes));
  EXPECT_FALSE(write(memory.half(), 8));
}

TEST_P(GuardedCopy, refuses_what_lies_behind_the_end_of_a_file) {
  const int file = ::memfd_create("weft-guarded-copy-test", MFD_CLOEXEC);
  ASSERT_EQ(::ftruncate(file, kPageBytes), 0);
  auto* const base =
      static_cast<std::byte*>(::mmap(nullptr, 2 * kPageBytes, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0));
  EXPECT_TRUE(write(base, kPageBytes));
  EXPECT_FALSE(write(base + kPageBytes, 8));
  EXPECT_FALSE(read(base + kPageBytes, 8));
  EXPECT_TRUE(can_update(base));
  EXPECT_FALSE(can_update(base + kPageBytes));
  ::munmap(base, 2 * kPageBytes);
  ::close(file);
}

TEST_P(GuardedCopy, may_be_called_by_many_threads) {
  std::vector<std::jthread> threads;
  for (int thread = 0; thread < 8; ++thread)
    threads.emplace_back([thread] {
      std::vector<std::byte> from(10'000, static_cast<std::byte>(thread));
      std::vector<std::byte> to(from.size());
      for (int round = 0; round < 200; ++round) {
        std::fill(to.begin(), to.end(), std::byte{0x77});
        ASSERT_TRUE(guarded_copy::copy(to.data(), from.data(), from.size(), true, GetParam()));
        ASSERT_EQ(to, from);
      }
    });
}

TEST(CanUpdate, says_whether_and_changes_nothing) {
  const HalfOfIt memory(PROT_READ);
  EXPECT_TRUE(can_update(memory.base() + 64));
  EXPECT_FALSE(can_update(memory.half() + 64));
  EXPECT_EQ(std::count(memory.base(), memory.base() + kBytes, std::byte{1}), kBytes);
  const HalfOfIt none(PROT_NONE);
  EXPECT_FALSE(can_update(none.half()));
}

}  // namespace
}  // namespace weft::base
