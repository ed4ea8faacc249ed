// A device's connection to a device of a peer.
#pragma once

#include "concurrent/mpsc_list.hpp"
#include "concurrent/owned_try_lock.hpp"
#include "network/session/link/handle_board.hpp"
#include "network/session/link/peers.hpp"
#include "network/session/link/received_message.hpp"
#include "network/session/pacing/due_credit.hpp"
#include "network/session/pacing/round_trip.hpp"
#include "network/session/pacing/window.hpp"

#include <array>
#include <atomic>
#include <cstdint>

namespace weft::network::session {

/// One traffic class of a link, both directions. Counts are modulo 2^32; a frame counts as one message where
/// nothing else is said.
struct Lane {
  // Set before the link is public:
  bool is_urgent = false;   // of the class urgent
  std::uint32_t batch = 1;  // messages taken from which on credit is returned without being asked for

  // Under the device's lock:
  std::uint32_t sent = 0;
  std::uint32_t returned = 0;  // of the messages sent: taken by the peer, as far as it has returned credit
  Window window;               // messages that may be under way to the peer
  std::uint32_t grants = 0;    // messages of the peer that may be under way to this device
  std::uint32_t asked_at = 0;  // value of `sent` when the peer was last asked for credit
  std::uint32_t received = 0;
  std::uint32_t wanted = 0;             // the peer wants credit as soon as so many have been taken
  std::uint32_t messages_sent = 0;      // those in frames counted one by one
  std::uint32_t messages_returned = 0;  // of these: taken by the peer, as far as it has returned credit

  // Shared by the thread that reads completions and the thread that delivers:
  concurrent::MpscList<ReceivedMessage> arrived;
  std::atomic<std::uint32_t> pending{0};  // received and not delivered whole
  TakenMessages taken;

  concurrent::OwnedTryLock<> lock;
  ReceivedMessage* waiting = nullptr;  // messages received and refused so far; used with the lane entered

  [[nodiscard]] std::uint32_t under_way() const noexcept { return sent - returned; }
  [[nodiscard]] std::uint32_t messages_under_way() const noexcept {
    return messages_sent - messages_returned;
  }
};

/// Messages of one class that wait to leave together, in a frame of the transport.
struct StagedFrame {
  std::byte* frame = nullptr;  // null: nothing is staged
  std::size_t size = 0;        // header included
  std::uint32_t messages = 0;
  TrafficClass traffic = TrafficClass::data;
  std::int64_t since = 0;  // the first message; of base::now_ns()
};

struct Link {
  int rank = -1;
  std::uint8_t device = 0;  // of the peer
  Peer* peer = nullptr;
  std::uint64_t address = 0;                // of the transport
  Link* next = nullptr;                     // in the device's list
  std::array<Lane, kTrafficClasses> lanes;  // by TrafficClass
  std::atomic<bool> open{false};            // hello sent, and the peer's hello received
  std::atomic<bool> is_long{false};         // the way to it; written under the device's lock

  // Under the device's lock:
  StagedFrame staged;
  Link* next_staged = nullptr;  // in the device's list of links with a staged frame
  bool is_listed = false;       // in this list
  std::uint64_t sent_in = 0;    // round of the device in which a message has left at once
  RoundTrip round_trip;
  TrafficClass timed_class = TrafficClass::data;  // of the message that is timed
  std::uint32_t timed = 0;                        // its number
  std::int64_t hold = 0;     // how long staged messages wait for others, progress or not; nanoseconds
  std::int64_t left_at = 0;  // the last message; where they are held
  bool hello_sent = false;
  bool hello_heard = false;
  HandleCursor cursor;                 // position up to which the peer knows this rank's handles
  std::uint32_t changes_sent = 0;      // messages of kind handles; at most one is under way
  std::uint32_t changes_taken = 0;     // of these, taken by the peer as far as it has told
  std::uint32_t changes_heard = 0;     // messages of kind handles from the peer
  std::uint32_t changes_reported = 0;  // of these, taken as far as the peer knows

  [[nodiscard]] Lane& lane(TrafficClass traffic) noexcept { return lanes[static_cast<std::size_t>(traffic)]; }
};

}  // namespace weft::network::session
