// The roll call of a team in which calls do not keep every neighbor by itself.
#include "collective/calls/roll_call.hpp"

#include <weft/detail/message_access.hpp>

#include <gtest/gtest.h>

#include <deque>
#include <string>
#include <vector>

namespace weft {
namespace {

constexpr int kRanks = 100;

/// Ranks that hand each other their notes at once.
class LargeRollCall : public testing::Test {
 protected:
  struct Rank final : collective::RollCall::Sender {
    Rank(LargeRollCall& all, int rank) : of(all), roll_call(rank, kRanks, *this), own(rank) {}
    bool send_note(int rank, Bytes note) noexcept override {
      Message message;
      detail::MessageAccess::set_view(message, Operation::active_message, own, 0, note.data(), note.size(),
                                      nullptr, 0);
      of.ranks_[static_cast<std::size_t>(rank)].roll_call.arrive(message);
      return true;
    }
    [[nodiscard]] int rank_of(int peer) const noexcept override { return peer; }
    [[nodiscard]] std::string name_of(int rank) const override { return "rank " + std::to_string(rank); }

    LargeRollCall& of;
    collective::RollCall roll_call;
    const int own;
  };

  LargeRollCall() {
    for (int rank = 0; rank < kRanks; ++rank) ranks_.emplace_back(*this, rank);
  }
  collective::RollCall& at(int rank) { return ranks_[static_cast<std::size_t>(rank)].roll_call; }
  void begin(int rank, const std::vector<int>& sources, const std::vector<int>& destinations) {
    detail::CollectiveCall call;
    call.kind = detail::CollectiveKind::neighbor_alltoall;
    call.sources = sources;
    call.destinations = destinations;
    at(rank).begin(0, call);
  }
  void ask(int rank, int peer) { at(rank).ask(0, {&peer, 1}, 0); }

  std::deque<Rank> ranks_;
};

TEST_F(LargeRollCall, compares_no_lists_with_members_that_are_no_neighbors) {
  begin(0, {1}, {1});
  begin(1, {0}, {0});
  begin(70, {71}, {71});
  at(0).begin_to_connect(0);
  ask(0, 70);
  EXPECT_FALSE(at(70).differs(0));
  EXPECT_FALSE(at(0).differs(0));
  at(0).end_to_connect();
  ask(0, 1);
  EXPECT_FALSE(at(0).differs(0));
}

TEST_F(LargeRollCall, compares_lists_with_those_that_name_a_rank) {
  begin(70, {71}, {71});
  begin(0, {}, {70});
  EXPECT_TRUE(at(70).differs(0));
  EXPECT_TRUE(at(0).differs(0));
}

}  // namespace
}  // namespace weft
