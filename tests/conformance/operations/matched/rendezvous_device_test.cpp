// Payloads of large messages on a device of their own.
#include "support/matched.hpp"

#include <gtest/gtest.h>

#include <array>
#include <memory>
#include <string>
#include <thread>
#include <vector>

namespace weft {
namespace {

using test::payload;
using test::post_send;
using test::Ranks;
using test::Recorder;

constexpr std::size_t kSize = 300'000;

/// Ranks whose payloads move on device 1, which is opened by need.
class RendezvousDevice : public testing::Test {
 protected:
  RendezvousDevice() { remote_ = ranks_.runtime(1).expose(arrived_, {.id = 1}); }
  ~RendezvousDevice() override {
    for (auto& endpoint : movers_) endpoint.reset();
    for (auto& device : devices_) device.reset();
    arrived_.withdraw();
  }
  void open(int rank) {
    const auto place = static_cast<std::size_t>(rank);
    devices_[place] = std::make_unique<Device>(ranks_.runtime(rank), DeviceOptions{.index = 1});
    movers_[place] = std::make_unique<Endpoint>(*devices_[place]);
  }
  /// Progress of all that is open.
  template <class Condition>
  [[nodiscard]] bool until(const Condition& condition) {
    return test::until(condition, [&] {
      ranks_.progress();
      for (auto& mover : movers_)
        if (mover != nullptr) mover->progress();
    });
  }

