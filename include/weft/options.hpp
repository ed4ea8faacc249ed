// Options of operations and objects: aggregates with defaults, most used field first.
#pragma once

#include <weft/local_region.hpp>
#include <weft/types.hpp>

#include <cstddef>
#include <cstdint>
#include <span>

namespace weft {

class Completion;
class MatchingEngine;
class Message;

/// The traffic class of a message. Each class has lanes, credits and places in the backlog of its own,
/// towards each device of each peer, so no class waits for room that another one has used up. A progress call
/// delivers control before normal and normal before bulk, and of bulk a bounded amount
/// (docs/guide/classes.md). Messages of different classes are not ordered, except by ordered matching
/// engines.
enum class MessageClass : std::uint8_t {
  normal,   ///< the fastest
  control,  ///< small and urgent: delivered first
  bulk,     ///< for large amounts: delivered when there is time, through a bounded share of the packets
};

/// Options of post_am and send_am.
struct ActiveMessageOptions {
  /// Signalled exactly once when the payload may be reused. nullptr: the answer is done when it may be reused
  /// at once; otherwise the operation ends unobserved, and its payload, of any size, was copied. Operations
  /// that name an object which dies are cancelled or waited for: Completion::retire().
  Completion* completion = nullptr;
  /// Returned by Message::user_data() of the completion above; does not travel.
  void* user_data = nullptr;
  /// Travels with the message; Message::tag() at the receiver.
  std::uint32_t tag = 0;
  /// false: a refused operation goes to the backlog (status posted) while that has room, or always with the
  /// attribute backlog_grows. Posts inside handlers always go to the backlog, independent of the call that
  /// runs the handler.
  bool may_retry = true;
  /// true: when the operation ends during the post, the answer is done and the completion object is not
  /// signalled. The faster choice.
  bool may_complete_now = false;
  /// The traffic class. For a message that is too large for a packet it is the class of its RTS; the payload
  /// travels as bulk, unless this is control.
  MessageClass message_class = MessageClass::normal;
  /// Counted from the post: an operation that has not ended by then ends with Outcome::timed_out as soon as
  /// the peer cannot need the payload any more (docs/guide/deadlines.md). 0: no timeout. Less than 0: the
  /// operation is tried once. Needs a completion object; not for multipart messages.
  Timeout timeout{};
  /// The region of this rank that holds the payload, if one does: a network that needs registered memory then
  /// takes a large payload from the region's, and others ignore it. weft::Error when the region does not hold
  /// the payload or is not open. Posts of packets and of lists of buffers ignore it.
  LocalRegion region{};
};

/// The fields that a receive and a send must have in common to match. The policy itself is compared, too: a
/// send with one policy never matches a receive with another.
enum class MatchingPolicy : std::uint8_t {
  rank_and_tag,  ///< the sender's rank and the tag
  rank_only,     ///< the sender's rank; the tag is information
  tag_only,      ///< the tag, from any sender
  any,           ///< nothing but the policy
  user,          ///< the key that the engine's make_key computes of the sender's rank and the tag
};

/// The order in which a matching engine matches.
enum class MatchOrder : std::uint8_t {
  unordered,  ///< first come first served under one key, no order between keys
  /// The order of MPI (MPI 4.1, section 3.5), with wildcards: sends of one device to the engine are matched
  /// in the order of their posts, independent of their size, path and device of arrival; a message goes to
  /// the receive that was posted first among those that match it; a receive gets the message that came first
  /// among those that match it.
  ordered,
};

/// The source of a receive or probe on an ordered engine that matches any sender.
inline constexpr int any_source = -1;
/// The tag of a receive or probe on an ordered engine that matches any tag. Its value is an ordinary tag on
/// unordered engines, and cannot be sent on ordered ones.
struct AnyTag {
  constexpr operator std::uint64_t() const noexcept { return ~std::uint64_t{0}; }
};
inline constexpr AnyTag any_tag;

/// The description, by a probe, of a message that has arrived and is not received yet.
struct ProbedMessage {
  int peer = -1;
  std::uint64_t tag = 0;
  std::size_t length = 0;  ///< bytes

