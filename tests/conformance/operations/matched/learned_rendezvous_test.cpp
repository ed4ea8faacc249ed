// Large messages whose way is learned: all arrive, and both ways are tried where there are two.
#include "support/ranks.hpp"

#include <gtest/gtest.h>

#include <array>
#include <string_view>
#include <vector>

namespace weft {
namespace {

using test::Ranks;

constexpr std::size_t kSize = 100'000;
constexpr std::uint64_t kWindow = 4;
constexpr std::uint64_t kWindows = 16;

/// Windows of messages from rank 0 to rank 1, each with contents and a buffer of its own.
void exchange(Ranks<Endpoint>& ranks) {
  for (std::uint64_t window = 0; window < kWindows; ++window) {
    Counter sent;
    Counter received;
    std::array<std::vector<std::byte>, kWindow> from;
    std::array<std::vector<std::byte>, kWindow> to;
    for (std::uint64_t index = 0; index < kWindow; ++index) {
      from[index] = test::payload(kSize, window * kWindow + index);
      to[index].assign(kSize, std::byte{0});
      ASSERT_TRUE(ranks.endpoint(1).post_receive(0, index, to[index], {.completion = &received}).is_posted());
      ASSERT_TRUE(test::until(
          [&] {
            return ranks.endpoint(0).post_send(1, index, from[index], {.completion = &sent}).is_accepted();
          },
          [&] { ranks.progress(); }));
    }
    ASSERT_TRUE(ranks.progress_until([&] { return sent.value() == kWindow && received.value() == kWindow; }));
    for (std::uint64_t index = 0; index < kWindow; ++index)
      EXPECT_TRUE(test::matches(to[index], window * kWindow + index)) << window << ' ' << index;
  }
}

TEST(LearnedRendezvous, all_arrive_and_both_ways_are_tried) {
  Ranks<Endpoint> ranks(2, {{"rendezvous", "auto"}});
  ASSERT_NO_FATAL_FAILURE(exchange(ranks));
  const RuntimeCounters counters = ranks.runtime(1).counters();
  EXPECT_EQ(counters.large_received, kWindow * kWindows);
  EXPECT_EQ(counters.large_bytes_received + counters.large_bytes_read, kWindow * kWindows * kSize);
  if (std::string_view(ranks.runtime(1).network()) != "shm") return;
  Ranks<Endpoint> readers(2, {{"rendezvous", "read"}});
  if (!readers.runtime(1).device_limits().reads_peers) return;
  EXPECT_GT(counters.large_bytes_received, 0U);
  EXPECT_GT(counters.large_bytes_read, 0U);
}

TEST(LearnedRendezvous, reads_nothing_where_the_attribute_says_copy) {
  Ranks<Endpoint> ranks(2, {{"rendezvous", "copy"}});
  ASSERT_NO_FATAL_FAILURE(exchange(ranks));
  EXPECT_EQ(ranks.runtime(1).counters().large_bytes_read, 0U);
}

}  // namespace
}  // namespace weft
