// Payloads of every size in memory of the completion object's allocator, by device, and set while nothing has
// come.
#include <weft/testing/in_process_job.hpp>

#include "support/errors.hpp"
#include "support/ranks.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <map>
#include <mutex>
#include <thread>

namespace weft {
namespace {

using test::matches;
using test::payload;
using test::Ranks;

/// Remembers what it has lent, and to which device.
class Books final : public PayloadOwner {
 public:
  std::byte* allocate(std::size_t size) noexcept override { return allocate_on(size, 1000); }
  std::byte* allocate_on(std::size_t size, std::uint32_t device) noexcept override {
    if (refusals.load() > 0 && refusals.fetch_sub(1) > 0) return nullptr;
    auto* const data = static_cast<std::byte*>(std::aligned_alloc(64, (size + 63) / 64 * 64));
    const std::lock_guard lock(mutex);
    lent[data] = size;
    ++by_device[device];
    return data;
  }
  void release(std::byte* data, std::size_t size, std::uint64_t) noexcept override {
    const std::lock_guard lock(mutex);
    EXPECT_EQ(lent[data], size);
    lent.erase(data);
    std::free(data);
  }
  [[nodiscard]] bool has(const std::byte* data) {
    const std::lock_guard lock(mutex);
    return lent.count(const_cast<std::byte*>(data)) != 0;
  }
  [[nodiscard]] std::size_t count() {
    const std::lock_guard lock(mutex);
    return lent.size();
  }
  std::atomic<int> refusals{0};
  std::mutex mutex;
  std::map<std::byte*, std::size_t> lent;
  std::map<std::uint32_t, int> by_device;
};

class EverySize : public testing::TestWithParam<std::size_t> {};
INSTANTIATE_TEST_SUITE_P(bytes, EverySize, testing::Values(0, 1, 8, 48, 49, 700, 5000, 100'000));

TEST_P(EverySize, arrives_in_memory_of_the_allocator) {
  Books books;
  Ranks<Endpoint> ranks(2);
  CompletionQueue queue;
  queue.set_allocator(books, AllocatorUse::every_size);
  const RemoteCompletion remote = ranks.runtime(1).expose(queue, {.id = 1});
  ASSERT_TRUE(ranks.meet());
  constexpr std::uint32_t kCount = 40;
  const auto bytes = payload(GetParam(), 7);
  Counter sent;
  for (std::uint32_t number = 0; number < kCount; ++number)  // some arrive together
    ASSERT_TRUE(ranks.progress_until(
        [&] { return ranks.endpoint(0).post_am(1, remote, bytes, {.completion = &sent}).is_accepted(); }));
  std::uint32_t got = 0;
  ASSERT_TRUE(ranks.progress_until([&] {
    Message message;
    while (queue.pop(message)) {
      ++got;
      EXPECT_EQ(message.remote(), remote);
      EXPECT_TRUE(matches(message.bytes(), 7));
      EXPECT_EQ(message.size(), GetParam());
      if (GetParam() != 0) {
        EXPECT_TRUE(message.is_owner());
        EXPECT_TRUE(books.has(message.data()));
        EXPECT_EQ(message.mutable_data(), message.data());
        const Payload kept = message.release();
        EXPECT_TRUE(books.has(kept.data)) << "not copied again";
        EXPECT_EQ(kept.owner, &books);
        kept.free();
      }
    }
    return got == kCount && sent.value() == kCount;
  }));
  EXPECT_EQ(books.count(), 0U);
}

TEST_P(EverySize, waits_for_room_and_is_not_lost) {
  if (GetParam() == 0) GTEST_SKIP() << "nothing is allocated";
  Books books;
  Ranks<Endpoint> ranks(2);
  std::vector<std::uint64_t> tags;
  Handler handler([&](Message& message) {
    EXPECT_TRUE(books.has(message.data()));
    EXPECT_TRUE(matches(message.bytes(), message.tag()));
    tags.push_back(message.tag());
    Message kept = message.take();
    EXPECT_TRUE(books.has(kept.data()));
  });
  handler.set_allocator(books, AllocatorUse::every_size);
  const RemoteCompletion remote = ranks.runtime(1).expose(handler, {.id = 1});
  ASSERT_TRUE(ranks.meet());
  books.refusals = 50;
  const std::vector<std::byte> bytes[] = {payload(GetParam(), 0), payload(GetParam(), 1),
                                          payload(GetParam(), 2)};
  Counter sent;
  for (std::uint32_t tag = 0; tag < 3; ++tag)
    ASSERT_TRUE(ranks.progress_until([&] {
      return ranks.endpoint(0)
          .post_am(1, remote, bytes[tag], {.completion = &sent, .tag = tag})
          .is_accepted();
    }));
  ASSERT_TRUE(ranks.progress_until([&] { return tags.size() == 3 && sent.value() == 3; }));
  EXPECT_LE(books.refusals, 0);
  EXPECT_EQ(books.count(), 0U);
}

TEST_P(EverySize, tells_the_allocator_of_a_shared_queue_which_device_it_is_for) {
  if (GetParam() == 0) GTEST_SKIP() << "nothing is allocated";
  Books books;
  InProcessJob job(1);
  Runtime runtime(job, 0);
  Device first(runtime, {.index = 0});
  Device second(runtime, {.index = 4});
  Endpoint endpoints[] = {Endpoint(first), Endpoint(second)};
  CompletionQueue queue;
  queue.set_allocator(books, AllocatorUse::every_size);
  const RemoteCompletion remote = runtime.expose(queue, {.id = 1});
  std::atomic<bool> stop{false};
  std::vector<std::thread> threads;
  for (Endpoint& endpoint : endpoints)
    threads.emplace_back([&] {
      while (!stop.load())
        if (endpoint.progress() == 0) std::this_thread::yield();
    });
  const auto bytes = payload(GetParam(), 9);
  constexpr int kEach = 50;
  Counter sent;
  for (int round = 0; round < kEach; ++round)
    for (const std::uint8_t device : {std::uint8_t{0}, std::uint8_t{4}})
      ASSERT_TRUE(test::until(
          [&] {
            return endpoints[0]
                .post_am(0, remote.on_device(device), bytes, {.completion = &sent})
                .is_accepted();
          },
          [] { std::this_thread::yield(); }));
  int got = 0;
  ASSERT_TRUE(test::until(
      [&] {
        Message message;
        while (queue.pop(message)) {
          EXPECT_TRUE(matches(message.bytes(), 9));
          ++got;
        }
        return got == 2 * kEach && sent.value() == 2 * kEach;
      },
      [] { std::this_thread::yield(); }));
  stop = true;
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(books.by_device[0], kEach);
  EXPECT_EQ(books.by_device[4], kEach);
  EXPECT_EQ(books.by_device.count(1000), 0U);
}

TEST(Allocator, is_set_after_expose_while_nothing_has_come_that_needs_it) {
  Books first;
  Books books;
  Ranks<Endpoint> ranks(2);
  CompletionQueue queue;
  const RemoteCompletion remote = ranks.runtime(1).expose(queue, {.id = 1});
  ASSERT_TRUE(ranks.meet());
  Message message;
  ASSERT_TRUE(ranks.post(0, 1, remote, payload(8, 1)).has_value());
  ASSERT_TRUE(ranks.progress_until([&] { return queue.pop(message); }));
  queue.set_allocator(first);
  queue.set_allocator(books);  // no memory has been asked for
  const auto bytes = payload(100'000, 1);
  Counter sent;
  ASSERT_TRUE(ranks.post(0, 1, remote, bytes, {.completion = &sent}).has_value());
  ASSERT_TRUE(ranks.progress_until([&] { return queue.pop(message); }));
  ASSERT_TRUE(ranks.progress_until([&] { return sent.value() == 1; }));
  EXPECT_TRUE(books.has(message.data()));
  EXPECT_NE(test::error_of([&] { queue.set_allocator(first); }).find("set_allocator"), std::string::npos);
  EXPECT_EQ(&queue.allocator(), &books);
  message = Message();
}

TEST(QueueCapacityInBytes, stops_senders_and_lets_them_go_on) {
  for (const std::size_t size : {std::size_t{100}, std::size_t{3000}, std::size_t{40'000}}) {
    Ranks<Endpoint> ranks(2, test::kNoSurprises);
    constexpr std::uint64_t kBytes = 200'000;
    CompletionQueue queue({.capacity_bytes = kBytes});
    EXPECT_EQ(queue.capacity_bytes(), kBytes);
    const RemoteCompletion remote = ranks.runtime(1).expose(queue, {.id = 1});
    ASSERT_TRUE(ranks.meet());
    const auto bytes = payload(size, 1);
    std::uint64_t accepted = 0;
    std::uint64_t popped = 0;
    Message message;
    for (int round = 0; round < 3; ++round) {
      Status status = Status::done();
      int refused = 0;
      while (refused < 200 && accepted - popped < 20'000) {
        status = ranks.endpoint(0).post_am(1, remote, bytes);
        if (status.is_accepted()) ++accepted;
        refused = status.is_retry() && status.reason() == Reason::no_credit ? refused + 1 : 0;
        ranks.progress();
      }
      EXPECT_EQ(status.reason(), Reason::no_credit) << size;
      // What was under way is still taken in: of large messages many may be.
      if (size < 10'000) {
        EXPECT_LT((accepted - popped) * size, 4 * kBytes + 200 * size) << size;
      }
      ASSERT_TRUE(ranks.progress_until([&] {
        while (queue.pop(message)) {
          ++popped;
          EXPECT_TRUE(matches(message.bytes(), 1));
        }
        return popped == accepted;
      }));
    }
  }
}

TEST(QueueCapacityInBytes, does_not_count_what_lies_in_its_entries) {
  Ranks<Endpoint> ranks(2, test::kNoSurprises);
  CompletionQueue queue({.capacity_bytes = 1});
  const RemoteCompletion remote = ranks.runtime(1).expose(queue, {.id = 1});
  ASSERT_TRUE(ranks.meet());
  for (int count = 0; count < 2000; ++count)
    ASSERT_TRUE(ranks.post(0, 1, remote, payload(static_cast<std::size_t>(count % 49), 1)).has_value());
  int popped = 0;
  Message message;
  ASSERT_TRUE(ranks.progress_until([&] {
    if (queue.size_guess() == 2000)
      while (queue.pop(message)) ++popped;
    return popped == 2000;
  }));
}

}  // namespace
}  // namespace weft
