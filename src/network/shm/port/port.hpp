// The part of the shared-memory network that belongs to one device.
//
// Sending: each (peer, device of the peer, traffic class) has a lane whose ring lies in this rank's segment.
// Threads that share the device spread over several lanes for data.
// Receiving: peers announce their lanes in this device's area; the port polls the hot lanes, and learns by
// doorbell about messages in cold ones.
// SendLanes and Polling are these two halves, RegionAccess what needs no lane.
#pragma once

#include "network/network.hpp"
#include "network/shm/lane/send_state.hpp"
#include "network/shm/port/polling.hpp"
#include "network/shm/port/region_access.hpp"
#include "network/shm/port/send_lanes.hpp"
#include "network/shm/segment/peers.hpp"

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace weft::network::shm {

/// The capabilities of the ports of a network with these attributes.
[[nodiscard]] Capabilities capabilities_of(const Shared& shared) noexcept;

class ShmPort final : public Port {
 public:
  ShmPort(const Shared& shared, std::uint32_t index, detail::DevicePath& path, detail::PayloadLender& copier);
  ~ShmPort() override;

  [[nodiscard]] const Capabilities& capabilities() const noexcept override { return capabilities_; }
  void set_exclusive(bool exclusive) noexcept override {
    sends_.set_exclusive(exclusive);
    polling_.lanes().set_exclusive(exclusive);
  }
  SendResult send(const Outgoing& outgoing, Bytes payload) noexcept override;
  SendResult send_packet(const Outgoing& outgoing, std::uint32_t packet, std::size_t size) noexcept override;
  bool read(int peer, std::uint64_t address, std::span<std::byte> local) noexcept override {
    return access_.read(peer, address, local);
  }
  AccessResult put(int peer, const RemoteMemory& to, Bytes from, const std::uint64_t*,
                   std::uint64_t) noexcept override {
    return access_.put(peer, to, from);
  }
  AccessResult get(int peer, const RemoteMemory& from, std::span<std::byte> to,
                   std::uint64_t) noexcept override {
    return access_.get(peer, from, to);
  }
  AccessResult locate(int peer, const RemoteMemory& memory, std::size_t size,
                      std::byte*& address) noexcept override {
    return access_.locate(peer, memory, size, address);
  }
  [[nodiscard]] bool has_left(int peer) noexcept override {
    const Peer* const known = shared_.peers->known(peer);
    return known != nullptr ? known->has_left() : has_left_slow(peer);
  }
  bool reclaim(int peer) noexcept override;
  std::size_t poll(Sink& sink, std::size_t limit) noexcept override;
  bool prepare_park() noexcept override { return polling_.doorbell().prepare_park(); }
  [[nodiscard]] std::uint32_t park_token() const noexcept override {
    return polling_.doorbell().park_token();
  }
  bool park(std::uint32_t token, std::uint32_t bits, std::chrono::nanoseconds limit) noexcept override {
    return polling_.doorbell().park(token, bits, limit);
  }
  void wake(std::uint32_t bits) noexcept override { polling_.doorbell().wake(bits); }
  [[nodiscard]] bool has_parked() const noexcept override { return polling_.doorbell().has_parked(); }
  void quiesce() noexcept override { polling_.lanes().quiesce(); }
  [[nodiscard]] bool drained() noexcept override { return sends_.drained(); }
  [[nodiscard]] std::string undelivered() override;
  [[nodiscard]] std::vector<Unconsumed> unconsumed() override;
  [[nodiscard]] Traffic traffic() noexcept override;

 private:
  // Out of line, so that has_left(), which every operation that ends in its post calls, saves no registers.
  [[nodiscard, gnu::noinline]] bool has_left_slow(int peer) noexcept;

  const Shared shared_;
  const Capabilities capabilities_;
  RegionAccess access_{shared_};
  Polling polling_;
  SendLanes sends_;
};

}  // namespace weft::network::shm
