// What sends and probes of a stream in a group may ask for, as those of an endpoint: to end when they are
// matched, to be cancelled, any tag.
#include "conformance/operations/stream/stream_ranks.hpp"
#include "support/errors.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <cstdint>
#include <vector>

namespace weft {
namespace {

using test::run_ranks;

/// The program's stream and the null stream of each rank, in a group.
class Pair {
 public:
  explicit Pair(Runtime& runtime)
      : own_(runtime), group_(runtime, std::vector<Stream*>{&own_, nullptr}), peer_(1 - runtime.rank()) {}
  /// The member of this index, and the address of the other rank's.
  [[nodiscard]] GroupStream member(std::uint32_t index) const { return group_.member(index); }
  [[nodiscard]] StreamAddress other(std::uint32_t index) const { return {peer_, index}; }
  void post(std::uint32_t index, std::uint32_t tag, const std::uint64_t& word, const SendOptions& options) {
    GroupStream from = member(index);
    EXPECT_TRUE(progress_until(
        [&] { return from.post_send(other(index), tag, bytes_of(word), options).is_accepted(); }));
  }
  /// Waits, as the other rank does, until the condition holds.
  template <class Condition>
  [[nodiscard]] bool progress_until(const Condition& condition) {
    return test::until(condition, [&] {
      member(0).progress();
      member(1).progress();
    });
  }

 private:
  Stream own_;
  StreamGroup group_;
  const int peer_;
};

constexpr std::uint32_t kKinds = 2;  // with a device of its own, and null

TEST(StreamSendOptions, a_synchronous_send_ends_when_it_is_matched) {
  std::atomic<std::uint32_t> seen{0};
  std::atomic<std::uint32_t> looked{0};
  run_ranks(2, {}, [&](Runtime& runtime, int rank) {
    Pair pair(runtime);
    for (std::uint32_t index = 0; index < kKinds; ++index) {
      std::uint64_t word = 7;
      if (rank == 0) {
        Counter sent;
        pair.post(index, 3, word, {.completion = &sent, .synchronous = true});
        EXPECT_TRUE(pair.progress_until([&] { return seen.load() > index; }));
        for (int call = 0; call < 100; ++call) pair.member(index).progress();
        EXPECT_EQ(sent.value(), 0U) << "nobody has received it";
        looked.store(index + 1);
        EXPECT_TRUE(pair.progress_until([&] { return sent.value() == 1; }));
      } else {
        ProbedMessage found;
        EXPECT_TRUE(
            pair.progress_until([&] { return pair.member(index).probe(pair.other(index), 3, found); }));
        seen.store(index + 1);
        EXPECT_TRUE(pair.progress_until([&] { return looked.load() > index; }));
        EXPECT_EQ(pair.member(index).receive(pair.other(index), 3, mutable_bytes_of(word)).outcome(),
                  Outcome::ok);
      }
    }
    runtime.barrier();
  });
}

TEST(StreamSendOptions, a_synchronous_send_that_waits_returns_when_it_is_matched) {
  std::atomic<std::uint32_t> begun{0};
  run_ranks(2, {}, [&](Runtime& runtime, int rank) {
    Pair pair(runtime);
    for (std::uint32_t index = 0; index < kKinds; ++index) {
      std::uint64_t word = 7;
      if (rank == 0) {
        EXPECT_EQ(pair.member(index).send(pair.other(index), 3, bytes_of(word), {.synchronous = true}),
                  Outcome::ok);
        EXPECT_GT(begun.load(), index);
      } else {
        ProbedMessage found;
        EXPECT_TRUE(
            pair.progress_until([&] { return pair.member(index).probe(pair.other(index), any_tag, found); }));
        EXPECT_EQ(found.tag_in_context(), 3U);
        begun.store(index + 1);
        EXPECT_EQ(pair.member(index).receive(pair.other(index), 3, mutable_bytes_of(word)).outcome(),
                  Outcome::ok);
      }
    }
    runtime.barrier();
  });
}

TEST(StreamSendOptions, a_send_that_nobody_has_matched_is_cancelled_by_its_handle) {
  std::atomic<std::uint32_t> seen{0};
  std::atomic<std::uint32_t> ended{0};
  run_ranks(2, {}, [&](Runtime& runtime, int rank) {
    Pair pair(runtime);
    for (std::uint32_t index = 0; index < kKinds; ++index) {
      const std::uint64_t word = 7;
      ProbedMessage found;
      if (rank == 0) {
        Synchronizer sent;
        SendHandle handle;
        pair.post(index, 3, word, {.completion = &sent, .synchronous = true, .handle = &handle});
        EXPECT_NE(handle.generation, 0U);
        EXPECT_TRUE(pair.progress_until([&] { return seen.load() > index; }));
        EXPECT_TRUE(pair.member(index).cancel(handle));
        EXPECT_TRUE(pair.progress_until([&] { return sent.ready(); }));
        if (sent.test()) {
          EXPECT_EQ(sent.messages().front().outcome(), Outcome::cancelled);
        }
        EXPECT_FALSE(pair.member(index).cancel(handle)) << "it has ended";
        ended.store(index + 1);
      } else {
        EXPECT_TRUE(
            pair.progress_until([&] { return pair.member(index).probe(pair.other(index), 3, found); }));
        seen.store(index + 1);
        EXPECT_TRUE(pair.progress_until([&] { return ended.load() > index; }));
        EXPECT_FALSE(pair.member(index).probe(pair.other(index), any_tag, found));
      }
    }
    runtime.barrier();
  });
}

}  // namespace
}  // namespace weft
