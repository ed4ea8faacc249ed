// Channels between members on one host: what lies in them, what a peer may have written there, and
// collectives over them.
#include "collective/near/host_channels.hpp"
#include "collective/collective_context.hpp"
#include "collective/near/near_guards.hpp"
#include "conformance/operations/collective/every_kind.hpp"
#include "support/errors.hpp"

#include <weft/detail/message_access.hpp>

#include <gtest/gtest.h>

#include <atomic>
#include <cstdint>
#include <cstring>
#include <deque>
#include <memory>
#include <random>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

namespace weft {
namespace {

using collective::Channel;
using collective::HostChannels;
using collective::Inbox;
using collective::MessageWord;
using test::CollectiveJob;
using test::connect;
using test::matches;
using test::payload;

/// Two ranks whose channels are connected, driven by one thread.
class HostChannelsOfTwo : public testing::Test {
 protected:
  void SetUp() override {
    if (std::string_view(ranks_.runtime(0).network()) != "shm") GTEST_SKIP() << "nothing is shared";
    for (int rank = 0; rank < 2; ++rank)
      channels_.push_back(
          std::make_unique<HostChannels>(ranks_.runtime(rank), Team::world(ranks_.runtime(rank))));
    for (const auto& each : channels_) keys_.push_back(each->open());
    for (int rank = 0; rank < 2; ++rank) {
      ASSERT_TRUE(of(rank).map(1 - rank, key_of(1 - rank)));
      of(rank).connect();
    }
  }

  [[nodiscard]] HostChannels& of(int rank) { return *channels_[static_cast<std::size_t>(rank)]; }
  [[nodiscard]] const RemoteRegion& key_of(int rank) const { return keys_[static_cast<std::size_t>(rank)]; }
  /// The channel from rank 0 to rank 1, as any process of the host can write it.
  [[nodiscard]] Channel& shared() {
    std::byte* const inbox = weft::map(ranks_.runtime(0), key_of(1)).bytes().data();
    return *reinterpret_cast<Channel*>(inbox + sizeof(Inbox));
  }
  [[nodiscard]] bool send(std::uint64_t run, std::uint64_t value) {
    return of(0).send(1, MessageWord::of(run, 7), bytes_of(value));
  }
  /// The value that arrives for the run; 0: none.
  [[nodiscard]] std::uint64_t received(std::uint64_t run) {
    std::uint64_t value = 0;
    const auto size = of(1).receive(0, MessageWord::of(run, 7), std::as_writable_bytes(std::span(&value, 1)));
    return size == sizeof value ? value : 0;
  }

