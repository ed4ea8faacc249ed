// Devices that get no lane of their own share one, in which everything arrives, in order.
#include "support/ranks.hpp"

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <thread>
#include <vector>

namespace weft {
namespace {

using test::Ranks;

constexpr std::size_t kDevices = 6;

/// Whether this device has lanes of its own to device 0 of a peer.
template <class EndpointType>
bool has_lane(EndpointType& endpoint, int peer) {
  return endpoint.path().lane(peer, 0) != nullptr;
}

class RankLanes : public testing::Test {
 protected:
  explicit RankLanes(std::vector<AttributeSetting> attributes = {{"lanes_max", "2"}, {"thread_lanes", "1"}})
      : ranks_(2, std::move(attributes)) {
    for (std::size_t device = 0; device < kDevices; ++device) {
      devices_.push_back(std::make_unique<Device>(ranks_.runtime(1)));
      endpoints_.push_back(std::make_unique<Endpoint>(*devices_.back()));
    }
  }
  void progress() {
    ranks_.progress();
    for (auto& endpoint : endpoints_) endpoint->progress();
  }
  template <class Post>
  [[nodiscard]] bool accepted(const Post& post) {
    return test::until([&] { return post().is_accepted(); }, [&] { progress(); });
  }
  [[nodiscard]] std::size_t without_lane() {
    std::size_t count = 0;
    for (auto& endpoint : endpoints_)
      if (!has_lane(*endpoint, 0)) ++count;
    return count;
  }

