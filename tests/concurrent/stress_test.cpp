// The same structures under real threads, for ThreadSanitizer and for what a model cannot show.
#include "concurrent/index_pool.hpp"
#include "concurrent/mpsc_list.hpp"
#include "concurrent/thread_number.hpp"

#include <weft/completion/counter.hpp>
#include <weft/completion/queue.hpp>
#include <weft/detail/bias.hpp>
#include <weft/detail/message_access.hpp>

#include <gtest/gtest.h>

#include <atomic>
#include <cstring>
#include <memory>
#include <mutex>
#include <set>
#include <thread>
#include <vector>

namespace weft {
namespace {

constexpr int kThreads = 4;
#if defined(__SANITIZE_THREAD__) || defined(__SANITIZE_ADDRESS__)
constexpr int kRounds = 5'000;
#else
constexpr int kRounds = 50'000;
#endif

template <class Part>
void in_threads(int count, const Part& part) {
  std::vector<std::thread> threads;
  for (int thread = 0; thread < count; ++thread) threads.emplace_back([&, thread] { part(thread); });
  for (std::thread& thread : threads) thread.join();
}

TEST(IndexPoolStress, gives_each_index_to_one_owner) {
  concurrent::IndexPool<> pool(3);
  int owned[3] = {};  // plain: a second owner is a data race
  std::atomic<int> uses{0};
  in_threads(kThreads, [&](int) {
    for (int round = 0; round < kRounds; ++round) {
      const std::uint32_t index = pool.take();
      if (index == pool.kNone) continue;
      ++owned[index];
      ++uses;
      pool.put(index);
    }
  });
  EXPECT_EQ(owned[0] + owned[1] + owned[2], uses);
  std::set<std::uint32_t> rest;
  for (int count = 0; count < 3; ++count) rest.insert(pool.take());
  EXPECT_EQ(rest.size(), 3U);
  EXPECT_EQ(pool.take(), pool.kNone);
}

TEST(MpscListStress, hands_over_every_item_once) {
  struct Item {
    Item* next = nullptr;
    int thread = 0;
    int number = 0;
  };
  concurrent::MpscList<Item> mpsc_list;
  std::vector<Item> items(static_cast<std::size_t>(kThreads * kRounds));
  std::atomic<int> running{kThreads};
  int taken = 0;
  std::vector<int> next(kThreads);
  std::thread taker([&] {
    for (bool last = false; !last;) {
      last = running == 0;
      for (Item* item = mpsc_list.take_all(); item != nullptr; item = item->next) {
        EXPECT_EQ(item->number, next[static_cast<std::size_t>(item->thread)]++);
        ++taken;
      }
    }
  });
  in_threads(kThreads, [&](int thread) {
    for (int number = 0; number < kRounds; ++number) {
      Item& item = items[static_cast<std::size_t>(thread * kRounds + number)];
      item.thread = thread;
      item.number = number;
      mpsc_list.put(item);
    }
    --running;
  });
  taker.join();
  EXPECT_EQ(taken, kThreads * kRounds);
}

TEST(ThreadNumbers, are_those_of_no_other_living_thread) {
  std::mutex mutex;
  std::set<std::uint32_t> living{concurrent::thread_number()};
  for (int round = 0; round < 20; ++round)
    in_threads(8, [&](int) {
      const std::uint32_t number = concurrent::thread_number();
      {
        const std::lock_guard lock(mutex);
        EXPECT_TRUE(living.insert(number).second) << number;
      }
      EXPECT_LT(number, 64U) << "numbers are used again";
      std::this_thread::yield();
      const std::lock_guard lock(mutex);
      living.erase(number);
    });
}

template <class Queue>
void push(Queue& queue, int producer, std::uint64_t value) {
  Message message;
  detail::MessageAccess::set_view(message, Operation::active_message, producer,
                                  static_cast<std::uint32_t>(value),
                                  reinterpret_cast<const std::byte*>(&value), sizeof value, nullptr, 0);
  queue.signal(message);
}

/// Producers push, consumers pop, the queue grows from two entries.
template <class Queue>
void stress_queue(int producers, int consumers) {
  Queue queue({.initial = 2});
  const auto total = static_cast<std::uint64_t>(producers) * kRounds;
  std::atomic<std::uint64_t> popped{0};
  std::vector<std::atomic<std::uint8_t>> seen(total);
  std::atomic<int> wrong{0};
  in_threads(producers + consumers, [&](int thread) {
    if (thread < producers) {
      for (int number = 0; number < kRounds; ++number) {
        push(queue, thread,
             static_cast<std::uint64_t>(thread) * kRounds + static_cast<std::uint64_t>(number));
      }
      return;
    }
    std::vector<std::uint64_t> last(static_cast<std::size_t>(producers), 0);
    Message message;
    while (popped < total) {
      if (!queue.pop(message)) {
        std::this_thread::yield();
        continue;
      }
      const auto value = message.as<std::uint64_t>();
      const auto producer = static_cast<std::size_t>(message.peer());
      if (static_cast<std::uint32_t>(value) != message.tag() || seen[value].exchange(1) != 0 ||
          last[producer] > value)
        ++wrong;
      last[producer] = value;
      ++popped;
    }
  });
  EXPECT_EQ(popped, total);
  EXPECT_EQ(wrong, 0) << "torn, twice or out of order";
  EXPECT_TRUE(queue.empty());
  EXPECT_EQ(queue.size_guess(), 0U);
}

TEST(QueueStress, with_many_producers_and_consumers) { stress_queue<CompletionQueue>(3, 3); }
TEST(QueueStress, with_many_producers_and_one_consumer) { stress_queue<SingleConsumerQueue>(3, 1); }
TEST(QueueStress, with_one_producer_and_one_consumer) { stress_queue<SerialCompletionQueue>(1, 1); }

TEST(QueueStress, of_many_with_one_producer_or_one_consumer) {
  stress_queue<CompletionQueue>(1, 1);
  stress_queue<CompletionQueue>(1, 3);
  stress_queue<CompletionQueue>(3, 1);
  stress_queue<SingleConsumerQueue>(1, 1);
}

TEST(QueueStress, with_threads_that_come_while_another_has_its_ends_to_itself) {
  constexpr std::uint64_t kAlone = 500;
  constexpr std::uint64_t kTogether = 200;
  for (int repetition = 0; repetition < 50; ++repetition) {
    CompletionQueue queue({.initial = 2});
    std::atomic<std::uint64_t> popped{0};
    std::atomic<std::uint64_t> sum{0};
    const auto pop = [&] {
      Message message;
      if (!queue.pop(message)) return;
      sum += message.as<std::uint64_t>();
      ++popped;
    };
    in_threads(kThreads, [&](int thread) {
      for (std::uint64_t value = 0; thread == 0 && value < kAlone; ++value) {
        push(queue, 0, value);
        pop();
      }
      while (thread != 0 && popped < kAlone / 2) std::this_thread::yield();
      for (std::uint64_t value = 0; value < kTogether; ++value) push(queue, thread, value);
      while (popped < kAlone + kThreads * kTogether) pop();
    });
    ASSERT_EQ(sum, kAlone * (kAlone - 1) / 2 + kThreads * (kTogether * (kTogether - 1) / 2));
  }
}

TEST(QueueStress, may_be_destroyed_once_the_last_message_is_popped) {
  constexpr std::uint64_t kMessages = 200;
  for (int repetition = 0; repetition < 200; ++repetition) {
    auto queue = std::make_unique<SingleConsumerQueue>();
    std::thread producer([target = queue.get()] {
      for (std::uint64_t value = 0; value < kMessages; ++value) push(*target, 0, value);
    });
    Message message;
    for (std::uint64_t popped = 0; popped < kMessages;) popped += queue->pop(message) ? 1 : 0;
    message = Message();
    queue.reset();
    producer.join();
  }
}

TEST(CounterStress, counts_every_signal_of_every_thread) {
  Counter counter;
  Message message;
  std::atomic<bool> ended{false};
  std::thread reader([&] {
    for (std::uint64_t before = 0; !ended.load();) {
      const std::uint64_t now = counter.value();
      ASSERT_GE(now, before);
      before = now;
    }
  });
  for (int generation = 1; generation <= 3; ++generation) {
    in_threads(kThreads, [&](int) {
      Message own;
      for (int round = 0; round < kRounds; ++round) counter.signal(own);
    });
    EXPECT_EQ(counter.value(), static_cast<std::uint64_t>(generation) * kThreads * kRounds);
  }
  ended = true;
  reader.join();
  counter.reset();
  EXPECT_EQ(counter.value(), 0U);
  counter.signal(message);
  EXPECT_EQ(counter.value(), 1U);
}

TEST(BiasStress, guards_what_one_thread_uses_and_then_many) {
  for (int repetition = 0; repetition < 20; ++repetition) {
    detail::Bias bias;
    std::atomic<std::uint32_t> word{0};
    std::uint64_t guarded = 0;  // not atomic: a second thread inside is a race, and loses counts
    std::atomic<std::uint64_t> uses{0};
    std::atomic<bool> owned{false};
    in_threads(kThreads, [&](int thread) {
      while (thread != 0 && !owned.load()) std::this_thread::yield();
      std::uint64_t own = 0;
      for (int round = 0; round < kRounds / 4; ++round) {
        auto* const hold = bias.acquire(word);
        if (hold != nullptr) {
          ++guarded;
          ++own;
          detail::Bias::release(hold);
        }
        if (round == 500) owned = true;
      }
      uses.fetch_add(own);
    });
    ASSERT_EQ(guarded, uses.load());
  }
}

}  // namespace
}  // namespace weft
