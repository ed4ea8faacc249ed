// Handlers inside of the progress of two devices that each end a context, or a region of memory, while the
// other device has a backlog.
#include "support/ranks.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <thread>
#include <vector>

namespace weft {
namespace {

using test::Ranks;
using test::Recorder;

/// Calls something from inside of progress, once another one is inside of its device's progress, too.
class Crossing final : public Completion {
 public:
  Crossing(std::atomic<int>& inside, std::function<void()> call) : inside_(inside), call_(std::move(call)) {}
  ~Crossing() override { retire(); }
  void signal(Message& message) noexcept override {
    static_cast<void>(message.outcome());
    // The limit is a guard: without the other one nothing crosses.
    const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(5);
    for (++inside_; inside_ < 2 && std::chrono::steady_clock::now() < end;) std::this_thread::yield();
    call_();
    has_ended_.store(true, std::memory_order_release);
  }
  [[nodiscard]] bool ready() const noexcept override { return has_ended_.load(std::memory_order_acquire); }

 private:
  std::atomic<int>& inside_;
  const std::function<void()> call_;
  std::atomic<bool> has_ended_{false};
};

/// Two devices of rank 0, each with a context on an engine of its own, whose receives wait in its backlog.
class CrossedEnds : public testing::Test {
 protected:
  struct Side {
    Side(Ranks<>& ranks, std::int32_t index)
        : device(ranks.runtime(0), {.index = index}),
          endpoint(device),
          here(std::in_place, ranks.runtime(0), options(index)),
          there(ranks.runtime(1), options(index)) {}
    [[nodiscard]] static MatchingContextOptions options(std::int32_t index) {
      return {.order = MatchOrder::ordered, .key = static_cast<std::uint32_t>(index)};
    }
    void post(std::uint32_t tag, const ReceiveOptions& options) {
      ASSERT_TRUE(endpoint.post_receive(1, here->tag(tag), test_bytes(), options).is_posted());
    }
    [[nodiscard]] MutableBytes test_bytes() { return mutable_bytes_of(buffer); }

    Device device;
    Endpoint endpoint;
    std::optional<MatchingContext> here;
    MatchingContext there;
    std::uint64_t buffer = 0;
    Recorder queued;
    ReceiveHandle first;
  };

  CrossedEnds() : ranks_(2, {{"matching_records", "64"}}) { open(); }
  void open() {
    for (const std::int32_t index : {1, 2}) sides_.push_back(std::make_unique<Side>(ranks_, index));
  }
  Side& side(std::size_t place) { return *sides_[place]; }
  /// The message of the receive that will be in the midst of a backlog.
  void send_to(Side& to) {
    const std::uint64_t value = 9;
    ASSERT_TRUE(ranks_.progress_until(
        [&] { return ranks_.endpoint(1).post_send(0, to.there.tag(2), bytes_of(value)).is_accepted(); }));
    ProbedMessage found;
    ASSERT_TRUE(ranks_.progress_until([&] { return ranks_.endpoint(0).probe(1, to.here->tag(2), found); }));
  }
  void fill(Side& of, Completion& in_the_midst) {
    of.post(1, {.completion = &of.queued, .handle = &of.first});
    const std::size_t before = ranks_.runtime(0).counters().backlog_now;
    while (ranks_.runtime(0).counters().backlog_now == before && !HasFatalFailure())
      of.post(1, {.completion = &of.queued, .may_retry = false});
    of.post(2, {.completion = &in_the_midst, .may_retry = false});
    of.post(1, {.completion = &of.queued, .may_retry = false});
  }
  /// Makes room for the receive that waits first, so that the one behind it takes its message.
  void run(std::vector<Crossing*> crossings) {
    std::vector<std::thread> threads;
    for (std::size_t place = 0; place < 2; ++place)
      threads.emplace_back([this, place, crossing = crossings[place]] {
        EXPECT_TRUE(side(place).endpoint.cancel(side(place).first));
        EXPECT_TRUE(test::until([&] { return crossing->ready(); }, [&] { side(place).endpoint.progress(); }));
      });
    for (std::thread& thread : threads) thread.join();
  }
  void expect_all_cancelled() {
    EXPECT_TRUE(test::until([&] { return ranks_.runtime(0).counters().backlog_now == 0; },
                            [&] {
                              for (auto& each : sides_) each->endpoint.progress();
                            }));
    for (auto& each : sides_) {
      EXPECT_FALSE(each->queued.messages.empty());
      for (const Message& message : each->queued.messages) EXPECT_EQ(message.outcome(), Outcome::cancelled);
    }
  }

  Ranks<> ranks_;
  std::vector<std::unique_ptr<Side>> sides_;
  std::atomic<int> inside_{0};
};

TEST_F(CrossedEnds, of_contexts_do_not_wait_for_each_other) {
  Crossing first(inside_, [&] { side(0).here.reset(); });
  Crossing second(inside_, [&] { side(1).here.reset(); });
  for (auto& each : sides_) send_to(*each);
  fill(side(0), first);
  fill(side(1), second);
  run({&first, &second});
  expect_all_cancelled();
}

TEST_F(CrossedEnds, of_a_context_and_a_region_do_not_wait_for_each_other) {
  std::vector<std::byte> memory(4096);
  for (const std::size_t place : {0U, 1U}) {
    std::optional<MemoryRegion> region(std::in_place, ranks_.runtime(0), memory);
    inside_ = 0;
    Crossing first(inside_, [&] { side(place).here.reset(); });
    Crossing second(inside_, [&] { region.reset(); });
    for (auto& each : sides_) send_to(*each);
    fill(side(place), first);
    fill(side(1 - place), second);
    run(place == 0 ? std::vector{&first, &second} : std::vector{&second, &first});
    side(1 - place).here.reset();
    expect_all_cancelled();
    sides_.clear();
    open();
  }
}

}  // namespace
}  // namespace weft
