// Puts, gets and atomic operations whose timeout passes. Those by messages end at once, and what comes later
// never reaches a buffer that was given back; those that the network has end as they would have.
#include "support/deadlines.hpp"
#include "support/one_sided.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <random>
#include <thread>

namespace weft {
namespace {

using namespace std::chrono_literals;
using test::access_settings;
using test::AccessSetting;
using test::kFar;
using test::kSoon;
using test::matches;
using test::payload;
using test::Ranks;
using test::Recorder;
using test::Target;

constexpr std::size_t kAccessBytes = 60'000;

constexpr std::size_t kRoom = kAccessBytes + 256;  // of a target: values of atomic operations come last

/// Posts accesses of every kind, to a part of the target that others leave alone. What has timed out may
/// still be carried out there: by the target's thread, which makes them one after the other, or not at all.
class Accesses {
 public:
  Accesses(Ranks<Endpoint>& ranks, const Target& target, std::size_t size, std::size_t part = 0)
      : ranks_(ranks),
        target_(target),
        size_(size),
        offset_(part * size),
        counter_(kAccessBytes + part * 64),
        source_(payload(size, 1)),
        buffer_(size) {}

  static constexpr int kKinds = 5;
  [[nodiscard]] Status post(int kind, const AccessOptions& options) {
    auto& endpoint = ranks_.endpoint(0);
    const RemoteRegion& region = target_.remote();
    const std::size_t half = size_ / 2;
    switch (kind) {
      case 0:
        return endpoint.post_put(1, region.at(offset_), source_, options);
      case 1:
        return endpoint.post_get(1, region.at(offset_), buffer_, options);
      case 2:
        return endpoint.post_fetch_atomic<std::uint64_t>(1, region.at(counter_), AtomicOperation::add, 1,
                                                         old_, options);
      case 3: {
        const std::vector<PutPiece> pieces = {{region.at(offset_), Bytes(source_).first(half)},
                                              {region.at(offset_ + half), Bytes(source_).subspan(half)}};
        return endpoint.post_put(1, pieces, options);
      }
      default: {
        const std::vector<GetPiece> pieces = {{region.at(offset_), std::span(buffer_).first(half)},
                                              {region.at(offset_ + half), std::span(buffer_).subspan(half)}};
        return endpoint.post_get(1, pieces, options);
      }
    }
  }
  /// What accesses write here.
  void wipe(std::uint64_t seed) {
    test::fill(buffer_, seed);
    old_ = seed;
  }
  [[nodiscard]] bool is_wiped(std::uint64_t seed) const { return matches(buffer_, seed) && old_ == seed; }

