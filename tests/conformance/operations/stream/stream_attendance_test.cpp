// Streams that their own threads do not progress are progressed by others.
#include "conformance/operations/stream/stream_ranks.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <random>
#include <thread>
#include <vector>

namespace weft {
namespace {

using test::run_ranks;

constexpr std::size_t kLarge = 300'000;

// Rank 0 answers on stream 0 only when a message to it on stream 1 is through, and that needs rank 1 to
// progress its stream 1, whose thread does something else.
TEST(StreamAttendance, a_wait_on_one_stream_moves_what_is_posted_on_its_siblings) {
  run_ranks(2, {}, [](Runtime& runtime, int rank) {
    Stream first(runtime);
    Stream second(runtime);
    const std::vector<Stream*> pointers{&first, &second};
    const StreamGroup group(runtime, pointers);
    std::uint64_t word = 5;
    if (rank == 0) {
      std::vector<std::byte> buffer(kLarge);
      EXPECT_EQ(group.member(1).receive({1, 1}, 1, buffer).size(), kLarge);
      EXPECT_TRUE(test::matches(buffer, 1));
      EXPECT_EQ(group.member(0).send({1, 0}, 2, bytes_of(word)), Outcome::ok);
      return;
    }
    const auto large = test::payload(kLarge, 1);
    Synchronizer sent;
    while (group.member(1).post_send({0, 1}, 1, large, {.completion = &sent}).is_retry()) second.progress();
    // From here on nobody polls `second` but who waits on `first`.
    EXPECT_EQ(group.member(0).receive({0, 0}, 2, mutable_bytes_of(word)).outcome(), Outcome::ok);
    EXPECT_EQ(second.wait(sent).front().outcome(), Outcome::ok);
  });
}

TEST(StreamAttendance, a_progress_thread_takes_a_stream_over_and_hands_it_back) {
  run_ranks(2, {}, [](Runtime& runtime, int rank) {
    Stream stream(runtime);
    const StreamGroup group(runtime, stream);
    GroupStream mine = group.member();
    if (rank == 0) {
      const StreamProgressThread attendant(runtime);
      const auto large = test::payload(kLarge, 2);
      for (int round = 0; round < 5; ++round) {
        Synchronizer sent;
        while (mine.post_send({1, 0}, 1, large, {.completion = &sent}).is_retry()) mine.progress();
        // This thread does not progress until the peer has the message.
        EXPECT_TRUE(test::until([&] { return sent.ready(); }, [] { std::this_thread::yield(); }));
        std::uint64_t word = 0;
        EXPECT_EQ(mine.receive({1, 0}, 2, mutable_bytes_of(word)).outcome(), Outcome::ok);
        EXPECT_EQ(word, static_cast<std::uint64_t>(round));
      }
      return;
    }
    for (std::uint64_t round = 0; round < 5; ++round) {
      std::vector<std::byte> buffer(kLarge);
      EXPECT_EQ(mine.receive({0, 0}, 1, buffer).size(), kLarge);
      EXPECT_EQ(mine.send({0, 0}, 2, bytes_of(round)), Outcome::ok);
    }
  });
}

// Threads that poll, post, sleep and wait as a seed says, while a progress thread attends to all: each
// message comes once, into the receive that its place in the order gives it, and handlers of a stream never
// run in two threads at a time. Receives may end in another order: a message for which there is no credit is
// announced, and fetched while later ones come with their payload.
TEST(StreamAttendance, keeps_streams_serial_whoever_progresses_them) {
  for (const unsigned seed : {1U, 2U, 3U})
    run_ranks(2, {}, [seed](Runtime& runtime, int rank) {
      constexpr std::uint32_t kStreams = 3;
      constexpr std::uint64_t kMessages = 300;
      std::vector<std::unique_ptr<Stream>> streams;
      std::vector<Stream*> pointers;
      for (std::uint32_t index = 0; index < kStreams; ++index) {
        streams.push_back(std::make_unique<Stream>(runtime));
        pointers.push_back(streams.back().get());
      }
      const StreamGroup group(runtime, pointers);
      const StreamProgressThread attendant(runtime, {.interval = Timeout::of_nanoseconds(1000)});
      std::vector<std::thread> threads;
      std::atomic<std::uint32_t> finished{0};
      for (std::uint32_t index = 0; index < kStreams; ++index)
        threads.emplace_back([&, index] {
          std::mt19937 random(seed * 100 + index * 10 + static_cast<unsigned>(rank));
          GroupStream mine = group.member(index);
          int inside = 0;  // not atomic: the stream is serial
          std::uint64_t received = 0;
          std::vector<std::uint64_t> rooms(kMessages);
          Handler arrived([&](Message& message) {
            EXPECT_EQ(inside++, 0);
            const auto* const room = reinterpret_cast<const std::uint64_t*>(message.data());
            EXPECT_EQ(*room, static_cast<std::uint64_t>(room - rooms.data()));
            ++received;
            --inside;
          });
          std::vector<std::uint64_t> words(kMessages);
          Counter sent;
          const StreamAddress peer{1 - rank, index};
          std::uint64_t posted = 0;
          std::uint64_t sends = 0;
          // `received` is read inside the stream only.
          const auto count = [&] {
            const StreamAccess access = mine.stream().enter();
            return received;
          };
          while (sends < kMessages || posted < kMessages) {
            const unsigned step = random() % 8;
            if (step < 3 && posted < kMessages) {
              posted += mine.post_receive(peer, 1, mutable_bytes_of(rooms[posted]), {.completion = &arrived})
                            .is_accepted();
            } else if (step < 6 && sends < kMessages) {
              words[sends] = sends;
              sends += mine.post_send(peer, 1, bytes_of(words[sends]), {.completion = &sent}).is_accepted();
            } else if (step == 6) {
              std::this_thread::sleep_for(std::chrono::microseconds(random() % 100));
            } else {
              mine.progress();
            }
          }
          EXPECT_TRUE(mine.stream().wait_for(
              [&] { return count() == kMessages && sent.value() == kMessages; }, test::kHangGuard));
          ++finished;
          while (finished != kStreams) mine.progress();
        });
      for (std::thread& thread : threads) thread.join();
    });
}

TEST(StreamAttendance, takes_nothing_while_everybody_keeps_to_their_own) {
  run_ranks(1, {}, [](Runtime& runtime, int) {
    Stream stream(runtime);
    const StreamAccess access = stream.enter();
    // The thread is inside: whoever attends leaves it alone, and it goes on without waiting.
    const StreamProgressThread attendant(runtime, {.interval = Timeout::of_nanoseconds(1000)});
    for (int count = 0; count < 100'000; ++count) access->progress();
  });
}

}  // namespace
}  // namespace weft
