// A rank that talks to one of several peers looks at that one's lane first, and does not forget the others.
#include "support/ranks.hpp"

#include <gtest/gtest.h>

#include <array>

namespace weft {
namespace {

using test::Ranks;

template <class EndpointType>
class PollPingPong : public testing::Test {
 protected:
  PollPingPong() {
    for (int rank = 0; rank < ranks_.size(); ++rank)
      remote_ = ranks_.runtime(rank).expose(arrived_[static_cast<std::size_t>(rank)], {.id = 1});
    // Everybody has talked to rank 0, so that it has several lanes to look at.
    for (int rank = 1; rank < ranks_.size(); ++rank) {
      EXPECT_TRUE(ranks_.post(rank, 0, remote_, {}).has_value());
      EXPECT_TRUE(ranks_.post(0, rank, remote_, {}).has_value());
    }
    EXPECT_TRUE(ranks_.progress_until([&] { return count(0) == 3 && count(1) + count(2) + count(3) == 3; }));
    // Rank 1 is the one that it talks to.
    for (int round = 0; round < 100; ++round) ask();
  }
  std::uint64_t count(int rank) { return arrived_[static_cast<std::size_t>(rank)].value(); }
  void send(int from, int to) {
    EXPECT_TRUE(test::until([&] { return ranks_.endpoint(from).post_am(to, remote_, {}).is_done(); },
                            [&] { ranks_.progress(); }));
  }
  /// Rank 0 asks rank 1, and polls once when the answer is there.
  std::size_t ask() {
    const std::uint64_t before = count(1);
    send(0, 1);
    EXPECT_TRUE(test::until([&] { return count(1) == before + 1; }, [&] { ranks_.endpoint(1).progress(); }));
    send(1, 0);
    return ranks_.endpoint(0).progress();
  }

  std::array<Counter, 4> arrived_;
  Ranks<EndpointType> ranks_{4};
  RemoteCompletion remote_;
};
using EndpointTypes = testing::Types<SerialEndpoint, Endpoint>;
TYPED_TEST_SUITE(PollPingPong, EndpointTypes);

TYPED_TEST(PollPingPong, leaves_no_message_of_others_for_long) {
  for (int round = 0; round < 50; ++round) {
    const std::uint64_t before = this->count(0);
    this->send(2 + round % 2, 0);
    std::uint64_t asked = 0;
    while (this->count(0) == before + asked && asked < 100) {
      EXPECT_NE(this->ask(), 0U);
      ++asked;
    }
    EXPECT_LE(asked, 16U);
    EXPECT_EQ(this->count(0), before + asked + 1);
  }
}

TYPED_TEST(PollPingPong, finds_what_others_have_sent_while_the_answer_is_not_there) {
  for (int round = 0; round < 100; ++round) {
    const std::uint64_t before = this->count(0);
    this->send(0, 1);
    this->send(2, 0);
    while (this->ranks_.endpoint(0).progress() != 0) {
    }
    EXPECT_EQ(this->count(0), before + 1);
    this->ranks_.endpoint(1).progress();
    this->send(1, 0);
    while (this->ranks_.endpoint(0).progress() != 0) {
    }
    EXPECT_EQ(this->count(0), before + 2);
    for (int times = 0; times < 20; ++times) this->ask();
  }
}

}  // namespace
}  // namespace weft