 private:
  Ranks<Endpoint>& ranks_;
  const Target& target_;
  const std::size_t size_;
  const std::size_t offset_;
  const std::size_t counter_;
  std::vector<std::byte> source_;
  std::vector<std::byte> buffer_;
  std::uint64_t old_ = 0;
};

class AccessDeadlines : public testing::TestWithParam<AccessSetting> {};
INSTANTIATE_TEST_SUITE_P(ways, AccessDeadlines, testing::ValuesIn(access_settings()),
                         [](const auto& setting) { return setting.param.name; });

TEST_P(AccessDeadlines, that_do_not_pass_change_nothing) {
  Ranks<Endpoint> ranks(2, GetParam().attributes);
  const Target target(ranks.runtime(1), GetParam(), kRoom);
  ASSERT_TRUE(ranks.meet());
  Accesses accesses(ranks, target, kAccessBytes);
  for (int kind = 0; kind < Accesses::kKinds; ++kind) {
    Recorder ended;
    int mark = 0;
    ASSERT_TRUE(ranks.progress_until([&] {
      return accesses.post(kind, {.completion = &ended, .user_data = &mark, .timeout = kFar}).is_posted();
    })) << kind;
    ASSERT_TRUE(ranks.progress_until([&] { return !ended.messages.empty(); })) << kind;
    EXPECT_EQ(ended.messages[0].outcome(), Outcome::ok) << kind;
    EXPECT_EQ(ended.messages[0].user_data(), &mark);
  }
}

TEST_P(AccessDeadlines, that_pass_while_the_peer_does_not_progress_end_the_access) {
  Ranks<Endpoint> ranks(2, GetParam().attributes);
  const Target target(ranks.runtime(1), GetParam(), kRoom);
  ASSERT_TRUE(ranks.meet());
  Accesses accesses(ranks, target, kAccessBytes);
  for (int round = 0; round < 3; ++round)
    for (int kind = 0; kind < Accesses::kKinds; ++kind) {
      Recorder ended;
      ASSERT_TRUE(ranks.progress_until([&] {
        return accesses.post(kind, {.completion = &ended, .may_retry = false, .timeout = kSoon}).is_posted();
      })) << kind;
      // By messages it ends although nobody answers.
      ASSERT_TRUE(test::until([&] { return !ended.messages.empty(); },
                              [&] {
                                ranks.endpoint(0).progress();
                                if (!GetParam().attributes.empty()) return;
                                ranks.endpoint(1).progress();
                              }))
          << kind;
      const Outcome outcome = ended.messages[0].outcome();
      EXPECT_TRUE(outcome == Outcome::timed_out || outcome == Outcome::ok) << name_of(outcome);
      // From here on the buffers are the program's.
      accesses.wipe(99);
      for (int step = 0; step < 2000; ++step) ranks.progress();
      EXPECT_TRUE(accesses.is_wiped(99)) << kind;
      EXPECT_EQ(ended.messages.size(), 1U);
      EXPECT_EQ(ranks.runtime(0).counters().refused_messages, 0U);
    }
  // Nothing is counted as under way any more.
  bool is_flushed = false;
  std::thread flusher([&] {
    ranks.endpoint(0).flush(1);
    is_flushed = true;
  });
  flusher.join();
  EXPECT_TRUE(is_flushed);
}

TEST_P(AccessDeadlines, race_with_answers) {
  Ranks<Endpoint> ranks(2, GetParam().attributes);
  const Target target(ranks.runtime(1), GetParam(), kRoom);
  ASSERT_TRUE(ranks.meet());
  Accesses accesses(ranks, target, kAccessBytes);
  std::mt19937_64 random(11);
  std::uint64_t posted = 0;
  for (int round = 0; round < 60; ++round) {
    Recorder ended;
    const int kind = static_cast<int>(random() % Accesses::kKinds);
    const auto timeout = std::chrono::microseconds(random() % 300);
    ASSERT_TRUE(ranks.progress_until([&] {
      return accesses.post(kind, {.completion = &ended, .may_retry = false, .timeout = timeout}).is_posted();
    }));
    ++posted;
    for (std::uint64_t step = random() % 10; step > 0; --step) ranks.endpoint(1).progress();
    ASSERT_TRUE(ranks.progress_until([&] { return !ended.messages.empty(); }));
    accesses.wipe(posted);
    for (int step = 0; step < 100; ++step) ranks.progress();
    ASSERT_TRUE(accesses.is_wiped(posted)) << kind;
    ASSERT_EQ(ended.messages.size(), 1U);
  }
}

/// Threads for both ranks, and several that post.
TEST_P(AccessDeadlines, of_threads_end_every_access_once) {
  Ranks<Endpoint> ranks(2, GetParam().attributes);
  const Target target(ranks.runtime(1), GetParam(), kRoom);
  ASSERT_TRUE(ranks.meet());
  constexpr std::uint64_t kPosters = 2;
  constexpr std::uint64_t kEach = 40;
  std::atomic<bool> is_over{false};
  std::vector<std::thread> progress;
  for (int rank = 0; rank < 2; ++rank)
    progress.emplace_back([&, rank] {
      while (!is_over.load()) ranks.endpoint(rank).progress();
    });
  std::atomic<std::uint64_t> wrong{0};
  std::vector<std::thread> posters;
  for (std::uint64_t poster = 0; poster < kPosters; ++poster)
    posters.emplace_back([&, poster] {
      Accesses accesses(ranks, target, 8192, poster);
      std::mt19937_64 random(poster);
      for (std::uint64_t round = 0; round < kEach; ++round) {
        std::atomic<std::uint64_t> count{0};
        Handler ended([&](Message&) { count.fetch_add(1); });
        const auto timeout = std::chrono::microseconds(random() % 200);
        const int kind = static_cast<int>(random() % Accesses::kKinds);
        while (!accesses.post(kind, {.completion = &ended, .timeout = timeout}).is_posted())
          std::this_thread::yield();
        if (!test::until([&] { return count.load() == 1; }, [&] { ranks.endpoint(0).progress(); }))
          wrong.fetch_add(1);
        accesses.wipe(round);
        std::this_thread::yield();
        if (!accesses.is_wiped(round) || count.load() != 1) wrong.fetch_add(1);
      }
    });
  for (std::thread& poster : posters) poster.join();
  is_over.store(true);
  for (std::thread& thread : progress) thread.join();
  EXPECT_EQ(wrong.load(), 0U);
}

TEST(AccessDeadline, of_calls_that_wait_return) {
  Ranks<Endpoint> ranks(2, {{"one_sided", "message"}});
  const AccessSetting setting{"", false, false, {}};
  const Target target(ranks.runtime(1), setting, kAccessBytes);
  ASSERT_TRUE(ranks.meet());
  const auto source = payload(kAccessBytes, 1);
  std::vector<std::byte> buffer(kAccessBytes);
  auto& endpoint = ranks.endpoint(0);
  EXPECT_EQ(endpoint.put(1, target.remote().at(0), source, {.timeout = kSoon}), Outcome::timed_out);
  EXPECT_EQ(endpoint.get(1, target.remote().at(0), buffer, {.timeout = kSoon}), Outcome::timed_out);
  EXPECT_EQ(
      endpoint
          .fetch_atomic<std::uint64_t>(1, target.remote().at(0), AtomicOperation::add, 1, {.timeout = kSoon})
          .outcome,
      Outcome::timed_out);
  EXPECT_EQ(endpoint.put(1, target.remote().at(0), source, {.timeout = -1ns}), Outcome::timed_out);
}

}  // namespace
}  // namespace weft
