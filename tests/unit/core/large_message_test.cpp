// What threads do to the records of large messages at the same time.
#include "core/protocol/large_message.hpp"

#include <weft/completion/completion.hpp>
#include <weft/detail/message_access.hpp>

#include <gtest/gtest.h>

#include <functional>
#include <thread>

namespace weft::core {
namespace {

/// Accepts every message and says of a peer what `on_gone` says.
class FakePort final : public network::Port {
 public:
  std::function<bool(int peer)> on_gone;

  [[nodiscard]] const network::Capabilities& capabilities() const noexcept override { return capabilities_; }
  network::SendResult send(const network::Outgoing&, Bytes, bool) noexcept override {
    return network::SendResult::sent;
  }
  network::SendResult send_packet(const network::Outgoing&, std::uint32_t, std::size_t,
                                  bool) noexcept override {
    return network::SendResult::sent;
  }
  bool read(int, std::uint64_t, std::span<std::byte>) noexcept override { return false; }
  network::AccessResult put(int, const network::RemoteMemory&, Bytes, const std::uint64_t*, std::uint64_t,
                            bool) noexcept override {
    return network::AccessResult::unsupported;
  }
  network::AccessResult get(int, const network::RemoteMemory&, std::span<std::byte>, std::uint64_t,
                            bool) noexcept override {
    return network::AccessResult::unsupported;
  }
  [[nodiscard]] bool gone(int peer) noexcept override { return on_gone(peer); }
  std::size_t poll(network::Sink&, std::size_t, bool) noexcept override { return 0; }
  bool prepare_park(bool) noexcept override { return true; }
  [[nodiscard]] std::uint32_t park_token() const noexcept override { return 0; }
  void park(std::uint32_t, std::uint32_t, std::chrono::nanoseconds) noexcept override {}
  void wake(std::uint32_t) noexcept override {}
  [[nodiscard]] bool has_parked() const noexcept override { return false; }
  void quiesce() noexcept override {}
  [[nodiscard]] bool drained() noexcept override { return true; }
  [[nodiscard]] std::string undelivered() override { return {}; }

 private:
  network::Capabilities capabilities_;
};

class FakeNetwork final : public network::Network {
 public:
  [[nodiscard]] const char* name() const noexcept override { return "fake"; }
  [[nodiscard]] PacketMemory packet_memory() const noexcept override { return {}; }
  std::size_t reclaim_packets(std::span<std::uint32_t>) noexcept override { return 0; }
  std::byte* allocate_memory(network::RegionName, std::size_t) override { return nullptr; }
  network::RegionKeys register_memory(network::RegionName, std::span<std::byte>, bool) override { return {}; }
  void release_memory(network::RegionName, std::span<std::byte>, bool) noexcept override {}
  const detail::DirectWindow* map_memory(int, const network::RemoteMemory&) override { return nullptr; }
  std::unique_ptr<network::Port> open_port(std::uint32_t, detail::DevicePath&) override { return nullptr; }
  void publish_handle(std::uint16_t, std::uint16_t, network::HandleState) noexcept override {}
};

class FakeSink final : public network::Sink {
 public:
  std::atomic<int> rejected{0};
  bool deliver(std::uint8_t, std::uint64_t, Message&) noexcept override { return true; }
  void reject(int, const char*, std::uint64_t) noexcept override { ++rejected; }
  void access_ended(std::uint64_t, Outcome) noexcept override {}
  void immediate_arrived(std::uint64_t) noexcept override {}
};

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
