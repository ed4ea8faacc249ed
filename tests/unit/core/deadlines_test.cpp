// Nodes of operations with a timeout: order, ends before and after the time, threads.
#include "core/deadline/deadlines.hpp"

#include "base/clock.hpp"
#include "core/deadline/timeout.hpp"

#include <weft/detail/message_access.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <random>
#include <thread>
#include <vector>

namespace weft::core {
namespace {

using Node = Deadlines::Node;

class Told final : public Completion {
 public:
  ~Told() override { withdraw(); }
  void signal(Message&) noexcept override { ++count; }
  [[nodiscard]] bool ready() const noexcept override { return count.load() != 0; }
  std::atomic<std::uint64_t> count{0};
};

/// Keeps the outcome of the last message.
class Recorded final : public Completion {
 public:
  ~Recorded() override { withdraw(); }
  void signal(Message& message) noexcept override {
    outcome = message.outcome();
    ++count;
  }
  [[nodiscard]] bool ready() const noexcept override { return count != 0; }
  Outcome outcome = Outcome::ok;
  std::uint64_t count = 0;
};

void end(Node& node) {
  Message message;
  node.signal(message);
}

/// A node that is free again names nobody: an object that dies has nothing to wait for.
TEST(Deadlines, free_nodes_pass_nothing_on) {
  Deadlines deadlines(4);
  Recorded object, instead;
  Node* node = deadlines.take(object, 1);
  ASSERT_NE(node, nullptr);
  EXPECT_TRUE(deadlines.arm(*node));
  deadlines.update();
  end(*node);
  EXPECT_EQ(deadlines.update(), 1U);
  EXPECT_FALSE(deadlines.may_name(object));
  int passed_on = 0;
  deadlines.pass_on(object, instead, [&](const Node&) { ++passed_on; });
  EXPECT_EQ(passed_on, 0);
  EXPECT_FALSE(deadlines.passes_on(node, instead));
}

TEST(Deadlines, name_no_object_once_their_operations_have_ended) {
  Deadlines deadlines(10);
  Told told;
  Told instead;
  std::vector<Node*> nodes;
  for (int count = 0; count < 4; ++count) nodes.push_back(deadlines.take(told, Deadlines::kNever));
  // Ended and taken in; ended before it was armed; given back without a signal; ended and not taken in.
  EXPECT_TRUE(deadlines.arm(*nodes[0]));
  end(*nodes[0]);
  EXPECT_EQ(deadlines.update(), 1U);
  end(*nodes[1]);
  EXPECT_FALSE(deadlines.arm(*nodes[1]));
  deadlines.release(*nodes[2]);
  EXPECT_TRUE(deadlines.arm(*nodes[3]));
  end(*nodes[3]);
  Node* const under_way = deadlines.take(told, Deadlines::kNever);
  ASSERT_NE(under_way, nullptr);
  EXPECT_TRUE(deadlines.arm(*under_way));
  std::vector<const Node*> passed_on;
  deadlines.pass_on(told, instead, [&](const Node& node) { passed_on.push_back(&node); });
  EXPECT_EQ(passed_on, (std::vector<const Node*>{under_way}));
  EXPECT_FALSE(deadlines.may_name(told));
  EXPECT_TRUE(deadlines.passes_on(under_way, instead));
  end(*under_way);
  EXPECT_EQ(deadlines.update(), 2U);
  EXPECT_FALSE(deadlines.may_name(instead));
  EXPECT_EQ(instead.count, 1U);
}

TEST(Deadlines, come_in_the_order_of_their_times) {
  constexpr std::uint32_t kNodes = 500;
  Deadlines deadlines(kNodes);
  Told told;
  std::mt19937_64 random(3);
  std::vector<std::pair<std::int64_t, Node*>> expected;
  for (std::uint32_t count = 0; count < kNodes; ++count) {
    const auto time = static_cast<std::int64_t>(random() % 1000);
    Node* node = deadlines.take(told, time);
    ASSERT_NE(node, nullptr);
    EXPECT_TRUE(deadlines.arm(*node));
    expected.emplace_back(time, node);
  }
  EXPECT_EQ(deadlines.take(told, 0), nullptr);
  EXPECT_EQ(deadlines.update(), 0U);
  // Some end before.
  std::shuffle(expected.begin(), expected.end(), random);
  for (int count = 0; count < 200; ++count) {
    end(*expected.back().second);
    expected.pop_back();
  }
  EXPECT_EQ(deadlines.update(), 200U);
  EXPECT_EQ(deadlines.count(), 300U);
  std::sort(expected.begin(), expected.end());
  for (std::int64_t now = 0; now < 1000; ++now) {
    std::vector<Node*> due;
    Node* const first = deadlines.take_due(now);
    for (Node* node = first; node != nullptr; node = node->next_due) {
      due.push_back(node);
      EXPECT_TRUE(deadlines.is_due(node));
      end(*node);
    }
    deadlines.put_back(first, now);
    EXPECT_EQ(deadlines.update(), due.size());
    std::sort(due.begin(), due.end());
    std::vector<Node*> wanted;
    for (const auto& [time, node] : expected)
      if (time == now) wanted.push_back(node);
    EXPECT_EQ(due, wanted) << now;
  }
  EXPECT_EQ(deadlines.next_time(), Deadlines::kNever);
  EXPECT_EQ(deadlines.count(), 0U);
  EXPECT_EQ(told.count.load(), kNodes);
}

TEST(Deadlines, that_end_before_they_are_armed_are_free_at_once) {
  Deadlines deadlines(1);
  Told told;
  Node* node = deadlines.take(told, 5);
  end(*node);
  EXPECT_FALSE(deadlines.arm(*node));
  node = deadlines.take(told, 5);
  ASSERT_NE(node, nullptr);
  deadlines.release(*node);
  EXPECT_FALSE(deadlines.has_changed());
  EXPECT_NE(deadlines.take(told, 5), nullptr);
}

TEST(Deadlines, of_operations_that_have_ended_name_no_object) {
  Deadlines deadlines(2);
  Told told, instead;
  Node* const ended = deadlines.take(told, 5);
  ASSERT_NE(ended, nullptr);
  EXPECT_TRUE(deadlines.arm(*ended));
  Node* const live = deadlines.take(told, 5);
  ASSERT_NE(live, nullptr);
  EXPECT_TRUE(deadlines.arm(*live));
  end(*ended);
  EXPECT_EQ(deadlines.update(), 1U);
  int passed_on = 0;
  deadlines.pass_on(told, instead, [&](const Node&) { ++passed_on; });
  EXPECT_EQ(passed_on, 1);
  EXPECT_FALSE(deadlines.may_name(told));
  end(*live);
  EXPECT_EQ(deadlines.update(), 1U);
  EXPECT_FALSE(deadlines.may_name(instead));
  EXPECT_EQ(told.count.load(), 1U);
  EXPECT_EQ(instead.count.load(), 1U);
}

TEST(Deadlines, of_operations_that_cannot_be_ended_come_again_later_each_time) {
  Deadlines deadlines(4);
  Told told;
  Node* node = deadlines.take(told, 5);
  EXPECT_TRUE(deadlines.arm(*node));
  deadlines.update();
  std::int64_t now = 5;
  std::int64_t pause = 0;
  for (int round = 0; round < 20; ++round) {
    EXPECT_EQ(deadlines.take_due(now - 1), nullptr);
    Node* const due = deadlines.take_due(now);
    ASSERT_EQ(due, node);
    deadlines.put_back(due, now);
    EXPECT_FALSE(deadlines.is_due(node));
    deadlines.update();
    EXPECT_GE(deadlines.next_time() - now, pause);
    pause = deadlines.next_time() - now;
    now = deadlines.next_time();
  }
  EXPECT_EQ(pause, 100'000'000);
}

TEST(Deadlines, know_their_nodes) {
  Deadlines deadlines(3);
  Told told;
  EXPECT_EQ(deadlines.node_of(&told), nullptr);
  Node* node = deadlines.take(told, 5);
  EXPECT_EQ(deadlines.node_of(node), node);
  EXPECT_EQ(deadlines.node_of(&told), nullptr);
  EXPECT_EQ(deadlines.node_of(nullptr), nullptr);
  EXPECT_EQ(deadlines.behind(node), &told);
  EXPECT_EQ(deadlines.behind(&told), &told);
}

/// What an operation tells its node that has been found to be due.
Outcome end_as_due(Node& node, Recorded& recorded) {
  Message message;
  detail::MessageAccess::set_outcome(message, Outcome::timed_out);
  node.signal(message);
  return recorded.outcome;
}

/// Whoever waits takes the clock from a deadline: the distance to any of them has to fit 64 bits.
TEST(Deadlines, have_distances_that_fit) {
  for (const Timeout timeout : {Timeout(std::chrono::nanoseconds(-1)), Timeout(std::chrono::hours::min()),
                                Timeout(std::chrono::nanoseconds::min())}) {
    EXPECT_GE(detail::time_after(timeout), 0) << timeout.count();
    EXPECT_LE(detail::time_after(timeout), base::now_ns()) << timeout.count();
  }
  EXPECT_EQ(detail::time_after(Timeout(std::chrono::hours::max())), Deadlines::kNever);

  Deadlines deadlines(2);
  Told object;
  Node* const node = deadlines.take(object, Deadlines::kNever);
  ASSERT_NE(node, nullptr);
  EXPECT_TRUE(deadlines.arm(*node));
  deadlines.update();
  EXPECT_EQ(deadlines.next_time(), Deadlines::kNever);
  EXPECT_TRUE(deadlines.cancel(deadlines.handle_of(*node, 0)));
  deadlines.update();
  EXPECT_GE(deadlines.next_time(), 0) << "of an operation that is cancelled";
  end(*node);
  deadlines.update();
}

TEST(Deadlines, of_operations_that_are_cancelled_have_come) {
  Deadlines deadlines(2);
  Recorded recorded;
  Node* const node = deadlines.take(recorded, Deadlines::kNever);
  const SendHandle handle = deadlines.handle_of(*node, 3);
  EXPECT_EQ(handle.device, 3U);
  EXPECT_FALSE(deadlines.cancel(handle)) << "it is not posted yet";
  ASSERT_TRUE(deadlines.arm(*node));
  deadlines.update();
  EXPECT_EQ(deadlines.take_due(1'000'000), nullptr);
  EXPECT_FALSE(deadlines.cancel({handle.index, handle.generation + 1, 3}));
  EXPECT_FALSE(deadlines.cancel({7, handle.generation, 3}));
  EXPECT_FALSE(deadlines.has_changed());
  EXPECT_TRUE(deadlines.cancel(handle));
  EXPECT_TRUE(deadlines.has_changed());
  EXPECT_TRUE(deadlines.cancel(handle));
  EXPECT_EQ(deadlines.update(), 0U);
  Node* const due = deadlines.take_due(0);
  ASSERT_EQ(due, node);
  EXPECT_EQ(end_as_due(*node, recorded), Outcome::cancelled);
  deadlines.put_back(due, 0);
  EXPECT_FALSE(deadlines.cancel(handle));
  EXPECT_EQ(deadlines.update(), 1U);
  EXPECT_EQ(deadlines.count(), 0U);
  // The node serves another operation, which the old handle does not name.
  Node* const again = deadlines.take(recorded, 5);
  ASSERT_TRUE(deadlines.arm(*again));
  EXPECT_FALSE(deadlines.cancel(handle));
  deadlines.update();
  Node* const late = deadlines.take_due(5);
  ASSERT_EQ(late, again);
  EXPECT_EQ(end_as_due(*again, recorded), Outcome::timed_out);
  deadlines.put_back(late, 5);
  EXPECT_EQ(deadlines.update(), 1U);
  EXPECT_EQ(recorded.count, 2U);
}

TEST(Deadlines, of_cancelled_operations_come_again_until_these_end) {
  Deadlines deadlines(4);
  Told told;
  Node* const node = deadlines.take(told, 50);
  const SendHandle handle = deadlines.handle_of(*node, 0);
  ASSERT_TRUE(deadlines.arm(*node));
  Node* const other = deadlines.take(told, 10);
  ASSERT_TRUE(deadlines.arm(*other));
  deadlines.update();
  // While it is among those that are due.
  Node* due = deadlines.take_due(60);
  ASSERT_NE(due, nullptr);
  EXPECT_TRUE(deadlines.cancel(handle));
  deadlines.put_back(due, 60);
  deadlines.update();
  due = deadlines.take_due(60);
  ASSERT_EQ(due, node) << "at once, and not after the pause";
  EXPECT_EQ(due->next_due, nullptr);
  deadlines.put_back(due, 60);
  deadlines.update();
  EXPECT_EQ(deadlines.take_due(61), nullptr);
  end(*node);
  end(*other);
  EXPECT_EQ(deadlines.update(), 2U);
}

TEST(Deadlines, of_threads_that_cancel_are_signalled_and_free_once) {
  constexpr std::uint64_t kRounds = 20'000;
  Deadlines deadlines(4);
  Told told;
  std::vector<std::atomic<std::uint64_t>> names(kRounds);  // of the operations that are to be cancelled
  std::thread poster([&] {
    for (std::uint64_t round = 0; round < kRounds; ++round) {
      Node* node = nullptr;
      while ((node = deadlines.take(told, Deadlines::kNever)) == nullptr) std::this_thread::yield();
      const SendHandle handle = deadlines.handle_of(*node, 0);
      const bool is_ended_here = round % 2 == 0;
      node->receive.generation = is_ended_here ? 1 : 2;  // as below
      EXPECT_TRUE(deadlines.arm(*node));
      names[round].store(std::uint64_t{handle.index} << 32 | handle.generation);
      if (is_ended_here) end(*node);  // perhaps while it is being cancelled
    }
  });
  std::thread canceller([&] {
    for (std::uint64_t round = 0; round < kRounds; ++round) {
      std::uint64_t name = 0;
      while ((name = names[round].load()) == 0) std::this_thread::yield();
      const bool is_cancelled =
          deadlines.cancel({static_cast<std::uint32_t>(name >> 32), static_cast<std::uint32_t>(name), 0});
      EXPECT_TRUE(is_cancelled || round % 2 == 0);
    }
  });
  while (told.count.load() != kRounds || deadlines.count() != 0) {
    deadlines.update();
    Node* const first = deadlines.take_due(0);
    for (Node* node = first; node != nullptr; node = node->next_due)
      if (node->receive.generation == 2) end(*node);
    deadlines.put_back(first, 0);
    std::this_thread::yield();
  }
  poster.join();
  canceller.join();
  EXPECT_EQ(told.count.load(), kRounds);
}

/// A receive's generation says here who ends the operation: 2: whoever finds that it is due.
TEST(Deadlines, of_threads_are_signalled_and_free_once) {
  constexpr std::uint64_t kThreads = 3;
  constexpr std::uint64_t kRounds = 3000;
  Deadlines deadlines(16);
  Told told;
  std::atomic<std::uint64_t> posters{kThreads};
  std::vector<std::thread> threads;
  for (std::uint64_t number = 0; number < kThreads; ++number)
    threads.emplace_back([&, number] {
      std::mt19937_64 random(number);
      for (std::uint64_t round = 0; round < kRounds; ++round) {
        Node* node = nullptr;
        while ((node = deadlines.take(told, static_cast<std::int64_t>(random() % 3))) == nullptr)
          std::this_thread::yield();
        const auto kind = static_cast<std::uint32_t>(random() % 3);
        node->receive.generation = kind;
        if (kind == 0) end(*node);
        const bool is_armed = deadlines.arm(*node);
        EXPECT_EQ(is_armed, kind != 0);
        if (kind == 1) end(*node);
      }
      --posters;
    });
  while (posters.load() != 0 || deadlines.count() != 0) {
    deadlines.update();
    Node* const first = deadlines.take_due(1'000'000'000'000);
    for (Node* node = first; node != nullptr; node = node->next_due)
      if (node->receive.generation == 2) end(*node);
    deadlines.put_back(first, 0);
    std::this_thread::yield();
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(told.count.load(), kThreads * kRounds);
}

}  // namespace
}  // namespace weft::core