  test::Ranks<Endpoint> ranks_{2};
  std::vector<std::unique_ptr<HostChannels>> channels_;
  std::vector<RemoteRegion> keys_;
};

TEST_F(HostChannelsOfTwo, bring_every_length_in_turn_over_many_laps) {
  std::mt19937 dice(1);
  std::deque<std::size_t> sizes;
  std::uint64_t sent = 0;
  std::uint64_t taken = 0;
  std::vector<std::byte> buffer(HostChannels::kMostBytes);
  while (taken < 20'000) {
    const bool is_near = dice() % 4 != 0;
    for (auto burst = dice() % 40; burst > 0; --burst) {
      const std::size_t size = dice() % (is_near ? 60 : HostChannels::kMostBytes + 1);
      if (!of(0).send(1, MessageWord::with_step(MessageWord::of(sent, 1), 3), payload(size, sent))) break;
      sizes.push_back(size);
      ++sent;
    }
    for (auto burst = dice() % 40; burst > 0 && !sizes.empty(); --burst, ++taken) {
      ASSERT_EQ(of(1).receive(0, MessageWord::with_step(MessageWord::of(taken, 1), 3), buffer),
                sizes.front());
      ASSERT_TRUE(matches(std::span(buffer).first(sizes.front()), taken));
      sizes.pop_front();
    }
  }
}

TEST_F(HostChannelsOfTwo, let_lie_what_belongs_to_a_later_run_or_to_another_call) {
  ASSERT_TRUE(send(5, 55));
  EXPECT_EQ(received(4), 0U);
  std::uint64_t value = 0;
  const auto buffer = std::as_writable_bytes(std::span(&value, 1));
  EXPECT_FALSE(of(1).receive(0, MessageWord::of(5, 8), buffer).has_value());
  EXPECT_FALSE(of(1).receive(0, MessageWord::with_step(MessageWord::of(5, 7), 1), buffer).has_value());
  EXPECT_EQ(received(5), 55U);
  EXPECT_EQ(received(5), 0U);
}

TEST_F(HostChannelsOfTwo, drop_what_an_earlier_run_has_left_however_long_ago_that_was) {
  std::uint64_t run = (std::uint64_t{1} << 36) - 2000;  // numbers wrap around soon
  std::uint64_t value = 1;
  for (const std::uint64_t later :
       {1ULL, 1ULL, 2047ULL, 2048ULL, 4095ULL, 4096ULL, 1ULL << 20, 1ULL << 28, (1ULL << 35) - 1}) {
    ASSERT_TRUE(send(run, ++value));
    run += later;
    EXPECT_EQ(received(run), 0U) << "a message of " << later << " runs before";
    ASSERT_TRUE(send(run, ++value));
    EXPECT_EQ(received(run), value) << later << " runs later";
  }
}

TEST_F(HostChannelsOfTwo, copy_nothing_of_a_length_that_no_member_sends) {
  for (const std::uint64_t length :
       {std::uint64_t{HostChannels::kMostBytes} + 1, ~std::uint64_t{0}, std::uint64_t{1} << 32}) {
    const std::vector<std::byte> unchanged = payload(HostChannels::kMostBytes, 3);
    std::vector<std::byte> buffer = unchanged;
    ASSERT_TRUE(of(0).send(1, MessageWord::of(1, 7), payload(100, 4)));
    Channel& channel = shared();
    channel.slots[channel.received % Channel::kSlots].size = length;
    EXPECT_EQ(of(1).receive(0, MessageWord::of(1, 7), buffer), length);
    EXPECT_EQ(buffer, unchanged);
  }
}

TEST_F(HostChannelsOfTwo, make_no_room_for_a_number_that_cannot_have_been_read) {
  std::uint64_t sent = 0;
  while (send(sent, sent + 1)) ++sent;
  EXPECT_EQ(sent, Channel::kSlots);
  for (const std::uint32_t number : {33U, 1000U, ~0U}) {
    shared().received = number;
    EXPECT_FALSE(send(sent, 1));
  }
  shared().received = 0;
  for (std::uint64_t run = 0; run < sent; ++run) EXPECT_EQ(received(run), run + 1);
  EXPECT_TRUE(send(sent, 99));
  EXPECT_EQ(received(sent), 99U);
}

TEST_F(HostChannelsOfTwo, say_when_a_member_has_left) {
  EXPECT_TRUE(of(0).is_open(1));
  channels_[1].reset();
  EXPECT_FALSE(of(0).is_open(1));
}

TEST(CallsThroughMemory, progress_though_all_that_they_wait_for_has_come) {
  test::Ranks<Endpoint> ranks(2);
  if (std::string_view(ranks.runtime(0).network()) != "shm") GTEST_SKIP() << "nothing is shared";
  Collective first(ranks.runtime(0), ranks.endpoint(0));
  Collective second(ranks.runtime(1), ranks.endpoint(1));
  std::thread other([&] { connect(second); });
  connect(first);
  other.join();
  // A message to each rank lies at its device, and nobody progresses but calls that have all they wait for.
  Counter arrived[2];
  for (int rank = 0; rank < 2; ++rank) {
    const RemoteCompletion remote = ranks.runtime(rank).expose(arrived[rank], {.id = 1});
    ASSERT_TRUE(ranks.endpoint(1 - rank).post_am(rank, remote, {}).is_accepted());
  }
  std::uint64_t value = 0;
  constexpr int kCalls = 20;
  for (int call = 0; call < kCalls; ++call) ASSERT_EQ(first.broadcast(value, 0), Outcome::ok);
  for (int call = 0; call < kCalls; ++call) ASSERT_EQ(second.broadcast(value, 0), Outcome::ok);
  EXPECT_EQ(arrived[0].value(), 1U) << "the root sends only";
  EXPECT_EQ(arrived[1].value(), 1U);
}

TEST(CallsThroughMemory, go_on_where_numbers_of_runs_wrap_around) {
  CollectiveJob job(3);
  job.run([](Collective& all, int) {
    connect(all);
    for (const std::uint32_t bits : {12U, 32U, 36U}) {
      collective::context_of(all).set_next_run((std::uint64_t{1} << bits) - 30);
      for (std::uint64_t turn = 0; turn < 4; ++turn)
        for (const std::size_t count : {1, 200}) EXPECT_EQ(test::EveryKind(all, count, turn).wrong(), "");
    }
  });
}

/// Every two ranks have teams in common, whose calls each rank makes in an order of its own teams.
TEST(CallsThroughMemory, of_many_teams_of_a_host_do_not_disturb_each_other) {
  constexpr int kRanks = 5;
  constexpr std::uint32_t kTeams = 24;
  test::Ranks<Endpoint> ranks(kRanks);
  std::mt19937 dice(3);
  std::vector<std::vector<int>> lists;
  while (lists.size() < kTeams) {
    std::vector<int> list;
    for (int rank = 0; rank < kRanks; ++rank)
      if (dice() % 3 != 0)
        list.insert(list.begin() + static_cast<std::ptrdiff_t>(dice() % (list.size() + 1)), rank);
    if (list.size() > 1) lists.push_back(list);
  }
  std::atomic<int> running{kRanks};
  const auto work = [&](int rank) {
    std::vector<std::unique_ptr<Collective>> teams;
    for (std::uint32_t key = 1; const auto& list : lists) {
      const Team team(ranks.runtime(rank), list);
      if (team.rank() >= 0)
        teams.push_back(std::make_unique<Collective>(ranks.runtime(rank), ranks.endpoint(rank), team,
                                                     CollectiveOptions{.key = key}));
      ++key;
    }
    for (std::uint64_t turn = 0; turn < 6; ++turn)
      for (const auto& team : teams)
        EXPECT_EQ(test::EveryKind(*team, turn % 2 == 0 ? 3 : 200, turn).wrong(), "");
    --running;
    while (running.load() != 0)
      if (ranks.endpoint(rank).progress() == 0) std::this_thread::yield();
  };
  std::vector<std::thread> threads;
  for (int rank = 0; rank < kRanks; ++rank) threads.emplace_back(work, rank);
  for (std::thread& thread : threads) thread.join();
}

/// Each of a rank's threads has a Collective of its own over the same endpoint.
TEST(CallsThroughMemory, of_several_threads_at_a_time_do_not_disturb_each_other) {
  constexpr int kRanks = 3;
  constexpr int kThreads = 3;
  test::Ranks<Endpoint> ranks(kRanks);
  std::atomic<int> running{kRanks * kThreads};
  std::vector<std::thread> threads;
  for (int rank = 0; rank < kRanks; ++rank)
    for (int number = 0; number < kThreads; ++number)
      threads.emplace_back([&, rank, number] {
        {
          Collective all(ranks.runtime(rank), ranks.endpoint(rank),
                         {.key = 300 + static_cast<std::uint32_t>(number)});
          for (std::uint64_t turn = 0; turn < 10; ++turn)
            EXPECT_EQ(test::EveryKind(all, 5 * turn, turn).wrong(), "");
          EXPECT_EQ(all.barrier(), Outcome::ok);
        }
        --running;
        while (running.load() != 0)
          if (ranks.endpoint(rank).progress() == 0) std::this_thread::yield();
      });
  for (std::thread& thread : threads) thread.join();
}

/// How the call of one rank differs from those of the others.
enum class Wrong { a_little_longer, much_longer, another_kind, another_root };

std::string name_of_wrong(const testing::TestParamInfo<std::tuple<int, Wrong>>& info) {
  static constexpr const char* kNames[] = {"a_little_longer", "much_longer", "another_kind", "another_root"};
  return std::to_string(std::get<0>(info.param)) + "_ranks_by_" +
         kNames[static_cast<std::size_t>(std::get<1>(info.param))];
}

class DisagreementInMemory : public testing::TestWithParam<std::tuple<int, Wrong>> {
 protected:
  /// The call in which `rank` is wrong, or not.
  static void call(Collective& all, Wrong wrong, bool is_wrong) {
    const bool is_longer = wrong == Wrong::a_little_longer || wrong == Wrong::much_longer;
    const std::size_t longer = wrong == Wrong::a_little_longer ? 4 : 400;
    std::vector<std::uint64_t> mine(is_wrong && is_longer ? longer : 3, 1);
    std::vector<std::uint64_t> sum(mine.size());
    if (wrong == Wrong::another_kind && is_wrong)
      static_cast<void>(all.broadcast(mine, 0));
    else if (wrong == Wrong::another_root)
      static_cast<void>(all.reduce(mine, sum, operators::Sum{}, is_wrong ? all.size() - 1 : 0));
    else
      static_cast<void>(all.allreduce(mine, sum, operators::Sum{}));
  }
};
INSTANTIATE_TEST_SUITE_P(of, DisagreementInMemory,
                         testing::Combine(testing::Values(2, 3, 6),
                                          testing::Values(Wrong::a_little_longer, Wrong::much_longer,
                                                          Wrong::another_kind, Wrong::another_root)),
                         name_of_wrong);

TEST_P(DisagreementInMemory, ends_with_an_error_on_every_rank) {
  const int size = std::get<0>(GetParam());
  const Wrong wrong = std::get<1>(GetParam());
  CollectiveJob job(size);
  std::atomic<int> told{0};
  std::atomic<int> over{0};
  job.run([&](Collective& all, int rank) {
    connect(all);
    // Who has ended its call before it could know is told by one of the next ones, which all make.
    bool is_told = false;
    int calls = 0;
    const auto all_have = [&](std::atomic<int>& count, int goal) {
      ++count;
      return test::until([&] { return count.load() >= goal; },
                         [&] { job.ranks().endpoint(rank).progress(); });
    };
    for (bool are_told = false; !are_told && calls < 1000;) {
      const std::string error = test::error_of([&] {
        if (calls == 0)
          call(all, wrong, rank == size / 2);
        else
          static_cast<void>(all.barrier());
      });
      if (error != "no error" && !is_told) {
        is_told = true;
        ++told;
      }
      ++calls;
      ASSERT_TRUE(all_have(over, (2 * calls - 1) * size));
      are_told = told.load() == size;  // which changes only in calls
      ASSERT_TRUE(all_have(over, 2 * calls * size));
    }
    EXPECT_TRUE(is_told) << "rank " << rank;
  });
}

class LeaverInMemory : public testing::TestWithParam<int> {};
INSTANTIATE_TEST_SUITE_P(of, LeaverInMemory, testing::Values(2, 3, 6), testing::PrintToStringParamName());

/// The others end their calls, and leave as well.
TEST_P(LeaverInMemory, ends_the_calls_of_all) {
  const int size = GetParam();
  for (int leaver = 0; leaver < size; ++leaver) {
    test::Ranks<Endpoint> ranks(size);
    std::vector<std::thread> threads;
    for (int rank = 0; rank < size; ++rank)
      threads.emplace_back([&, rank] {
        {
          Collective all(ranks.runtime(rank), ranks.endpoint(rank));
          connect(all);
          std::vector<std::uint64_t> values(3);
          std::vector<std::uint64_t> sum(3);
          Outcome outcome = Outcome::ok;
          for (int turn = 0; outcome == Outcome::ok && (rank != leaver || turn < 20); ++turn)
            outcome = turn % 3 == 0   ? all.barrier()
                      : turn % 3 == 1 ? all.allreduce(values, sum, operators::Sum{})
                                      : all.broadcast(values, turn % size);
          EXPECT_EQ(outcome, rank == leaver ? Outcome::ok : Outcome::peer_failed);
        }
        ranks.leave(rank);
      });
    for (std::thread& thread : threads) thread.join();
  }
}

/// Posts of the alarm of a wait: as many are refused first as `refused` says.
struct Alarms {
  [[nodiscard]] static bool post(void* context, Completion&, std::int64_t) noexcept {
    auto& alarms = *static_cast<Alarms*>(context);
    ++alarms.posts;
    return alarms.posts > alarms.refused;
  }
  int refused = 0;
  int posts = 0;
};

TEST(NearGuards, ask_again_for_an_alarm_that_was_refused) {
  Alarms alarms{.refused = 2};
  collective::NearGuards guards(&Alarms::post, &alarms);
  guards.begin_wait();
  guards.keep_alarm();
  EXPECT_EQ(alarms.posts, 2);
  guards.keep_alarm();
  guards.keep_alarm();
  EXPECT_EQ(alarms.posts, 3);
  guards.end_wait();
  Message end;
  detail::MessageAccess::set_outcome(end, Outcome::timed_out);
  guards.signal(end);
  EXPECT_EQ(alarms.posts, 3) << "nobody waits any more";
}

TEST(NearGuards, ask_for_no_other_alarm_where_one_cannot_be) {
  Alarms alarms;
  collective::NearGuards guards(&Alarms::post, &alarms);
  guards.begin_wait();
  Message end;
  detail::MessageAccess::set_outcome(end, Outcome::peer_failed);
  guards.signal(end);
  guards.keep_alarm();
  EXPECT_EQ(alarms.posts, 1);
}

}  // namespace
}  // namespace weft