  Ranks<Endpoint> ranks_{2, {{"rendezvous_device", "1"}, {"drain_timeout", "50"}}};
  std::array<std::unique_ptr<Device>, 2> devices_;
  std::array<std::unique_ptr<Endpoint>, 2> movers_;
  Recorder arrived_;
  RemoteCompletion remote_;
  const std::vector<std::byte> bytes_ = payload(kSize, 3);
};

TEST_F(RendezvousDevice, moves_payloads_of_active_messages_and_sends) {
  ASSERT_TRUE(ranks_.meet());
  open(0);
  open(1);
  Recorder sent;
  Recorder received;
  std::vector<std::byte> buffer(kSize);
  ASSERT_TRUE(ranks_.endpoint(1).post_receive(0, 5, buffer, {.completion = &received}).is_posted());
  ASSERT_TRUE(until([&] {
    return ranks_.endpoint(0).post_am(1, remote_, bytes_, {.completion = &sent, .tag = 1}).is_accepted();
  }));
  ASSERT_TRUE(
      until([&] { return ranks_.endpoint(0).post_send(1, 5, bytes_, {.completion = &sent}).is_accepted(); }));
  // Without the two devices the announcements arrive, and nothing else.
  for (int round = 0; round < 2000; ++round) ranks_.progress();
  EXPECT_TRUE(sent.messages.empty());
  EXPECT_TRUE(arrived_.messages.empty());
  ASSERT_TRUE(until([&] { return sent.messages.size() == 2 && received.ready() && arrived_.ready(); }));
  EXPECT_TRUE(test::matches(buffer, 3));
  EXPECT_TRUE(arrived_.messages[0].size() == kSize && test::matches(arrived_.messages[0].bytes(), 3));
  arrived_.messages.clear();
}

TEST_F(RendezvousDevice, may_be_progressed_by_a_thread_of_its_own) {
  open(0);
  open(1);
  ASSERT_TRUE(ranks_.meet());
  Counter sent;
  Counter received;
  const ProgressThread sending(*devices_[0]);
  const ProgressThread receiving(*devices_[1]);
  constexpr std::uint64_t kCount = 20;
  std::vector<std::vector<std::byte>> buffers(kCount, std::vector<std::byte>(kSize));
  for (std::uint64_t number = 0; number < kCount; ++number) {
    ASSERT_TRUE(
        ranks_.endpoint(1).post_receive(0, number, buffers[number], {.completion = &received}).is_posted());
    ASSERT_TRUE(post_send(ranks_, 0, 1, number, bytes_,
                          {.completion = &sent,
                           .message_class = number % 2 == 0 ? MessageClass::bulk : MessageClass::control}));
  }
  ASSERT_TRUE(ranks_.progress_until([&] { return sent.value() == kCount && received.value() == kCount; }));
  for (const auto& buffer : buffers) EXPECT_TRUE(test::matches(buffer, 3));
}

TEST_F(RendezvousDevice, that_the_sender_has_not_opened_makes_posts_retry) {
  ASSERT_TRUE(ranks_.meet());
  for (int round = 0; round < 100; ++round) {
    EXPECT_EQ(ranks_.endpoint(0).post_am(1, remote_, bytes_).reason(), Reason::not_ready);
    EXPECT_EQ(ranks_.endpoint(0).post_send(1, 5, bytes_).reason(), Reason::not_ready);
    ranks_.progress();
  }
  // Others are not concerned, and a post that was kept goes on by itself.
  Recorder sent;
  ASSERT_TRUE(ranks_.post(0, 1, remote_, Bytes(bytes_).first(1000)).has_value());
  ASSERT_TRUE(
      ranks_.endpoint(0).post_am(1, remote_, bytes_, {.completion = &sent, .may_retry = false}).is_posted());
  ASSERT_TRUE(until([&] { return arrived_.ready(); }));
  open(0);
  ASSERT_TRUE(until([&] { return sent.ready() && arrived_.messages.size() == 2; }));
  EXPECT_TRUE(test::matches(arrived_.messages[1].bytes(), 3));
  arrived_.messages.clear();
}

TEST_F(RendezvousDevice, that_the_receiver_has_not_opened_is_replaced_by_that_of_the_message) {
  ASSERT_TRUE(ranks_.meet());
  open(0);
  for (const bool is_open : {false, true, false}) {
    if (is_open) open(1);
    Recorder sent;
    ASSERT_TRUE(until(
        [&] { return ranks_.endpoint(0).post_am(1, remote_, bytes_, {.completion = &sent}).is_accepted(); }));
    ASSERT_TRUE(until([&] { return sent.ready() && arrived_.ready(); }));
    EXPECT_TRUE(test::matches(arrived_.messages[0].bytes(), 3));
    arrived_.messages.clear();
    if (is_open) {
      movers_[1].reset();
      devices_[1].reset();
    }
  }
}

TEST_F(RendezvousDevice, closes_while_others_post) {
  ASSERT_TRUE(ranks_.meet());
  open(1);
  std::atomic<bool> stop{false};
  std::atomic<std::uint64_t> posted{0};
  Counter sent;
  Counter dropped;
  const RemoteCompletion sink = ranks_.runtime(1).expose(dropped, {.id = 2});
  std::thread poster([&] {
    // A few at a time: what is under way when the device closes has to end first.
    while (!stop)
      if (posted.load() < sent.value() + 4 &&
          ranks_.endpoint(0).post_am(1, sink, bytes_, {.completion = &sent}).is_accepted())
        posted.fetch_add(1);
      else
        std::this_thread::yield();
  });
  std::atomic<bool> stop_progress{false};
  std::thread receiver([&] {
    while (!stop_progress) {
      ranks_.endpoint(1).progress();
      movers_[1]->progress();
      ranks_.endpoint(0).progress();
    }
  });
  for (int round = 0; round < 10; ++round) {
    Device device(ranks_.runtime(0), {.index = 1});
    Endpoint mover(device);
    const std::uint64_t before = posted.load();
    EXPECT_TRUE(test::until([&] { return posted.load() > before + 2; }, [&] { mover.progress(); }));
  }
  stop = true;
  poster.join();
  EXPECT_TRUE(test::until([&] { return dropped.value() == posted.load() && sent.value() == posted.load(); },
                          [] { std::this_thread::yield(); }));
  stop_progress = true;
  receiver.join();
}

TEST(RendezvousDeviceAttribute, beyond_the_devices_is_an_error_that_names_it) {
  try {
    const Ranks<Endpoint> ranks(1, {{"rendezvous_device", "8"}, {"devices_max", "8"}});
    FAIL() << "no error";
  } catch (const Error& error) {
    const std::string text = error.what();
    EXPECT_NE(text.find("WEFT_RENDEZVOUS_DEVICE=8"), std::string::npos) << text;
    EXPECT_NE(text.find("WEFT_DEVICES_MAX"), std::string::npos) << text;
    EXPECT_EQ(text.find('\n'), std::string::npos) << text;
  }
}

}  // namespace
}  // namespace weft
