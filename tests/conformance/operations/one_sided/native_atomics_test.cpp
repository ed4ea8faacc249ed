// Regions whose atomic operations devices carry out: where a network has them, and what else is refused
// there.
#include "support/errors.hpp"
#include "support/one_sided.hpp"

#include <gtest/gtest.h>

#include <array>
#include <cstdint>
#include <optional>

namespace weft {
namespace {

using test::error_of;
using test::expect_names;
using test::Ranks;
using test::Recorder;

constexpr std::size_t kWords = 8;

class NativeAtomics : public testing::Test {
 protected:
  void SetUp() override {
    const std::string error = error_of([&] {
      region_ = MemoryRegion(ranks_.runtime(1), std::as_writable_bytes(std::span(words_)), {true});
    });
    if (error == "no error") return;
    expect_names(error, {"native_atomics", ranks_.runtime(1).network()});
    GTEST_SKIP() << "this network has none";
  }
  template <class Post>
  [[nodiscard]] Outcome outcome_of(const Post& post) {
    Recorder ended;
    const AccessOptions options{.completion = &ended};
    EXPECT_TRUE(test::post_until([&] { return post(options); }, [&] { ranks_.progress(); }).is_posted());
    EXPECT_TRUE(ranks_.progress_until([&] { return !ended.messages.empty(); }));
    return ended.messages.empty() ? Outcome::cancelled : ended.messages[0].outcome();
  }
  [[nodiscard]] Outcome add(int rank, std::uint64_t offset, std::uint64_t value, std::uint64_t& old) {
    return outcome_of([&](const AccessOptions& options) {
      return ranks_.endpoint(rank).post_fetch_atomic(1, region_.remote().at(offset), AtomicOperation::add,
                                                     value, old, options);
    });
  }

  alignas(8) std::array<std::uint64_t, kWords> words_{};
  Ranks<Endpoint> ranks_{2};
  MemoryRegion region_;
};

TEST_F(NativeAtomics, add_and_compare_for_all_ranks) {
  ASSERT_TRUE(ranks_.meet());
  constexpr std::uint64_t kRounds = 50;
  for (std::uint64_t round = 0; round < kRounds; ++round)
    for (const int rank : {0, 1}) {
      std::uint64_t old = 0;
      ASSERT_EQ(add(rank, 8, 3, old), Outcome::ok);
      EXPECT_EQ(old, 3 * (2 * round + static_cast<std::uint64_t>(rank)));
    }
  EXPECT_EQ(words_[1], 6 * kRounds);
  std::int64_t old = 0;
  const auto swap = [&](std::int64_t expected, std::int64_t desired) {
    return outcome_of([&](const AccessOptions& options) {
      return ranks_.endpoint(0).post_fetch_compare_swap(1, region_.remote().at(16), expected, desired, old,
                                                        options);
    });
  };
  EXPECT_EQ(swap(0, -5), Outcome::ok);
  EXPECT_EQ(old, 0);
  EXPECT_EQ(swap(0, 7), Outcome::ok);
  EXPECT_EQ(old, -5);
  EXPECT_EQ(static_cast<std::int64_t>(words_[2]), -5);
}

TEST_F(NativeAtomics, signal_the_owner) {
  ASSERT_TRUE(ranks_.meet());
  Recorder told;
  const RemoteCompletion signal = ranks_.runtime(1).expose(told, {.id = 3});
  Recorder ended;
  ASSERT_TRUE(test::post_until(
                  [&] {
                    return ranks_.endpoint(0).post_atomic<std::uint64_t>(
                        1, region_.remote().at(0), AtomicOperation::add, std::uint64_t{4},
                        {.completion = &ended, .signal = signal, .tag = 9});
                  },
                  [&] { ranks_.progress(); })
                  .is_posted());
  ASSERT_TRUE(ranks_.progress_until([&] { return !ended.messages.empty() && !told.messages.empty(); }));
  EXPECT_EQ(told.messages[0].operation(), Operation::atomic_arrived);
  EXPECT_EQ(told.messages[0].tag(), 9U);
  EXPECT_EQ(words_[0], 4U);
}

TEST_F(NativeAtomics, of_other_kinds_are_refused) {
  ASSERT_TRUE(ranks_.meet());
  Endpoint& endpoint = ranks_.endpoint(0);
  const RemoteAddress place = region_.remote().at(0);
  expect_names(error_of([&] {
                 static_cast<void>(endpoint.post_atomic<std::uint64_t>(1, place, AtomicOperation::max, 4));
               }),
               {"max", "native", "8-byte"});
  expect_names(error_of([&] {
                 static_cast<void>(endpoint.post_atomic<std::uint32_t>(1, place, AtomicOperation::add, 4));
               }),
               {"add", "native", "8-byte"});
  expect_names(error_of([&] { static_cast<void>(endpoint.post_compare_swap<std::int32_t>(1, place, 1, 2)); }),
               {"compare-and-swap", "native"});
  std::uint64_t old = 0;
  EXPECT_EQ(add(0, 4, 1, old), Outcome::refused) << "not aligned";
  EXPECT_EQ(add(0, sizeof words_, 1, old), Outcome::refused) << "beyond the region";
  // A key that hides what the region is does not help: the owner knows it.
  RemoteRegion forged = region_.remote();
  forged.native_atomics = 0;
  EXPECT_EQ(outcome_of([&](const AccessOptions& options) {
              return endpoint.post_fetch_atomic(1, forged.at(0), AtomicOperation::add, std::uint64_t{1}, old,
                                                options);
            }),
            Outcome::refused);
  EXPECT_EQ(words_[0], 0U);
}

}  // namespace
}  // namespace weft
