// Reply slots of devices that come and go: what was on its way is read, and rings are used from then on.
#include <weft/testing/in_process_job.hpp>

#include "support/ranks.hpp"

#include <gtest/gtest.h>

#include <memory>

namespace weft {
namespace {

using detail::SendLane;

/// Devices of two ranks, of which one comes and goes.
class ReplySlotOfDevices : public testing::Test {
 protected:
  ReplySlotOfDevices() {
    for (std::size_t rank = 0; rank < 2; ++rank) {
      runtimes_[rank] =
          std::make_unique<Runtime>(job_, static_cast<int>(rank), RuntimeOptions{.attributes = kAttributes});
      open(rank);
      remote_ = runtimes_[rank]->expose(arrived_[rank], {.id = 1, .device = 3});
    }
  }
  ~ReplySlotOfDevices() override {
    for (std::size_t rank = 0; rank < 2; ++rank) close(rank);
  }
  void open(std::size_t rank) {
    devices_[rank] = std::make_unique<Device>(*runtimes_[rank], DeviceOptions{.index = 3});
    endpoints_[rank] = std::make_unique<Endpoint>(*devices_[rank]);
  }
  void close(std::size_t rank) {
    endpoints_[rank].reset();
    devices_[rank].reset();
  }
  void progress() {
    for (auto& endpoint : endpoints_)
      if (endpoint != nullptr) endpoint->progress();
  }
  void post(std::size_t from) {
    ASSERT_TRUE(test::until(
        [&] { return endpoints_[from]->post_am(1 - static_cast<int>(from), remote_, {}).is_done(); },
        [&] { progress(); }));
  }
  [[nodiscard]] bool arrive(std::size_t rank, std::uint64_t count) {
    return test::until([&] { return arrived_[rank].value() == count; }, [&] { progress(); });
  }
  bool is_at(std::size_t rank) {
    const SendLane* lane = endpoints_[rank]->path().lane(1 - static_cast<int>(rank), 3);
    return lane != nullptr && lane->reply_slot.load() != nullptr;
  }
  /// Until rank 0 has it.
  void exchange() {
    for (int round = 0; round < 3; ++round)
      for (const std::size_t from : {0U, 1U}) {
        const std::uint64_t before = arrived_[1 - from].value();
        post(from);
        ASSERT_TRUE(arrive(1 - from, before + 1));
      }
    ASSERT_TRUE(is_at(0));
  }

  static constexpr AttributeSetting kAttributes[] = {{"log", "error"}, {"drain_timeout", "0.5"}};
  InProcessJob job_{2};
  Counter arrived_[2];
  std::unique_ptr<Runtime> runtimes_[2];
  std::unique_ptr<Device> devices_[2];
  std::unique_ptr<Endpoint> endpoints_[2];
  RemoteCompletion remote_;
};

TEST_F(ReplySlotOfDevices, is_still_received_by_a_device_that_is_opened_again) {
  for (const std::size_t from : {0U, 1U}) {
    exchange();
    if (from == 1) {
      post(0);
      ASSERT_TRUE(arrive(1, arrived_[1].value() + 1));
      ASSERT_TRUE(is_at(1));
    }
    const std::size_t to = 1 - from;
    const std::uint64_t before = arrived_[to].value();
    post(from);
    ASSERT_FALSE(is_at(from));
    close(to);
    open(to);
    EXPECT_TRUE(arrive(to, before + 1));
    // And goes on, by rings.
    for (int round = 0; round < 20; ++round)
      for (const std::size_t sender : {0U, 1U}) {
        const std::uint64_t count = arrived_[1 - sender].value();
        post(sender);
        ASSERT_TRUE(arrive(1 - sender, count + 1));
      }
    for (const std::size_t rank : {0U, 1U}) close(rank);
    for (const std::size_t rank : {0U, 1U}) open(rank);
    // Lanes that have ended are noticed by polls.
    for (int round = 0; round < 100; ++round) progress();
  }
}

TEST_F(ReplySlotOfDevices, comes_back_when_both_lanes_are_new) {
  for (int round = 0; round < 5; ++round) {
    exchange();
    close(0);
    for (int poll = 0; poll < 100; ++poll) progress();  // rank 1 learns of it
    close(1);
    open(0);
    open(1);
    for (int poll = 0; poll < 100; ++poll) progress();
  }
}

}  // namespace
}  // namespace weft
