// Communication that is enqueued on an accelerator's stream, here one of the CPU whose device memory nobody
// else can touch.
#include "conformance/operations/stream/stream_device_memory.hpp"
#include "support/errors.hpp"

#include <gtest/gtest.h>

#include <array>
#include <cstdint>
#include <cstring>
#include <functional>
#include <memory>
#include <vector>

namespace weft {
namespace {

using test::error_of;
using test::expect_names;
using test::run_ranks;

using Rank = test::QueueRank;
using test::OnDevice;

void run(int ranks, const std::function<void(Runtime&, Rank&, int)>& body, std::uint64_t seed = 1,
         std::uint64_t longest_delay_ns = 20'000) {
  run_ranks(ranks, {}, [&](Runtime& runtime, int number) {
    Rank rank(runtime, number, seed, longest_delay_ns);
    body(runtime, rank, number);
    EXPECT_EQ(rank.queue.error(), "");
  });
}

// The example of the paper: rank 0 sends x, rank 1 computes a x + y, all in the order of the streams.
TEST(StreamQueue, saxpy_needs_no_synchronization_in_between) {
  run(2, [](Runtime&, Rank& rank, int number) {
    for (const std::size_t count : {1, 1000, 700'000}) {
      const OnDevice<float> x(count);
      const OnDevice<float> y(count);
      std::vector<float> result(count);
      if (number == 0) {
        rank.gpu.launch([&] {
          for (std::size_t index = 0; index < count; ++index) x.view()[index] = float(index % 100);
        });
        rank.queue.post_send({1, 0}, 1, x.get(), count * sizeof(float));
      } else {
        rank.gpu.launch([&] {
          for (std::size_t index = 0; index < count; ++index) y.view()[index] = 1.0F;
        });
        rank.queue.post_receive({0, 0}, 1, x.get(), count * sizeof(float));
        rank.gpu.launch([&] {
          for (std::size_t index = 0; index < count; ++index) y.view()[index] += 2.0F * x.view()[index];
        });
        rank.gpu.copy(result.data(), y.get(), count * sizeof(float));
      }
      EXPECT_EQ(rank.queue.wait_ended(), Outcome::ok);
      if (number == 1) {
        std::size_t wrong = 0;
        for (std::size_t index = 0; index < count; ++index)
          wrong += result[index] != 1.0F + 2.0F * float(index % 100);
        EXPECT_EQ(wrong, 0U);
      }
    }
  });
}

TEST(StreamQueue, ten_thousand_operations_keep_their_order_under_seeded_delays) {
  for (const std::uint64_t seed : {1, 2, 3}) {
    const std::uint64_t rounds = seed == 1 ? 2500 : 500;  // of two operations on each rank
    run(
        2,
        [rounds](Runtime&, Rank& rank, int number) {
          std::uint64_t word = 0;
          std::uint64_t wrong = 0;
          for (std::uint64_t round = 0; round < rounds; ++round) {
            if (number == 0) {
              rank.gpu.launch([&word] { ++word; });
              rank.queue.post_send({1, 0}, 1, &word, sizeof word);
              rank.queue.post_receive({1, 0}, 2, &word, sizeof word);
            } else {
              rank.queue.post_receive({0, 0}, 1, &word, sizeof word);
              rank.gpu.launch([&word, &wrong, round] { wrong += word != round + 1; });
              rank.queue.post_send({0, 0}, 2, &word, sizeof word);
            }
          }
          EXPECT_EQ(rank.queue.wait_ended(), Outcome::ok);
          EXPECT_EQ(word, rounds);
          EXPECT_EQ(wrong, 0U);
          EXPECT_EQ(rank.queue.ended(), 2 * rounds);
        },
        seed, seed == 1 ? 0 : 5000);
  }
}

TEST(StreamQueue, operations_that_are_started_go_on_beside_the_stream) {
  run(2, [](Runtime&, Rank& rank, int number) {
    constexpr std::uint32_t kMessages = 20;
    constexpr std::size_t kCount = 5000;
    const OnDevice<std::uint64_t> to(kMessages * kCount);
    const OnDevice<std::uint64_t> from(kMessages * kCount);
    rank.gpu.launch([&] {
      for (std::size_t index = 0; index < kMessages * kCount; ++index)
        from.view()[index] = index * 3 + std::size_t(number);
    });
    std::vector<StreamRequest> requests;
    for (std::uint32_t message = 0; message < kMessages; ++message) {
      const StreamAddress peer{1 - number, 0};
      requests.push_back(rank.queue.start_receive(peer, message, to.get() + message * kCount, kCount * 8));
      // The tags go the other way round.
      const std::uint32_t tag = kMessages - 1 - message;
      requests.push_back(rank.queue.start_send(peer, tag, from.get() + tag * kCount, kCount * 8));
    }
    rank.queue.wait_all(requests);
    std::uint64_t wrong = 0;
    rank.gpu.launch([&] {
      for (std::size_t index = 0; index < kMessages * kCount; ++index)
        wrong += to.view()[index] != index * 3 + std::size_t(1 - number);
    });
    EXPECT_EQ(rank.queue.wait_ended(), Outcome::ok);
    EXPECT_EQ(wrong, 0U);
    expect_names(error_of([&] { rank.queue.wait(requests[0]); }), {"request", "waited for already"});
    expect_names(error_of([&] { rank.queue.wait({}); }), {"request"});
  });
}

TEST(StreamQueue, collectives_take_device_memory) {
  run(3, [](Runtime&, Rank& rank, int number) {
    for (const std::size_t count : {1, 1000, 50'000}) {
      const OnDevice<std::int64_t> from(count);
      const OnDevice<std::int64_t> to(count);
      std::vector<std::int64_t> sums(count);
      std::vector<std::int64_t> in_place(count);
      rank.gpu.launch([&] {
        for (std::size_t index = 0; index < count; ++index)
          from.view()[index] = std::int64_t(index) * (number + 1);
      });
      rank.queue.barrier();
      rank.queue.allreduce(from.get(), to.get(), count, operators::Sum{});
      rank.gpu.copy(sums.data(), to.get(), count * 8);
      rank.queue.allreduce(to.get(), to.get(), count, operators::Max{});
      rank.gpu.launch([&, number] {
        for (std::size_t index = 0; index < count; ++index) to.view()[index] += number;
      });
      rank.queue.broadcast(to.get(), count * 8, 2);
      rank.gpu.copy(in_place.data(), to.get(), count * 8);
      EXPECT_EQ(rank.queue.wait_ended(), Outcome::ok);
      std::size_t wrong = 0;
      for (std::size_t index = 0; index < count; ++index)
        wrong += sums[index] != std::int64_t(index) * 6 || in_place[index] != std::int64_t(index) * 6 + 2;
      EXPECT_EQ(wrong, 0U);
    }
  });
}

TEST(StreamQueue, puts_and_active_messages_leave_in_the_order_of_the_stream) {
  run(2, [](Runtime& runtime, Rank& rank, int number) {
    std::array<std::uint64_t, 4> memory{};
    const MemoryRegion region(runtime, std::as_writable_bytes(std::span(memory)));
    std::array<RemoteRegion, 2> regions;
    const RemoteRegion mine = region.remote();
    runtime.allgather(bytes_of(mine), mutable_bytes_of(regions));
    std::uint64_t seen = 0;
    std::uint64_t signals = 0;
    Handler arrived([&](Message& message) { std::memcpy(&seen, message.data(), sizeof seen); });
    Handler signalled([&](Message&) { signals += memory[1]; });
    const RemoteCompletion remote = runtime.expose(arrived, {.id = 5, .device = rank.stream.index()});
    const RemoteCompletion signal = runtime.expose(signalled, {.id = 6, .device = rank.stream.index()});
    runtime.barrier();
    if (number == 0) {
      std::uint64_t word = 0;
      rank.gpu.launch([&] { word = 41; });
      rank.queue.post_put(1, regions[1].at(8), &word, sizeof word, signal);
      rank.gpu.launch([&] { ++word; });
      rank.queue.post_am(1, remote, &word, sizeof word, 3);
      EXPECT_EQ(rank.queue.wait_ended(), Outcome::ok);
    } else {
      EXPECT_TRUE(rank.stream.wait_for([&] { return seen == 42 && signals == 41; }, test::kHangGuard))
          << seen << " " << signals << " " << memory[1];
    }
    runtime.barrier();
  });
}

TEST(StreamQueue, a_captured_exchange_is_replayed) {
  run(2, [](Runtime&, Rank& rank, int number) {
    constexpr std::uint64_t kLaunches = 30;
    const OnDevice<std::uint64_t> mine(100);
    const OnDevice<std::uint64_t> theirs(100);
    const StreamAddress peer{1 - number, 0};
    rank.gpu.launch([&] { std::memset(mine.view(), 0, 800); });
    std::uint64_t before = 7;
    rank.queue.broadcast(&before, sizeof before, 0);  // outside of the graph
    rank.gpu.begin_capture();
    rank.gpu.launch([&] { ++mine.view()[99]; });
    const StreamRequest receive = rank.queue.start_receive(peer, 1, theirs.get(), 800);
    const StreamRequest send = rank.queue.start_send(peer, 1, mine.get(), 800);
    rank.queue.wait_all(std::array{receive, send});
    std::uint64_t sum = 0;
    rank.queue.allreduce(theirs.get() + 99, theirs.get() + 99, 1, operators::Sum{});
    rank.gpu.launch([&] { sum += theirs.view()[99]; });
    const FakeGraph graph = rank.gpu.end_capture();
    EXPECT_EQ(sum, 0U) << "nothing is carried out while it is captured";
    for (std::uint64_t launch = 0; launch < kLaunches; ++launch) graph.launch(rank.gpu);
    rank.queue.barrier();
    EXPECT_EQ(rank.queue.wait_ended(), Outcome::ok);
    EXPECT_EQ(sum, kLaunches * (kLaunches + 1));
  });
}

TEST(StreamQueue, an_operation_that_fails_ends_the_wait_and_says_what_it_was) {
  run_ranks(2, {}, [](Runtime& runtime, int number) {
    Rank rank(runtime, number);
    std::array<std::uint64_t, 4> words{1, 2, 3, 4};
    bool has_gone_on = false;
    if (number == 0) {
      rank.queue.post_send({1, 0}, 9, words.data(), sizeof words);
      rank.queue.post_send({1, 0}, 9, words.data(), 8);
    } else {
      rank.queue.post_receive({0, 0}, 9, words.data(), 16);
      rank.gpu.launch([&] { has_gone_on = true; });
      rank.queue.post_receive({any_source, any_index}, 9, words.data(), 8);
    }
    EXPECT_EQ(rank.queue.wait_ended(), number == 0 ? Outcome::ok : Outcome::truncated);
    if (number == 1) {
      EXPECT_TRUE(has_gone_on);
      expect_names(rank.queue.error(),
                   {"operation 1", "receive of 16 bytes from stream 0 of rank 0 with tag 9", "truncated"});
      EXPECT_EQ(rank.queue.ended(), 2U);
    }
  });
}

TEST(StreamQueue, refuses_what_cannot_be_enqueued) {
  run_ranks(1, {}, [](Runtime& runtime, int) {
    Stream first(runtime);
    Stream second(runtime);
    const std::vector<Stream*> streams{&first, &second};
    StreamGroup group(runtime, streams);
    FakeStream gpu;
    std::uint64_t word = 0;
    expect_names(error_of([&] { StreamQueue(group, 2, gpu); }), {"no stream 2", "it has 2"});
    StreamQueue queue(group, 1, gpu);
    expect_names(error_of([&] { queue.barrier(); }), {"barrier", "stream 1", "those of stream 0"});
    expect_names(error_of([&] { queue.post_send({0, 2}, 1, &word, 8); }), {"stream 2 of rank 0", "has 2"});
    expect_names(error_of([&] { queue.post_send({1, 0}, 1, &word, 8); }), {"rank 1"});
    expect_names(error_of([&] { queue.post_put(4, {}, &word, 8); }), {"put", "rank 4", "0 to 0"});
    EXPECT_EQ(queue.wait_ended(), Outcome::ok);
  });
}

}  // namespace
}  // namespace weft