  Ranks<Endpoint> ranks_;
  std::vector<std::unique_ptr<Device>> devices_;
  std::vector<std::unique_ptr<Endpoint>> endpoints_;
};

TEST_F(RankLanes, carry_messages_of_all_sizes_of_all_devices_in_order) {
  constexpr std::uint32_t kRounds = 200;
  const std::size_t sizes[] = {0, 8, 48, 100, 1000, 5000, 100'000};
  std::vector<std::uint32_t> next(kDevices);
  std::size_t arrived = 0;
  std::size_t wrong = 0;
  Handler handler([&](Message& message) {
    const auto device = static_cast<std::uint32_t>(message.tag() >> 16);
    const auto number = static_cast<std::uint32_t>(message.tag() & 0xffff);
    const std::size_t size = sizes[number % std::size(sizes)];
    // Packets and large messages go other ways, and need not arrive in the order in which they were posted.
    if (size <= 1000 && number < next[device]) ++wrong;
    if (size <= 1000) next[device] = number;
    if (message.size() != size || !test::matches(message.bytes(), number)) ++wrong;
    ++arrived;
  });
  const RemoteCompletion remote = ranks_.runtime(0).expose(handler, {.id = 1});
  for (std::uint32_t number = 0; number < kRounds; ++number) {
    const auto bytes = test::payload(sizes[number % std::size(sizes)], number);
    for (std::uint32_t device = 0; device < kDevices; ++device) {
      Counter ended;
      ASSERT_TRUE(accepted([&] {
        return endpoints_[device]->post_am(0, remote, bytes,
                                           {.completion = &ended, .tag = device << 16 | number});
      }));
      ASSERT_TRUE(test::until([&] { return ended.value() == 1; }, [&] { progress(); }));
    }
  }
  ASSERT_TRUE(test::until([&] { return arrived == kRounds * kDevices; }, [&] { progress(); }));
  EXPECT_EQ(wrong, 0U);
  EXPECT_GE(without_lane(), kDevices - 2);
}

TEST_F(RankLanes, carry_sends_and_accesses_by_messages) {
  std::vector<std::byte> memory(1000);
  const MemoryRegion region(ranks_.runtime(0), memory);
  std::uint64_t value = 0;
  const MemoryRegion word(ranks_.runtime(0), std::as_writable_bytes(std::span(&value, 1)));
  for (std::size_t device = 0; device < kDevices; ++device) {
    Endpoint& endpoint = *endpoints_[device];
    Counter received;
    Counter ended;
    std::vector<std::byte> buffer(30'000);
    ASSERT_TRUE(accepted(
        [&] { return ranks_.endpoint(0).post_receive(1, device, buffer, {.completion = &received}); }));
    const auto bytes = test::payload(buffer.size(), device);
    ASSERT_TRUE(accepted([&] { return endpoint.post_send(0, device, bytes, {.completion = &ended}); }));
    ASSERT_TRUE(accepted([&] {
      return endpoint.post_atomic<std::uint64_t>(0, word.remote().at(0), AtomicOperation::add, 1,
                                                 {.completion = &ended});
    }));
    ASSERT_TRUE(
        test::until([&] { return received.value() == 1 && ended.value() == 2; }, [&] { progress(); }));
    EXPECT_EQ(buffer, bytes);
  }
  EXPECT_EQ(value, kDevices);
}

TEST_F(RankLanes, are_shared_with_serial_endpoints_and_threads) {
  Counter arrived;
  const RemoteCompletion remote = ranks_.runtime(0).expose(arrived, {.id = 1});
  constexpr int kMessages = 3000;
  endpoints_.clear();
  std::atomic<int> running{static_cast<int>(kDevices)};
  std::vector<std::jthread> threads;
  for (auto& device : devices_)
    threads.emplace_back([&] {
      SerialEndpoint endpoint(*device);
      for (int message = 0; message < kMessages; ++message)
        while (endpoint.post_am(0, remote, bytes_of(message)).is_retry()) endpoint.progress();
      running.fetch_sub(1);
    });
  EXPECT_TRUE(test::until([&] { return running == 0 && arrived.value() == kMessages * kDevices; },
                          [&] { ranks_.progress(); }));
}

TEST_F(RankLanes, outlive_the_devices_that_share_them) {
  Counter arrived;
  const RemoteCompletion remote = ranks_.runtime(0).expose(arrived, {.id = 1});
  std::uint64_t sent = 0;
  for (int round = 0; round < 20; ++round) {
    for (auto& endpoint : endpoints_) {
      ASSERT_TRUE(accepted([&] { return endpoint->post_am(0, remote, bytes_of(sent)); }));
      ++sent;
    }
    const std::size_t device = static_cast<std::size_t>(round) % kDevices;
    ASSERT_TRUE(test::until([&] { return arrived.value() == sent; }, [&] { progress(); }));
    endpoints_[device].reset();
    devices_[device].reset();
    devices_[device] = std::make_unique<Device>(ranks_.runtime(1));
    endpoints_[device] = std::make_unique<Endpoint>(*devices_[device]);
  }
  EXPECT_TRUE(test::until([&] { return arrived.value() == sent; }, [&] { progress(); }));
}

/// The least segment: packets, and a few rings.
class FullSegment : public RankLanes {
 protected:
  FullSegment()
      : RankLanes({{"segment_size", "1M"},
                   {"packets", "32"},
                   {"packet_size", "4096"},
                   {"devices_max", "8"},
                   {"regions_max", "16"},
                   {"lanes_max", "64"},
                   {"thread_lanes", "1"},
                   {"lane_slots", "1024"}}) {}
};

TEST_F(FullSegment, lets_every_device_send) {
  Counter arrived;
  const RemoteCompletion remote = ranks_.runtime(0).expose(arrived, {.id = 1});
  for (auto& endpoint : endpoints_) ASSERT_TRUE(accepted([&] { return endpoint->post_am(0, remote, {}); }));
  ASSERT_TRUE(test::until([&] { return arrived.value() == kDevices; }, [&] { progress(); }));
  EXPECT_GE(without_lane(), 1U);
}

TEST(SegmentThatIsTooSmall, is_named_once_by_who_cannot_send) {
  // Room for the lane of one device, and for no other.
  Ranks<Endpoint> ranks(2, {{"segment_size", "1M"},
                            {"packets", "32"},
                            {"packet_size", "4096"},
                            {"devices_max", "8"},
                            {"regions_max", "16"},
                            {"lanes_max", "64"},
                            {"thread_lanes", "1"},
                            {"lane_slots", "4096"}});
  Counter arrived;
  testing::internal::CaptureStderr();
  std::vector<RemoteCompletion> remotes;
  std::vector<std::unique_ptr<Device>> devices;
  std::vector<std::unique_ptr<Endpoint>> endpoints;
  bool is_refused = false;
  for (std::uint32_t device = 0; device < 4; ++device) {
    if (device != 0) devices.push_back(std::make_unique<Device>(ranks.runtime(0)));
    if (device != 0) endpoints.push_back(std::make_unique<Endpoint>(*devices.back()));
    const RemoteCompletion remote = ranks.runtime(0).expose(arrived, {.id = device + 1, .device = device});
    for (int attempt = 0; attempt < 100; ++attempt) {
      const Status status = ranks.endpoint(1).post_am(0, remote, {});
      if (!status.is_retry()) break;
      is_refused = is_refused || (attempt == 99 && status.reason() == Reason::no_slot);
      ranks.progress();
    }
  }
  const std::string output = testing::internal::GetCapturedStderr();
  EXPECT_TRUE(is_refused);
  const auto first = output.find("attribute segment_size");
  EXPECT_NE(first, std::string::npos) << output;
  if (first != std::string::npos) {
    EXPECT_EQ(output.find("attribute segment_size", first + 1), std::string::npos) << output;
  }
}

}  // namespace
}  // namespace weft
