// Many threads of several ranks change the same values at once: nothing is lost, nothing is counted twice.
#include <weft/testing/in_process_job.hpp>

#include "support/one_sided.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>

namespace weft {
namespace {

using test::access_settings;
using test::AccessSetting;
using test::post_until;
using test::Ranks;
using test::Target;

#if defined(__SANITIZE_THREAD__) || defined(__SANITIZE_ADDRESS__)
constexpr std::uint64_t kRounds = 100;
#else
constexpr std::uint64_t kRounds = 1000;
#endif

class AtomicThreads : public testing::TestWithParam<std::size_t> {
 protected:
  [[nodiscard]] const AccessSetting& setting() const { return access_settings()[GetParam()]; }

  /// Runs part(rank, thread, region of rank 0, how that rank names it) on `threads` threads of each rank.
  template <class Part>
  void everywhere(int count, int threads, const Part& part) {
    Ranks<Endpoint> ranks(count, setting().attributes);
    Target target(ranks.runtime(0), setting(), 4096);
    std::vector<MappedRegion> seen;
    for (int rank = 0; rank < count; ++rank) seen.push_back(target.seen_by(ranks.runtime(rank), setting()));
    {
      const test::Helpers helpers(ranks, 0, count - 1);
      std::vector<std::thread> running;
      for (int rank = 0; rank < count; ++rank)
        for (int thread = 0; thread < threads; ++thread)
          running.emplace_back([&, rank, thread] {
            part(ranks.endpoint(rank), rank * threads + thread, seen[static_cast<std::size_t>(rank)]);
          });
      for (std::thread& thread : running) thread.join();
      memory.assign(target.bytes().begin(), target.bytes().end());
    }
  }
  template <class T>
  T value(std::size_t offset) {
    T found;
    std::memcpy(&found, memory.data() + offset, sizeof found);
    return found;
  }
  std::vector<std::byte> memory;  // of rank 0's region at the end
};

INSTANTIATE_TEST_SUITE_P(over, AtomicThreads, testing::Range<std::size_t>(0, access_settings().size()),
                         [](const auto& setting) {
                           return std::string(access_settings()[setting.param].name);
                         });

TEST_P(AtomicThreads, of_all_ranks_add_up_exactly) {
  for (const int count : {2, 3, 4}) {
    everywhere(count, 2, [&](Endpoint& endpoint, int thread, const MappedRegion& region) {
      for (std::uint64_t round = 0; round < kRounds; ++round) {
        const auto number = static_cast<std::uint64_t>(thread) + 1;
        ASSERT_TRUE(post_until(
                        [&] {
                          return endpoint.post_atomic<std::uint64_t>(0, region.at(0), AtomicOperation::add,
                                                                     number);
                        },
                        [&] { endpoint.progress(); })
                        .is_accepted());
        ASSERT_TRUE(endpoint.fetch_atomic<std::uint32_t>(0, region.at(8), AtomicOperation::add, 1));
        ASSERT_EQ(endpoint.atomic<double>(0, region.at(16), AtomicOperation::add, 0.5), Outcome::ok);
        if (round % 10 == 0) {
          ASSERT_EQ(endpoint.atomic<float>(0, region.at(24), AtomicOperation::add, 1), Outcome::ok);
        }
      }
      endpoint.flush();
    });
    const auto threads = static_cast<std::uint64_t>(count) * 2;
    EXPECT_EQ(value<std::uint64_t>(0), kRounds * threads * (threads + 1) / 2);
    EXPECT_EQ(value<std::uint32_t>(8), kRounds * threads);
    EXPECT_EQ(value<double>(16), static_cast<double>(kRounds * threads) / 2);
    EXPECT_EQ(value<float>(24), static_cast<float>(kRounds / 10 * threads));
  }
}

TEST_P(AtomicThreads, that_take_tickets_get_each_of_them_once) {
  constexpr int kRanks = 3;
  std::vector<std::uint64_t> tickets[kRanks * 2];
  everywhere(kRanks, 2, [&](Endpoint& endpoint, int thread, const MappedRegion& region) {
    for (std::uint64_t round = 0; round < kRounds; ++round) {
      const auto ticket = endpoint.fetch_atomic<std::uint64_t>(0, region.at(128), AtomicOperation::add, 1);
      ASSERT_TRUE(ticket);
      tickets[thread].push_back(ticket.value);
    }
  });
  std::vector<std::uint64_t> all;
  for (const auto& some : tickets) {
    EXPECT_TRUE(std::ranges::is_sorted(some));
    all.insert(all.end(), some.begin(), some.end());
  }
  std::ranges::sort(all);
  ASSERT_EQ(all.size(), kRounds * kRanks * 2);
  for (std::size_t place = 0; place < all.size(); ++place) ASSERT_EQ(all[place], place);
}

TEST_P(AtomicThreads, that_lock_by_compare_and_swap_exclude_each_other) {
  std::atomic<int> inside{0};
  std::atomic<int> crowded{0};
  everywhere(2, 2, [&](Endpoint& endpoint, int thread, const MappedRegion& region) {
    const auto me = static_cast<std::int32_t>(thread) + 1;
    for (std::uint64_t round = 0; round < kRounds / 10; ++round) {
      ASSERT_TRUE(test::until(
          [&] {
            const auto holder = endpoint.fetch_compare_swap<std::int32_t>(0, region.at(64), 0, me);
            return holder && holder.value == 0;
          },
          [] { std::this_thread::yield(); }));
      if (++inside != 1) ++crowded;
      --inside;
      const auto holder = endpoint.fetch_atomic<std::int32_t>(0, region.at(64), AtomicOperation::swap, 0);
      ASSERT_TRUE(holder);
      ASSERT_EQ(holder.value, me);
    }
  });
  EXPECT_EQ(crowded, 0);
}

TEST_P(AtomicThreads, with_a_completion_end_once_each) {
  std::atomic<std::uint64_t> signalled{0};
  std::atomic<std::uint64_t> done{0};
  everywhere(3, 2, [&](Endpoint& endpoint, int thread, const MappedRegion& region) {
    Counter ended;
    std::uint64_t expected = 0;
    for (std::uint64_t round = 0; round < kRounds; ++round) {
      const AccessOptions options{.completion = &ended,
                                  .may_retry = round % 2 == 0,
                                  .may_complete_now = (round + static_cast<std::uint64_t>(thread)) % 3 == 0};
      const Status status = post_until(
          [&] {
            return endpoint.post_atomic<std::int32_t>(0, region.at(200), AtomicOperation::add, 1, options);
          },
          [&] { endpoint.progress(); });
      ASSERT_TRUE(status.is_accepted());
      status.is_done() ? ++done : ++expected;
    }
    ASSERT_TRUE(test::until([&] { return ended.value() == expected; }, [&] { endpoint.progress(); }));
    signalled += ended.value();
  });
  EXPECT_EQ(signalled + done, kRounds * 6);
  EXPECT_EQ(value<std::int32_t>(200), static_cast<std::int32_t>(kRounds * 6));
}

TEST(AtomicPaths, that_differ_between_ranks_are_atomic_against_each_other) {
  InProcessJob job(2);
  Runtime owner(job, 0);
  const std::vector<AttributeSetting> by_messages = {{"one_sided", "message"}};
  Runtime other(job, 1, RuntimeOptions{.attributes = by_messages});
  Endpoint here(owner);
  Endpoint there(other);
  const MemoryRegion region = MemoryRegion::allocate(owner, 8);
  const MappedRegion mapped = map(owner, region.remote());
  std::atomic<bool> stop{false};
  std::thread progress([&] {
    while (!stop) {
      here.progress();
      std::this_thread::yield();
    }
  });
  std::thread messages([&] {
    for (std::uint64_t round = 0; round < kRounds; ++round)
      ASSERT_TRUE(there.fetch_atomic<std::uint64_t>(0, region.remote().at(0), AtomicOperation::add, 1));
  });
  for (std::uint64_t round = 0; round < kRounds; ++round)
    ASSERT_EQ(here.atomic<std::uint64_t>(0, mapped.at(0), AtomicOperation::add, 1), Outcome::ok);
  messages.join();
  const auto sum = here.fetch_atomic<std::uint64_t>(0, mapped.at(0), AtomicOperation::add, 0);
  ASSERT_TRUE(sum);
  EXPECT_EQ(sum.value, 2 * kRounds);
  stop = true;
  progress.join();
}

}  // namespace
}  // namespace weft
