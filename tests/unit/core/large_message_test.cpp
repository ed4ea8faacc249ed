// What threads do to the records of large messages at the same time.
#include "core/protocol/large_message.hpp"

#include "support/fake_network.hpp"

#include <weft/completion/completion.hpp>
#include <weft/detail/message_access.hpp>

#include <gtest/gtest.h>

#include <thread>

namespace weft::core {
namespace {

using test::FakeNetwork;
using test::FakePort;
using test::FakeSink;

class Ended final : public Completion {
 public:
  ~Ended() override { withdraw(); }
  std::atomic<int> count{0};
  Outcome outcome = Outcome::cancelled;
  void signal(Message& message) noexcept override {
    outcome = message.outcome();
    ++count;
  }
  [[nodiscard]] bool ready() const noexcept override { return true; }
};

TEST(LargeMessages, whose_record_was_another_ones_when_its_peer_was_found_dead_end_well) {
  FakePort port;
  FakeNetwork network;
  FakeSink sink;
  PacketPool pool(1);
  detail::Exposures exposures(network, [] {});
  Regions regions(network, 0, 1, [] {});
  Counters counters;
  const base::Log log;
  const Context context{.port = &port,
                        .pool = pool,
                        .exposures = exposures,
                        .counters = counters,
                        .log = log,
                        .limits = {64, 1024},
                        .transfer = Transfer::copy,
                        .requests = 1,
                        .device = 0,
                        .regions = regions,
                        .access_path = AccessPath::automatic,
                        .rank = 0,
                        .ranks = 3};
  LargeMessages messages(context);
  std::vector<std::byte> payload(5000);
  Ended first;
  Ended second;
  const auto start = [&](int peer, Ended& ended) {
    network::SendResult result{};
    EXPECT_EQ(messages.start(
                  {peer, 0, Channel::large_send, 0, nullptr, payload, Operation::send, 0, &ended, nullptr},
                  true, result),
              LargeMessages::Start::started);
  };
  const auto finished = [&](int peer, std::uint32_t generation) {
    const RequestName name{0, generation};
    Message arrival;
    detail::MessageAccess::set_view(arrival, Operation::active_message, peer, 0,
                                    reinterpret_cast<const std::byte*>(&name), sizeof name, nullptr, 0);
    messages.on_finished(arrival, sink);
  };
  start(1, first);
  std::thread other;
  port.on_gone = [&](int peer) {
    if (peer == 1) {
      // The record ends, and becomes that of a message to rank 2.
      finished(1, 1);
      start(2, second);
      return true;
    }
    // Rank 2 answers while it is looked at.
    std::atomic<bool> begins{false};
    other = std::thread([&] {
      begins = true;
      finished(2, 2);
    });
    while (!begins) std::this_thread::yield();
    for (int turn = 0; turn < 1000; ++turn) std::this_thread::yield();
    return false;
  };
  messages.end_lost_operations();
  ASSERT_TRUE(other.joinable());
  other.join();
  EXPECT_EQ(first.count, 1);
  EXPECT_EQ(first.outcome, Outcome::ok);
  EXPECT_EQ(second.count, 1);
  EXPECT_EQ(second.outcome, Outcome::ok);
  EXPECT_EQ(sink.rejected, 0);
  EXPECT_EQ(messages.outstanding(), 0U);
}

}  // namespace
}  // namespace weft::core
