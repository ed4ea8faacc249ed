// What a program's objects do while their thread ends, beside threads that start: caches have one owner.
#include "concurrent/thread_number.hpp"
#include "core/matching/table/record_pool.hpp"
#include "core/packet/packet_pool.hpp"
#include "support/packet_network.hpp"

#include <weft/detail/bias.hpp>
#include <weft/packet.hpp>

#include <gtest/gtest.h>

#include <limits.h>
#include <pthread.h>
#include <sys/wait.h>
#include <unistd.h>
#include <atomic>
#include <chrono>
#include <cstdlib>
#include <functional>
#include <latch>
#include <memory>
#include <mutex>
#include <set>
#include <thread>
#include <utility>
#include <vector>

namespace weft {
namespace {

#if defined(__SANITIZE_THREAD__) || defined(__SANITIZE_ADDRESS__)
constexpr int kChurnRounds = 100;
#else
constexpr int kChurnRounds = 1000;
#endif

// ThreadSanitizer ends a thread in the last round of its keys' destructors, and follows nothing that runs
// after that.
#if defined(__SANITIZE_THREAD__)
constexpr int kKeyRounds = PTHREAD_DESTRUCTOR_ITERATIONS - 1;
#else
constexpr int kKeyRounds = PTHREAD_DESTRUCTOR_ITERATIONS;
#endif

/// Calls `at_end` when a thread's destructors run.
struct AtEnd {
  std::function<void()> at_end;
  ~AtEnd() {
    if (at_end) at_end();
  }
};

/// A pthread key whose value is an AtEnd, or, with `rounds`, comes back until its thread's last round.
class EndKey {
 public:
  explicit EndKey(int rounds = 1) : rounds_(rounds) { EXPECT_EQ(::pthread_key_create(&key_, &run), 0); }
  ~EndKey() { ::pthread_key_delete(key_); }
  EndKey(const EndKey&) = delete;
  EndKey& operator=(const EndKey&) = delete;
  void set(std::function<void()> at_end) const {
    ::pthread_setspecific(key_, new Value{key_, rounds_, std::move(at_end)});
  }

 private:
  struct Value {
    pthread_key_t key;
    int left;
    std::function<void()> at_end;
  };
  static void run(void* pointer) {
    std::unique_ptr<Value> value(static_cast<Value*>(pointer));
    value->at_end();
    if (--value->left > 0) ::pthread_setspecific(value->key, value.get()), value.release();
  }
  pthread_key_t key_{};
  const int rounds_;
};

/// The ways in which a program's code runs at the end of a thread.
enum class Way : std::uint8_t { thread_local_before, key_before, key_after, key_again };
constexpr Way kWays[] = {Way::thread_local_before, Way::key_before, Way::key_after, Way::key_again};

/// Lets threads do something at their ends; made before or after this process's first thread has a number.
class Ends {
 public:
  void at_end(Way way, std::function<void()> what) {
    thread_local AtEnd before;
    switch (way) {
      case Way::thread_local_before:
        before.at_end = std::move(what);
        break;
      case Way::key_before:
        before_.set(std::move(what));
        break;
      case Way::key_after:
        after_.set(std::move(what));
        break;
      case Way::key_again:
        again_.set(std::move(what));
        break;
    }
  }

