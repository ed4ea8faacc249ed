// Payloads of all sizes to every completion object, over every protocol.
#include <weft/testing/in_process_job.hpp>

#include "support/ranks.hpp"

#include <gtest/gtest.h>

#include <string>

namespace weft {
namespace {

using test::matches;
using test::payload;
using test::Ranks;

/// Attributes that choose protocols or make every store small.
struct Setting {
  const char* name;
  std::vector<AttributeSetting> attributes;
};

std::vector<Setting> settings() {
  return {
      {"defaults", {}},
      {"rendezvous_by_read", {{"rendezvous", "read"}}},
      {"rendezvous_by_copy", {{"rendezvous", "copy"}}},
      {"small_limits",
       {{"lane_slots", "64"},
        {"lane_slots_max", "64"},
        {"packets", "16"},
        {"packet_size", "1K"},
        {"requests", "16"},
        {"backlog", "4"},
        {"backlog_peer", "2"},
        {"held_packets", "1"},
        {"packet_magazine", "1"}}},
      {"small_limits_by_read",
       {{"lane_slots", "64"},
        {"lane_slots_max", "64"},
        {"packets", "16"},
        {"packet_size", "1K"},
        {"requests", "16"},
        {"backlog", "4"},
        {"backlog_peer", "2"},
        {"held_packets", "1"},
        {"rendezvous", "read"}}},
      {"long_inline_messages", {{"inline_max", "2K"}, {"lane_slots", "4096"}, {"lane_slots_max", "4096"}}},
  };
}

class ActiveMessages : public testing::TestWithParam<std::size_t> {
 protected:
  [[nodiscard]] std::vector<AttributeSetting> attributes() const { return settings()[GetParam()].attributes; }
};

INSTANTIATE_TEST_SUITE_P(over, ActiveMessages, testing::Range<std::size_t>(0, settings().size()),
                         [](const auto& setting) { return std::string(settings()[setting.param].name); });

template <class EndpointType>
void expect_all_sizes_arrive(const std::vector<AttributeSetting>& attributes) {
  Ranks<EndpointType> ranks(2, attributes);
  std::uint64_t arrived = 0;
  std::size_t size = 0;
  Handler handler([&](Message& message) {
    EXPECT_EQ(message.operation(), Operation::active_message);
    EXPECT_EQ(message.outcome(), Outcome::ok);
    EXPECT_EQ(message.peer(), 0);
    EXPECT_EQ(message.tag(), 0x80000000U + static_cast<std::uint32_t>(size));
    EXPECT_EQ(message.user_data(), nullptr) << "the user data does not travel";
    EXPECT_EQ(message.size(), size);
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(message.data()) % 16, 0U) << size;
    EXPECT_TRUE(matches(message.bytes(), size)) << size << " bytes differ";
    ++arrived;
  });
  const RemoteCompletion remote = ranks.runtime(1).expose(handler, {.id = 5});
  std::vector<std::size_t> sizes = test::border_sizes(ranks.runtime(0));
  sizes.insert(sizes.end(), {std::size_t{1} << 20, (std::size_t{5} << 20) + 3});
  for (int round = 0; round < 3; ++round) {
    for (const std::size_t next : sizes) {
      size = next;
      const std::uint64_t before = arrived;
      const auto bytes = payload(size, size);
      Counter sent;
      const auto status = ranks.post(
          0, 1, remote, bytes, {.completion = &sent, .tag = 0x80000000U + static_cast<std::uint32_t>(size)});
      ASSERT_TRUE(status.has_value()) << size;
      EXPECT_TRUE(status->is_posted());
      ASSERT_TRUE(ranks.progress_until([&] { return arrived == before + 1 && sent.value() == 1; })) << size;
    }
  }
  EXPECT_EQ(arrived, 3 * sizes.size());
}

TEST_P(ActiveMessages, of_every_size_arrive_whole_through_endpoints) {
  expect_all_sizes_arrive<Endpoint>(attributes());
}

TEST_P(ActiveMessages, of_every_size_arrive_whole_through_serial_endpoints) {
  expect_all_sizes_arrive<SerialEndpoint>(attributes());
}

template <class Queue>
void expect_queue_keeps_all(const std::vector<AttributeSetting>& attributes) {
  Ranks<SerialEndpoint> ranks(2, attributes);
  Queue queue({.initial = 4});  // so that it grows
  const RemoteCompletion remote = ranks.runtime(1).expose(queue, {.id = 6});
  const std::vector<std::size_t> sizes = test::border_sizes(ranks.runtime(0));
  std::vector<Message> kept;
  for (std::uint32_t round = 0; round < 3; ++round) {
    std::vector<std::vector<std::byte>> buffers;
    Counter sent;
    for (std::size_t index = 0; index < sizes.size(); ++index) {
      buffers.push_back(payload(sizes[index], index));
      const auto status = ranks.post(0, 1, remote, buffers.back(),
                                     {.completion = &sent, .tag = static_cast<std::uint32_t>(index)});
      ASSERT_TRUE(status.has_value()) << sizes[index];
    }
    std::vector<bool> seen(sizes.size());
    const auto pop_one = [&] {
      Message message;
      if (!queue.pop(message)) return;
      ASSERT_LT(message.tag(), sizes.size());
      EXPECT_FALSE(seen[message.tag()]) << "message " << message.tag() << " came twice";
      seen[message.tag()] = true;
      EXPECT_EQ(message.size(), sizes[message.tag()]);
      EXPECT_TRUE(message.is_owner());
      EXPECT_EQ(reinterpret_cast<std::uintptr_t>(message.data()) % 16, 0U);
      kept.push_back(std::move(message));
    };
    std::size_t count = kept.size();
    count += sizes.size();
    ASSERT_TRUE(test::until([&] { return kept.size() == count && sent.value() == sizes.size(); },
                            [&] {
                              ranks.progress();
                              pop_one();
                            }));
    // The senders' buffers are theirs again: what was kept must not change with them.
    for (auto& buffer : buffers) test::fill(buffer, 999);
    for (const Message& message : kept)
      EXPECT_TRUE(matches(message.bytes(), message.tag())) << message.size();
    if (round == 1) kept.clear();
  }
  EXPECT_TRUE(queue.empty());
}

TEST_P(ActiveMessages, are_kept_by_completion_queues) {
  expect_queue_keeps_all<CompletionQueue>(attributes());
}
TEST_P(ActiveMessages, are_kept_by_single_consumer_queues) {
  expect_queue_keeps_all<SingleConsumerQueue>(attributes());
}
TEST_P(ActiveMessages, are_kept_by_serial_queues) {
  expect_queue_keeps_all<SerialCompletionQueue>(attributes());
}

TEST_P(ActiveMessages, between_all_ranks_reach_counters_and_completion_objects_of_users) {
  Ranks<Endpoint> ranks(4, attributes());
  std::vector<test::Recorder> recorders(4);
  std::vector<Counter> counters(4);
  RemoteCompletion recorder;
  RemoteCompletion counter;
  for (int rank = 0; rank < 4; ++rank) {
    recorder = ranks.runtime(rank).expose(recorders[static_cast<std::size_t>(rank)], {.id = 0});
    counter = ranks.runtime(rank).expose(counters[static_cast<std::size_t>(rank)], {.id = 65535});
  }
  const std::size_t sizes[] = {0, 8, 48, 300, 1000, 20'000};
  std::vector<std::vector<std::byte>> buffers;
  Counter sent;
  for (const std::size_t size : sizes)
    for (int from = 0; from < 4; ++from)
      for (int to = 0; to < 4; ++to) {
        buffers.push_back(payload(size, size + static_cast<std::uint64_t>(from)));
        ASSERT_TRUE(ranks.post(from, to, recorder, buffers.back(), {.completion = &sent}).has_value());
        ASSERT_TRUE(ranks.post(from, to, counter, buffers.back(), {.completion = &sent}).has_value());
      }
  ASSERT_TRUE(ranks.progress_until([&] { return sent.value() == 2 * 16 * std::size(sizes); }));
  for (std::size_t rank = 0; rank < 4; ++rank) {
    ASSERT_TRUE(ranks.progress_until([&] {
      return recorders[rank].messages.size() == 4 * std::size(sizes) &&
             counters[rank].value() == 4 * std::size(sizes);
    }));
    for (const Message& message : recorders[rank].messages)
      EXPECT_TRUE(matches(message.bytes(), message.size() + static_cast<std::uint64_t>(message.peer())));
    recorders[rank].messages.clear();
  }
}

TEST_P(ActiveMessages, connect_every_device_with_every_other) {
  InProcessJob job(2);
  const auto settings = attributes();
  Runtime zero(job, 0, {.attributes = settings});
  Runtime one(job, 1, {.attributes = settings});
  constexpr std::uint32_t kDevices = 3;
  std::vector<std::unique_ptr<Device>> devices;
  std::vector<std::unique_ptr<SerialEndpoint>> endpoints;
  for (Runtime* runtime : {&zero, &one})
    for (std::uint32_t index = 0; index < kDevices; ++index) {
      devices.push_back(
          std::make_unique<Device>(*runtime, DeviceOptions{.index = static_cast<std::int32_t>(2 * index)}));
      EXPECT_EQ(devices.back()->index(), 2 * index);
      endpoints.push_back(std::make_unique<SerialEndpoint>(*devices.back()));
    }
  test::Recorder recorders[2];
  RemoteCompletion handle = zero.expose(recorders[0], {.id = 1, .device = 4});
  EXPECT_EQ(handle, one.expose(recorders[1], {.id = 1, .device = 4}));
  EXPECT_EQ(handle.device(), 4);
  const std::size_t sizes[] = {8, 400, 900, 9000};
  const auto progress = [&] {
    for (auto& endpoint : endpoints) endpoint->progress();
  };
  Counter sent;
  std::vector<std::vector<std::byte>> buffers;
  for (const std::size_t size : sizes)
    for (std::size_t from = 0; from < endpoints.size(); ++from)
      for (int peer = 0; peer < 2; ++peer)
        for (std::uint8_t device = 0; device < kDevices; ++device) {
          buffers.push_back(payload(size, from));
          ASSERT_TRUE(test::until(
              [&] {
                return endpoints[from]
                    ->post_am(peer, handle.on_device(static_cast<std::uint8_t>(2 * device)), buffers.back(),
                              {.completion = &sent, .tag = static_cast<std::uint32_t>(from)})
                    .is_accepted();
              },
              progress));
        }
  const std::size_t expected = std::size(sizes) * endpoints.size() * kDevices;
  ASSERT_TRUE(test::until(
      [&] {
        return recorders[0].messages.size() == expected && recorders[1].messages.size() == expected &&
               sent.value() == 2 * expected;
      },
      progress));
  for (auto& recorder : recorders) {
    for (const Message& message : recorder.messages) {
      EXPECT_TRUE(matches(message.bytes(), message.tag()));
      EXPECT_EQ(message.peer(), message.tag() < kDevices ? 0 : 1);
    }
    recorder.messages.clear();
  }
  // Senders that end hear that everything was taken, where that is told by messages.
  for (int more = 0; more < 200; ++more) progress();
}

TEST(ActiveMessage, send_am_returns_when_the_buffer_may_be_reused) {
  constexpr std::uint32_t kMessages = 301;  // the last is not a large one, whose sender would need an answer
  for (const char* rendezvous : {"read", "copy"}) {
    Ranks<Endpoint> ranks(2, {{"rendezvous", rendezvous}, {"lane_slots", "64"}, {"packets", "16"}});
    CompletionQueue inbox;
    const RemoteCompletion remote = ranks.runtime(1).expose(inbox, {.id = 1});
    std::thread receiver([&] {
      for (std::uint32_t next = 0; next < kMessages; ++next) {
        const Message message = ranks.endpoint(1).wait(inbox);
        EXPECT_TRUE(matches(message.bytes(), message.tag())) << message.size();
      }
    });
    std::vector<std::byte> buffer;
    for (std::uint32_t next = 0; next < kMessages; ++next) {
      buffer.resize(next % 10 == 9 ? 50'000 : next * 37 % 9000);
      test::fill(buffer, next);
      static_cast<void>(ranks.endpoint(0).send_am(1, remote, buffer, {.tag = next}));
      test::fill(buffer, 12345);
    }
    receiver.join();
  }
}

TEST(SoakActiveMessage, of_more_than_four_gib_arrives_whole) {
  const char* soak = std::getenv("WEFTDEV_NIGHTLY");
  if (soak == nullptr || std::string(soak) != "1")
    GTEST_SKIP() << "set WEFTDEV_NIGHTLY=1 to send 4 GiB and 19 bytes";
  const std::size_t size = (std::size_t{4} << 30) + 19;
  for (const char* rendezvous : {"read", "copy"}) {
    Ranks<SerialEndpoint> ranks(2, {{"rendezvous", rendezvous}});
    bool arrived = false;
    Handler handler([&](Message& message) {
      EXPECT_EQ(message.size(), size);
      EXPECT_TRUE(matches(message.bytes(), 77));
      arrived = true;
    });
    const RemoteCompletion remote = ranks.runtime(1).expose(handler, {.id = 1});
    const auto bytes = payload(size, 77);
    Counter sent;
    ASSERT_TRUE(ranks.post(0, 1, remote, bytes, {.completion = &sent}).has_value());
    while (!arrived || sent.value() == 0) ranks.progress();
  }
}

}  // namespace
}  // namespace weft
