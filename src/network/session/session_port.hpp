// A device of the core on top of a SessionDevice.
#pragma once

#include "network/long_ways.hpp"
#include "network/session/session_device.hpp"
#include "network/unsent.hpp"

#include <memory>

namespace weft::network::session {

class SessionPort final : public Port, public HoldsUnsent, public KnowsLongWays {
 public:
  SessionPort(SessionDevice& device, Peers& peers, const Capabilities& capabilities,
              detail::DevicePath& path);
  ~SessionPort() override { device_.close(); }

  [[nodiscard]] const Capabilities& capabilities() const noexcept override { return capabilities_; }
  SendResult send(const Outgoing& outgoing, Bytes payload) noexcept override {
    return device_.send(outgoing, payload);
  }
  SendResult send_packet(const Outgoing& outgoing, std::uint32_t packet, std::size_t size) noexcept override {
    return device_.send_packet(outgoing, packet, size);
  }
  void set_exclusive(bool exclusive) noexcept override { device_.set_exclusive(exclusive); }
  bool flush() noexcept override { return device_.flush_staged(); }
  void carry() noexcept override { device_.carry(); }
  void describe_unsent(std::vector<std::string>& lines) override { device_.describe_unsent(lines); }
  [[nodiscard]] std::uint32_t most_under_way(int peer, std::uint8_t device) noexcept override {
    return device_.most_under_way(peer, device);
  }
  [[nodiscard]] int wait_descriptor() const noexcept override {
    return device_.transport().wait_descriptor();
  }
  [[nodiscard]] bool arm() noexcept override { return device_.transport().may_sleep(); }
  /// Always false: an address alone is not enough to read from a peer over a message network.
  bool read(int, std::uint64_t, std::span<std::byte>) noexcept override { return false; }
  AccessResult put(int peer, const RemoteMemory& to, Bytes from, const std::uint64_t* immediate,
                   std::uint64_t token) noexcept override;
  AccessResult get(int peer, const RemoteMemory& from, std::span<std::byte> to,
                   std::uint64_t token) noexcept override;
  AccessResult atomic(int peer, const RemoteMemory& where, const NativeAtomic& change, std::byte* old,
                      std::uint64_t token) noexcept override;
  [[nodiscard]] Offer offer(int, Bytes memory, RegionName region) noexcept override {
    return device_.transport().offer(memory, region);
  }
  void end_offer(int, const Offer& offer) noexcept override { device_.transport().end_offer(offer); }
  AccessResult fetch(int peer, const OfferedMemory& from, std::span<std::byte> to,
                     std::uint64_t token) noexcept override;
  [[nodiscard]] Landing open_landing(int, std::span<std::byte> memory) noexcept override {
    return device_.transport().open_landing(memory);
  }
  void close_landing(int, const Landing& landing) noexcept override {
    device_.transport().close_landing(landing);
  }
  AccessResult land(int peer, const RemoteLanding& to, Bytes from, const Offer& offer,
                    std::uint64_t token) noexcept override;
  void stop_fetches() noexcept override { device_.stop(); }
  bool reclaim(int peer) noexcept override { return device_.reclaim(peer); }
  [[nodiscard]] bool has_left(int peer) noexcept override { return peers_.has_left(peer); }
  std::size_t poll(Sink& sink, std::size_t limit) noexcept override { return device_.poll(sink, limit); }
  bool prepare_park() noexcept override { return device_.prepare_park(); }
  [[nodiscard]] std::uint32_t park_token() const noexcept override { return device_.parking().token(); }
  bool park(std::uint32_t token, std::uint32_t bits, std::chrono::nanoseconds limit) noexcept override {
    return device_.park(token, bits, limit);
  }
  void wake(std::uint32_t bits) noexcept override { device_.parking().wake(bits); }
  [[nodiscard]] bool has_parked() const noexcept override { return device_.parking().has_parked(); }
  void quiesce() noexcept override { device_.links().quiesce(); }
  [[nodiscard]] bool drained() noexcept override { return device_.drained(); }
  [[nodiscard]] std::string undelivered() override { return device_.undelivered(); }
  [[nodiscard]] std::vector<Unconsumed> unconsumed() override { return device_.unconsumed(); }
  [[nodiscard]] Traffic traffic() noexcept override;

 private:
  SessionDevice& device_;
  Peers& peers_;
  const Capabilities capabilities_;
  const Traffic before_;  // traffic before the port was opened
  const std::unique_ptr<detail::DevicePath::LaneRow[]>
      no_lanes_;  // empty: posts cannot write into a message network
};

}  // namespace weft::network::session