 private:
  EndKey before_;
  const std::uint32_t number_ = concurrent::thread_number();
  EndKey after_;
  EndKey again_{kKeyRounds};
};

TEST(ThreadEnds, leave_a_number_that_destructors_use_to_nobody_else) {
  Ends ends;
  for (const Way way : kWays) {
    std::latch is_ending(1);
    std::latch is_seen(1);
    std::uint32_t at_end = 0;
    std::thread ending([&] {
      ends.at_end(way, [&, first = true]() mutable {
        at_end = concurrent::thread_number();
        if (!std::exchange(first, false)) return;
        is_ending.count_down();
        is_seen.wait();
        EXPECT_EQ(concurrent::thread_number(), at_end) << "it changes while a destructor runs";
      });
      static_cast<void>(concurrent::thread_number());
    });
    is_ending.wait();
    const std::uint32_t while_ending = at_end;
    std::vector<std::thread> others;
    for (int count = 0; count < 4; ++count)
      others.emplace_back(
          [&] { EXPECT_NE(concurrent::thread_number(), while_ending) << "way " << static_cast<int>(way); });
    for (std::thread& other : others) other.join();
    is_seen.count_down();
    ending.join();
  }
}

TEST(ThreadEnds, are_survived_by_no_number) {
  Ends ends;
  std::uint32_t highest = 0;
  std::mutex mutex;
  for (int round = 0; round < 64; ++round)
    for (const Way way : kWays)
      std::thread([&] {
        ends.at_end(way, [] { static_cast<void>(concurrent::thread_number()); });
        const std::uint32_t number = concurrent::thread_number();
        const std::lock_guard lock(mutex);
        highest = std::max(highest, number);
      }).join();
  EXPECT_LT(highest, 64U) << "numbers of ended threads are used again";
}

TEST(ThreadEnds, that_only_destructors_of_the_last_round_know_of_weft_use_no_number_up) {
  if (kKeyRounds != PTHREAD_DESTRUCTOR_ITERATIONS) GTEST_SKIP() << "the last round cannot be followed";
  const EndKey again(PTHREAD_DESTRUCTOR_ITERATIONS);
  for (std::uint32_t count = 0; count < concurrent::kReusedNumbers + 64; ++count)
    std::thread([&] {
      again.set([round = 0]() mutable {
        if (++round == PTHREAD_DESTRUCTOR_ITERATIONS) static_cast<void>(concurrent::thread_number());
      });
    }).join();
  std::uint32_t number = ~std::uint32_t{0};
  for (int attempt = 0; attempt < 64 && number >= concurrent::kReusedNumbers; ++attempt)
    std::thread([&] { number = concurrent::thread_number(); }).join();
  EXPECT_LT(number, concurrent::kReusedNumbers);
}

constexpr int kAlone = 7;  // exit code: no thread gets the number that destructors of statics use

void look_at_numbers_in_statics() {
  static_cast<void>(concurrent::thread_number());
  static const AtEnd at_end{[] {
    const std::uint32_t number = concurrent::thread_number();
    bool is_other = false;
    std::thread([&] { is_other = concurrent::thread_number() != number; }).join();
    ::_exit(is_other && concurrent::thread_number() == number ? kAlone : 1);
  }};
}

TEST(ThreadEnds, of_the_main_thread_leave_its_number_to_nobody) {
  EXPECT_EXIT(
      {
        look_at_numbers_in_statics();
        std::exit(2);
      },
      testing::ExitedWithCode(kAlone), "");
}

/// In a process whose only thread this is: its end is the end of the process.
void* end_as_the_last_thread(void* status) {
  const pid_t child = ::fork();
  if (child != 0) {
    ::waitpid(child, static_cast<int*>(status), 0);
    return nullptr;
  }
  static_cast<void>(concurrent::thread_number());
  // No thread can be started any more then: the end of one would end the process.
  static const AtEnd at_end{
      [] { ::_exit(concurrent::thread_number() >= concurrent::kReusedNumbers ? kAlone : 1); }};
  return nullptr;
}

TEST(ThreadEnds, that_end_the_process_leave_their_number_to_nobody) {
  int status = 0;
  pthread_t thread{};
  ASSERT_EQ(::pthread_create(&thread, nullptr, &end_as_the_last_thread, &status), 0);
  ::pthread_join(thread, nullptr);
  EXPECT_TRUE(WIFEXITED(status));
  EXPECT_EQ(WEXITSTATUS(status), kAlone);
}

/// Four threads at a time use the pool, and once more while they end: use(is_last).
template <class Use>
void churn(Way way, Ends& ends, const Use& use) {
  for (int round = 0; round < kChurnRounds; ++round) {
    std::vector<std::thread> threads;
    for (int count = 0; count < 4; ++count)
      threads.emplace_back([&] {
        ends.at_end(way, [&] { use(); });
        use();
      });
    for (std::thread& thread : threads) thread.join();
  }
}

TEST(ThreadEnds, give_packets_one_owner) {
  constexpr std::uint32_t kPackets = 256;
  Ends ends;
  for (const Way way : kWays) {
    test::PacketNetwork network(kPackets);
    core::PacketPool pool(8);
    pool.attach(network);
    std::vector<int> uses(kPackets);  // plain: a second owner is a race
    std::atomic<int> all{0};
    churn(way, ends, [&] {
      std::vector<Packet> packets;
      for (int count = 0; count < 12; ++count)
        if (Packet packet = pool.get()) {
          ++uses[packet.index()];
          ++all;
          packets.push_back(std::move(packet));
        }
    });
    int sum = 0;
    for (const int each : uses) sum += each;
    EXPECT_EQ(sum, all) << "way " << static_cast<int>(way);
    std::set<std::uint32_t> seen;
    std::vector<Packet> packets;
    while (Packet packet = pool.get()) {
      EXPECT_TRUE(seen.insert(packet.index()).second) << packet.index() << " is owned twice";
      packets.push_back(std::move(packet));
      ASSERT_LE(packets.size(), kPackets);
    }
  }
}

TEST(ThreadEnds, give_records_one_owner) {
  struct Record : core::PooledRecord {
    int uses = 0;
  };
  constexpr std::uint32_t kRecords = 4096;
  Ends ends;
  for (const Way way : kWays) {
    core::RecordPool<Record> pool(kRecords, false);
    std::atomic<int> all{0};
    churn(way, ends, [&] {
      std::vector<Record*> records;
      for (int count = 0; count < 40; ++count)
        if (Record* const record = pool.take(); record != nullptr) {
          ++record->uses;
          ++all;
          records.push_back(record);
        }
      for (Record* const record : records) pool.release(*record);
    });
    int sum = 0;
    for (std::uint32_t index = 0; pool.find(index) != nullptr; ++index) sum += pool.find(index)->uses;
    EXPECT_EQ(sum, all) << "way " << static_cast<int>(way);
  }
}

TEST(ThreadEnds, hand_a_bias_over_with_the_thread_pointer) {
  // Static, because nothing orders the end of the last thread before the end of the test.
  static detail::Bias bias;
  static std::atomic<std::uint32_t> word{0};
  static std::atomic<std::uint64_t> uses{0};
  static std::uint64_t guarded = 0;  // plain: what the next owner does not see is a race, or lost
  for (std::uint64_t threads = 1; threads <= 50; ++threads) {
    // Detached, so that nothing but the kernel orders the end of one before the start of the next.
    std::thread([] {
      for (int round = 0; round < 200;) {
        auto* const hold = bias.acquire(word);
        if (hold == nullptr) continue;
        ++guarded;
        ++round;
        detail::Bias::release(hold);
      }
      uses.fetch_add(200, std::memory_order_relaxed);
    }).detach();
    while (uses.load(std::memory_order_relaxed) != threads * 200) std::this_thread::yield();
    // Most have really ended then, and the next one gets their memory.
    std::this_thread::sleep_for(std::chrono::milliseconds(2));
  }
  auto* hold = bias.acquire(word);
  while (hold == nullptr) hold = bias.acquire(word);
  EXPECT_EQ(guarded, uses.load());
  detail::Bias::release(hold);
}

}  // namespace
}  // namespace weft
