// Stream groups: addressing by rank and index, any index, contexts, collectives.
#include "conformance/operations/stream/stream_ranks.hpp"
#include "support/errors.hpp"

#include <gtest/gtest.h>

#include <array>
#include <memory>
#include <set>
#include <vector>

namespace weft {
namespace {

using test::error_of;
using test::expect_names;
using test::run_ranks;

/// Streams of a rank, some of them null, and the group of all ranks.
struct Streams {
  Streams(Runtime& runtime, std::uint32_t count, bool with_null = false) {
    std::vector<Stream*> pointers;
    for (std::uint32_t index = 0; index < count; ++index) {
      if (with_null && index % 3 == 1) {
        pointers.push_back(nullptr);
        continue;
      }
      own.push_back(std::make_unique<Stream>(runtime));
      pointers.push_back(own.back().get());
    }
    group = std::make_unique<StreamGroup>(runtime, pointers);
  }
  void progress() {
    for (std::uint32_t index = 0; index < group->streams_of(group->rank()); ++index)
      group->member(index).progress();
  }
  std::vector<std::unique_ptr<Stream>> own;
  std::unique_ptr<StreamGroup> group;
};

// Rank r has r + 2 streams; every stream sends to every other one, which tells it by sender, index and value.
TEST(StreamGroup, connects_all_index_pairs_with_different_counts_on_each_rank) {
  run_ranks(3, {}, [](Runtime& runtime, int rank) {
    Streams streams(runtime, static_cast<std::uint32_t>(rank) + 2, true);
    StreamGroup& group = *streams.group;
    const auto value = [](int from, std::uint32_t index, int to, std::uint32_t there) {
      return std::uint64_t(from) << 48 | std::uint64_t{index} << 32 | std::uint64_t(to) << 16 | there;
    };
    Counter received;
    Counter sent;
    struct Expected {
      std::uint64_t word = 0;
      std::uint64_t value = 0;
    };
    std::vector<std::unique_ptr<Expected>> expected;
    std::uint64_t posted = 0;
    for (std::uint32_t index = 0; index < group.streams_of(rank); ++index)
      for (int peer = 0; peer < group.size(); ++peer)
        for (std::uint32_t there = 0; there < group.streams_of(peer); ++there) {
          expected.push_back(std::make_unique<Expected>());
          expected.back()->value = value(peer, there, rank, index);
          Status status;
          do {
            status = group.member(index).post_receive(
                {peer, there}, 9, mutable_bytes_of(expected.back()->word), {.completion = &received});
            streams.progress();
          } while (status.is_retry());
          ++posted;
        }
    std::uint64_t sends = 0;
    std::vector<std::unique_ptr<std::uint64_t>> words;
    for (std::uint32_t index = 0; index < group.streams_of(rank); ++index)
      for (int peer = 0; peer < group.size(); ++peer)
        for (std::uint32_t there = 0; there < group.streams_of(peer); ++there) {
          words.push_back(std::make_unique<std::uint64_t>(value(rank, index, peer, there)));
          while (group.member(index)
                     .post_send({peer, there}, 9, bytes_of(*words.back()), {.completion = &sent})
                     .is_retry())
            streams.progress();
          ++sends;
        }
    EXPECT_TRUE(test::until([&] { return received.value() == posted && sent.value() == sends; },
                            [&] { streams.progress(); }));
    for (const auto& each : expected) EXPECT_EQ(each->word, each->value);
  });
}

TEST(StreamGroup, receives_from_any_index_and_any_source) {
  run_ranks(3, {}, [](Runtime& runtime, int rank) {
    Streams streams(runtime, rank == 0 ? 1 : 3);
    StreamGroup& group = *streams.group;
    constexpr int kEach = 20;
    if (rank != 0) {
      for (std::uint64_t count = 0; count < kEach; ++count)
        for (std::uint32_t index = 0; index < 3; ++index) {
          const std::uint64_t word = std::uint64_t(rank) << 32 | index << 16 | count;
          EXPECT_EQ(group.member(index).send({0, 0}, index % 2, bytes_of(word)), Outcome::ok);
        }
      return;
    }
    GroupStream mine = group.member();
    std::set<std::uint64_t> seen;
    std::array<std::array<std::uint64_t, 3>, 3> next{};
    const auto take = [&](const Message& message, std::uint64_t word) {
      const StreamAddress sender = mine.sender_of(message);
      EXPECT_EQ(sender.rank, static_cast<int>(word >> 32));
      EXPECT_EQ(sender.index, word >> 16 & 0xffff);
      EXPECT_EQ(message.tag_in_context(), sender.index % 2);
      EXPECT_TRUE(seen.insert(word).second);
      // Messages of one stream come in their order.
      EXPECT_EQ(word & 0xffff, next[static_cast<std::size_t>(sender.rank)][sender.index]++);
    };
    std::uint64_t word = 0;
    for (int count = 0; count < kEach; ++count) {  // any index of rank 2, with tag 1: index 1
      const Message message = mine.receive({2, any_index}, 1, mutable_bytes_of(word));
      take(message, word);
      EXPECT_EQ(mine.sender_of(message).index, 1U);
    }
    for (int count = 0; count < kEach; ++count) {  // index 2 of any rank
      const Message message = mine.receive({any_source, 2}, any_tag, mutable_bytes_of(word));
      take(message, word);
      EXPECT_EQ(mine.sender_of(message).index, 2U);
    }
    while (seen.size() < 6 * kEach) {
      const Message message = mine.receive({any_source, any_index}, any_tag, mutable_bytes_of(word));
      take(message, word);
    }
  });
}

TEST(StreamGroup, messages_pass_between_streams_and_null) {
  run_ranks(2, {}, [](Runtime& runtime, int rank) {
    Stream stream(runtime);
    const std::vector<Stream*> pointers{&stream, nullptr};
    const StreamGroup group(runtime, pointers);
    const int peer = 1 - rank;
    std::uint64_t word = 0;
    for (std::uint32_t from = 0; from < 2; ++from)
      for (std::uint32_t to = 0; to < 2; ++to) {
        const std::uint64_t mine = 10 * from + to;
        if (rank == 0) {
          EXPECT_EQ(group.member(from).send({peer, to}, 3, bytes_of(mine)), Outcome::ok);
        } else {
          const Message message = group.member(to).receive({peer, from}, 3, mutable_bytes_of(word));
          EXPECT_EQ(word, mine);
          EXPECT_EQ(group.member(to).sender_of(message).index, from);
        }
      }
    // Rank 0 progresses its null stream, too, until all has come.
    if (rank == 0) {
      EXPECT_EQ(group.member().receive({peer, 0}, 4, mutable_bytes_of(word)).outcome(), Outcome::ok);
    } else {
      EXPECT_EQ(group.member().send({peer, 0}, 4, bytes_of(word)), Outcome::ok);
    }
  });
}

TEST(StreamGroup, large_messages_arrive_whole) {
  run_ranks(2, {}, [](Runtime& runtime, int rank) {
    Stream stream(runtime);
    const StreamGroup group(runtime, stream);
    GroupStream mine = group.member();
    for (const std::size_t size : {0, 1, 48, 49, 5000, 100'000, 3'000'000}) {
      if (rank == 0) {
        EXPECT_EQ(mine.send({1, 0}, 4, test::payload(size, size)), Outcome::ok);
      } else {
        std::vector<std::byte> buffer(size);
        const Message message = mine.receive({0, any_index}, 4, buffer);
        EXPECT_EQ(message.size(), size);
        EXPECT_TRUE(test::matches(buffer, size)) << size;
      }
    }
  });
}

TEST(StreamGroup, a_duplicate_keeps_the_streams_and_takes_no_messages) {
  run_ranks(2, {}, [](Runtime& runtime, int rank) {
    Streams streams(runtime, 2);
    StreamGroup& group = *streams.group;
    StreamGroup copy = group.duplicate();
    EXPECT_EQ(&copy.member(1).stream(), &group.member(1).stream());
    std::uint64_t first = 1;
    std::uint64_t second = 2;
    if (rank == 0) {
      EXPECT_EQ(group.member(1).send({1, 1}, 5, bytes_of(first)), Outcome::ok);
      EXPECT_EQ(copy.member(1).send({1, 1}, 5, bytes_of(second)), Outcome::ok);
    } else {
      std::uint64_t word = 0;
      EXPECT_EQ(copy.member(1).receive({0, any_index}, any_tag, mutable_bytes_of(word)).outcome(),
                Outcome::ok);
      EXPECT_EQ(word, 2U) << "the message that was sent first belongs to the other group";
      EXPECT_EQ(group.member(1).receive({0, 1}, 5, mutable_bytes_of(word)).outcome(), Outcome::ok);
      EXPECT_EQ(word, 1U);
    }
  });
}

TEST(StreamGroup, a_barrier_and_an_outstanding_send_do_not_wait_for_each_other) {
  run_ranks(3, {}, [](Runtime& runtime, int rank) {
    Stream stream(runtime);
    StreamGroup group(runtime, stream);
    GroupStream mine = group.member();
    const auto large = test::payload(1'000'000, 3);
    Synchronizer sent;
    if (rank == 0)  // matched after the collectives only
      while (mine.post_send({1, 0}, 1, large, {.completion = &sent}).is_retry()) mine.progress();
    for (int round = 0; round < 5; ++round) {
      EXPECT_EQ(group.barrier(), Outcome::ok);
      const std::array<std::int64_t, 3> from{rank, round, 1};
      std::array<std::int64_t, 3> to{};
      EXPECT_EQ(group.collective().allreduce(from, to, operators::Sum{}), Outcome::ok);
      EXPECT_EQ(to, (std::array<std::int64_t, 3>{3, 3 * round, 3}));
      std::array<std::int64_t, 2> word{rank == 2 ? round : -1, 5};
      EXPECT_EQ(group.collective().broadcast(word, 2), Outcome::ok);
      EXPECT_EQ(word[0], round);
    }
    // A receive of everything does not take messages of collectives either.
    std::vector<std::byte> buffer(large.size());
    if (rank == 1) {
      EXPECT_EQ(mine.receive({any_source, any_index}, any_tag, buffer).size(), large.size());
      EXPECT_TRUE(test::matches(buffer, 3));
    }
    if (rank == 0) {
      EXPECT_EQ(mine.wait(sent).front().outcome(), Outcome::ok);
    }
    EXPECT_EQ(group.barrier(), Outcome::ok);
  });
}

TEST(StreamGroup, refuses_addresses_that_it_does_not_have) {
  run_ranks(2, {}, [](Runtime& runtime, int rank) {
    Streams streams(runtime, rank == 0 ? 2 : 0);
    StreamGroup& group = *streams.group;
    EXPECT_EQ(group.streams_of(0), 2U);
    EXPECT_EQ(group.streams_of(1), 0U);
    expect_names(error_of([&] { static_cast<void>(group.streams_of(2)); }), {"rank 2", "0 to 1"});
    expect_names(error_of([&] { static_cast<void>(group.collective()); }),
                 {"no collectives", "rank 1 has 0"});
    if (rank == 1) {
      expect_names(error_of([&] { static_cast<void>(group.member(0)); }), {"no stream 0", "it has 0"});
      return;
    }
    GroupStream mine = group.member(0);
    const std::uint64_t word = 0;
    expect_names(error_of([&] {
                   static_cast<void>(mine.post_send({1, 0}, 1, bytes_of(word)));
                 }),
                 {"stream 0 of rank 1", "has 0 streams"});
    expect_names(error_of([&] {
                   static_cast<void>(mine.post_send({0, 2}, 1, bytes_of(word)));
                 }),
                 {"stream 2 of rank 0", "has 2 streams"});
    expect_names(error_of([&] {
                   static_cast<void>(mine.post_send({-3, 0}, 1, bytes_of(word)));
                 }),
                 {"rank -3"});
    expect_names(error_of([&] {
                   static_cast<void>(mine.post_send({0, any_index}, 1, bytes_of(word)));
                 }),
                 {"rank 0", "not in the stream group"});
    std::uint64_t room = 0;
    Counter counter;
    expect_names(error_of([&] {
                   static_cast<void>(mine.post_receive({5, any_index}, 1, mutable_bytes_of(room),
                                                       {.completion = &counter}));
                 }),
                 {"rank 5"});
  });
}

TEST(StreamGroup, hundreds_are_made_and_destroyed) {
  run_ranks(2, {}, [](Runtime& runtime, int) {
    Stream stream(runtime);
    for (int round = 0; round < 300; ++round) {
      StreamGroup group(runtime, stream);
      if (round % 50 == 0) {
        EXPECT_EQ(group.barrier(), Outcome::ok);
      }
    }
  });
}

}  // namespace
}  // namespace weft
