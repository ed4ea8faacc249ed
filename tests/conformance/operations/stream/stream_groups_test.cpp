// Many groups that live at the same time, beside Collectives of the program; and streams that move or end
// while a group has them.
#include "conformance/operations/stream/stream_ranks.hpp"
#include "support/errors.hpp"

#include <weft/collective.hpp>
#include <weft/endpoint.hpp>

#include <gtest/gtest.h>

#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <thread>
#include <utility>
#include <vector>

namespace weft {
namespace {

using test::error_of;
using test::expect_names;
using test::run_ranks;

void expect_sum(StreamGroup& group, std::uint64_t mine, std::uint64_t sum) {
  const std::vector<std::uint64_t> from(700, mine);  // beyond what a mailbox takes
  std::vector<std::uint64_t> to(from.size());
  EXPECT_EQ(group.collective().allreduce(from, to, operators::Sum{}), Outcome::ok);
  EXPECT_EQ(to, std::vector<std::uint64_t>(from.size(), sum));
}

TEST(StreamGroups, two_are_made_before_either_has_a_collective) {
  run_ranks(2, {}, [](Runtime& runtime, int rank) {
    Stream stream(runtime);
    StreamGroup first(runtime, stream);
    StreamGroup second(runtime, stream);
    for (int round = 0; round < 3; ++round) {
      EXPECT_EQ(second.barrier(), Outcome::ok);
      EXPECT_EQ(first.barrier(), Outcome::ok);
      expect_sum(first, std::uint64_t(rank) + 1, 3);
      expect_sum(second, std::uint64_t(rank) + 10, 21);
    }
  });
}

// Listing 3 of the paper, with collectives.
TEST(StreamGroups, each_thread_has_one_with_collectives_of_its_own) {
  run_ranks(2, {}, [](Runtime& runtime, int rank) {
    constexpr std::size_t kThreads = 3;
    std::vector<Stream> streams;
    std::vector<StreamGroup> groups;
    streams.reserve(kThreads);
    for (std::size_t index = 0; index < kThreads; ++index) streams.emplace_back(runtime);
    for (Stream& stream : streams) groups.emplace_back(runtime, stream);
    std::vector<std::thread> threads;
    for (std::size_t index = 0; index < kThreads; ++index)
      threads.emplace_back([&, index] {
        for (std::uint64_t round = 0; round < 20; ++round) {
          const std::uint64_t base = index * 1000 + round;
          expect_sum(groups[index], base + std::uint64_t(rank), 2 * base + 1);
          EXPECT_EQ(groups[index].barrier(), Outcome::ok);
        }
      });
    for (std::thread& thread : threads) thread.join();
  });
}

// A rank that waits asks the other what it has called. Where the network has no room for the question, it
// must not be left over, for a device that the other has closed meanwhile, when the answer is there.
TEST(StreamGroups, end_right_after_a_wait_that_has_asked) {
  run_ranks(2, {{"sim_slots", "1"}, {"sim_refuse", "90"}}, [](Runtime& runtime, int rank) {
    for (int round = 0; round < 4; ++round) {
      Stream stream(runtime);
      StreamGroup group(runtime, stream);
      if (rank == 1) std::this_thread::sleep_for(std::chrono::milliseconds(300));
      EXPECT_EQ(group.barrier(), Outcome::ok);
    }
  });
}

TEST(StreamGroups, leave_programs_their_collectives_and_all_ids_of_exposed_objects) {
  run_ranks(2, {}, [](Runtime& runtime, int rank) {
    // Those that are next to the ids of Collectives.
    std::vector<std::unique_ptr<Counter>> own;
    for (std::uint32_t id = collective_ids - 200; id < collective_ids; ++id)
      runtime.expose(*own.emplace_back(std::make_unique<Counter>()), {.id = id});
    Stream stream(runtime);
    StreamGroup first(runtime, stream);
    Endpoint endpoint(runtime);
    std::vector<std::unique_ptr<Collective>> collectives;
    for (std::uint32_t key = 1; key < 256; key += 2)
      collectives.push_back(std::make_unique<Collective>(runtime, endpoint, CollectiveOptions{.key = key}));
    StreamGroup second(runtime, stream);
    runtime.barrier();
    std::uint64_t sum = 0;
    for (const auto& collective : collectives) {
      EXPECT_EQ(collective->allreduce(std::uint64_t(rank) + 1, sum, operators::Sum{}), Outcome::ok);
      EXPECT_EQ(sum, 3U);
    }
    expect_sum(first, std::uint64_t(rank), 1);
    expect_sum(second, std::uint64_t(rank) + 1, 3);
    for (const auto& counter : own) EXPECT_EQ(counter->value(), 0U);
  });
}

TEST(StreamGroups, take_no_engine_from_programs_and_stay_apart_from_their_contexts) {
  run_ranks(2, {}, [](Runtime& runtime, int rank) {
    // All ordered engines of the program, before and after the streams are there.
    std::vector<std::unique_ptr<MatchingEngine>> engines;
    const auto open = [&](std::uint32_t from, std::uint32_t to) {
      for (std::uint32_t id = from; id < to; ++id)
        engines.push_back(std::make_unique<MatchingEngine>(
            runtime, MatchingEngineOptions{.id = id, .order = MatchOrder::ordered}));
    };
    open(kMatchingEngines, kMatchingEngines + 128);
    Stream stream(runtime);
    Stream other(runtime);
    const std::vector<Stream*> once{&stream, &other};
    const std::vector<Stream*> twice{&stream, nullptr, &stream, nullptr, &other};
    StreamGroup first(runtime, once);
    StreamGroup second(runtime, once);
    StreamGroup third(runtime, twice);
    open(kMatchingEngines + 128, kEngineIds);
    MatchingContext context(runtime, {.order = MatchOrder::ordered});
    MatchingContext unordered(runtime);
    Endpoint endpoint(runtime);
    runtime.barrier();
    const int peer = 1 - rank;
    // The same tag everywhere, all receives with wildcards where there are some.
    struct Received {
      std::uint64_t value = 0;
      Counter counter;
    };
    std::vector<std::unique_ptr<Received>> received;
    const auto next = [&]() -> Received& { return *received.emplace_back(std::make_unique<Received>()); };
    const auto value_of = [](int of, std::uint64_t place) { return std::uint64_t(of + 1) * 1000 + place; };
    std::vector<std::uint64_t> expected;
    std::vector<GroupStream> members;
    for (StreamGroup* const group : {&first, &second, &third})
      for (std::uint32_t index = 0; index < group->streams_of(rank); ++index)
        members.push_back(group->member(index));
    for (GroupStream& member : members) {
      Received& each = next();
      EXPECT_TRUE(member
                      .post_receive({any_source, any_index}, any_tag, mutable_bytes_of(each.value),
                                    {.completion = &each.counter})
                      .is_posted());
    }
    for (const ContextTag& tag : {context.any_tag(), unordered.tag(5)}) {
      Received& each = next();
      const int source = tag.mask() == ~std::uint64_t{0} ? peer : any_source;
      EXPECT_TRUE(
          endpoint.post_receive(source, tag, mutable_bytes_of(each.value), {.completion = &each.counter})
              .is_posted());
    }
    std::uint64_t place = 0;
    for (GroupStream& member : members) {
      const std::uint64_t value = value_of(rank, place++);
      EXPECT_EQ(member.send({peer, member.index()}, 5, bytes_of(value)), Outcome::ok);
    }
    for (const ContextTag& tag : {context.tag(5), unordered.tag(5)}) {
      const std::uint64_t value = value_of(rank, place++);
      EXPECT_EQ(endpoint.send(peer, tag, bytes_of(value)), Outcome::ok);
    }
    for (std::size_t index = 0; index < received.size(); ++index) {
      if (index < members.size())
        members[index].wait(received[index]->counter, 1);
      else
        endpoint.wait(received[index]->counter, 1);
      EXPECT_EQ(received[index]->value, value_of(peer, index)) << "receive " << index;
    }
    // Collectives beside all of that.
    expect_sum(first, std::uint64_t(rank), 1);
    expect_sum(third, std::uint64_t(rank) + 1, 3);
  });
}

TEST(StreamGroups, a_thousand_have_collectives_at_a_time) {
  run_ranks(2, {}, [](Runtime& runtime, int rank) {
    Stream stream(runtime);
    std::vector<StreamGroup> groups;
    for (int count = 0; count < 1000; ++count) groups.emplace_back(runtime, stream);
    std::uint64_t wrong = 0;
    for (std::size_t place = 0; place < groups.size(); ++place) {
      const std::size_t chosen = place * 7 % groups.size();
      std::uint64_t sum = 0;
      EXPECT_EQ(groups[chosen].collective().allreduce(chosen + std::uint64_t(rank), sum, operators::Sum{}),
                Outcome::ok);
      wrong += sum != 2 * chosen + 1;
    }
    EXPECT_EQ(wrong, 0U);
  });
}

// More than ids and engines could tell apart; each with a collective while it lives, and messages.
TEST(StreamGroups, a_hundred_thousand_are_made_and_freed) {
  run_ranks(1, {}, [](Runtime& runtime, int) {
    Stream stream(runtime);
    for (const std::size_t live : {std::size_t{10'000}, std::size_t{90'000}}) {
      std::vector<StreamGroup> groups;
      groups.reserve(live);
      while (groups.size() < live) groups.emplace_back(runtime, stream);
      for (const std::size_t place : {std::size_t{0}, live / 2, live - 1}) {
        std::uint64_t got = 0;
        EXPECT_EQ(groups[place].member().send({0, 0}, 1, bytes_of(place)), Outcome::ok);
        EXPECT_EQ(groups[place].member().receive({0, 0}, 1, mutable_bytes_of(got)).outcome(), Outcome::ok);
        EXPECT_EQ(got, place);
        expect_sum(groups[place], 5, 5);
      }
    }
  });
}

TEST(StreamGroups, five_thousand_of_two_ranks_follow_each_other_with_a_collective_each) {
  run_ranks(2, {}, [](Runtime& runtime, int rank) {
    Stream stream(runtime);
    std::uint64_t wrong = 0;
    for (std::uint64_t count = 0; count < 5000; ++count) {
      StreamGroup group(runtime, stream);
      std::uint64_t sum = 0;
      wrong +=
          group.collective().allreduce(count + std::uint64_t(rank), sum, operators::Sum{}) != Outcome::ok;
      wrong += sum != 2 * count + 1;
    }
    EXPECT_EQ(wrong, 0U);
  });
}

TEST(StreamGroups, follow_a_stream_that_is_moved) {
  run_ranks(1, {}, [](Runtime& runtime, int) {
    Stream first(runtime);
    StreamGroup group(runtime, first);
    GroupStream member = group.member();
    Stream second(std::move(first));
    std::uint64_t got = 0;
    Synchronizer received;
    EXPECT_TRUE(
        member.post_receive({0, 0}, 1, mutable_bytes_of(got), {.completion = &received}).is_accepted());
    EXPECT_EQ(group.member().send({0, 0}, 1, bytes_of(std::uint64_t{5})), Outcome::ok);
    second.wait(received);
    EXPECT_EQ(got, 5U);
    EXPECT_EQ(group.barrier(), Outcome::ok);
    EXPECT_EQ(group.duplicate().barrier(), Outcome::ok);
    for (const auto& use : std::vector<std::function<void()>>{
             [&] { first.progress(); }, [&] { first->progress(); },
             [&] { first.wait_until([] { return true; }); }, [&] { StreamGroup(runtime, first); }})
      expect_names(error_of(use), {"stream", "moved into another object"});
  });
}

TEST(StreamGroups, keep_a_stream_that_is_closed_or_destroyed) {
  run_ranks(2, {}, [](Runtime& runtime, int rank) {
    std::optional<Stream> stream(std::in_place, runtime, StreamOptions{.device = 3});
    std::optional<Stream> other(std::in_place, runtime, StreamOptions{.device = 4});
    std::optional<StreamGroup> group(std::in_place, runtime, std::vector<Stream*>{&*stream, &*other});
    expect_names(error_of([&] { group->member().stream().close(); }), {"stream 3", "through its group"});
    stream->close();
    other.reset();
    expect_names(error_of([&] { stream->progress(); }), {"has been freed"});
    expect_names(error_of([&] { Stream(runtime, {.device = 3}); }), {"3", "already"});
    for (std::uint32_t index = 0; index < 2; ++index) {
      GroupStream member = group->member(index);
      std::uint64_t word = index;
      if (rank == 0) {
        EXPECT_EQ(member.send({1, index}, 1, bytes_of(word)), Outcome::ok);
      } else {
        EXPECT_EQ(member.receive({0, index}, 1, mutable_bytes_of(word)).outcome(), Outcome::ok);
      }
    }
    EXPECT_EQ(group->barrier(), Outcome::ok);
    group.reset();
    EXPECT_EQ(error_of([&] { Stream(runtime, {.device = 3}); }), "no error") << "its device is free again";
    Stream null = Stream::null(runtime);
    null.close();
    expect_names(error_of([&] { null.progress(); }), {"has been freed"});
  });
}

}  // namespace
}  // namespace weft