  /// See Message::tag_in_context().
  [[nodiscard]] constexpr std::uint32_t tag_in_context() const noexcept {
    return static_cast<std::uint32_t>(tag);
  }
};

/// Names a posted send, for cancel(). Harmless once the send has ended.
struct SendHandle {
  std::uint32_t index = ~std::uint32_t{0};
  std::uint32_t generation = 0;
  std::uint32_t device = 0;  ///< of this rank: the one that the send was posted on
};

/// Options of post_send and send. Every send is a ready send (MPI_Rsend) as well: it needs no receive that
/// was posted before, and there is nothing that it could save if it knew of one.
struct SendOptions {
  /// See ActiveMessageOptions::completion.
  Completion* completion = nullptr;
  void* user_data = nullptr;
  MatchingPolicy policy = MatchingPolicy::rank_and_tag;
  /// The id of the engine that matches the message, in this and in the peer's runtime; 0: the default engine;
  /// from kMatchingEngines on: an ordered engine.
  EngineId engine = 0;
  /// Device of the peer that the message arrives on: an integer of any type, as all indices in options.
  DeviceIndex device = 0;
  bool may_retry = true;
  bool may_complete_now = false;
  /// See ActiveMessageOptions::message_class. Receives ignore it.
  MessageClass message_class = MessageClass::normal;
  /// See ActiveMessageOptions::timeout.
  Timeout timeout{};
  /// true: the send ends with Outcome::ok only when a receive has matched it (MPI_Ssend), whatever its size;
  /// with refused, when the peer drops it without having received it. Needs a completion object, except in
  /// send(). It costs a handshake (docs/guide/matching.md).
  bool synchronous = false;
  /// Filled when the answer is posted, for cancel(); names no send when that has ended already, and none that
  /// was posted while half of the operations that may have a timeout were under way (attribute deadlines).
  /// May be null; otherwise a completion object is needed, except in send().
  SendHandle* handle = nullptr;
  /// See ActiveMessageOptions::region.
  LocalRegion region{};
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
  /// may_complete_now is true and the caller accepts retry. A receive that is still posted when the object
  /// dies (Completion::retire), or the runtime ends, is cancelled.
  Completion* completion = nullptr;
  void* user_data = nullptr;
  MatchingPolicy policy = MatchingPolicy::rank_and_tag;
  EngineId engine = 0;
  /// See ActiveMessageOptions::may_retry.
  bool may_retry = true;
  /// true: a message that has arrived already may be received during the post; the answer is then done,
  /// `arrived` describes the message, and the completion object is not signalled.
  bool may_complete_now = false;
  /// Filled with the message when a receive is done during the post; may be null.
  Message* arrived = nullptr;
  /// Filled when the answer is posted; names no receive when the message had arrived already, and none that
  /// waits in the backlog when it was posted while half of the operations that may have a timeout were under
  /// way (attribute deadlines). May be null.
  ReceiveHandle* handle = nullptr;
  /// Counted from the post: a receive that has not matched a message by then ends with Outcome::timed_out, as
  /// if it had been cancelled. 0: no timeout. Less than 0: only a message that has arrived already is
  /// received.
  Timeout timeout{};
  /// The bits of the tag that a message must have in common with the receive, or probe, on an ordered engine;
  /// its other bits may be anything: a wildcard for a part of the tag. weft::Error on other engines, unless
  /// it is all ones.
  std::uint64_t tag_mask = ~std::uint64_t{0};
};

/// The numbers of contexts that one rank has taken for all members (MatchingContext::reserve). Plain bytes,
/// to be sent to the others.
struct ContextNumbers {
  std::uint32_t first = 0;
  std::uint32_t count = 0;
};

/// Options of a MatchingContext.
struct MatchingContextOptions {
  /// Unordered contexts match by MatchingPolicy; ordered ones in MPI's order, with the wildcards any_source,
  /// MatchingContext::any_tag() and ReceiveOptions::tag_mask, per sending device.
  MatchOrder order = MatchOrder::unordered;
  static constexpr std::uint32_t kAgreed = ~std::uint32_t{0};
  /// The context by rule: members that name the same key have the same context, without any message. 0 to
  /// 2,130,706,431 (0x7effffff), different for every context of the program. By default the members agree
  /// upon a context that no other has.
  CheckedIndex<std::uint32_t, IndexOf::context_key> key = kAgreed;
  /// The number of contexts in one object, at most 2^24, each with tags of its own: tag(tag, part).
  std::uint32_t count = 1;
  /// true: once a member has failed, receives of any source that have not matched a message end as
  /// peer_failed, now and later, and so do sends that no rank has begun to receive
  /// (MatchingEngineOptions::needs_all_ranks).
  bool needs_all_members = false;
  /// The members, for needs_all_members; none: all ranks. Copied.
  std::span<const int> members{};
  /// Tells agreements apart that threads of one rank make at the same time: different for those that have
  /// two members in common. For agreements over an endpoint.
  std::uint16_t agreement = 0;
};

/// Options of puts, gets and atomic operations.
struct AccessOptions {
  /// Signalled exactly once: after a put, when the source may be reused and the bytes are at the target;
  /// after a get, when the bytes are in the local buffer; after an atomic operation, when it has been carried
  /// out and the old value, if requested, is stored; or with Outcome::refused or peer_failed.
  Completion* completion = nullptr;
  void* user_data = nullptr;
  /// Unless empty: this object of the region's owner is signalled as well, after a put when the bytes are
  /// visible there, after a get when they have been read, after an atomic operation when it has been carried
  /// out. A refused access does not signal it.
  RemoteCompletion signal{};
  /// Travels with the signal; Message::tag() at the peer.
  std::uint32_t tag = 0;
  /// Device of the peer that takes part if the network does not reach the region by itself.
  DeviceIndex device = 0;
  bool may_retry = true;
  /// true: when the access ends well during the post, the answer is done and the completion object is not
  /// signalled. The faster choice.
  bool may_complete_now = false;
  /// See ActiveMessageOptions::timeout. The local buffer may be reused when the timeout has passed; it is
  /// then unknown whether the peer's memory was accessed.
  Timeout timeout{};
  /// The region of this rank that holds the local buffer of a put or get, if one does; see
  /// ActiveMessageOptions::region. Of a vectored access: all of its buffers. Atomic operations ignore it.
  LocalRegion region{};
};

/// Options of a MemoryRegion.
struct RegionOptions {
  /// true: the device of the owner's network carries out atomic operations on the region, without the owner's
  /// progress: network ibv, where its device can. All of them, those of the owner as well, so that none meets
  /// one of another kind: add and compare-and-swap of 8-byte integers at multiples of 8; others throw
  /// weft::Error where they are posted. While some are under way the program must not access the words that
  /// they change in another way. weft::Error where the network or its device has none.
  bool native_atomics = false;
};

/// Options of Runtime::expose.
struct ExposeOptions {
  /// Symmetric name of the object within the runtime, 0 to 65535. Every rank that is to be reached under a
  /// handle exposes its own object under the same id.
  CheckedIndex<std::uint32_t, IndexOf::exposed> id = 0;
  /// Home device, 0 to devices_max - 1: the device on which messages for this object arrive.
  CheckedIndex<std::uint32_t, IndexOf::device> device = 0;
  /// true: messages and signals may come when the object has been withdrawn or destroyed, and nobody minds:
  /// they are dropped without a line in the log, and are not counted as refused.
  bool drops_late = false;
};

/// Options of a Device.
struct DeviceOptions {
  static constexpr std::int32_t kNextFree = -1;
  /// Explicit index, 0 to devices_max - 1, under which peers address the device; by default the lowest
  /// index that is not open.
  CheckedIndex<std::int32_t, IndexOf::device> index = kNextFree;
};

}  // namespace weft
