// Heap allocations per message in steady state: none.
#include "support/ranks.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <barrier>
#include <cerrno>
#include <string>
#include <thread>
#include <vector>

#if defined(__SANITIZE_THREAD__) || defined(__SANITIZE_ADDRESS__)
#define WEFT_COUNTS_ALLOCATIONS 0
#else
#define WEFT_COUNTS_ALLOCATIONS 1
#endif

namespace {
std::atomic<std::uint64_t> allocations{0};
}

#if WEFT_COUNTS_ALLOCATIONS
// Take the place of the C library's, which operator new calls as well.
extern "C" {
void* __libc_malloc(std::size_t size);
void* __libc_calloc(std::size_t count, std::size_t size);
void* __libc_realloc(void* memory, std::size_t size);
void* __libc_memalign(std::size_t alignment, std::size_t size);

void* malloc(std::size_t size) noexcept {
  allocations.fetch_add(1, std::memory_order_relaxed);
  return __libc_malloc(size);
}
void* calloc(std::size_t count, std::size_t size) noexcept {
  allocations.fetch_add(1, std::memory_order_relaxed);
  return __libc_calloc(count, size);
}
void* realloc(void* memory, std::size_t size) noexcept {
  allocations.fetch_add(1, std::memory_order_relaxed);
  return __libc_realloc(memory, size);
}
void* aligned_alloc(std::size_t alignment, std::size_t size) noexcept {
  allocations.fetch_add(1, std::memory_order_relaxed);
  return __libc_memalign(alignment, size);
}
int posix_memalign(void** memory, std::size_t alignment, std::size_t size) noexcept {
  allocations.fetch_add(1, std::memory_order_relaxed);
  *memory = __libc_memalign(alignment, size);
  return *memory != nullptr ? 0 : ENOMEM;
}
}
#endif

