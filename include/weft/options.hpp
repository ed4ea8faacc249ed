// Options of operations and objects: aggregates with defaults, most used field first.
#pragma once

#include <weft/types.hpp>

#include <cstdint>

namespace weft {

class Completion;
class MatchingEngine;
class Message;

/// What a message travels with. Each class has lanes, credits and places in the backlog of its own, towards
/// each device of each peer, so none waits for room that another one has used up. A progress call delivers
/// control before normal and normal before bulk, and of bulk a bounded amount (docs/classes.md). Nothing
/// orders messages of different classes, but for ordered matching engines.
enum class MessageClass : std::uint8_t {
  normal,   ///< the fastest
  control,  ///< small and urgent: delivered first
  bulk,     ///< much of it: delivered when there is time, through a bounded share of the packets
};

/// Options of post_am and send_am.
struct ActiveMessageOptions {
  /// Signalled exactly once when the payload may be reused; none: the post itself says when (done), or the
  /// operation ends unobserved. It outlives the operation, which ends with the runtime at the latest.
  Completion* completion = nullptr;
  /// Comes back in Message::user_data() of the completion above; does not travel.
  void* user_data = nullptr;
  /// Travels with the message; Message::tag() at the receiver.
  std::uint32_t tag = 0;
  /// false: a refused operation goes to the backlog (status posted) while that has room. Inside handlers
  /// this is always so.
  bool may_retry = true;
  /// true: when the operation ends during the post, the answer is done and the completion object is not
  /// signalled. The faster choice.
  bool may_complete_now = false;
  /// Of a message that is too large for a packet: of its announcement; its payload travels as bulk, unless
  /// this is control.
  MessageClass message_class = MessageClass::normal;
  /// Counted from the post: an operation that has not ended by then ends with Outcome::timed_out as soon as
  /// the peer cannot need the payload any more (docs/deadlines.md). 0: none. Less: it is tried once. Needs a
  /// completion object; not for messages with bodies.
  Timeout timeout{};
};

/// What a receive and a send have to have in common. The policy is part of what is compared: a send with one
/// policy never meets a receive with another.
enum class MatchingPolicy : std::uint8_t {
  rank_and_tag,  ///< the sender's rank and the tag
  rank_only,     ///< the sender's rank; the tag is information
  tag_only,      ///< the tag, whoever sends
  any,           ///< nothing but the policy
  user,          ///< what the engine's make_key makes of the sender's rank and the tag
};

/// Whether a matching engine keeps MPI's order.
enum class MatchOrder : std::uint8_t {
  unordered,  ///< first come first served under one key, nothing between keys
  /// What MPI promises (MPI 4.1, section 3.5) with wildcards: sends of one device to the engine are matched
  /// in the order of their posts, whatever their size, path and device of arrival; of the receives that a
  /// message fits, the one posted first gets it; of the messages that a receive fits, it gets the one that
  /// came first.
  ordered,
};

/// Ids of unordered matching engines are below this. Ordered ones have the ids from here to kEngineIds - 1,
/// so that every post and every message tells by the id alone what it needs.
inline constexpr std::uint32_t kMatchingEngines = 256;
inline constexpr std::uint32_t kEngineIds = 512;

/// As source of a receive or probe on an ordered engine: whoever sends.
inline constexpr int any_source = -1;
/// As tag of a receive or probe on an ordered engine: whatever tag. Its value is a tag like any other on
/// unordered engines, and none that can be sent on ordered ones.
struct AnyTag {
  constexpr operator std::uint64_t() const noexcept { return ~std::uint64_t{0}; }
};
inline constexpr AnyTag any_tag;

/// What a probe tells of a message that has arrived and is not received yet.
struct ProbedMessage {
  int peer = -1;
  std::uint64_t tag = 0;
  std::size_t length = 0;  ///< bytes
};

/// Options of post_send and send.
struct SendOptions {
  /// As in ActiveMessageOptions.
  Completion* completion = nullptr;
  void* user_data = nullptr;
  MatchingPolicy policy = MatchingPolicy::rank_and_tag;
  /// The engine of this and of the peer's runtime that pairs the message, by its explicit id; 0: the default
  /// one; from kMatchingEngines on: an ordered one.
  std::uint16_t engine = 0;
  /// Device of the peer that the message arrives on.
  std::uint8_t device = 0;
  bool may_retry = true;
  bool may_complete_now = false;
  /// As in ActiveMessageOptions. Receives do not look at it.
  MessageClass message_class = MessageClass::normal;
  /// As in ActiveMessageOptions.
  Timeout timeout{};
};

/// Names a posted receive, for cancel(). Harmless once the receive has ended.
struct ReceiveHandle {
  std::uint32_t index = ~std::uint32_t{0};
  std::uint32_t generation = 0;
  std::uint16_t engine = 0;
};

/// Options of post_receive and receive.
struct ReceiveOptions {
  /// Signalled exactly once with the message, whose data() is the posted buffer. Needed unless
  /// may_complete_now is true and the caller is content with retry. It outlives the receive: one that is
  /// still posted when the runtime ends is cancelled then.
  Completion* completion = nullptr;
  void* user_data = nullptr;
  MatchingPolicy policy = MatchingPolicy::rank_and_tag;
  std::uint16_t engine = 0;
  /// As in ActiveMessageOptions.
  bool may_retry = true;
  /// true: a message that has arrived already may be taken during the post; the answer is done then,
  /// `arrived` tells about it, and the completion object is not signalled.
  bool may_complete_now = false;
  /// Where a receive that is done during the post tells what it has received; may be null.
  Message* arrived = nullptr;
  /// Filled when the answer is posted; names nothing when the message was there already. May be null.
  ReceiveHandle* handle = nullptr;
  /// Counted from the post: a receive that has not met its message by then ends with Outcome::timed_out, as
  /// if it had been cancelled. 0: none. Less: only a message that has come already is received.
  Timeout timeout{};
};

/// Options of puts, gets and atomic operations.
struct AccessOptions {
  /// Signalled exactly once: after a put, when the source may be reused and the bytes are at the target;
  /// after a get, when the bytes are here; after an atomic operation, when it has been carried out and the
  /// old value, if asked for, is here; or with Outcome::refused or peer_failed.
  Completion* completion = nullptr;
  void* user_data = nullptr;
  /// Unless empty: this object of the region's owner is signalled as well, after a put when the bytes are
  /// visible there, after a get when they have been read, after an atomic operation when it has been carried
  /// out. Nothing is signalled after a refused access.
  RemoteCompletion signal{};
  /// Travels with the signal; Message::tag() there.
  std::uint32_t tag = 0;
  /// Device of the peer that takes part where the network does not reach the region by itself.
  std::uint8_t device = 0;
  bool may_retry = true;
  /// true: when the access ends well during the post, the answer is done and the completion object is not
  /// signalled. The faster choice.
  bool may_complete_now = false;
  /// As in ActiveMessageOptions. The local buffer may be reused when it has passed; whether the peer's memory
  /// was accessed is unknown then.
  Timeout timeout{};
};

/// Options of Runtime::expose.
struct ExposeOptions {
  /// Symmetric name of the object within the runtime, 0 to 65535. Every rank that is to be reached under a
  /// handle exposes its own object under the same id.
  std::uint32_t id = 0;
  /// Home device, 0 to devices_max - 1: the device on which messages for this object arrive.
  std::uint32_t device = 0;
};

/// Options of a Device.
struct DeviceOptions {
  static constexpr std::int32_t kNextFree = -1;
  /// Explicit index, 0 to devices_max - 1, under which peers address the device; by default the lowest
  /// index that is not open.
  std::int32_t index = kNextFree;
};

}  // namespace weft
