// Several threads wait for one object: each returns when what it waits for has come.
#include "support/ranks.hpp"

#include <weft/weft.hpp>

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <memory>
#include <thread>
#include <vector>

namespace weft {
namespace {

using namespace std::chrono_literals;
using test::Ranks;
using test::until;

void rest() { std::this_thread::sleep_for(1ms); }

class WaitsOfSeveralThreads : public testing::Test {
 protected:
  /// Threads are parked, or about to, when the next step comes; nothing depends on it.
  static void let_them_park() { std::this_thread::sleep_for(20ms); }
  void send() { static_cast<void>(endpoint_.send_am(0, remote_, {})); }

  Ranks<Endpoint> ranks_{1};
  Endpoint& endpoint_ = ranks_.endpoint(0);
  Counter counter_;
  RemoteCompletion remote_ = ranks_.runtime(0).expose(counter_, {.id = 1});
};

TEST_F(WaitsOfSeveralThreads, for_one_counter_have_each_a_target_of_its_own) {
  std::atomic<bool> has_first{false};
  std::thread first([&] {
    endpoint_.wait(counter_, 1);
    has_first = true;
  });
  let_them_park();
  std::thread second([&] { endpoint_.wait(counter_, 2); });
  let_them_park();
  send();
  EXPECT_TRUE(until([&] { return has_first.load(); }, rest));
  send();
  first.join();
  second.join();
}

TEST_F(WaitsOfSeveralThreads, for_one_counter_return_in_the_order_of_their_targets) {
  constexpr std::size_t kThreads = 6;
  std::vector<std::atomic<bool>> is_over(kThreads);
  std::vector<std::thread> threads;
  // The highest target first: it must not become that of those that come later, nor the other way round.
  for (std::size_t each = kThreads; each-- != 0;)
    threads.emplace_back([&, each] {
      endpoint_.wait(counter_, each + 1);
      EXPECT_GE(counter_.value(), each + 1);
      is_over[each] = true;
    });
  let_them_park();
  for (std::size_t each = 0; each < kThreads; ++each) {
    for (std::size_t later = each; later < kThreads; ++later) EXPECT_FALSE(is_over[later]);
    send();
    EXPECT_TRUE(until([&] { return is_over[each].load(); }, rest)) << "target " << each + 1;
  }
  for (std::thread& thread : threads) thread.join();
}

TEST_F(WaitsOfSeveralThreads, for_one_counter_keep_what_was_set_as_its_target) {
  counter_.set_target(3);
  send();
  endpoint_.wait(counter_, 1);
  EXPECT_FALSE(counter_.ready());
  EXPECT_FALSE(endpoint_.wait_for(counter_, 2, 1ms));
  EXPECT_TRUE(endpoint_.wait_for(counter_, 1, 1ms));
  std::thread waits_for_the_object([&] { endpoint_.wait_ready(counter_); });
  std::thread waits_for_two([&] { EXPECT_TRUE(endpoint_.wait_for(counter_, 2, test::kHangGuard)); });
  send();
  waits_for_two.join();
  send();
  waits_for_the_object.join();
  EXPECT_EQ(counter_.value(), 3U);
}

TEST_F(WaitsOfSeveralThreads, for_one_queue_get_one_message_each) {
  constexpr std::size_t kThreads = 4;
  CompletionQueue queue;
  const RemoteCompletion remote = ranks_.runtime(0).expose(queue, {.id = 2});
  std::vector<std::atomic<int>> got(kThreads);
  std::atomic<std::size_t> returned{0};
  std::vector<std::thread> threads;
  for (std::size_t each = 0; each < kThreads; ++each)
    threads.emplace_back([&] {
      const Message message = endpoint_.wait(queue);
      ++got[message.tag()];
      ++returned;
    });
  let_them_park();
  for (std::size_t each = 0; each < kThreads; ++each) {
    static_cast<void>(endpoint_.send_am(0, remote, {}, {.tag = static_cast<std::uint32_t>(each)}));
    EXPECT_TRUE(until([&] { return returned == each + 1; }, rest));
  }
  for (std::thread& thread : threads) thread.join();
  for (const auto& count : got) EXPECT_EQ(count, 1);
}

TEST_F(WaitsOfSeveralThreads, for_one_synchronizer_or_graph_all_return) {
  constexpr int kThreads = 4;
  Synchronizer synchronizer{2};
  const RemoteCompletion remote = ranks_.runtime(0).expose(synchronizer, {.id = 2});
  Graph graph;
  const auto first = graph.add_receive(endpoint_, 0, 1, {});
  graph.order(first, graph.add_send(endpoint_, 0, 2, {}));
  graph.start();
  std::vector<std::thread> threads;
  for (int each = 0; each < kThreads; ++each)
    threads.emplace_back([&] {
      endpoint_.wait_ready(synchronizer);
      EXPECT_EQ(endpoint_.wait(graph), Outcome::ok);
    });
  let_them_park();
  static_cast<void>(endpoint_.send_am(0, remote, {}));
  static_cast<void>(endpoint_.send_am(0, remote, {}));
  EXPECT_EQ(endpoint_.send(0, 1, {}), Outcome::ok);
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(endpoint_.receive(0, 2, {}).outcome(), Outcome::ok);
}

TEST_F(WaitsOfSeveralThreads, on_devices_of_their_own_return_each_at_its_target) {
  Device device{ranks_.runtime(0), {.index = 1}};
  Endpoint other{device};
  const RemoteCompletion there = ranks_.runtime(0).expose(counter_, {.id = 2, .device = 1});
  std::atomic<bool> has_first{false};
  std::thread first([&] {
    endpoint_.wait(counter_, 1);
    has_first = true;
  });
  let_them_park();
  std::thread second([&] { other.wait(counter_, 2); });
  let_them_park();
  // Arrives where the second one progresses.
  static_cast<void>(other.send_am(0, there, {}));
  EXPECT_TRUE(until([&] { return has_first.load(); }, rest));
  static_cast<void>(other.send_am(0, there, {}));
  first.join();
  second.join();
}

}  // namespace
}  // namespace weft