namespace weft {
namespace {

template <class EndpointType, class Drain>
void expect_no_allocation(Completion& target, const Drain& drain, const char* what) {
  if (!WEFT_COUNTS_ALLOCATIONS) GTEST_SKIP() << "sanitizers have an allocator of their own";
  test::Ranks<EndpointType> ranks(2);
  const RemoteCompletion remote = ranks.runtime(1).expose(target, {.id = 1});
  for (const std::size_t size : {std::size_t{8}, std::size_t{200}, std::size_t{4096}}) {
    const auto bytes = test::payload(size, 1);
    const auto exchange = [&](int messages) {
      for (int count = 0; count < messages;) {
        for (int burst = 0; burst < 24 && count < messages; ++burst, ++count)
          while (ranks.endpoint(0).post_am(1, remote, bytes).is_retry()) {
            ranks.progress();
            drain();
          }
        ranks.progress();
        drain();
      }
    };
    exchange(5000);
    const std::uint64_t before = allocations;
    exchange(5000);
    EXPECT_EQ(allocations - before, 0U) << what << ", " << size << " bytes";
  }
  target.withdraw();
}

template <class EndpointType, class Queue>
void expect_no_allocation_with_queue(const char* what) {
  Queue queue;
  expect_no_allocation<EndpointType>(
      queue,
      [&] {
        Message message;
        while (queue.pop(message)) EXPECT_TRUE(message.is_owner());
      },
      what);
}

TEST(SteadyState, allocates_nothing_for_handlers) {
  std::uint64_t sum = 0;
  Handler handler([&](Message& message) { sum += message.size(); });
  expect_no_allocation<SerialEndpoint>(
      handler, [] {}, "SerialEndpoint");
  expect_no_allocation<Endpoint>(
      handler, [] {}, "Endpoint");
}

TEST(SteadyState, allocates_nothing_for_queues) {
  expect_no_allocation_with_queue<SerialEndpoint, SerialCompletionQueue>("SerialCompletionQueue");
  expect_no_allocation_with_queue<SerialEndpoint, SingleConsumerQueue>("SingleConsumerQueue");
  expect_no_allocation_with_queue<Endpoint, CompletionQueue>("CompletionQueue");
}

TEST(SteadyState, allocates_nothing_for_synchronizers) {
  Synchronizer synchronizer(24);
  expect_no_allocation<Endpoint>(
      synchronizer,
      [&] {
        if (!synchronizer.test()) return;
        for (const Message& message : synchronizer.messages()) EXPECT_TRUE(message.is_owner());
        synchronizer.reset();
      },
      "Synchronizer");
  EXPECT_EQ(synchronizer.lost(), 0U);
}

TEST(SteadyState, allocates_nothing_when_handlers_answer) {
  if (!WEFT_COUNTS_ALLOCATIONS) GTEST_SKIP() << "sanitizers have an allocator of their own";
  test::Ranks<SerialEndpoint> ranks(2);
  std::uint64_t answers = 0;
  Handler count([&](Message&) { ++answers; });
  const RemoteCompletion answer = ranks.runtime(0).expose(count, {.id = 2});
  Handler serve([&](Message& message) {
    EXPECT_TRUE(ranks.endpoint(1).post_am(0, answer, message.bytes()).is_accepted());
  });
  const RemoteCompletion request = ranks.runtime(1).expose(serve, {.id = 1});
  std::uint64_t before = 0;
  for (std::uint64_t next = 0; next < 10'000; ++next) {
    if (next == 5000) before = allocations;
    ASSERT_TRUE(ranks.post(0, 1, request, bytes_of(next)).has_value());
    ranks.progress();
    ranks.progress();
  }
  EXPECT_EQ(allocations - before, 0U);
}

/// Runs `start`, then progress until `ended`, first to warm up and then a thousand times without allocation.
template <class Start, class Ended>
void expect_no_allocation_in_runs(test::Ranks<Endpoint>& ranks, const Start& start, const Ended& ended,
                                  const char* what) {
  const auto run = [&](int times) {
    for (int count = 0; count < times; ++count) {
      start();
      ASSERT_TRUE(ranks.progress_until(ended));
    }
  };
  run(200);
  const std::uint64_t before = allocations;
  run(1000);
  EXPECT_EQ(allocations - before, 0U) << what;
}

TEST(SteadyState, allocates_nothing_for_graphs_that_start_again) {
  if (!WEFT_COUNTS_ALLOCATIONS) GTEST_SKIP() << "sanitizers have an allocator of their own";
  test::Ranks<Endpoint> ranks(2);
  Counter arrived;
  const RemoteCompletion handle = ranks.runtime(1).expose(arrived, {.id = 1});
  const auto out = test::payload(3000, 1);
  std::vector<std::byte> in(3000);
  std::uint64_t calls = 0;
  Graph inner;
  inner.add_am(ranks.endpoint(0), 1, handle, out);
  Graph graph;
  const auto send = graph.add_send(ranks.endpoint(0), 1, 1, out);
  const auto receive = graph.add_receive(ranks.endpoint(1), 0, 1, std::span{in});
  const auto call = graph.add_function([&] { ++calls; });
  const auto nested = graph.add_graph(inner);
  graph.order(send, call);
  graph.order(receive, call);
  graph.order(call, nested);
  expect_no_allocation_in_runs(
      ranks, [&] { graph.start(); }, [&] { return graph.test() && arrived.value() == calls; }, "graph");
  EXPECT_EQ(calls, 1200U);
}

TEST(SteadyState, allocates_nothing_for_collectives_that_start_again) {
  if (!WEFT_COUNTS_ALLOCATIONS) GTEST_SKIP() << "sanitizers have an allocator of their own";
  test::Ranks<Endpoint> ranks(2);
  Collective first(ranks.runtime(0), ranks.endpoint(0));
  Collective second(ranks.runtime(1), ranks.endpoint(1));
  for (const std::size_t count : {std::size_t{1}, std::size_t{20'000}}) {
    std::vector<double> values[2] = {std::vector<double>(count, 1), std::vector<double>(count, 2)};
    std::vector<double> sums[2] = {std::vector<double>(count), std::vector<double>(count)};
    CollectiveOperation operations[2] = {first.make_allreduce(values[0], sums[0], operators::Sum{}),
                                         second.make_allreduce(values[1], sums[1], operators::Sum{})};
    expect_no_allocation_in_runs(
        ranks,
        [&] {
          for (auto& operation : operations) operation.start();
        },
        [&] {
          const bool one = operations[0].test();
          return operations[1].test() && one;
        },
        "allreduce");
    EXPECT_EQ(sums[0].back(), 3);
    EXPECT_EQ(sums[1].front(), 3);
  }
}

/// Two hosts of two ranks: there are calls of all ranks, one after another, that allocate nothing. In one
/// that takes long, as some do on a busy machine, ranks ask each other what they have called.
TEST(SteadyState, allocates_nothing_for_collectives_in_two_levels) {
  if (!WEFT_COUNTS_ALLOCATIONS) GTEST_SKIP() << "sanitizers have an allocator of their own";
  constexpr int kRanks = 4;
  constexpr int kMostTurns = 30;
  test::Ranks<Endpoint> ranks(kRanks, {{"network", "mixed"}, {"host_id", "node%r/2"}});
  std::barrier meeting(kRanks);
  std::atomic<std::uint64_t> counted{0};
  std::vector<std::thread> threads;
  for (int rank = 0; rank < kRanks; ++rank)
    threads.emplace_back([&, rank] {
      Collective all(ranks.runtime(rank), ranks.endpoint(rank));
      std::vector<double> values(40, 1);
      std::vector<double> sum(40);
      const auto run = [&] {
        for (int call = 0; call < 300; ++call) {
          EXPECT_EQ(all.allreduce(values, sum, operators::Sum{}), Outcome::ok);
          EXPECT_EQ(all.reduce(values, sum, operators::Sum{}, call % kRanks), Outcome::ok);
          EXPECT_EQ(all.barrier(), Outcome::ok);
        }
      };
      run();
      for (int turn = 0; turn < kMostTurns; ++turn) {
        meeting.arrive_and_wait();
        const std::uint64_t before = allocations;
        meeting.arrive_and_wait();
        run();
        meeting.arrive_and_wait();
        counted = allocations - before;
        meeting.arrive_and_wait();
        if (counted == 0) break;
      }
    });
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(counted.load(), 0U);
}

}  // namespace
}  // namespace weft
