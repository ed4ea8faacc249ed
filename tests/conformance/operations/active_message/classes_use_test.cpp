// Message classes together with handlers, threads, graphs of posts and the other forms of operations.
#include "support/classes.hpp"
#include "support/matched.hpp"

#include <gtest/gtest.h>

#include <array>
#include <atomic>
#include <cstdint>
#include <span>
#include <thread>
#include <vector>

namespace weft {
namespace {

using test::kClasses;
using test::payload;
using test::post_send;
using test::Ranks;
using test::Recorder;

TEST(UseOfClasses, from_handlers_always_finds_room) {
  // Both ranks flood each other with requests of every class, whose handlers answer in every class.
  for (const std::size_t size : {std::size_t{8}, std::size_t{300}}) {
    Ranks<Endpoint> ranks(2, {{"lane_slots", "64"}, {"lane_slots_max", "64"}});
    constexpr std::uint64_t kRequests = 3000;
    struct Side {
      std::uint64_t handled = 0;
      std::uint64_t lost = 0;
      std::array<std::uint64_t, 3> answers{};
    };
    std::array<Side, 2> sides;
    const auto bytes = payload(size, 1);
    const RemoteCompletion answer(2, 1, 0);
    const auto request_handler = [&](std::size_t rank) {
      return [&, rank](Message& message) {
        const auto each = static_cast<std::uint32_t>(message.tag());
        ++sides[rank].handled;
        if (!ranks.endpoint(static_cast<int>(rank))
                 .post_am(message.peer(), answer, bytes, {.tag = each, .message_class = kClasses[each]})
                 .is_accepted())
          ++sides[rank].lost;
      };
    };
    const auto answer_handler = [&](std::size_t rank) {
      return [&, rank](Message& message) { ++sides[rank].answers[message.tag()]; };
    };
    Handler requests0(request_handler(0));
    Handler requests1(request_handler(1));
    Handler answers0(answer_handler(0));
    Handler answers1(answer_handler(1));
    const RemoteCompletion request = ranks.runtime(0).expose(requests0, {.id = 1});
    ranks.runtime(1).expose(requests1, {.id = 1});
    ASSERT_EQ(ranks.runtime(0).expose(answers0, {.id = 2}), answer);
    ranks.runtime(1).expose(answers1, {.id = 2});
    ASSERT_TRUE(ranks.meet());
    std::array<std::uint64_t, 2> posted{};
    ASSERT_TRUE(ranks.progress_until([&] {
      for (std::size_t rank = 0; rank < 2; ++rank)
        for (int burst = 0; burst < 200 && posted[rank] < kRequests; ++burst) {
          const auto each = static_cast<std::uint32_t>(posted[rank] % kClasses.size());
          if (!ranks.endpoint(static_cast<int>(rank))
                   .post_am(1 - static_cast<int>(rank), request, bytes,
                            {.tag = each, .message_class = kClasses[each]})
                   .is_accepted())
            break;
          ++posted[rank];
        }
      for (const Side& side : sides)
        if (side.answers[0] + side.answers[1] + side.answers[2] != kRequests) return false;
      return true;
    })) << posted[0]
        << " and " << posted[1] << " requests";
    for (const Side& side : sides) {
      EXPECT_EQ(side.handled, kRequests);
      EXPECT_EQ(side.lost, 0U);
      for (const std::uint64_t count : side.answers) EXPECT_EQ(count, kRequests / 3);
    }
  }
}

TEST(UseOfClasses, by_several_threads_loses_nothing) {
  Ranks<Endpoint> ranks(2, {{"lane_slots", "64"}, {"lane_slots_max", "64"}, {"packets", "64"}});
  constexpr std::uint64_t kEach = 300;
  constexpr std::array<std::size_t, 5> kSizes = {8, 40, 300, 3000, 50'000};
  constexpr int kThreads = 3;
  std::array<Counter, 3> arrived;
  std::array<RemoteCompletion, 3> remotes;
  for (std::uint32_t each = 0; each < kClasses.size(); ++each)
    remotes[each] = ranks.runtime(1).expose(arrived[each], {.id = each + 1});
  Counter received;
  std::vector<std::vector<std::byte>> buffers(kThreads * kEach, std::vector<std::byte>(64));
  std::atomic<bool> stop{false};
  std::atomic<int> ready{0};
  std::vector<std::thread> threads;
  for (int thread = 0; thread < 2; ++thread)
    threads.emplace_back([&] {
      while (!stop) ranks.endpoint(1).progress();
    });
  for (std::uint64_t place = 0; place < buffers.size(); ++place)
    ASSERT_TRUE(test::until(
        [&] {
          return ranks.endpoint(1)
              .post_receive(0, place, buffers[place], {.completion = &received})
              .is_accepted();
        },
        [] {}));
  std::vector<std::thread> senders;
  for (int thread = 0; thread < kThreads; ++thread)
    senders.emplace_back([&, thread] {
      for (std::uint64_t number = 0; number < kEach; ++number) {
        const std::size_t each = (number + static_cast<std::uint64_t>(thread)) % kClasses.size();
        const auto bytes = payload(kSizes[number % kSizes.size()], number);
        static_cast<void>(
            ranks.endpoint(0).send_am(1, remotes[each], bytes, {.message_class = kClasses[each]}));
        const std::uint64_t tag = static_cast<std::uint64_t>(thread) * kEach + number;
        static_cast<void>(ranks.endpoint(0).send(1, tag,
                                                 Bytes(bytes).first(std::min<std::size_t>(bytes.size(), 64)),
                                                 {.message_class = kClasses[(each + 1) % kClasses.size()]}));
      }
      ready.fetch_add(1);
    });
  const auto all = [&] {
    std::uint64_t count = 0;
    for (const Counter& each : arrived) count += each.value();
    return count == kThreads * kEach && received.value() == kThreads * kEach;
  };
  EXPECT_TRUE(test::until([&] { return ready == kThreads && all(); }, [&] { ranks.endpoint(0).progress(); }));
  for (std::thread& sender : senders) sender.join();
  stop = true;
  for (std::thread& thread : threads) thread.join();
  for (std::uint64_t place = 0; place < buffers.size(); ++place) {
    const std::uint64_t number = place % kEach;
    const std::size_t size = std::min<std::size_t>(kSizes[number % kSizes.size()], 64);
    ASSERT_TRUE(test::matches(Bytes(buffers[place]).first(size), number)) << place;
  }
}

TEST(UseOfClasses, of_prepared_vectored_and_generic_operations_is_that_of_their_posts) {
  for (const MessageClass each : kClasses) {
    Ranks<SerialEndpoint> ranks(2);
    Recorder arrived;
    const RemoteCompletion remote = ranks.runtime(1).expose(arrived, {.id = 1});
    ASSERT_TRUE(ranks.meet());
    auto& endpoint = ranks.endpoint(0);
    // Prepared.
    const std::uint64_t value = 17;
    auto message = endpoint.prepare_am(1, remote, bytes_of(value), {.tag = 1, .message_class = each});
    auto send = endpoint.prepare_send(1, 5, bytes_of(value), {.message_class = each});
    Recorder received;
    for (std::size_t round = 1; round <= 5; ++round) {
      std::uint64_t here = 0;
      ASSERT_TRUE(
          ranks.endpoint(1)
              .post_receive(0, 5, std::as_writable_bytes(std::span(&here, 1)), {.completion = &received})
              .is_posted());
      ASSERT_TRUE(ranks.progress_until([&] { return message.start().is_accepted(); }));
      ASSERT_TRUE(ranks.progress_until([&] { return send.start().is_accepted(); }));
      ASSERT_TRUE(ranks.progress_until(
          [&] { return arrived.messages.size() == round && received.messages.size() == round; }));
      EXPECT_EQ(here, value);
      EXPECT_EQ(arrived.messages.back().as<std::uint64_t>(), value);
    }
    // Vectored.
    arrived.messages.clear();
    const auto part = payload(50'000, 3);
    const std::array<Bytes, 2> parts{Bytes(part), Bytes(part).first(10)};
    Recorder sent;
    ASSERT_TRUE(ranks.progress_until([&] {
      return endpoint
          .post_am(1, remote, bytes_of(value), parts, {.completion = &sent, .tag = 2, .message_class = each})
          .is_accepted();
    }));
    ASSERT_TRUE(ranks.progress_until([&] { return arrived.ready(); }));
    std::vector<std::byte> first(part.size());
    std::vector<std::byte> second(10);
    const std::array<MutableBytes, 2> buffers{MutableBytes(first), MutableBytes(second)};
    Recorder fetched;
    ranks.endpoint(1).receive_parts(std::move(arrived.messages[0]), buffers, fetched);
    ASSERT_TRUE(ranks.progress_until([&] { return fetched.ready() && sent.ready(); }));
    EXPECT_TRUE(test::matches(first, 3));
    // Generic.
    arrived.messages.clear();
    ASSERT_TRUE(ranks.progress_until([&] {
      return endpoint
          .post_comm({.peer = 1,
                      .source = bytes_of(value),
                      .remote_completion = remote,
                      .tag = 3,
                      .message_class = each})
          .is_accepted();
    }));
    ASSERT_TRUE(ranks.progress_until([&] { return arrived.ready(); }));
    EXPECT_EQ(arrived.messages[0].tag(), 3U);
    arrived.messages.clear();
    // Assembled in place.
    Device device(ranks.runtime(0), {.index = 1});
    Packet packet = device.get_packet();
    ASSERT_TRUE(packet);
    test::fill(packet.bytes().first(1000), 9);
    ASSERT_TRUE(ranks.progress_until([&] {
      return endpoint.post_am(1, remote, std::move(packet), 1000, {.message_class = each}).is_accepted();
    }));
    ASSERT_TRUE(ranks.progress_until([&] { return arrived.ready(); }));
    EXPECT_TRUE(arrived.messages[0].size() == 1000 && test::matches(arrived.messages[0].bytes(), 9));
  }
}

TEST(UseOfClasses, towards_a_full_queue_waits_as_ever) {
  Ranks<Endpoint> ranks(2);
  CompletionQueue queue({.capacity = 20});
  const RemoteCompletion remote = ranks.runtime(1).expose(queue, {.id = 1});
  ASSERT_TRUE(ranks.meet());
  std::uint64_t popped = 0;
  std::uint64_t posted = 0;
  Message message;
  ASSERT_TRUE(ranks.progress_until([&] {
    if (posted < 600 && ranks.endpoint(0)
                            .post_am(1, remote, bytes_of(posted),
                                     {.may_retry = posted % 2 == 0, .message_class = kClasses[posted % 3]})
                            .is_accepted())
      ++posted;
    while (posted % 50 == 0 && queue.pop(message)) ++popped;
    if (posted == 600 || ranks.progress() == 0)
      while (queue.pop(message)) ++popped;
    return popped == 600;
  })) << posted
      << " posted, " << popped << " popped";
}

}  // namespace
}  // namespace weft
