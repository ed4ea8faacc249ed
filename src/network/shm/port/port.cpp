#include "network/shm/port/port.hpp"

#include "network/shm/lane/lane_counters.hpp"
#include "network/shm/port/rank_lanes.hpp"

#include <algorithm>
#include <map>

namespace weft::network::shm {

Capabilities capabilities_of(const Shared& shared) noexcept {
  Capabilities capabilities;
  // A message, and the rest of the lap that it skips, must fit beside the slots for which the receiver has
  // not returned credit yet.
  capabilities.inline_bytes =
      std::min(shared.inline_max, detail::kSlotPayload + sizeof(detail::Slot) * (shared.lane_slots / 4 - 1));
  capabilities.can_read = true;
  capabilities.keeps_order = true;
  return capabilities;
}

ShmPort::ShmPort(const Shared& shared, std::uint32_t index, detail::DevicePath& path,
                 detail::PayloadLender& copier)
    : shared_(shared),
      capabilities_(capabilities_of(shared_)),
      polling_(shared_, index, path, copier),
      sends_(shared_, path, polling_.reply_slots()) {
  // Lanes to an earlier device of this index stay in use: poll all of them.
  DeviceArea& area = polling_.lanes().area();
  const std::uint32_t high = polling_.lanes().announced();
  for (std::uint32_t lane = 0; lane < high; ++lane)
    if (area.announcement(lane).state.load(std::memory_order_acquire) == Announcement::State::ready)
      area.doorbells[lane / 64].fetch_or(std::uint64_t{1} << (lane % 64), std::memory_order_relaxed);
  // Pairs with the acquire in open_lane() of peers.
  area.presence.store(Presence::open, std::memory_order_release);
}

ShmPort::~ShmPort() {
  sends_.keep_unread();
  polling_.lanes().area().presence.store(Presence::closed, std::memory_order_release);
  polling_.lanes().close();
  sends_.close();
}

bool ShmPort::has_left_slow(int peer) noexcept {
  const Peer* const found = shared_.peers->contact(peer);
  return found != nullptr ? found->has_left() : shared_.peers->departed(peer);
}

bool ShmPort::reclaim(int peer) noexcept {
  const Peer* const known = shared_.peers->known(peer);
  // Nothing was ever sent to a peer without a contact, and none will be once it has departed.
  const bool is_stranger = known == nullptr && shared_.peers->departed(peer);
  if (!is_stranger && !(sends_.give_up(peer) && shared_.rank_lanes->give_up(peer))) return false;
  // With the lanes given up, no thread sends a packet to the peer any more.
  if (known != nullptr && known->had_packets.load(std::memory_order_relaxed) &&
      !shared_.packet_returns->release_of(peer))
    return false;
  return polling_.doorbell().detach_lanes_of(peer);
}

Port::Traffic ShmPort::traffic() noexcept {
  Traffic traffic;
  sends_.add_traffic(traffic);
  const ReceiveLanes& lanes = polling_.lanes();
  const std::uint32_t high = lanes.announced();
  for (std::uint32_t index = 0; index < high; ++index)
    if (const ReceiveLane* const lane = lanes.find(index); lane != nullptr) add_delivered(*lane, traffic);
  return traffic;
}

std::string ShmPort::undelivered() {
  std::string text;
  for (const Unconsumed& each : unconsumed())
    if (!each.has_left)
      text += (text.empty() ? "" : ", ") + std::string("up to ") + std::to_string(each.messages) +
              " messages to rank " + std::to_string(each.peer);
  return text;
}

std::vector<Port::Unconsumed> ShmPort::unconsumed() {
  std::map<int, Unconsumed> by_rank;
  sends_.add_unconsumed(by_rank);
  std::vector<Unconsumed> all;
  for (const auto& [rank, of_rank] : by_rank) all.push_back(of_rank);
  return all;
}

}  // namespace weft::network::shm
