// Several threads that sleep until something comes: each is woken, and no sleep ends by its time (which is
// long here).
#include "support/ranks.hpp"

#include <weft/progress_thread.hpp>

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <cstdlib>
#include <deque>
#include <functional>
#include <memory>
#include <string_view>
#include <thread>
#include <vector>

namespace weft {
namespace {

using test::Ranks;

constexpr std::uint64_t kRounds = 12;
// Not needed for the outcome: threads sleep when they are woken.
constexpr std::chrono::milliseconds kToFallAsleep{2};

/// Threads sleep at once, and for half a minute if nobody wakes them.
std::vector<AttributeSetting> sleeping() {
  return test::with_no_surprises(
      {{"spin", "0"}, {"yield", "0"}, {"park_timeout", "30"}, {"peer_timeout", "3600"}});
}

class SleepingThreads : public testing::TestWithParam<std::size_t> {
 protected:
  [[nodiscard]] static std::size_t threads() { return GetParam(); }
  /// Each thread calls `wait(thread, round)` for each round.
  void start(const std::function<void(std::size_t, std::uint64_t)>& wait) {
    for (std::size_t thread = 0; thread < threads(); ++thread)
      running_.emplace_back([this, thread, wait] {
        for (std::uint64_t round = 1; round <= kRounds; ++round) {
          wait(thread, round);
          ++ended_;
        }
      });
  }
  /// Everybody has got what the round has for them.
  void end_round(
      std::uint64_t round, const std::function<void()>& step = [] {}) {
    ASSERT_TRUE(test::until([&] { return ended_ == round * threads(); }, step)) << "round " << round;
  }
  void join() {
    for (std::thread& thread : running_) thread.join();
    running_.clear();
  }
  void expect_no_sleep_timed_out(const Runtime& runtime) {
    const RuntimeCounters counters = runtime.counters();
    EXPECT_GT(counters.parks, 0U) << "nobody slept";
    // Two networks behind one port nap until who watches the other one has begun, and so do some of
    // libfabric's providers.
    const char* const network = std::getenv("WEFT_NETWORK");
    if (network != nullptr && (network == std::string_view("mixed") || network == std::string_view("ofi")))
      return;
    EXPECT_EQ(counters.parks_timed_out, 0U) << "of " << counters.parks << " sleeps";
  }
  std::atomic<std::size_t> ended_{0};
  std::vector<std::thread> running_;
};
INSTANTIATE_TEST_SUITE_P(threads, SleepingThreads, testing::Values(1, 2, 3, 4),
                         [](const auto& threads) { return std::to_string(threads.param); });

TEST_P(SleepingThreads, of_one_device_are_woken_by_messages_for_their_own_objects) {
  Ranks<Endpoint> ranks(2, sleeping());
  std::deque<Counter> counters(threads());
  std::vector<RemoteCompletion> remotes;
  for (Counter& counter : counters)
    remotes.push_back(ranks.runtime(1).expose(counter, {.id = static_cast<std::uint32_t>(remotes.size())}));
  ASSERT_TRUE(ranks.meet());
  start([&](std::size_t thread, std::uint64_t round) { ranks.endpoint(1).wait(counters[thread], round); });
  for (std::uint64_t round = 1; round <= kRounds; ++round) {
    std::this_thread::sleep_for(kToFallAsleep);
    for (std::size_t count = 0; count < threads(); ++count)  // another one first each time
      ASSERT_TRUE(test::until(
          [&] {
            return ranks.endpoint(0).post_am(1, remotes[(count + round) % threads()], {}).is_accepted();
          },
          [&] { ranks.endpoint(0).progress(); }));
    ASSERT_NO_FATAL_FAILURE(end_round(round, [&] { ranks.endpoint(0).progress(); }));
  }
  join();
  expect_no_sleep_timed_out(ranks.runtime(1));
}

TEST_P(SleepingThreads, of_one_device_are_all_woken_by_one_object) {
  Ranks<Endpoint> ranks(2, sleeping());
  Counter counter;
  const RemoteCompletion remote = ranks.runtime(1).expose(counter, {.id = 1});
  ASSERT_TRUE(ranks.meet());
  start([&](std::size_t, std::uint64_t round) { ranks.endpoint(1).wait(counter, round); });
  for (std::uint64_t round = 1; round <= kRounds; ++round) {
    std::this_thread::sleep_for(kToFallAsleep);
    ASSERT_TRUE(test::until([&] { return ranks.endpoint(0).post_am(1, remote, {}).is_accepted(); },
                            [&] { ranks.endpoint(0).progress(); }));
    ASSERT_NO_FATAL_FAILURE(end_round(round, [&] { ranks.endpoint(0).progress(); }));
  }
  join();
  expect_no_sleep_timed_out(ranks.runtime(1));
}

TEST_P(SleepingThreads, are_all_woken_by_a_signal_of_their_own_process) {
  Ranks<Endpoint> ranks(1, sleeping());
  Counter counter;
  start([&](std::size_t, std::uint64_t round) { ranks.endpoint(0).wait(counter, round); });
  for (std::uint64_t round = 1; round <= kRounds; ++round) {
    std::this_thread::sleep_for(kToFallAsleep);
    Message message;
    counter.signal(message);
    ASSERT_NO_FATAL_FAILURE(end_round(round));
  }
  join();
  expect_no_sleep_timed_out(ranks.runtime(0));
}

TEST_P(SleepingThreads, with_a_device_each_are_woken_by_what_comes_to_it) {
  Ranks<Endpoint> ranks(2, sleeping());
  std::deque<Device> devices;
  std::deque<Endpoint> endpoints;
  std::deque<Counter> counters(threads());
  std::vector<RemoteCompletion> remotes;
  for (std::size_t thread = 0; thread < threads(); ++thread) {
    const auto index = static_cast<std::uint32_t>(thread);
    devices.emplace_back(ranks.runtime(1), DeviceOptions{.index = static_cast<std::int32_t>(index) + 1});
    endpoints.emplace_back(devices.back());
    remotes.push_back(ranks.runtime(1).expose(counters[thread], {.id = index, .device = index + 1}));
  }
  start([&](std::size_t thread, std::uint64_t round) { endpoints[thread].wait(counters[thread], round); });
  for (std::uint64_t round = 1; round <= kRounds; ++round) {
    std::this_thread::sleep_for(kToFallAsleep);
    for (std::size_t thread = 0; thread < threads(); ++thread)
      ASSERT_TRUE(test::until([&] { return ranks.endpoint(0).post_am(1, remotes[thread], {}).is_accepted(); },
                              [&] { ranks.progress(); }));
    ASSERT_NO_FATAL_FAILURE(end_round(round, [&] { ranks.endpoint(0).progress(); }));
  }
  join();
  expect_no_sleep_timed_out(ranks.runtime(1));
}

TEST_P(SleepingThreads, that_make_progress_for_others_wake_for_each_message) {
  Ranks<Endpoint> ranks(2, sleeping());
  Counter counter;
  const RemoteCompletion remote = ranks.runtime(1).expose(counter, {.id = 1});
  ASSERT_TRUE(ranks.meet());
  Device device(ranks.runtime(1), {.index = 1});
  Counter elsewhere;
  const RemoteCompletion there = ranks.runtime(1).expose(elsewhere, {.id = 2, .device = 1});
  {
    // Several of one device, and one of another.
    std::deque<ProgressThread> progress;
    for (std::size_t thread = 0; thread < threads(); ++thread) progress.emplace_back(ranks.runtime(1));
    progress.emplace_back(device);
    for (std::uint64_t round = 1; round <= kRounds; ++round) {
      std::this_thread::sleep_for(kToFallAsleep);
      for (const RemoteCompletion& each : {remote, there})
        ASSERT_TRUE(test::until([&] { return ranks.endpoint(0).post_am(1, each, {}).is_accepted(); },
                                [&] { ranks.endpoint(0).progress(); }));
      ASSERT_TRUE(test::until([&] { return counter.value() >= round && elsewhere.value() == round; },
                              [&] { ranks.endpoint(0).progress(); }))
          << "round " << round;
    }
  }
  expect_no_sleep_timed_out(ranks.runtime(1));
}

TEST(PatientWaits, end_when_their_thread_has_slept_for_so_long) {
  Ranks<Endpoint> ranks(1, sleeping());
  int asked = 0;
  detail::WaitCondition condition{[](const void* object) noexcept {
                                    ++*static_cast<int*>(const_cast<void*>(object));
                                    return false;
                                  },
                                  &asked, nullptr};
  condition.patience_ns = 1'000'000;
  EXPECT_FALSE(ranks.endpoint(0).wait_condition(condition)) << "and not after half a minute";
  EXPECT_GT(asked, 1);
  condition.holds = [](const void*) noexcept { return true; };
  EXPECT_TRUE(ranks.endpoint(0).wait_condition(condition));
}

}  // namespace
}  // namespace weft
