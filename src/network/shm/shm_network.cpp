#include "network/shm/shm_network.hpp"

#include "base/host/host_id.hpp"
#include "concurrent/process_barrier.hpp"
#include "network/region_count.hpp"

#include <weft/error.hpp>

#include <algorithm>
#include <string>

namespace weft::network::shm {

using base::Attribute;

namespace {

SegmentGeometry geometry_of(const base::Attributes& attributes, int ranks) {
  constexpr int kMostRanks = static_cast<int>(kMaxLanes / kLanesOfRank) - 1;
  if (ranks > kMostRanks)
    throw Error(ErrorClass::network, "shm: a job of " + std::to_string(ranks) +
                                         " ranks is too large for one host: at most " +
                                         std::to_string(kMostRanks) + " ranks have lanes to each other");
  const std::uint32_t most = kMaxLanes - static_cast<std::uint32_t>(ranks) * kLanesOfRank;
  return {static_cast<std::uint64_t>(attributes.integer(Attribute::segment_size)),
          static_cast<std::uint32_t>(attributes.integer(Attribute::devices_max)),
          region_count(attributes),
          static_cast<std::uint32_t>(attributes.integer(Attribute::packets)),
          static_cast<std::uint64_t>(attributes.integer(Attribute::packet_size)) + Network::kPacketTrailer,
          std::min(static_cast<std::uint32_t>(attributes.integer(Attribute::lanes_max)), most),
          static_cast<std::uint32_t>(ranks)};
}

/// The number of lanes for the threads of a sender: the lanes of all ranks together fill no more than a
/// quarter of a device's announcements. With a trace it is 1, because a trace finds the send of each arrival
/// by their order, which only a single lane keeps.
std::uint32_t thread_lanes(const base::Attributes& attributes, int ranks) {
  if (attributes.text(Attribute::trace) != "off") return 1;
  const std::int64_t most = attributes.integer(Attribute::lanes_max) / (4 * std::int64_t{ranks});
  return static_cast<std::uint32_t>(
      std::clamp<std::int64_t>(most, 1, attributes.integer(Attribute::thread_lanes)));
}

}  // namespace

ShmNetwork::ShmNetwork(bootstrap::Bootstrap& bootstrap, const base::Attributes& attributes,
                       detail::PayloadLender& copier, OutOfReach out_of_reach)
    : rank_(bootstrap.rank()),
      bootstrap_(bootstrap),
      copier_(copier),
      segment_(std::make_shared<Segment>(bootstrap.rank(), bootstrap.job_id(),
                                         geometry_of(attributes, bootstrap.size()))),
      memory_(std::make_shared<AllocatedMemory>(region_count(attributes))),
      peers_(bootstrap, segment_, memory_,
             base::host_id_of_rank(attributes.text(Attribute::host_id), bootstrap.rank()), out_of_reach,
             {attributes, bootstrap.rank(), base::LogModule::shm}),
      remote_windows_(bootstrap.rank(), bootstrap.size(), segment_),
      packet_returns_(segment_),
      rank_lanes_(shared_, bootstrap.size()) {
  const bool has_barrier = concurrent::register_process_barrier();
  // All ranks together hold at most half of a rank's packets: held messages must not keep it from sending.
  const auto share =
      static_cast<std::uint32_t>(attributes.integer(Attribute::packets) / (2 * bootstrap.size()));
  const auto quota =
      std::min(static_cast<std::uint32_t>(attributes.integer(Attribute::held_packets)), std::max(share, 1U));
  for (int rank = 0; rank < bootstrap.size(); ++rank)
    peer_packets_.push_back(std::make_unique<PeerPackets>(quota, copier_));
  shared_ = {segment_,
             &peers_,
             &remote_windows_,
             &peer_packets_,
             &packet_returns_,
             &rank_lanes_,
             static_cast<std::size_t>(attributes.integer(Attribute::inline_max)),
             static_cast<std::uint32_t>(attributes.integer(Attribute::lane_slots)),
             static_cast<std::uint32_t>(attributes.integer(Attribute::lane_slots_max)),
             thread_lanes(attributes, bootstrap.size()),
             has_barrier,
             {attributes, bootstrap.rank(), base::LogModule::shm}};
  shared_.log.info([&] {
    return "a segment of " + std::string(attributes.text(Attribute::segment_size)) + " bytes, lanes of " +
           std::string(attributes.text(Attribute::lane_slots)) + " to " +
           std::string(attributes.text(Attribute::lane_slots_max)) + " slots, payloads of up to " +
           std::string(attributes.text(Attribute::inline_max)) + " bytes in them" +
           (has_barrier ? "" : "; the kernel has no membarrier(2): parked threads wake by time-out");
  });
}

ShmNetwork::~ShmNetwork() {
  // Pairs with the acquire in Peer::has_left(): peers stop sending to this rank.
  segment_->mapping().header().presence.store(Presence::closed, std::memory_order_release);
}

Network::PacketMemory ShmNetwork::packet_memory() const noexcept {
  const SegmentHeader& header = segment_->mapping().header();
  return {segment_->mapping().base() + header.packets_offset + sizeof(PacketHeader), header.packet_stride,
          header.packet_count, header.packet_payload};
}

std::uint64_t ShmNetwork::held_payloads() const noexcept {
  std::uint64_t held = 0;
  for (const auto& packets : peer_packets_) held += packets->held();
  return held;
}

std::size_t ShmNetwork::reclaim_packets(std::span<std::uint32_t> indices) noexcept {
  return packet_returns_.take(indices);
}

void ShmNetwork::peer_departed(int peer) noexcept { peers_.mark_departed(peer); }

void ShmNetwork::publish_closing(Closing how) noexcept {
  segment_->mapping().header().closing.store(static_cast<std::uint32_t>(how), std::memory_order_relaxed);
}

std::unique_ptr<Port> ShmNetwork::open_port(std::uint32_t index, detail::DevicePath& path) {
  return std::make_unique<ShmPort>(shared_, index, path, copier_);
}

void ShmNetwork::publish_handle(std::uint16_t id, std::uint16_t generation, HandleState state) noexcept {
  const Mapping& own = segment_->mapping();
  raise(own.header().handles_used, id + 1U);
  const std::uint32_t handle = std::uint32_t{id} << 16 | generation;
  own.handle_states()[id].store(std::uint32_t{generation} << 16 | static_cast<std::uint32_t>(state),
                                std::memory_order_relaxed);
  own.open_handles()[id].store(state == HandleState::open ? handle : detail::closed_handle(id),
                               std::memory_order_relaxed);
}

}  // namespace weft::network::shm
