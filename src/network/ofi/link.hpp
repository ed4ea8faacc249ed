// One device's connection to a device of a peer.
#pragma once

#include "concurrent/entrance.hpp"
#include "concurrent/intake.hpp"
#include "network/ofi/handle_board.hpp"
#include "network/ofi/peers.hpp"
#include "network/ofi/receive_buffers.hpp"

#include <array>
#include <atomic>
#include <cstdint>

namespace weft::network::ofi {

/// One traffic class of a link, both directions. Counts are modulo 2^32.
struct Lane {
  // Under the device's lock:
  std::uint32_t sent = 0;
  std::uint32_t returned = 0;  // of those, taken by the peer as far as it told
  std::uint32_t granted = 0;   // may be under way
  std::uint32_t grants = 0;    // of the peer, may be under way to here
  std::uint32_t asked_at = 0;  // sent, when the peer was asked last what it has taken
  std::uint32_t received = 0;
  std::uint32_t told = 0;    // of those, taken as far as the peer knows
  std::uint32_t wanted = 0;  // the peer wants to know as soon as so many have been taken

  // Between the thread that reads completions and the one that delivers:
  concurrent::Intake<ReceiveBuffer> arrived;
  std::atomic<std::uint32_t> pending{0};  // arrived and not delivered
  std::atomic<std::uint32_t> taken{0};    // delivered; written inside

  concurrent::Entrance<> entrance;
  ReceiveBuffer* waiting = nullptr;  // arrived and refused so far; of the thread inside

  [[nodiscard]] std::uint32_t under_way() const noexcept { return sent - returned; }
};

struct Link {
  int rank = -1;
  std::uint8_t device = 0;  // of the peer
  Peer* peer = nullptr;
  fi_addr_t address = FI_ADDR_UNSPEC;
  Link* next = nullptr;                     // of the device's list
  std::array<Lane, kTrafficClasses> lanes;  // by TrafficClass
  std::atomic<bool> open{false};            // both have heard from each other

  // Under the device's lock:
  bool hello_sent = false;
  bool hello_heard = false;
  HandleCursor cursor;              // how far the peer knows this rank's handles
  std::uint32_t changes_sent = 0;   // messages of kind handles; one is under way at a time
  std::uint32_t changes_taken = 0;  // of those, as the peer told
  std::uint32_t changes_heard = 0;  // from the peer
  std::uint32_t changes_told = 0;   // of those, as the peer knows

  [[nodiscard]] Lane& lane(TrafficClass traffic) noexcept { return lanes[static_cast<std::size_t>(traffic)]; }
};

}  // namespace weft::network::ofi
