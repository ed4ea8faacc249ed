// Ranks of one host, connected through segments that they map from each other.
#pragma once

#include "base/attributes.hpp"
#include "bootstrap/bootstrap.hpp"
#include "network/lasting_memory.hpp"
#include "network/network.hpp"
#include "network/shm/memory/remote_windows.hpp"
#include "network/shm/port/port.hpp"
#include "network/shm/port/rank_lanes.hpp"

#include <mutex>
#include <set>

namespace weft::network::shm {

class ShmNetwork final : public Network, public KeepsAddresses {
 public:
  /// `copier` keeps payloads that exceed the quota of their sender; it must outlive the network.
  ShmNetwork(bootstrap::Bootstrap& bootstrap, const base::Attributes& attributes,
             detail::PayloadLender& copier, OutOfReach out_of_reach = OutOfReach::ends_job);
  ~ShmNetwork() override;

  [[nodiscard]] const char* name() const noexcept override { return "shm"; }
  [[nodiscard]] Capabilities capabilities() const noexcept override { return capabilities_of(shared_); }
  [[nodiscard]] Reach reach(int peer) noexcept override { return peers_.reach(peer); }
  [[nodiscard]] std::string reason_of_reach(int peer) override { return peers_.reason_of_reach(peer); }
  [[nodiscard]] PacketMemory packet_memory() const noexcept override;
  std::size_t reclaim_packets(std::span<std::uint32_t> indices) noexcept override;
  [[nodiscard]] std::uint32_t packets_away() noexcept override { return packet_returns_.away(); }
  [[nodiscard]] std::uint64_t held_payloads() const noexcept override;
  std::byte* allocate_memory(RegionName name, std::size_t size) override;
  RegionKeys register_memory(RegionName name, std::span<std::byte> memory, bool allocated) override;
  void release_memory(RegionName name, std::span<std::byte> memory, bool allocated) noexcept override;
  std::optional<detail::DirectWindow> map_memory(int peer, const RemoteMemory& memory) override;
  void keep_addresses(RegionName name) noexcept override { memory_->mapping(name)->keep_addresses(); }
  std::unique_ptr<Port> open_port(std::uint32_t index, detail::DevicePath& path) override;
  void publish_handle(std::uint16_t id, std::uint16_t generation, HandleState state) noexcept override;
  void peer_departed(int peer) noexcept override;
  void publish_closing(Closing how) noexcept override;
  [[nodiscard]] Taker taker_of(int peer) noexcept override { return peers_.taker_of(peer); }
  [[nodiscard]] bool has_contacted_itself() noexcept override {
    return peers_.known(segment_->mapping().header().rank) != nullptr;
  }
  [[nodiscard]] bool keeps_messages_for(int peer) noexcept override {
    return peers_.is_of_this_process(peer);
  }

 private:
  void notify_mappers(const RegionEntry& entry) noexcept;

  void lend(RegionName name, int descriptor);
  void take_back(RegionName name) noexcept;

  const int rank_;
  bootstrap::Bootstrap& bootstrap_;
  detail::PayloadLender& copier_;
  const std::shared_ptr<Segment> segment_;
  const std::shared_ptr<AllocatedMemory> memory_;
  Peers peers_;
  RemoteWindows remote_windows_;
  PacketReturns packet_returns_;
  std::vector<std::unique_ptr<PeerPackets>> peer_packets_;
  Shared shared_;
  std::mutex lent_mutex_;         // guards what follows; held over a round trip to the launcher
  std::set<std::uint32_t> lent_;  // indices of regions
  RankLanes rank_lanes_;
};

}  // namespace weft::network::shm
