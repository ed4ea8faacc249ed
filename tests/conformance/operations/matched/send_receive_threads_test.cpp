// Sends and receives of many threads on shared and own devices: each message meets one receive, whole.
#include "support/ranks.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <string>
#include <tuple>
#include <vector>

namespace weft {
namespace {

using test::Ranks;

std::size_t size_of(std::uint32_t number) {
  return number % 61 == 60 ? 20'000 : number % 13 == 12 ? 3000 : number % 7 == 6 ? 300 : 8 + number % 33;
}

/// Keeps what it is told, for one thread to look at.
struct Ended final : Completion {
  ~Ended() override { withdraw(); }
  void signal(Message& message) noexcept override {
    outcome = message.outcome();
    size = message.size();
    tag = message.tag();
    // Pairs with the acquire in ready().
    is_ready.store(true, std::memory_order_release);
    notify_waiters();
  }
  [[nodiscard]] bool ready() const noexcept override { return is_ready.load(std::memory_order_acquire); }
  Outcome outcome = Outcome::ok;
  std::size_t size = 0;
  std::uint64_t tag = 0;
  std::atomic<bool> is_ready{false};
};

using Shape = std::tuple<int, int>;  // ranks, threads of each
class SendReceiveThreads : public ::testing::TestWithParam<Shape> {};

// Thread t of each rank sends to thread t of the next rank and receives from that of the one before, some
// receives early, some late. With `shared_tags` all threads of a rank use the same tags, so that any may get
// any message.
void run(int count, int threads, bool shared_tags, bool own_devices) {
  constexpr std::uint32_t kMessages = 300;
  Ranks<Endpoint> ranks(count);
  std::atomic<int> wrong{0};
  std::atomic<int> running{count * threads};
  std::atomic<std::uint64_t> sum{0};
  std::vector<std::thread> workers;
  for (int rank = 0; rank < count; ++rank)
    for (int thread = 0; thread < threads; ++thread)
      workers.emplace_back([&, rank, thread] {
        std::optional<Device> device;
        std::optional<Endpoint> own;
        if (own_devices) {
          device.emplace(ranks.runtime(rank), DeviceOptions{.index = thread + 1});
          own.emplace(*device);
        }
        Endpoint& endpoint = own_devices ? *own : ranks.endpoint(rank);
        const int next = (rank + 1) % count;
        const int previous = (rank + count - 1) % count;
        const auto base = shared_tags ? std::uint64_t{0} : static_cast<std::uint64_t>(thread) << 32;
        const auto device_there = static_cast<std::uint8_t>(own_devices ? thread + 1 : 0);
        std::vector<std::byte> out;
        std::vector<std::byte> in(20'000);
        Ended posted;
        bool has_posted = false;
        const auto check = [&](const Ended& ended) {
          if (ended.outcome != Outcome::ok || !test::matches(Bytes(in).first(ended.size), ended.tag)) ++wrong;
          sum += ended.tag;
        };
        const auto finish = [&](Ended& ended) {
          if (!test::until([&] { return ended.ready(); }, [&] { endpoint.progress(); })) ++wrong;
          check(ended);
        };
        for (std::uint32_t number = 0; number < kMessages; ++number) {
          const std::uint64_t tag = base + number;
          const bool early = number % 3 != 0;
          const auto post = [&] {
            posted.is_ready = false;
            const auto accepted = test::until(
                [&] {
                  return endpoint.post_receive(previous, tag, in, {.completion = &posted}).is_accepted();
                },
                [&] { endpoint.progress(); });
            if (!accepted) ++wrong;
            has_posted = true;
          };
          if (early) post();
          out.resize(size_of(number));
          test::fill(out, tag);
          // Not send(): all ranks would wait for their large messages to be fetched before any posts its
          // receive.
          Ended sent;
          const auto is_sent = test::until(
              [&] {
                return endpoint.post_send(next, tag, out, {.completion = &sent, .device = device_there})
                    .is_accepted();
              },
              [&] { endpoint.progress(); });
          if (!is_sent) ++wrong;
          if (!early) post();
          finish(posted);
          if (!test::until([&] { return sent.ready(); }, [&] { endpoint.progress(); })) ++wrong;
        }
        if (!has_posted) ++wrong;
        --running;
        static_cast<void>(test::until([&] { return running == 0; },
                                      [&] { endpoint.progress(), std::this_thread::yield(); }));
      });
  for (std::thread& worker : workers) worker.join();
  EXPECT_EQ(wrong, 0);
  std::uint64_t expected = 0;
  for (int thread = 0; thread < threads; ++thread)
    for (std::uint64_t number = 0; number < kMessages; ++number)
      expected += (shared_tags ? 0 : static_cast<std::uint64_t>(thread) << 32) + number;
  EXPECT_EQ(sum, expected * static_cast<std::uint64_t>(count));
}

TEST_P(SendReceiveThreads, on_a_shared_device_receive_what_was_sent_to_them) {
  const auto [count, threads] = GetParam();
  run(count, threads, false, false);
}
TEST_P(SendReceiveThreads, on_a_shared_device_share_messages_with_equal_tags) {
  const auto [count, threads] = GetParam();
  run(count, threads, true, false);
}
TEST_P(SendReceiveThreads, on_devices_of_their_own_receive_what_was_sent_to_them) {
  const auto [count, threads] = GetParam();
  run(count, threads, false, true);
}

TEST_P(SendReceiveThreads, that_cancel_while_messages_arrive_see_each_receive_end_once) {
  const auto [count, threads] = GetParam();
  Ranks<Endpoint> ranks(count);
  constexpr int kRounds = 200;
  std::atomic<int> received{0};
  std::atomic<int> cancelled{0};
  std::atomic<int> wrong{0};
  std::atomic<int> running{count * threads};
  std::vector<std::thread> workers;
  for (int rank = 0; rank < count; ++rank)
    for (int thread = 0; thread < threads; ++thread)
      workers.emplace_back([&, rank, thread] {
        Endpoint& endpoint = ranks.endpoint(rank);
        const auto tag = static_cast<std::uint64_t>(thread);
        std::uint64_t buffer = 0;
        for (int round = 0; round < kRounds; ++round) {
          Ended ended;
          ReceiveHandle handle;
          const auto target = std::as_writable_bytes(std::span(&buffer, 1));
          if (!test::until(
                  [&] {
                    return endpoint.post_receive(rank, tag, target, {.completion = &ended, .handle = &handle})
                        .is_posted();
                  },
                  [&] { endpoint.progress(); }))
            ++wrong;
          const std::uint64_t value = tag + 1;
          static_cast<void>(endpoint.send(rank, tag, bytes_of(value)));
          endpoint.progress();
          const bool was_cancelled = endpoint.cancel(handle);
          if (!test::until([&] { return ended.ready(); }, [&] { endpoint.progress(); })) ++wrong;
          if (was_cancelled != (ended.outcome == Outcome::cancelled)) ++wrong;
          ++(was_cancelled ? cancelled : received);
          if (was_cancelled) {  // the message is still to be received
            if (endpoint.receive(rank, tag, target).outcome() != Outcome::ok) ++wrong;
          }
          if (buffer != value) ++wrong;
        }
        --running;
        static_cast<void>(test::until([&] { return running == 0; },
                                      [&] { endpoint.progress(), std::this_thread::yield(); }));
      });
  for (std::thread& worker : workers) worker.join();
  EXPECT_EQ(wrong, 0);
  EXPECT_EQ(received + cancelled, count * threads * kRounds);
}

INSTANTIATE_TEST_SUITE_P(Shapes, SendReceiveThreads,
                         ::testing::Values(Shape{2, 1}, Shape{2, 2}, Shape{2, 4}, Shape{1, 8}, Shape{4, 2},
                                           Shape{8, 1}),
                         [](const auto& at) {
                           return std::to_string(std::get<0>(at.param)) + "_ranks_" +
                                  std::to_string(std::get<1>(at.param)) + "_threads";
                         });

}  // namespace
}  // namespace weft
