// What takes bytes from memory that peers write: the slots of a lane, and what announces another one.
#include <weft/testing/in_process_job.hpp>

#include "unit/fuzz/decoders.hpp"

#include "core/protocol/wire.hpp"
#include "network/shm/lane/send_state.hpp"
#include "network/shm/segment/layout.hpp"
#include "support/ranks.hpp"

#include <algorithm>
#include <array>
#include <cstring>

namespace weft::fuzz {

namespace {

using detail::Slot;
using network::shm::Announcement;

/// A rank that receives, and another one that has a lane to it, of which a test may write what it likes.
class Victim {
 public:
  Victim() {
    const RemoteCompletion remote = victim_.expose(arrived_, {.id = 1});
    // Until the lane is there and is polled.
    while (arrived_.value() == 0) {
      static_cast<void>(sender_.post_am(1, remote, {}));
      victim_endpoint_.progress();
      sender_.progress();
    }
  }
  detail::SendLane& lane() { return *detail::path_of(sender_.state()).lane(1, 0); }
  /// Writes one slot as a sender would. Its lap is right where these bits of the header are 0.
  void write(const std::array<std::byte, sizeof(Slot)>& bytes) {
    detail::SendLane& to = lane();
    Slot& slot = to.at(to.tail());
    std::uint64_t header = 0;
    std::memcpy(&header, bytes.data(), sizeof header);
    std::memcpy(&slot.word, bytes.data() + offsetof(Slot, word), sizeof(Slot) - offsetof(Slot, word));
    slot.header.store(header ^ to.lap << 32, std::memory_order_release);
    to.move_to(to.tail() + 1, to.limit);
  }
  void announce(const std::array<std::byte, sizeof(Announcement)>& bytes) {
    network::shm::DeviceArea& area = *static_cast<network::shm::SendState&>(lane()).area;
    std::uint32_t index = 0;
    while (area.announcement(index).state.load() != Announcement::State::free) ++index;
    Announcement& free = area.announcement(index);
    constexpr std::size_t kState = sizeof free.state;
    std::memcpy(reinterpret_cast<std::byte*>(&free) + kState, bytes.data() + kState, sizeof free - kState);
    std::uint32_t state = 0;
    std::memcpy(&state, bytes.data(), sizeof state);
    free.state.store(static_cast<Announcement::State>(state), std::memory_order_release);
    if (area.lanes_high.load() <= index) area.lanes_high.store(index + 1);
    area.doorbells[index / 64].fetch_or(std::uint64_t{1} << (index % 64));
  }
  void receive() {
    for (int count = 0; count < 20; ++count) victim_endpoint_.progress();
  }

 private:
  inline static const std::vector<AttributeSetting> kSettings = {{"network", "shm"},
                                                                 {"log", "error"},
                                                                 {"packets", "64"},
                                                                 {"drain_timeout", "0.001"},
                                                                 {"rendezvous", "copy"}};
  InProcessJob job_{2};
  Runtime sending_{job_, 0, {.attributes = kSettings}};
  Runtime victim_{job_, 1, {.attributes = kSettings}};
  SerialEndpoint sender_{sending_};
  SerialEndpoint victim_endpoint_{victim_};
  Counter arrived_;
};

/// Calls take(part) with one part of the bytes after the other; the last is filled up with zeros.
template <std::size_t Size, class Take>
void for_each_part(Bytes bytes, std::size_t most, const Take& take) {
  for (std::size_t count = 0; count < most && !bytes.empty(); ++count) {
    std::array<std::byte, Size> part{};
    const std::size_t size = std::min(bytes.size(), Size);
    std::copy_n(bytes.begin(), size, part.begin());
    bytes = bytes.subspan(size);
    take(part);
  }
}

/// Slots of a lane, of all kinds and channels.
Decoder slots() {
  const auto slot = [](core::Channel channel, detail::SlotKind kind, std::size_t size, std::uint64_t word,
                       const auto& content) {
    std::array<std::byte, sizeof(Slot)> bytes{};
    const std::uint64_t header = detail::slot_header(0, size, static_cast<std::uint8_t>(channel), kind);
    std::memcpy(bytes.data(), &header, sizeof header);
    std::memcpy(bytes.data() + offsetof(Slot, word), &word, sizeof word);
    std::memcpy(bytes.data() + offsetof(Slot, payload), &content,
                std::min(sizeof content, sizeof(Slot) - offsetof(Slot, payload)));
    return bytes;
  };
  using detail::SlotKind;
  const core::Rts rts{0, 100'000, {0, 1}, 0, 0, 0};
  const core::AccessPiece piece{{0, 1}, 0, 8, 0, {0, 1}, 8, 0, 0};
  const std::uint64_t handle = std::uint64_t{1} << 48 | std::uint64_t{1} << 32;
  std::vector<Seed> seeds;
  for (std::uint8_t channel = 1; channel <= 22; ++channel)
    seeds.push_back(seed_of(slot(core::Channel{channel}, SlotKind::message, 40, handle, rts),
                            slot(core::Channel{channel}, SlotKind::message, 48, 0, piece)));
  seeds.push_back(seed_of(
      slot(core::Channel{1}, SlotKind::packet, 16, handle, network::shm::PacketReference{0, 0, 100})));
  seeds.push_back(
      seed_of(slot(core::Channel{0}, SlotKind::resized, 16, 0, network::shm::RingMarker{4096, 64})));
  seeds.push_back(seed_of(slot(core::Channel{0}, SlotKind::padding, 0, 0, 0)));
  seeds.push_back(seed_of(slot(core::Channel{0}, SlotKind::end, 0, 0, 0)));
  return {"slots",
          [](Bytes bytes) {
            Victim victim;
            for_each_part<sizeof(Slot)>(bytes, 16, [&](const auto& part) { victim.write(part); });
            victim.receive();
          },
          std::move(seeds), std::size_t{16} << 20, 20};
}

/// Lanes that a peer announces.
Decoder announcements() {
  const auto announcement = [](std::uint32_t state, std::int32_t rank, std::uint64_t ring,
                               std::uint32_t count, std::uint16_t traffic) {
    return seed_of(state, rank, ring, count, traffic, std::uint16_t{0}, std::uint32_t{0}, std::uint16_t{0},
                   std::uint16_t{0});
  };
  return {"announcements",
          [](Bytes bytes) {
            Victim victim;
            for_each_part<sizeof(Announcement)>(bytes, 4, [&](const auto& part) { victim.announce(part); });
            victim.receive();
          },
          {announcement(2, 0, 1 << 20, 64, 0), announcement(2, 0, std::uint64_t{1} << 40, 64, 4),
           announcement(2, 7, 4096, 1 << 30, 1), announcement(1, 0, 0, 0, 0)},
          std::size_t{16} << 20,
          100};
}

std::vector<Decoder> decoders() { return {slots(), announcements()}; }

const Registration kRegistration(&decoders);

}  // namespace

}  // namespace weft::fuzz
