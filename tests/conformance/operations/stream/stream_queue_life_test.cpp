// Who may use a stream that has a queue, and how queues and graphs end.
#include "conformance/operations/stream/stream_device_memory.hpp"
#include "support/errors.hpp"

#include <gtest/gtest.h>

#include <array>
#include <atomic>
#include <cstdint>
#include <memory>
#include <optional>
#include <thread>
#include <vector>

namespace weft {
namespace {

using test::error_of;
using test::expect_names;
using test::QueueRank;
using test::run_ranks;

TEST(StreamQueueLife, a_stream_has_one_queue_at_a_time) {
  run_ranks(1, {}, [](Runtime& runtime, int) {
    Stream stream(runtime);
    StreamGroup group(runtime, stream);
    StreamGroup copy = group.duplicate();
    FakeStream gpu;
    FakeStream second;
    std::optional<StreamQueue> queue(std::in_place, group, 0, gpu);
    for (StreamGroup* const each : {&group, &copy})
      expect_names(error_of([&] { StreamQueue(*each, 0, second); }),
                   {"stream 1 has a StreamQueue already", "a stream of its own"});
    queue.reset();
    EXPECT_EQ(error_of([&] { StreamQueue(copy, 0, second); }), "no error");
    // The null stream takes one at each index of a group.
    const std::vector<Stream*> nulls{nullptr, nullptr};
    StreamGroup of_null(runtime, nulls);
    StreamQueue at_first(of_null, 0, gpu);
    StreamQueue at_second(of_null, 1, second);
    expect_names(error_of([&] { StreamQueue(of_null, 1, gpu); }), {"StreamQueue already", "index 1"});
    std::uint64_t word = 4;
    std::uint64_t got = 0;
    at_first.post_send({0, 1}, 1, &word, 8);
    at_second.post_receive({0, 0}, 1, &got, 8);
    at_first.barrier();
    EXPECT_EQ(at_first.wait_ended(), Outcome::ok);
    EXPECT_EQ(at_second.wait_ended(), Outcome::ok);
    EXPECT_EQ(got, 4U);
  });
}

TEST(StreamQueueLife, the_program_is_refused_while_operations_have_not_ended) {
  run_ranks(2, {}, [](Runtime& runtime, int number) {
    QueueRank rank(runtime, number);
    std::uint64_t word = 3;
    std::uint64_t errors = 0;
    for (int round = 0; round < 20; ++round) {
      if (number == 0) {
        rank.queue.post_receive({1, 0}, 1, &word, 8);
        const auto refused = [&](const std::function<void()>& use) {
          expect_names(error_of(use), {"stream 1", "1 operations of its StreamQueue", "wait_ended"});
        };
        refused([&] { rank.stream.progress(); });
        refused([&] { static_cast<void>(rank.stream.enter()); });
        refused([&] { static_cast<void>(rank.group.barrier()); });
        refused([&] { rank.stream.close(); });
        refused([&] { static_cast<void>(rank.group.member().post_send({1, 0}, 2, bytes_of(word))); });
        runtime.barrier();
        for (int count = 0; count < 100; ++count)
          errors += error_of([&] { rank.stream.progress(); }) != "no error";
      } else {
        runtime.barrier();
        rank.queue.post_send({0, 0}, 1, &word, 8);
      }
      EXPECT_EQ(rank.queue.wait_ended(), Outcome::ok);
      // Now it is the program's again.
      EXPECT_EQ(error_of([&] { rank.stream.progress(); }), "no error");
      EXPECT_EQ(rank.group.barrier(), Outcome::ok);
    }
    EXPECT_LE(errors, 20U * 100U);
  });
}

TEST(StreamQueueLife, nothing_is_enqueued_while_a_thread_is_inside_the_stream) {
  run_ranks(1, {}, [](Runtime& runtime, int) {
    QueueRank rank(runtime, 0);
    {
      const StreamAccess access = rank.stream.enter();
      expect_names(error_of([&] { rank.queue.barrier(); }), {"barrier", "a thread is inside stream 1"});
    }
    rank.queue.barrier();
    EXPECT_EQ(rank.queue.wait_ended(), Outcome::ok);
    EXPECT_EQ(rank.queue.ended(), 1U);
  });
}

TEST(StreamQueueLife, threads_that_attend_to_streams_do_so_between_operations) {
  run_ranks(2, {}, [](Runtime& runtime, int number) {
    QueueRank rank(runtime, number);
    const StreamProgressThread attendant(runtime, {.interval = Timeout::of_nanoseconds(1000)});
    std::uint64_t sum = 0;
    for (std::uint64_t round = 0; round < 200; ++round) {
      std::uint64_t word = round;
      if (number == 0)
        rank.queue.post_send({1, 0}, 1, &word, 8);
      else
        rank.queue.post_receive({0, 0}, 1, &word, 8);
      if (round % 3 == 0) {
        EXPECT_EQ(rank.queue.wait_ended(), Outcome::ok);
        sum += word;
      }
      if (round % 10 == 0) {
        EXPECT_EQ(rank.queue.wait_ended(), Outcome::ok);
        EXPECT_EQ(rank.group.barrier(), Outcome::ok);
      }
      EXPECT_EQ(rank.queue.wait_ended(), Outcome::ok);
    }
    EXPECT_EQ(sum, 67U * 66U / 2 * 3);
  });
}

TEST(StreamQueueLife, a_queue_that_is_destroyed_cancels_what_no_message_matches) {
  run_ranks(2, test::kNoSurprises, [](Runtime& runtime, int number) {
    Stream stream(runtime);
    StreamGroup group(runtime, stream);
    if (number == 0) {
      FakeStream gpu;
      std::optional<StreamQueue> queue(std::in_place, group, 0, gpu);
      const test::OnDevice<std::uint64_t> words(2);
      gpu.launch([&] { words.view()[0] = words.view()[1] = 9; });
      StreamStatus status;
      bool has_gone_on = false;
      queue->post_receive({1, 0}, 1, words.get(), 8, &status);
      gpu.launch([&] { has_gone_on = true; });
      static_cast<void>(queue->start_receive({1, 0}, 1, words.get() + 1, 8));
      queue.reset();
      EXPECT_TRUE(has_gone_on);
      EXPECT_EQ(status.outcome, Outcome::cancelled);
      EXPECT_EQ(words.view()[0], 9U);
      EXPECT_EQ(words.view()[1], 9U);
    }
    runtime.barrier();
    // The stream is the program's again, and the receives have taken nothing with them.
    if (number == 0) {
      std::uint64_t word = 0;
      EXPECT_EQ(group.member().receive({1, 0}, 1, mutable_bytes_of(word)).outcome(), Outcome::ok);
      EXPECT_EQ(word, 5U);
    } else {
      EXPECT_EQ(group.member().send({0, 0}, 1, bytes_of(std::uint64_t{5})), Outcome::ok);
    }
    EXPECT_EQ(group.barrier(), Outcome::ok);
  });
}

TEST(StreamQueueLife, a_queue_that_is_destroyed_waits_for_what_arrives_in_time) {
  run_ranks(2, {}, [](Runtime& runtime, int number) {
    std::uint64_t word = number == 0 ? 0 : 6;
    {
      QueueRank rank(runtime, number);
      if (number == 0)
        rank.queue.post_receive({1, 0}, 1, &word, 8);
      else
        rank.queue.post_send({0, 0}, 1, &word, 8);
    }
    EXPECT_EQ(word, 6U);
  });
}

TEST(StreamQueueLife, graphs_that_are_destroyed_are_forgotten) {
  run_ranks(2, {}, [](Runtime& runtime, int number) {
    QueueRank rank(runtime, number);
    const StreamAddress peer{1 - number, 0};
    std::uint64_t mine = 0;
    std::uint64_t theirs = 0;
    for (int round = 0; round < 100; ++round) {
      rank.gpu.begin_capture();
      rank.gpu.launch([&] { ++mine; });
      const std::array requests{rank.queue.start_receive(peer, 1, &theirs, 8),
                                rank.queue.start_send(peer, 1, &mine, 8)};
      rank.queue.wait_all(requests);
      {
        const FakeGraph graph = rank.gpu.end_capture();
        for (int launch = 0; launch < 3; ++launch) graph.launch(rank.gpu);
      }  // while launches are under way
      rank.queue.barrier();
      EXPECT_EQ(rank.queue.wait_ended(), Outcome::ok);
      EXPECT_EQ(theirs, mine);
      if (round % 10 == 0) {
        EXPECT_TRUE(
            test::until([&] { return rank.queue.captured() == 0; }, [] { std::this_thread::yield(); }));
      }
    }
    EXPECT_EQ(mine, 300U);
    rank.gpu.begin_capture();
    rank.queue.barrier();
    const FakeGraph lives = rank.gpu.end_capture();
    for (int round = 0; round < 3; ++round) {
      lives.launch(rank.gpu);
      EXPECT_EQ(rank.queue.wait_ended(), Outcome::ok);
      EXPECT_GE(rank.queue.captured(), 1U);
    }
  });
}

}  // namespace
}  // namespace weft
