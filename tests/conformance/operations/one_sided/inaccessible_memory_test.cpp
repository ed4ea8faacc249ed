// Regions over memory that their owner has made inaccessible since: accesses are refused, and nobody dies.
#include "support/one_sided.hpp"

#include <gtest/gtest.h>

#include <sys/mman.h>
#include <unistd.h>
#include <algorithm>
#include <memory>
#include <string_view>

namespace weft {
namespace {

using test::Helpers;
using test::Ranks;

constexpr std::size_t kSize = 1 << 18;

/// A region of rank 1 over memory that is whole at first. Parameter: the attribute one_sided.
class InaccessibleMemory : public testing::TestWithParam<const char*> {
 protected:
  void SetUp() override {
    ranks_ = std::make_unique<Ranks<Endpoint>>(
        2, std::vector<AttributeSetting>{{"one_sided", GetParam()}, {"log", "error"}});
    const bool by_provider = test::is_message_network(ranks_->runtime(0)) &&
                             ranks_->runtime(0).network() != std::string_view("tcp");
    if (by_provider) GTEST_SKIP() << "its provider accesses regions";
    file_ = ::memfd_create("weft-inaccessible-test", MFD_CLOEXEC);
    ASSERT_EQ(::ftruncate(file_, kSize), 0);
    memory_ = static_cast<std::byte*>(::mmap(nullptr, kSize, PROT_READ | PROT_WRITE, MAP_SHARED, file_, 0));
    ASSERT_NE(memory_, MAP_FAILED);
    std::fill_n(memory_, kSize, std::byte{1});
    region_ = MemoryRegion(ranks_->runtime(1), {memory_, kSize});
    // With a signal, which must not come for what was refused.
    signal_ = ranks_->runtime(1).expose(signals_, {.id = 1});
    ASSERT_TRUE(ranks_->meet());
    helpers_ = std::make_unique<Helpers>(*ranks_, 1, 1);
  }
  void TearDown() override {
    helpers_.reset();
    region_ = {};
    ranks_.reset();
    if (memory_ != nullptr) ::munmap(memory_, kSize);
    if (file_ >= 0) ::close(file_);
  }
  Outcome put(std::size_t size) {
    const std::vector<std::byte> bytes(size, std::byte{2});
    return ranks_->endpoint(0).put(1, region_.remote().at(64), bytes, {.signal = signal_});
  }
  Outcome get(std::size_t size) {
    std::vector<std::byte> bytes(size);
    return ranks_->endpoint(0).get(1, region_.remote().at(64), bytes);
  }
  template <class T>
  Outcome add() {
    return ranks_->endpoint(0)
        .fetch_atomic<T>(1, region_.remote().at(64), AtomicOperation::add, T{1})
        .outcome;
  }
  /// What is refused, and afterwards, when the memory is whole again, is not.
  void expect(bool can_read, bool can_write) {
    const Outcome read = can_read ? Outcome::ok : Outcome::refused;
    const Outcome written = can_write ? Outcome::ok : Outcome::refused;
    for (const std::size_t size : {std::size_t{8}, std::size_t{2000}, std::size_t{100'000}}) {
      EXPECT_EQ(put(size), written) << size;
      EXPECT_EQ(get(size), read) << size;
    }
    EXPECT_EQ(put(0), Outcome::ok);
    EXPECT_EQ(add<std::uint64_t>(), written);
    EXPECT_EQ(add<std::int32_t>(), written);
    EXPECT_EQ(add<double>(), written);
  }

  std::unique_ptr<Ranks<Endpoint>> ranks_;
  int file_ = -1;
  std::byte* memory_ = nullptr;
  MemoryRegion region_;
  Counter signals_;
  RemoteCompletion signal_;
  std::unique_ptr<Helpers> helpers_;
};

INSTANTIATE_TEST_SUITE_P(by, InaccessibleMemory, testing::Values("auto", "message"));

TEST_P(InaccessibleMemory, that_is_read_only_can_be_read) {
  ASSERT_EQ(::mprotect(memory_, kSize, PROT_READ), 0);
  expect(true, false);
  EXPECT_EQ(std::count(memory_, memory_ + kSize, std::byte{1}), kSize);
  ASSERT_EQ(::mprotect(memory_, kSize, PROT_READ | PROT_WRITE), 0);
  expect(true, true);
  // Of the four puts before one was of no bytes, and only that one was not refused.
  EXPECT_TRUE(test::until([&] { return signals_.value() == 5; }, [&] { ranks_->endpoint(0).progress(); }));
}

TEST_P(InaccessibleMemory, without_any_rights_is_refused) {
  ASSERT_EQ(::mprotect(memory_, kSize, PROT_NONE), 0);
  expect(false, false);
  ASSERT_EQ(::mprotect(memory_, kSize, PROT_READ | PROT_WRITE), 0);
  expect(true, true);
}

TEST_P(InaccessibleMemory, of_a_file_that_has_become_shorter_is_refused) {
  ASSERT_EQ(::ftruncate(file_, 0), 0);
  expect(false, false);
  ASSERT_EQ(::ftruncate(file_, kSize), 0);
  expect(true, true);
}

TEST_P(InaccessibleMemory, in_part_ends_accesses_that_touch_it) {
  ASSERT_EQ(::mprotect(memory_ + kSize / 4, kSize / 4, PROT_NONE), 0);
  EXPECT_EQ(put(1000), Outcome::ok);
  EXPECT_EQ(put(kSize / 2), Outcome::refused);
  EXPECT_EQ(get(kSize / 2), Outcome::refused);
  EXPECT_EQ(get(1000), Outcome::ok);
}

}  // namespace
}  // namespace weft
