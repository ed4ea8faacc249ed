#include "bootstrap/exchange.hpp"

#include <gtest/gtest.h>

#include <string>

namespace weft::bootstrap {
namespace {

std::span<const std::byte> bytes(std::string_view text) { return std::as_bytes(std::span{text}); }
std::string text(const Bytes& value) { return {reinterpret_cast<const char*>(value.data()), value.size()}; }

TEST(Exchange, a_collective_is_decided_when_the_last_rank_arrives) {
  Exchange exchange{2};
  const auto number = exchange.arrive(0, CollectiveKind::allgather, bytes("ab"));
  EXPECT_FALSE(exchange.is_decided(number));
  EXPECT_EQ(exchange.take(0, number), std::nullopt);
  EXPECT_EQ(exchange.arrive(1, CollectiveKind::allgather, bytes("cd")), number);
  ASSERT_TRUE(exchange.is_decided(number));
  EXPECT_EQ(text(*exchange.take(1, number)->gathered), "abcd");
  EXPECT_EQ(text(*exchange.take(0, number)->gathered), "abcd");
}

TEST(Exchange, a_rank_may_be_one_collective_ahead) {
  Exchange exchange{2};
  const auto first = exchange.arrive(0, CollectiveKind::barrier, {});
  exchange.arrive(1, CollectiveKind::barrier, {});
  const auto second = exchange.arrive(1, CollectiveKind::barrier, {});
  EXPECT_TRUE(exchange.take(1, first).has_value());
  EXPECT_NE(first, second);
  EXPECT_TRUE(exchange.is_decided(first));
  EXPECT_FALSE(exchange.is_decided(second));
  EXPECT_EQ(exchange.take(0, first)->error, "");
}

TEST(Exchange, a_rank_that_leaves_decides_what_waits_for_it) {
  Exchange exchange{3};
  const auto number = exchange.arrive(0, CollectiveKind::barrier, {});
  exchange.leave(2, "exited with code 0");
  exchange.leave(2, "a later reason");
  EXPECT_EQ(exchange.take(0, number)->error, "rank 2 exited with code 0 without joining the barrier");
  EXPECT_EQ(exchange.take(1, exchange.arrive(1, CollectiveKind::barrier, {}))->error,
            "rank 2 exited with code 0 without joining the barrier");
  const auto next = exchange.arrive(0, CollectiveKind::allgather, bytes("x"));
  EXPECT_EQ(exchange.take(0, next)->error, "rank 2 exited with code 0 without joining the allgather");
}

TEST(Exchange, a_rank_that_leaves_after_it_arrived_does_not_fail_the_collective) {
  Exchange exchange{2};
  const auto number = exchange.arrive(1, CollectiveKind::allgather, bytes("b"));
  exchange.leave(1, "exited with code 0");
  exchange.arrive(0, CollectiveKind::allgather, bytes("a"));
  const auto outcome = exchange.take(0, number);
  ASSERT_TRUE(outcome.has_value());
  EXPECT_EQ(outcome->error, "");
  EXPECT_EQ(text(*outcome->gathered), "ab");
}

TEST(Exchange, a_collective_is_dropped_once_all_who_are_left_have_taken_it) {
  Exchange exchange{3};
  exchange.leave(2, "exited with code 0");
  const auto number = exchange.arrive(0, CollectiveKind::barrier, {});
  exchange.arrive(1, CollectiveKind::barrier, {});
  EXPECT_TRUE(exchange.take(1, number).has_value());
  EXPECT_TRUE(exchange.is_decided(number)) << "rank 0 may still ask";
  EXPECT_TRUE(exchange.take(0, number).has_value());
  EXPECT_FALSE(exchange.is_decided(number)) << "nobody can ask any more";
}

TEST(Exchange, different_calls_fail_for_everybody) {
  Exchange exchange{2};
  const auto number = exchange.arrive(0, CollectiveKind::allgather, bytes("abcd"));
  exchange.arrive(1, CollectiveKind::allgather, bytes("ab"));
  const std::string error = "rank 1 called allgather of 2 bytes where rank 0 called allgather of 4 bytes";
  EXPECT_EQ(exchange.take(0, number)->error, error);
  EXPECT_EQ(exchange.take(1, number)->error, error);
}

TEST(Exchange, values_outlive_the_rank_that_published_them) {
  Exchange exchange{2};
  EXPECT_TRUE(exchange.put(1, "key", bytes("value")));
  EXPECT_FALSE(exchange.put(1, "key", bytes("other")));
  exchange.leave(1, "exited with code 0");
  EXPECT_EQ(text(*exchange.find(1, "key")), "value");
  EXPECT_EQ(exchange.find(0, "key"), nullptr);
  EXPECT_EQ(exchange.why_never(1, "key"), std::nullopt);
  EXPECT_EQ(exchange.why_never(0, "key"), std::nullopt);
  EXPECT_EQ(exchange.why_never(1, "late"), "rank 1 exited with code 0 without publishing \"late\"");
}

}  // namespace
}  // namespace weft::bootstrap
