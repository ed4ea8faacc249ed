// Many threads post, progress, wait and pop at once.
#include <weft/testing/in_process_job.hpp>

#include "support/ranks.hpp"

#include <gtest/gtest.h>
#include <sched.h>

#include <atomic>

namespace weft {
namespace {

using test::matches;
using test::payload;
using test::Ranks;

#if defined(__SANITIZE_THREAD__) || defined(__SANITIZE_ADDRESS__)
constexpr std::uint32_t kScale = 1;
#else
constexpr std::uint32_t kScale = 8;
#endif

/// One flag for each message, so that losses and copies are seen.
class Arrivals {
 public:
  explicit Arrivals(std::size_t messages) : flags_(messages) {}
  void note(std::size_t index) {
    if (index >= flags_.size() || flags_[index].exchange(1) != 0) wrong.fetch_add(1);
    count.fetch_add(1);
  }
  std::atomic<std::size_t> count{0};
  std::atomic<std::size_t> wrong{0};

 private:
  std::vector<std::atomic<std::uint8_t>> flags_;
};

struct Case {
  int ranks;
  int threads;
};
class Threads : public testing::TestWithParam<Case> {};
INSTANTIATE_TEST_SUITE_P(of, Threads,
                         testing::Values(Case{1, 2}, Case{2, 1}, Case{2, 4}, Case{2, 8}, Case{4, 2}),
                         [](const auto& at) {
                           return std::to_string(at.param.ranks) + "_ranks_with_" +
                                  std::to_string(at.param.threads) + "_threads";
                         });

TEST_P(Threads, share_an_endpoint_and_lose_nothing) {
  const auto [count, threads] = GetParam();
  Ranks<Endpoint> ranks(count);
  const std::uint32_t per_thread = 250 * kScale;
  const std::size_t total = static_cast<std::size_t>(count) * static_cast<std::size_t>(threads) * per_thread;
  std::vector<std::unique_ptr<Arrivals>> arrivals;
  std::vector<std::unique_ptr<Completion>> handlers;
  RemoteCompletion remote;
  for (int rank = 0; rank < count; ++rank) {
    arrivals.push_back(std::make_unique<Arrivals>(total));
    auto note = [&seen = *arrivals.back()](Message& message) {
      if (!matches(message.bytes(), message.tag())) seen.wrong.fetch_add(1);
      seen.note(message.tag());
    };
    handlers.push_back(std::make_unique<Handler<decltype(note)>>(note));
    remote = ranks.runtime(rank).expose(*handlers.back(), {.id = 1});
  }
  std::atomic<int> running{count * threads};
  const auto all_arrived = [&] {
    for (const auto& seen : arrivals)
      if (seen->count != total) return false;
    return true;
  };
  std::vector<std::thread> workers;
  for (int rank = 0; rank < count; ++rank)
    for (int thread = 0; thread < threads; ++thread)
      workers.emplace_back([&, rank, thread] {
        std::vector<std::byte> buffer;
        for (std::uint32_t next = 0; next < per_thread; ++next) {
          const std::size_t size = next % 97 == 96   ? 20'000
                                   : next % 13 == 12 ? 3000
                                   : next % 7 == 6   ? 300
                                                     : next % 49;
          const auto tag = static_cast<std::uint32_t>(rank * threads + thread) * per_thread + next;
          buffer.resize(size);
          test::fill(buffer, tag);
          for (int peer = 0; peer < count; ++peer)
            static_cast<void>(ranks.endpoint(rank).send_am(peer, remote, buffer, {.tag = tag}));
          ranks.endpoint(rank).progress();
        }
        --running;
        static_cast<void>(test::until([&] { return running == 0 && all_arrived(); },
                                      [&] { ranks.endpoint(rank).progress(), std::this_thread::yield(); }));
      });
  for (std::thread& worker : workers) worker.join();
  for (const auto& seen : arrivals) {
    EXPECT_EQ(seen->count, total);
    EXPECT_EQ(seen->wrong, 0U) << "torn, lost or duplicated";
  }
  handlers.clear();
}

TEST_P(Threads, with_serial_endpoints_of_their_own_lose_nothing) {
  const auto [count, threads] = GetParam();
  InProcessJob job(count);
  const std::uint32_t per_thread = 500 * kScale;
  const std::size_t senders = static_cast<std::size_t>(count) * static_cast<std::size_t>(threads);
  std::vector<std::unique_ptr<Runtime>> runtimes;
  for (int rank = 0; rank < count; ++rank) runtimes.push_back(std::make_unique<Runtime>(job, rank));
  std::atomic<std::size_t> wrong{0};
  std::atomic<std::size_t> arrived{0};
  std::atomic<std::size_t> running{senders};
  std::vector<std::thread> workers;
  for (int rank = 0; rank < count; ++rank)
    for (int thread = 0; thread < threads; ++thread)
      workers.emplace_back([&, rank, thread] {
        Device device(*runtimes[static_cast<std::size_t>(rank)], {.index = thread});
        SerialEndpoint endpoint(device);
        SerialCompletionQueue queue;
        const RemoteCompletion mine = runtimes[static_cast<std::size_t>(rank)]->expose(
            queue, {.id = static_cast<std::uint32_t>(thread), .device = static_cast<std::uint32_t>(thread)});
        const bool in_order = test::keeps_order(*runtimes[static_cast<std::size_t>(rank)]);
        std::vector<std::uint32_t> next_of(senders);
        std::vector<std::vector<bool>> seen(senders, std::vector<bool>(per_thread));
        const auto pop = [&] {
          Message message;
          while (queue.pop(message)) {
            // One sending endpoint, one lane: each once, and in this order where the network keeps it.
            const auto sender = static_cast<std::uint32_t>(message.tag());
            std::uint32_t number = 0;
            std::memcpy(&number, message.data(), sizeof number);
            if ((in_order && number != next_of[sender]++) || number >= per_thread || seen[sender][number] ||
                !matches(message.bytes().subspan(16), number))
              wrong.fetch_add(1);
            else
              seen[sender][number] = true;
            arrived.fetch_add(1);
          }
        };
        std::vector<std::byte> buffer;
        const auto self = static_cast<std::uint32_t>(rank * threads + thread);
        for (std::uint32_t number = 0; number < per_thread; ++number) {
          buffer.resize(16 + (number % 11 == 10 ? 2000 : number % 5 == 4 ? 300 : number % 33));
          std::memcpy(buffer.data(), &number, sizeof number);
          test::fill(std::span(buffer).subspan(16), number);
          for (int peer = 0; peer < count; ++peer)
            for (int other = 0; other < threads; ++other) {
              const RemoteCompletion to(static_cast<std::uint16_t>(other), mine.generation(),
                                        static_cast<std::uint8_t>(other));
              while (endpoint.post_am(peer, to, buffer, {.tag = self}).is_retry()) {
                if (endpoint.progress() == 0) std::this_thread::yield();
                pop();
              }
            }
          pop();
        }
        --running;
        static_cast<void>(
            test::until([&] { return running == 0 && arrived == senders * senders * per_thread; },
                        [&] {
                          endpoint.progress();
                          pop();
                          std::this_thread::yield();
                        }));
      });
  for (std::thread& worker : workers) worker.join();
  EXPECT_EQ(arrived, senders * senders * per_thread);
  EXPECT_EQ(wrong, 0U);
}

TEST_P(Threads, wait_and_are_woken) {
  const auto [count, threads] = GetParam();
  Ranks<Endpoint> ranks(count, {{"spin", "0"}, {"yield", "1"}});
  std::vector<std::unique_ptr<CompletionQueue>> queues;
  std::vector<RemoteCompletion> handles;
  for (int rank = 0; rank < count; ++rank)
    for (int thread = 0; thread < threads; ++thread) {
      queues.push_back(std::make_unique<CompletionQueue>());
      handles.push_back(
          ranks.runtime(rank).expose(*queues.back(), {.id = static_cast<std::uint32_t>(thread)}));
    }
  // A token for every thread number goes round the ranks; everybody waits almost always.
  const std::uint64_t rounds = 40 * kScale;
  std::vector<std::thread> workers;
  for (int rank = 0; rank < count; ++rank)
    for (int thread = 0; thread < threads; ++thread)
      workers.emplace_back([&, rank, thread] {
        const auto index = static_cast<std::size_t>(rank * threads + thread);
        Endpoint& endpoint = ranks.endpoint(rank);
        std::uint64_t hops = 0;
        if (rank == 0)
          static_cast<void>(endpoint.send_am((rank + 1) % count, handles[static_cast<std::size_t>(thread)],
                                             bytes_of(hops)));
        for (std::uint64_t round = 0; round < rounds; ++round) {
          hops = endpoint.wait(*queues[index]).as<std::uint64_t>() + 1;
          if (rank != 0 || round + 1 < rounds)
            static_cast<void>(endpoint.send_am((rank + 1) % count, handles[static_cast<std::size_t>(thread)],
                                               bytes_of(hops)));
        }
        EXPECT_TRUE(rank != 0 || hops == rounds * static_cast<std::uint64_t>(count)) << hops;
      });
  for (std::thread& worker : workers) worker.join();
  queues.clear();
}

TEST(ProgressThreads, serve_a_rank_that_only_waits) {
  Ranks<Endpoint> ranks(2);
  ProgressThread zero(ranks.runtime(0));
  ProgressThread one(ranks.runtime(1));
  Counter arrived;
  const RemoteCompletion remote = ranks.runtime(1).expose(arrived, {.id = 1});
  for (std::uint64_t next = 1; next <= 200; ++next) {
    const auto bytes = payload(next % 20 == 19 ? 30'000 : next, next);
    static_cast<void>(ranks.endpoint(0).send_am(1, remote, bytes));
    ranks.endpoint(1).wait(arrived, next);
  }
}

TEST(ProgressThreads, run_where_they_are_told_to) {
  Ranks<Endpoint> ranks(2);
  const Topology host = read_topology();
  const std::vector<int> processors = host.cores.back().processors;
  ProgressThread one(ranks.runtime(1), {.processors = processors});
  cpu_set_t seen;
  CPU_ZERO(&seen);
  std::atomic<bool> done{false};
  Handler look([&](Message&) {
    ::sched_getaffinity(0, sizeof seen, &seen);
    done = true;
  });
  const RemoteCompletion remote = ranks.runtime(1).expose(look, {.id = 1});
  static_cast<void>(ranks.endpoint(0).send_am(1, remote, payload(8, 1)));
  ASSERT_TRUE(test::until([&] { return done.load(); }, [&] { ranks.endpoint(0).progress(); }));
  EXPECT_EQ(CPU_COUNT(&seen), static_cast<int>(processors.size()));
  for (const int processor : processors) EXPECT_TRUE(CPU_ISSET(static_cast<std::size_t>(processor), &seen));
  const auto refused = [&] { ProgressThread(ranks.runtime(0), {.processors = {CPU_SETSIZE - 1}}); };
  EXPECT_THROW(refused(), Error);
}

TEST(Lanes, that_a_thread_only_looked_at_may_be_reused_by_their_sender) {
  Ranks<Endpoint> ranks(2);
  Counter arrived;
  const RemoteCompletion remote = ranks.runtime(1).expose(arrived, {.id = 1});
  // Steps are handed over by relaxed loads and stores, which order nothing else: ThreadSanitizer sees what
  // the library itself orders.
  std::atomic<int> step{0};
  const auto reach = [&](int value) { step.store(value, std::memory_order_relaxed); };
  const auto await = [&](int value) {
    while (step.load(std::memory_order_relaxed) < value) std::this_thread::yield();
  };
  // By a device of its own, which is closed when `then` has been called.
  const auto send = [&](std::uint64_t arrivals, const auto& then) {
    Device device(ranks.runtime(0), {.index = 1});
    Endpoint endpoint(device);
    const auto progress = [&] {
      endpoint.progress();
      ranks.endpoint(1).progress();
    };
    ASSERT_TRUE(
        test::until([&] { return endpoint.post_am(1, remote, payload(8, 1)).is_accepted(); }, progress));
    ASSERT_TRUE(test::until([&] { return arrived.value() == arrivals; }, progress));
    then();
  };
  std::thread looker([&] {
    await(1);
    for (int count = 0; count < 3; ++count) ranks.endpoint(1).progress();
    reach(2);
    await(3);
  });
  send(1, [&] {
    reach(1);
    await(2);
  });
  for (int count = 0; count < 3; ++count) ranks.endpoint(1).progress();
  for (std::uint64_t arrivals = 2; arrivals < 6; ++arrivals) send(arrivals, [] {});
  reach(3);
  looker.join();
}

TEST(CompletionObjects, may_be_destroyed_as_soon_as_their_wait_is_over) {
  Ranks<Endpoint> ranks(2);
  ProgressThread zero(ranks.runtime(0));
  ProgressThread one(ranks.runtime(1));
  Counter arrived;
  const RemoteCompletion remote = ranks.runtime(1).expose(arrived, {.id = 1});
  const auto bytes = payload(100'000, 1);  // more than a packet: not taken by the post itself
  for (std::uint64_t next = 0; next < 100 * kScale; ++next) {
    // The progress thread signals; this one looks without parking, and frees the memory at once.
    auto counter = std::make_unique<Counter>();
    ASSERT_TRUE(test::until(
        [&] {
          return ranks.endpoint(0).post_am(1, remote, bytes, {.completion = counter.get()}).is_accepted();
        },
        [] {}));
    ASSERT_TRUE(test::until([&] { return counter->value() == 1; }, [] {}));
    counter.reset();
    auto queue = std::make_unique<CompletionQueue>(QueueOptions{.initial = 2});
    ASSERT_TRUE(test::until(
        [&] {
          return ranks.endpoint(0).post_am(1, remote, bytes, {.completion = queue.get()}).is_accepted();
        },
        [] {}));
    Message message;
    ASSERT_TRUE(test::until([&] { return queue->pop(message); }, [] {}));
    queue.reset();
  }
}

TEST(CompletionObjects, may_be_destroyed_while_messages_to_them_arrive) {
  Ranks<Endpoint> ranks(2);
  ProgressThread one(ranks.runtime(1));
  const auto bytes = payload(8, 1);
  for (std::uint64_t next = 0; next < 300 * kScale; ++next) {
    auto counter = std::make_unique<Counter>();
    const RemoteCompletion remote = ranks.runtime(1).expose(*counter, {.id = 1});
    for (int message = 0; message < 16; ++message)
      ASSERT_TRUE(test::until([&] { return ranks.endpoint(0).post_am(1, remote, bytes).is_accepted(); },
                              [&] { ranks.endpoint(0).progress(); }));
    if (next % 2 != 0) {
      ASSERT_TRUE(test::until([&] { return counter->value() != 0; }, [] {}));
    }
    counter.reset();  // the progress thread may be inside signal(); later messages are refused
  }
}

}  // namespace
}  // namespace weft
