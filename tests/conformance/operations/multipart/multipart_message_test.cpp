// Active messages with a head and parts.
#include <weft/testing/in_process_job.hpp>

#include "support/one_sided.hpp"
#include "support/parts.hpp"

#include <gtest/gtest.h>

#include <sys/mman.h>

namespace weft {
namespace {

using test::Parcel;
using test::PartBuffers;
using test::parts_settings;
using test::Ranks;

class MultipartMessagesTest : public testing::TestWithParam<std::size_t> {
 protected:
  [[nodiscard]] std::vector<AttributeSetting> attributes() const {
    return parts_settings()[GetParam()].attributes;
  }
};

INSTANTIATE_TEST_SUITE_P(over, MultipartMessagesTest, testing::Range<std::size_t>(0, parts_settings().size()),
                         [](const auto& setting) {
                           return std::string(parts_settings()[setting.param].name);
                         });

template <class EndpointType>
[[nodiscard]] Status post(Ranks<EndpointType>& ranks, RemoteCompletion remote, const Parcel& parcel,
                          const ActiveMessageOptions& options) {
  return test::post_until(
      [&] { return ranks.endpoint(0).post_am(1, remote, parcel.head, parcel.parts, options); },
      [&] { ranks.progress(); });
}

/// What is sent in one run: few parts of every size, and many.
std::vector<std::vector<std::size_t>> shapes(const Runtime& runtime) {
  const std::size_t packet = test::size_attribute(runtime, "packet_size");
  std::vector<std::vector<std::size_t>> shapes = {{0},
                                                  {1},
                                                  {0, 0, 0},
                                                  {packet, 1, packet + 1},
                                                  {0, std::size_t{3} << 20, 0, 17},
                                                  test::border_sizes(runtime)};
  std::vector<std::size_t> many;
  for (std::size_t index = 0; index < 1000; ++index) many.push_back(index * 37 % 301);
  shapes.push_back(many);
  return shapes;
}

template <class EndpointType>
void expect_parcels_arrive(const std::vector<AttributeSetting>& attributes) {
  Ranks<EndpointType> ranks(2, attributes);
  Counter received;
  std::uint64_t seed = 100;
  std::size_t head_size = 0;
  std::unique_ptr<PartBuffers> buffers;
  Handler whole([&](Message& message) {
    EXPECT_EQ(message.operation(), Operation::parts);
    EXPECT_EQ(message.outcome(), Outcome::ok);
    EXPECT_EQ(message.peer(), 0);
    EXPECT_EQ(message.tag(), 9U);
    EXPECT_EQ(message.user_data(), &received);
    EXPECT_EQ(message.size(), head_size);
    EXPECT_TRUE(test::matches(message.bytes(), seed));
    EXPECT_TRUE(buffers->hold(seed, message.part_sizes()));
    received.signal(message);
  });
  Handler head([&](Message& message) {
    EXPECT_EQ(message.operation(), Operation::multipart_message);
    EXPECT_EQ(message.peer(), 0);
    EXPECT_EQ(message.tag(), 9U);
    EXPECT_EQ(message.size(), head_size);
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(message.data()) % 16, 0U);
    EXPECT_TRUE(test::matches(message.bytes(), seed));
    buffers = std::make_unique<PartBuffers>(message.part_sizes());
    ranks.endpoint(1).receive_parts(std::move(message), buffers->list(), whole, &received);
    EXPECT_TRUE(message.part_sizes().empty());
  });
  const RemoteCompletion remote = ranks.runtime(1).expose(head, {.id = 5});
  std::uint64_t count = 0;
  const std::size_t packet = ranks.endpoint(0).attributes().packet_bytes;
  for (const auto& sizes : shapes(ranks.runtime(0))) {
    for (const std::size_t next : {std::size_t{0}, std::size_t{48}, packet / 2, packet}) {
      head_size = next;
      seed += 10000;
      const Parcel parcel(seed, head_size, sizes);
      Counter sent;
      ASSERT_TRUE(post(ranks, remote, parcel, {.completion = &sent, .tag = 9}).is_posted());
      ++count;
      ASSERT_TRUE(ranks.progress_until([&] { return received.value() == count && sent.value() == 1; }))
          << sizes.size() << " parts";
    }
  }
}

TEST_P(MultipartMessagesTest, with_parts_of_every_number_and_size_arrive_whole_through_endpoints) {
  expect_parcels_arrive<Endpoint>(attributes());
}

TEST_P(MultipartMessagesTest, with_parts_of_every_number_and_size_arrive_whole_through_serial_endpoints) {
  expect_parcels_arrive<SerialEndpoint>(attributes());
}

TEST_P(MultipartMessagesTest, wait_in_queues_until_their_parts_are_taken) {
  Ranks<> ranks(2, attributes());
  CompletionQueue arrived;
  CompletionQueue ended;
  const RemoteCompletion remote = ranks.runtime(1).expose(arrived, {.id = 1});
  constexpr std::size_t kMessages = 8;
  Counter sent;
  std::vector<std::unique_ptr<Parcel>> parcels;
  for (std::size_t index = 0; index < kMessages; ++index) {
    parcels.push_back(
        std::make_unique<Parcel>(index * 100, index * 20, std::vector<std::size_t>{5000, index}));
    ASSERT_TRUE(post(ranks, remote, *parcels.back(), {.completion = &sent}).is_posted());
  }
  std::vector<Message> heads(kMessages);
  std::size_t count = 0;
  ASSERT_TRUE(ranks.progress_until([&] {
    count += arrived.pop(std::span(heads).subspan(count));
    return count == kMessages;
  }));
  EXPECT_EQ(sent.value(), 0U) << "nobody has taken the parts";
  std::vector<std::unique_ptr<PartBuffers>> buffers;
  std::thread other([&] {
    for (Message& head : heads) {
      buffers.push_back(std::make_unique<PartBuffers>(head.part_sizes()));
      ranks.endpoint(1).receive_parts(std::move(head), buffers.back()->list(), ended,
                                      reinterpret_cast<void*>(buffers.size() - 1));
    }
  });
  other.join();
  for (std::size_t index = 0; index < kMessages; ++index) {
    Message message;
    ASSERT_TRUE(ranks.progress_until([&] { return ended.pop(message); }));
    const auto place = reinterpret_cast<std::size_t>(message.user_data());
    ASSERT_EQ(message.part_sizes().size(), 2U);
    EXPECT_EQ(message.size(), 20 * message.part_sizes()[1]) << "the head of these parts";
    EXPECT_TRUE(buffers[place]->hold(100 * message.part_sizes()[1], message.part_sizes()));
  }
  EXPECT_TRUE(ranks.progress_until([&] { return sent.value() == kMessages; }));
}

TEST_P(MultipartMessagesTest, end_truncated_where_buffers_are_short_and_never_overrun_them) {
  Ranks<> ranks(2, attributes());
  CompletionQueue arrived;
  const RemoteCompletion remote = ranks.runtime(1).expose(arrived, {.id = 1});
  const std::vector<std::size_t> sizes = {70'000, 10, 0, 4096, 200'000};
  const std::vector<std::vector<std::uint64_t>> rooms = {{0, 0, 0, 0, 0},
                                                         {69'999, 10, 0, 4096, 200'000},
                                                         {70'000, 10, 0, 4096, 0},
                                                         {1, 1, 1, 1, 1},
                                                         {0, 0, 0, 0, 199'999},
                                                         {0, 10, 0, 0, 0},
                                                         {1'000'000, 0, 5, 5000, 100}};
  std::uint64_t seed = 0;
  for (const auto& room : rooms) {
    seed += 1000;
    const Parcel parcel(seed, 33, sizes);
    Counter sent;
    ASSERT_TRUE(post(ranks, remote, parcel, {.completion = &sent}).is_posted());
    Message head;
    ASSERT_TRUE(ranks.progress_until([&] { return arrived.pop(head); }));
    const PartBuffers buffers(room);
    Synchronizer ended;
    ranks.endpoint(1).receive_parts(std::move(head), buffers.list(), ended);
    ASSERT_TRUE(ranks.progress_until([&] { return ended.ready() && sent.value() == 1; }));
    EXPECT_EQ(ended.messages()[0].outcome(), Outcome::truncated);
    EXPECT_TRUE(buffers.hold(seed, ended.messages()[0].part_sizes()));
  }
}

TEST_P(MultipartMessagesTest, that_are_dropped_give_their_senders_the_buffers_back) {
  Ranks<> ranks(2, attributes());
  Counter dropped;  // does not keep what it is told
  const RemoteCompletion remote = ranks.runtime(1).expose(dropped, {.id = 1});
  const Parcel parcel(3, 100, {1, 100'000, 0});
  constexpr std::uint64_t kMessages = 100;
  std::atomic<std::uint64_t> ok{0};
  Handler sent([&](Message& message) {
    if (message.outcome() == Outcome::ok && message.operation() == Operation::active_message_sent) ++ok;
  });
  for (std::uint64_t count = 0; count < kMessages; ++count)
    ASSERT_TRUE(post(ranks, remote, parcel, {.completion = &sent}).is_posted());
  EXPECT_TRUE(ranks.progress_until([&] { return ok == kMessages; }));
  EXPECT_EQ(dropped.value(), kMessages);
  {
    CompletionQueue queue;
    const RemoteCompletion other = ranks.runtime(1).expose(queue, {.id = 2});
    ASSERT_TRUE(post(ranks, other, parcel, {.completion = &sent}).is_posted());
    ASSERT_TRUE(ranks.progress_until([&] { return !queue.empty(); }));
  }
  EXPECT_TRUE(ranks.progress_until([&] { return ok == kMessages + 1; })) << "a queue was destroyed with it";
}

TEST_P(MultipartMessagesTest, go_to_the_backlog_when_their_posters_cannot_retry) {
  Ranks<> ranks(2, attributes());
  CompletionQueue arrived;
  const RemoteCompletion remote = ranks.runtime(1).expose(arrived, {.id = 1});
  ASSERT_TRUE(ranks.meet());
  Counter sent;
  std::uint64_t accepted = 0;
  std::uint64_t taken = 0;
  std::vector<std::unique_ptr<Parcel>> parcels;
  CompletionQueue ended;
  std::vector<std::unique_ptr<PartBuffers>> buffers;
  for (std::uint64_t index = 0; index < 200; ++index) {
    parcels.push_back(std::make_unique<Parcel>(index * 100, 40, std::vector<std::size_t>{3, 50, 700, index}));
    // The list of parts is the poster's own again when the call returns.
    std::vector<Bytes> list = parcels.back()->parts;
    accepted +=
        ranks.endpoint(0)
                .post_am(1, remote, parcels.back()->head, list, {.completion = &sent, .may_retry = false})
                .is_accepted()
            ? 1
            : 0;
    list.assign(4, Bytes());
  }
  EXPECT_GE(accepted, 16U);
  ASSERT_TRUE(ranks.progress_until([&] {
    Message message;
    while (arrived.pop(message)) {
      buffers.push_back(std::make_unique<PartBuffers>(message.part_sizes()));
      ranks.endpoint(1).receive_parts(std::move(message), buffers.back()->list(), ended,
                                      buffers.back().get());
    }
    while (ended.pop(message)) {
      ++taken;
      EXPECT_TRUE(static_cast<PartBuffers*>(message.user_data())
                      ->hold(message.part_sizes()[3] * 100, message.part_sizes()));
    }
    return taken == accepted && sent.value() == accepted;
  }));
}

TEST_P(MultipartMessagesTest, are_answered_by_handlers_with_others) {
  Ranks<> ranks(2, attributes());
  const Parcel parcel(7, 20, {1, 2000, 30'000});
  constexpr std::uint64_t kRequests = 50;
  Counter sent;
  Counter answered;
  std::uint64_t refused = 0;
  RemoteCompletion answers;
  std::vector<std::unique_ptr<PartBuffers>> buffers;
  Handler whole([&](Message& message) {
    EXPECT_TRUE(static_cast<PartBuffers*>(message.user_data())->hold(7, message.part_sizes()));
    if (message.peer() == 1) return answered.signal(message);
    refused +=
        ranks.endpoint(1).post_am(0, answers, parcel.head, parcel.parts, {.completion = &sent}).is_retry()
            ? 1
            : 0;
  });
  const auto take = [&](int rank, Message& message) {
    buffers.push_back(std::make_unique<PartBuffers>(message.part_sizes()));
    ranks.endpoint(rank).receive_parts(std::move(message), buffers.back()->list(), whole,
                                       buffers.back().get());
  };
  Handler requests([&](Message& message) { take(1, message); });
  Handler replies([&](Message& message) { take(0, message); });
  const RemoteCompletion remote = ranks.runtime(1).expose(requests, {.id = 1});
  answers = ranks.runtime(0).expose(replies, {.id = 2});
  for (std::uint64_t count = 0; count < kRequests; ++count)
    ASSERT_TRUE(post(ranks, remote, parcel, {.completion = &sent}).is_posted());
  EXPECT_TRUE(ranks.progress_until(
      [&] { return answered.value() + refused == kRequests && sent.value() == 2 * kRequests - refused; }));
  // A handler's post may be refused when the backlog is full; with stores of usual size it is not.
  if (GetParam() < 2) {
    EXPECT_EQ(refused, 0U);
  }
}

TEST(MultipartRts, without_parts_is_an_active_message) {
  Ranks<> ranks(2);
  CompletionQueue arrived;
  const RemoteCompletion remote = ranks.runtime(1).expose(arrived, {.id = 1});
  const Parcel parcel(1, 40, {});
  ASSERT_TRUE(post(ranks, remote, parcel, {}).is_accepted());
  Message message;
  ASSERT_TRUE(ranks.progress_until([&] { return arrived.pop(message); }));
  EXPECT_EQ(message.operation(), Operation::active_message);
  EXPECT_TRUE(test::matches(message.bytes(), 1));
  EXPECT_TRUE(message.part_sizes().empty());
  Counter ended;
  EXPECT_THROW(ranks.endpoint(1).receive_parts(std::move(message), {}, ended), Error);
}

TEST(MultipartRts, with_wrong_arguments_is_refused_and_stays_whole) {
  Ranks<> ranks(2);
  CompletionQueue arrived;
  const RemoteCompletion remote = ranks.runtime(1).expose(arrived, {.id = 1});
  const Parcel parcel(1, ranks.endpoint(0).attributes().packet_bytes + 1, {10, 20});
  EXPECT_THROW(static_cast<void>(ranks.endpoint(0).post_am(1, remote, parcel.head, parcel.parts)), Error);
  EXPECT_THROW(static_cast<void>(ranks.endpoint(0).post_am(2, remote, {}, parcel.parts)), Error);
  EXPECT_THROW(static_cast<void>(ranks.endpoint(0).post_am(1, {}, {}, parcel.parts)), Error);
  const std::vector<Bytes> too_long(2, Bytes(parcel.head.data(), std::size_t{1} << 62));
  EXPECT_THROW(static_cast<void>(ranks.endpoint(0).post_am(1, remote, {}, too_long)), Error);
  const std::vector<Bytes> too_many((std::size_t{1} << 20) + 1);
  EXPECT_THROW(static_cast<void>(ranks.endpoint(0).post_am(1, remote, {}, too_many)), Error);
  Counter sent;
  const auto status = test::post_until(
      [&] { return ranks.endpoint(0).post_am(1, remote, {}, parcel.parts, {.completion = &sent}); },
      [&] { ranks.progress(); });
  ASSERT_TRUE(status.is_posted());
  Message message;
  ASSERT_TRUE(ranks.progress_until([&] { return arrived.pop(message); }));
  Counter ended;
  const PartBuffers one(std::vector<std::uint64_t>{10});
  EXPECT_THROW(ranks.endpoint(1).receive_parts(std::move(message), one.list(), ended), Error);
  ASSERT_EQ(message.part_sizes().size(), 2U) << "it can still be received";
  const PartBuffers both(message.part_sizes());
  ranks.endpoint(1).receive_parts(std::move(message), both.list(), ended);
  EXPECT_TRUE(ranks.progress_until([&] { return ended.value() == 1 && sent.value() == 1; }));
}

TEST(MultipartRts, may_have_a_part_beyond_4_gib) {
  constexpr std::size_t kSize = (std::size_t{5} << 30) + 7;
  void* const memory =
      ::mmap(nullptr, kSize, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (memory == MAP_FAILED) GTEST_SKIP() << "no address space";
  const std::span<std::byte> large{static_cast<std::byte*>(memory), kSize};
  test::fill(large.first(5000), 2);
  {
    Ranks<> ranks(2);
    CompletionQueue arrived;
    const RemoteCompletion remote = ranks.runtime(1).expose(arrived, {.id = 1});
    const auto small = test::payload(300, 1);
    const std::vector<Bytes> parts = {small, large};
    Counter sent;
    const auto status = test::post_until(
        [&] { return ranks.endpoint(0).post_am(1, remote, small, parts, {.completion = &sent}); },
        [&] { ranks.progress(); });
    ASSERT_TRUE(status.is_posted());
    Message message;
    ASSERT_TRUE(ranks.progress_until([&] { return arrived.pop(message); }));
    ASSERT_EQ(message.part_sizes().size(), 2U);
    EXPECT_EQ(message.part_sizes()[1], kSize);
    const PartBuffers buffers(std::vector<std::uint64_t>{300, 5000});
    Counter ended;
    ranks.endpoint(1).receive_parts(std::move(message), buffers.list(), ended);
    EXPECT_TRUE(ranks.progress_until([&] { return ended.value() == 1 && sent.value() == 1; }));
    EXPECT_TRUE(test::matches({buffers.list()[1].data(), 5000}, 2));
  }
  ::munmap(memory, kSize);
}

TEST(MultipartRts, outlives_the_device_that_it_came_to) {
  // The sender hears of it when the receiver's runtime is gone.
  Counter sent;
  const Parcel parcel(1, 10, {100, 100'000});
  InProcessJob job(2);
  Runtime first(job, 0);
  Runtime second(job, 1);
  Endpoint sender(first);
  Message message;
  CompletionQueue arrived;
  {
    Device device(second, {.index = 3});
    Endpoint receiver(device);
    const RemoteCompletion remote = second.expose(arrived, {.id = 1, .device = 3});
    const auto step = [&] { static_cast<void>(sender.progress() + receiver.progress()); };
    ASSERT_TRUE(
        test::post_until(
            [&] { return sender.post_am(1, remote, parcel.head, parcel.parts, {.completion = &sent}); }, step)
            .is_posted());
    ASSERT_TRUE(test::until([&] { return arrived.pop(message); }, step));
  }
  Endpoint other(second);
  const PartBuffers buffers(message.part_sizes());
  EXPECT_TRUE(test::matches(message.bytes(), 1));
  EXPECT_THROW(other.receive_parts(std::move(message), buffers.list(), sent), Error);
  EXPECT_EQ(message.part_sizes().size(), 2U);
  message = Message();
}

TEST(MultipartRts, ends_with_peer_failed_when_the_receiver_leaves_with_it) {
  Ranks<> ranks(2);
  const Parcel parcel(1, 10, {100, 100'000});
  Synchronizer sent;
  {
    CompletionQueue arrived;
    const RemoteCompletion remote = ranks.runtime(1).expose(arrived, {.id = 1});
    ASSERT_TRUE(post(ranks, remote, parcel, {.completion = &sent}).is_posted());
    Message message;
    ASSERT_TRUE(ranks.progress_until([&] { return arrived.pop(message); }));
    // Kept until its device is closed: nobody tells the sender.
    auto kept = std::make_unique<Message>(std::move(message));
    std::thread leaves([&] { ranks.leave(1); });
    leaves.join();
    kept.reset();
  }
  ASSERT_TRUE(test::until([&] { return sent.ready(); }, [&] { ranks.endpoint(0).progress(); }));
  EXPECT_EQ(sent.messages()[0].outcome(), Outcome::peer_failed);
}

}  // namespace
}  // namespace weft
