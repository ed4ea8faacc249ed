// The records of the receiver's half of a rendezvous, and what is said to their senders.
#pragma once

#include "core/memory/scatter.hpp"
#include "core/protocol/rendezvous/way_choice.hpp"
#include "core/protocol/wire.hpp"
#include "network/network.hpp"

#include <weft/options.hpp>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <span>

namespace weft::core {

/// The order in which payloads move: control before normal before bulk.
inline constexpr std::size_t kUrgencies = 3;
[[nodiscard]] constexpr std::size_t urgency_of(MessageClass message_class) noexcept {
  return message_class == MessageClass::control ? 0 : message_class == MessageClass::normal ? 1 : 2;
}

/// A large message of a peer until it is delivered and answered.
struct IncomingTransfer {
  enum class State : std::uint8_t {
    free,
    waiting,       // an active message, until few enough bytes of its peer are in progress
    needs_memory,  // an active message whose allocator had no room when it was last asked
    reading,
    fetching,  // until the network accepts a fetch of the payload
    landing,   // the network writes the payload into the buffer
    landed,
    lost,     // its peer has left while it was landing
    opening,  // until the sender has been told of the landing
    opened,   // the sender puts the payload into the landing
    put,      // it has
    asking,
    receiving,
    entered,  // while receiving: a thread handles a fragment, or ends a transfer whose peer has left
    answering,
    forgotten,  // cancelled by the sender, which has to be told
    refused,    // its allocator will never have room, or it was dropped: the sender has to be told
  };
  IncomingTransfer* next = nullptr;
  std::atomic<State> state{State::free};
  std::atomic<std::uint32_t> generation{1};
  std::atomic<std::uint32_t> cancelled{0};  // the generation whose sender has cancelled it
  std::uint32_t index = 0;
  std::atomic<int> peer{0};  // atomic, because complete_lost() reads transfers of other threads
  Rts rts{};
  std::uint64_t word = 0;  // of an active message: its handle and tag
  std::size_t wanted = 0;  // number of payload bytes that have room
  std::byte* buffer = nullptr;
  PayloadOwner* owner = nullptr;  // of an active message's buffer
  bool is_receive = false;        // the members below belong to a receive; its completion may be null
  std::uint64_t tag = 0;
  Completion* completion = nullptr;
  void* user_data = nullptr;
  std::span<const ScatterPart> parts;  // where the payload goes, unless empty, in place of buffer
  network::Landing landing;
  std::size_t read = 0;
  bool is_learned = false;  // LearnedWays is told of its end; the two members below belong to that
  Way way = Way::copy;
  std::int64_t started = 0;             // when its payload began to move
  std::atomic<std::size_t> granted{0};  // bytes that may be sent so far; if less than wanted, in FlowControl
  std::atomic<std::size_t> received{0};

  [[nodiscard]] MessageClass message_class() const noexcept {
    return static_cast<MessageClass>(rts.message_class);
  }
};

/// Adds a record to a list, behind those of its class and of more urgent ones.
inline void line_up(IncomingTransfer*& first, IncomingTransfer*& last, IncomingTransfer& incoming) noexcept {
  const auto is_before = [own = urgency_of(incoming.message_class())](const IncomingTransfer& each) {
    return urgency_of(each.message_class()) <= own;
  };
  IncomingTransfer* before = nullptr;
  if (first != nullptr && is_before(*last))
    before = last;
  else
    for (IncomingTransfer* each = first; each != nullptr && is_before(*each); each = each->next)
      before = each;
  IncomingTransfer*& link = before == nullptr ? first : before->next;
  incoming.next = link;
  link = &incoming;
  if (incoming.next == nullptr) last = &incoming;
}

/// A message to the sender of a transfer's payload.
[[nodiscard]] inline network::Outgoing answer_to(const IncomingTransfer& incoming, Channel channel) noexcept {
  return {incoming.peer.load(std::memory_order_relaxed),
          static_cast<std::uint8_t>(incoming.rts.device),
          network::TrafficClass::control,
          static_cast<std::uint8_t>(channel),
          false,
          0};
}

}  // namespace weft::core
