// Waits whose condition takes what it finds: it is not evaluated again once it has held.
#include "support/ranks.hpp"

#include <weft/weft.hpp>

#include <gtest/gtest.h>

#include <chrono>
#include <vector>

namespace weft {
namespace {

using namespace std::chrono_literals;
using test::Ranks;

/// A condition that holds at its evaluation number `at`, and counts the evaluations that come after.
class HoldsOnce {
 public:
  explicit HoldsOnce(int at) noexcept : at_(at) {}
  bool operator()() noexcept { return ++evaluations_ == at_; }
  [[nodiscard]] int evaluations() const noexcept { return evaluations_; }

 private:
  int at_;
  int evaluations_ = 0;
};

// Each evaluation of a wait that never spins comes from another place in it: before the first poll, between
// polls, before a park, after one. The later ones are those of a wait that spins.
const std::vector<AttributeSetting> kParksAtOnce = {{"spin", "0"}, {"yield", "1"}, {"park_timeout", "0.001"}};
constexpr int kPlaces = 12;
constexpr int kSpun = 300;

template <class Waiter>
void wait_in_every_way(Waiter& waiter) {
  for (int at = 1; at <= kSpun; at += at < kPlaces ? 1 : 96) {
    HoldsOnce until{at};
    waiter.wait_until([&] { return until(); });
    EXPECT_EQ(until.evaluations(), at) << "wait_until";
    HoldsOnce within{at};
    EXPECT_TRUE(waiter.wait_for([&] { return within(); }, test::kHangGuard));
    EXPECT_EQ(within.evaluations(), at) << "wait_for";
  }
  EXPECT_FALSE(waiter.wait_for([] { return false; }, 1ms));
}

TEST(AConditionThatTakes, is_evaluated_by_an_endpoint_until_it_first_holds) {
  Ranks<Endpoint> ranks{1};
  wait_in_every_way(ranks.endpoint(0));
  Ranks<Endpoint> parking{1, kParksAtOnce};
  wait_in_every_way(parking.endpoint(0));
  Ranks<SerialEndpoint> serial{1};
  wait_in_every_way(serial.endpoint(0));
}

TEST(AConditionThatTakes, is_evaluated_by_a_stream_until_it_first_holds) {
  Ranks<Endpoint> ranks{1};
  Stream null_stream = Stream::null(ranks.runtime(0));
  wait_in_every_way(null_stream);
  Stream stream(ranks.runtime(0));
  wait_in_every_way(stream);
}

TEST(AConditionThatTakes, loses_no_message_of_a_queue) {
  constexpr std::uint32_t kMessages = 200;
  Ranks<Endpoint> ranks{2};
  CompletionQueue queue;
  const RemoteCompletion remote = ranks.runtime(1).expose(queue, {.id = 1});
  for (std::uint32_t number = 0; number < kMessages; ++number) {
    ASSERT_TRUE(ranks.post(0, 1, remote, {}, {.tag = number}).has_value());
    Message message;
    const auto takes = [&] {
      static_cast<void>(ranks.endpoint(0).progress());
      return queue.pop(message);
    };
    ASSERT_TRUE(ranks.endpoint(1).wait_for(takes, test::kHangGuard));
    EXPECT_EQ(message.tag(), number);
  }
}

}  // namespace
}  // namespace weft
