// Null streams of a rank share a device and an engine: only the index of the receiver keeps their messages
// apart, also where the sender may be any.
#include "conformance/operations/stream/stream_ranks.hpp"

#include <gtest/gtest.h>

#include <array>
#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <utility>
#include <vector>

namespace weft {
namespace {

using test::run_ranks;

constexpr std::uint32_t kStreams = 5;  // of each rank; all null but one
constexpr std::uint32_t kSerial = 3;
constexpr int kRanks = 3;

/// Where a receive looks for its message. The rank or the index of the sender, or both, may be any.
struct Wildcards {
  bool any_rank;
  bool any_sender;
  bool any_tag;
};
constexpr Wildcards kAll[] = {{false, false, false}, {false, false, true}, {false, true, false},
                              {false, true, true},   {true, false, false}, {true, false, true},
                              {true, true, false},   {true, true, true}};

/// A group with null streams around one that is none.
struct Members {
  explicit Members(Runtime& runtime) : serial(runtime), group(runtime, pointers(serial)) {}
  static std::vector<Stream*> pointers(Stream& serial) {
    std::vector<Stream*> all(kStreams, nullptr);
    all[kSerial] = &serial;
    return all;
  }
  Stream serial;
  StreamGroup group;
};

std::uint64_t value_of(int from, std::uint32_t index, std::uint32_t to, std::size_t round) {
  return std::uint64_t{round} << 48 | std::uint64_t(from) << 32 | std::uint64_t{index} << 16 | to;
}

/// Rank 0 receives, for each of its streams, a message of each other stream, in another order than they were
/// sent in.
void receive_all(Members& members, std::size_t round, bool posted_before, const std::function<void()>& meet) {
  const Wildcards& any = kAll[round];
  const std::uint32_t tag = static_cast<std::uint32_t>(round) + 1;
  constexpr std::size_t kEach = (kRanks - 1) * kStreams;  // messages for one stream
  struct Posted {
    std::uint32_t to = 0;
    std::uint64_t value = 0;
    int rank = 0;
    std::uint32_t index = 0;
  };
  std::vector<std::unique_ptr<Posted>> posted;
  std::array<Counter, kStreams> received;
  if (!posted_before) meet();
  // The last stream first: its messages were sent last.
  for (std::uint32_t to = kStreams; to-- > 0;)
    for (std::size_t number = 0; number < kEach; ++number) {
      Posted& each = *posted.emplace_back(std::make_unique<Posted>());
      each.to = to;
      each.rank = any.any_rank ? any_source : 1 + static_cast<int>(number / kStreams);
      each.index = any.any_sender ? any_index : static_cast<std::uint32_t>(number % kStreams);
      const StreamAddress from{each.rank, each.index};
      GroupStream stream = members.group.member(to);
      if (!any.any_tag && !posted_before) {
        ProbedMessage found;
        EXPECT_TRUE(test::until([&] { return stream.probe(from, tag, found); }, [&] { stream.progress(); }));
        EXPECT_EQ(found.tag >> 35 & 7, to)  // behind three bits of the sender's index
            << "a probe sees messages for this stream only";
      }
      Status status;
      do {
        const ReceiveOptions options{.completion = &received[to]};
        status = any.any_tag ? stream.post_receive(from, any_tag, mutable_bytes_of(each.value), options)
                             : stream.post_receive(from, tag, mutable_bytes_of(each.value), options);
        stream.progress();
      } while (status.is_retry());
    }
  if (posted_before) meet();
  for (std::uint32_t to = 0; to < kStreams; ++to) members.group.member(to).wait(received[to], kEach);
  for (const auto& each : posted) {
    EXPECT_EQ(each->value >> 48, round);
    EXPECT_EQ(each->value & 0xffff, each->to) << "a message for another stream, wildcards of round " << round;
    if (!any.any_rank) {
      EXPECT_EQ(static_cast<int>(each->value >> 32 & 0xffff), each->rank);
    }
    if (!any.any_sender) {
      EXPECT_EQ(each->value >> 16 & 0xffff, each->index);
    }
  }
}

void send_all(Members& members, int rank, std::size_t round) {
  for (std::uint32_t to = 0; to < kStreams; ++to)
    for (std::uint32_t index = 0; index < kStreams; ++index) {
      const std::uint64_t value = value_of(rank, index, to, round);
      EXPECT_EQ(
          members.group.member(index).send({0, to}, static_cast<std::uint32_t>(round) + 1, bytes_of(value)),
          Outcome::ok);
    }
}

void exchange(bool posted_before) {
  std::atomic<int> arrived{0};
  run_ranks(kRanks, {}, [&arrived, posted_before](Runtime& runtime, int rank) {
    Members members(runtime);
    int met = 0;
    // Receives are posted before anybody sends, or when everything has been sent. Who waits makes progress:
    // over some networks others reach it by that alone.
    const auto meet = [&] {
      ++arrived;
      const int all = ++met * kRanks;
      EXPECT_TRUE(test::until([&] { return arrived >= all; },
                              [&] {
                                for (std::uint32_t index = 0; index < kStreams; ++index)
                                  members.group.member(index).progress();
                              }));
    };
    for (std::size_t round = 0; round < std::size(kAll); ++round) {
      if (rank == 0) {
        receive_all(members, round, posted_before, meet);
      } else {
        if (posted_before) meet();
        send_all(members, rank, round);
        if (!posted_before) meet();
      }
      meet();
    }
  });
}

TEST(StreamGroup, null_streams_heed_their_own_index_whatever_the_sender_of_a_posted_receive_may_be) {
  exchange(true);
}

TEST(StreamGroup, null_streams_heed_their_own_index_whatever_the_sender_of_an_unexpected_message_may_be) {
  exchange(false);
}

}  // namespace
}  // namespace weft
