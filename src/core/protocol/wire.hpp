// What the protocols put into messages. docs/wire.md has the layout bit by bit.
#pragma once

#include <weft/detail/direct_window.hpp>
#include <weft/detail/lane.hpp>
#include <weft/options.hpp>

#include <bit>
#include <cstdint>

namespace weft::core {

/// The channel of a message, in its slot's header.
enum class Channel : std::uint8_t {
  active_message = detail::kActiveMessageChannel,  // word: handle and tag
  large_message,                                   // word: handle and tag; payload: LargeMessage
  clear_to_send,                                   // payload: ClearToSend
  chunk,                                           // word: transfer; payload: Chunk, then data
  finished,                                        // payload: RequestName
  answer,  // as active_message, posted inside a handler, on a control lane because the data lane was full
  send = detail::kSendChannel,  // word: tag; payload: data, then MatchTrailer
  large_send,                   // word: tag; payload: LargeMessage, then MatchTrailer
  credit,                       // word: number of messages that have left the store of unexpected ones
  put,  // one-sided operations where the network does not reach the region; see one_sided.hpp
  get,
  get_data,
  access_ended,
  put_signal = detail::kPutSignalChannel,        // word: handle and tag; no payload
  get_signal = detail::kGetSignalChannel,        // likewise
  atomic,                                        // payload: AtomicRequest
  atomic_ended,                                  // word: request; payload: AtomicEnded
  atomic_signal = detail::kAtomicSignalChannel,  // as put_signal
  vectored_message,  // word: handle and tag; payload: VectoredMessage, then its front
  withdraw,          // word: 1 of a send, 0 of an active message; payload: Withdraw
  withdrawn,         // payload: RequestName
};

/// What can be announced; larger sizes could wrap round where somebody rounds them up.
inline constexpr std::uint64_t kLargestMessage = std::uint64_t{1} << 62;

/// A request or transfer of the rank that is told about it; a stale generation is refused.
struct RequestName {
  std::uint32_t index;
  std::uint32_t generation;
};
/// Announces a payload that lies in the sender's memory.
struct LargeMessage {
  std::uint64_t address;
  std::uint64_t size;
  RequestName request;
  std::uint32_t device;             // of the sender: where answers go
  std::uint32_t message_class = 0;  // MessageClass
};
static_assert(sizeof(LargeMessage) == 32);
/// Asks the sender to stream the first `size` bytes of the payload of `request` as chunks of `transfer`, and
/// tells how many of them may be sent so far; with more of that it comes again.
struct ClearToSend {
  RequestName request;
  RequestName transfer;
  std::uint64_t size;
  std::uint64_t granted;
  std::uint32_t device;  // of the receiver: where the chunks go
  std::uint32_t reserved;
};
/// Asks the receiver to forget an announcement that it has not begun to fetch. Answered when it has been
/// forgotten (withdrawn); otherwise the message ends as it would have, or the sender asks again.
struct Withdraw {
  RequestName request;
  std::uint32_t device;  // of the sender: where the answer goes
  std::uint32_t engine;  // of a send
};
/// Behind the data of a send, behind the announcement of a large one.
struct MatchTrailer {
  std::uint16_t engine;
  std::uint8_t policy;  // MatchingPolicy, and MessageClass from bit kClassShift on
  std::uint8_t device;  // of the sender: where the credit goes back to
  std::uint32_t order;  // to ordered engines: number of the message in its stream; else 0
};
/// The bits of MatchTrailer::policy above the policy tell the class whose credit the message has.
inline constexpr std::uint32_t kClassShift = 4;
[[nodiscard]] constexpr std::uint8_t policy_and_class(MatchingPolicy policy,
                                                      MessageClass message_class) noexcept {
  return static_cast<std::uint8_t>(static_cast<std::uint32_t>(policy) |
                                   static_cast<std::uint32_t>(message_class) << kClassShift);
}
[[nodiscard]] constexpr MatchingPolicy policy_of(const MatchTrailer& trailer) noexcept {
  return static_cast<MatchingPolicy>(trailer.policy & ((1U << kClassShift) - 1));
}
[[nodiscard]] constexpr MessageClass class_of(const MatchTrailer& trailer) noexcept {
  return static_cast<MessageClass>(trailer.policy >> kClassShift);
}
/// In front of the data in a chunk's packet; keeps the data aligned to 16 bytes.
struct Chunk {
  std::uint64_t offset;
  std::uint64_t size;
};
/// A piece of a put or get. In front of the data of a put, which it keeps aligned to 16 bytes. The whole
/// access is named, so that one that is partly outside changes nothing.
struct AccessPiece {
  RequestName region;    // of the target
  std::uint64_t offset;  // of the access in the region
  std::uint64_t size;    // of the access
  std::uint64_t place;   // of the piece in the access
  RequestName request;   // of the initiator, and the device
  std::uint32_t length;  // of the piece
  std::uint16_t device;  // where its answer goes
  std::uint16_t urgent;  // 1: posted inside a handler
};
/// In front of the bytes that a get asked for; word: the request.
struct GetData {
  std::uint64_t place;
  std::uint32_t outcome;  // ok or refused
  std::uint32_t reserved;
};
/// The end of a piece of a put; word: the request.
struct AccessEnded {
  std::uint32_t outcome;  // ok or refused
};
/// An atomic operation; word: handle and tag of its signal, or 0.
struct AtomicRequest {
  RequestName region;      // of the target
  std::uint64_t offset;    // of the value in the region
  RequestName request;     // of the initiator, and the device
  std::uint64_t operand;   // as in detail::AtomicUpdate
  std::uint64_t expected;  // likewise
  std::uint8_t operation;  // AtomicOperation, or detail::kCompareSwap
  std::uint8_t type;       // detail::AtomicType
  std::uint16_t device;    // where its answer goes
  std::uint16_t urgent;    // 1: posted inside a handler
  std::uint16_t reserved;
};
/// The end of an atomic operation; word: the request.
struct AtomicEnded {
  std::uint64_t old;      // what was there before, as in detail::AtomicUpdate
  std::uint32_t outcome;  // ok or refused
  std::uint32_t reserved;
};
static_assert(sizeof(AtomicRequest) == detail::kSlotPayload && sizeof(AtomicEnded) == 16);
static_assert(sizeof(AccessPiece) == 48 && sizeof(GetData) == 16);
static_assert(sizeof(LargeMessage) + sizeof(MatchTrailer) <= detail::kSlotPayload && sizeof(Chunk) == 16);
static_assert(std::bit_cast<std::uint64_t>(MatchTrailer{0x1234, 0x56, 0x78, 0}) ==
              detail::match_trailer(0x1234, 0x56, 0x78));
static_assert(std::bit_cast<std::uint64_t>(MatchTrailer{0, 0, 0, 9}) == std::uint64_t{9} << 32);
static_assert(sizeof(ClearToSend) <= detail::kSlotPayload && sizeof(MatchTrailer) == 8);

/// Announces bodies that lie in the sender's memory. Its front is a BodyEntry for each and then the head; it
/// follows in the same message, or is a large message of its own.
struct VectoredMessage {
  RequestName bodies;           // the request of their concatenation
  RequestName front;            // of a front that does not follow
  std::uint64_t front_address;  // likewise
  std::uint64_t count;          // of the bodies: 1 to kMostBodies
  std::uint64_t head_size;
  std::uint32_t device;  // of the sender: where answers go
  std::uint32_t has_front;
};
struct BodyEntry {
  std::uint64_t address;
  std::uint64_t size;
};
/// Bounds what a forged announcement makes its receiver allocate.
inline constexpr std::uint64_t kMostBodies = std::uint64_t{1} << 20;
inline constexpr std::uint64_t kLargestHead = std::uint64_t{1} << 20;  // as a packet can have
static_assert(sizeof(VectoredMessage) == detail::kSlotPayload && sizeof(BodyEntry) == 16);

[[nodiscard]] constexpr std::uint64_t word_of(RequestName name) noexcept {
  return static_cast<std::uint64_t>(name.index) << 32 | name.generation;
}
[[nodiscard]] constexpr RequestName name_of(std::uint64_t word) noexcept {
  return {static_cast<std::uint32_t>(word >> 32), static_cast<std::uint32_t>(word)};
}

}  // namespace weft::core
