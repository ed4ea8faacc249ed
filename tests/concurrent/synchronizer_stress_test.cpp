// Synchronizers under real threads, for ThreadSanitizer and for what a model cannot show.
#include <weft/completion/synchronizer.hpp>
#include <weft/detail/message_access.hpp>

#include <gtest/gtest.h>

#include <atomic>
#include <memory>
#include <optional>
#include <thread>
#include <vector>

namespace weft {
namespace {

constexpr int kSynchronizerThreads = 3;
#if defined(__SANITIZE_THREAD__) || defined(__SANITIZE_ADDRESS__)
constexpr int kSynchronizerRounds = 2'000;
#else
constexpr int kSynchronizerRounds = 20'000;
#endif

void signal(Completion& completion, std::uint64_t tag, void* user_data) {
  Message message;
  detail::MessageAccess::set_view(message, Operation::receive, 0, tag, nullptr, 0, nullptr, 0);
  detail::MessageAccess::set_user_data(message, user_data);
  completion.signal(message);
}

TEST(SynchronizerStress, may_be_destroyed_by_its_waiter_while_signallers_return) {
  std::optional<Synchronizer> synchronizer;
  std::atomic<int> round{0};
  std::vector<std::thread> threads;
  for (int thread = 0; thread < kSynchronizerThreads; ++thread)
    threads.emplace_back([&, thread] {
      for (int wanted = 1; wanted <= kSynchronizerRounds; ++wanted) {
        while (round.load(std::memory_order_acquire) < wanted) std::this_thread::yield();
        signal(*synchronizer, static_cast<std::uint64_t>(wanted),
               synchronizer->slot(static_cast<std::uint32_t>(thread)));
      }
    });
  int wrong = 0;
  for (int wanted = 1; wanted <= kSynchronizerRounds; ++wanted) {
    synchronizer.emplace(kSynchronizerThreads);
    round.store(wanted, std::memory_order_release);
    while (!synchronizer->ready()) std::this_thread::yield();
    for (std::uint32_t slot = 0; slot < kSynchronizerThreads; ++slot)
      if (const Message* message = synchronizer->by_slot(slot);
          message == nullptr || message->tag() != static_cast<std::uint64_t>(wanted))
        ++wrong;
    synchronizer.reset();
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(wrong, 0);
}

TEST(SynchronizerStress, loses_nothing_when_signallers_run_one_round_ahead) {
  Synchronizer synchronizer(kSynchronizerThreads);
  std::atomic<std::uint64_t> completed{0};
  std::vector<std::thread> threads;
  for (int thread = 0; thread < kSynchronizerThreads; ++thread)
    threads.emplace_back([&, thread] {
      for (std::uint64_t count = 0; count < kSynchronizerRounds; ++count) {
        // Nobody is more than one signal ahead of the round that is waited for.
        while (completed.load(std::memory_order_acquire) + 1 < count) std::this_thread::yield();
        signal(synchronizer, static_cast<std::uint64_t>(thread) * kSynchronizerRounds + count, nullptr);
      }
    });
  const auto seen = std::make_unique<int[]>(std::size_t{kSynchronizerThreads} * kSynchronizerRounds);
  for (std::uint64_t round = 0; round < kSynchronizerRounds; ++round) {
    while (!synchronizer.test()) std::this_thread::yield();
    for (const Message& message : synchronizer.messages()) ++seen[message.tag()];
    synchronizer.reset();
    completed.store(round + 1, std::memory_order_release);
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(synchronizer.lost(), 0U);
  for (std::size_t tag = 0; tag < std::size_t{kSynchronizerThreads} * kSynchronizerRounds; ++tag)
    ASSERT_EQ(seen[tag], 1) << tag;
}

}  // namespace
}  // namespace weft
