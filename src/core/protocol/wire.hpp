// The contents of the protocols' messages. docs/internals/wire.md has the layout bit by bit.
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
  rts,                                             // word: handle and tag; payload: Rts
  cts,                                             // payload: Cts
  rendezvous_data,                                 // word: transfer; payload: DataHeader, then data
  fin,                                             // payload: RequestName
  answer,  // an active message posted inside a handler, on a control lane because the data lane was full
  send = detail::kSendChannel,  // word: tag; payload: data, then MatchTrailer
  send_rts,                     // word: tag; payload: Rts, then MatchTrailer
  credit,                       // word: number of credits that are returned
  put,  // one-sided operations where the network does not reach the region; see one_sided/one_sided.hpp
  get,
  get_data,
  access_completed,
  put_signal = detail::kPutSignalChannel,        // word: handle and tag; no payload
  get_signal = detail::kGetSignalChannel,        // word: handle and tag; no payload
  atomic,                                        // payload: AtomicRequest
  atomic_completed,                              // word: request; payload: AtomicEnded
  atomic_signal = detail::kAtomicSignalChannel,  // word: handle and tag; no payload
  multipart_rts,  // word: handle and tag; payload: MultipartRts, then its front
  cancel,         // word: 1 for a send, 0 for an active message; payload: Cancel
  cancelled,      // payload: RequestName
  refused,        // payload: RequestName, of an active message that the receiver never has memory for, or of
                  // a send that it drops without having received it
  clear_to_put,   // payload: ClearToPut
};

/// The largest payload; larger sizes could wrap round where they are rounded up.
inline constexpr std::uint64_t kLargestMessage = std::uint64_t{1} << 62;

/// Names a request or transfer of the rank that receives the message; a stale generation is refused.
struct RequestName {
  std::uint32_t index;
  std::uint32_t generation;
};
/// RTS: announces a payload that lies in the sender's memory.
struct Rts {
  std::uint64_t address;
  std::uint64_t size;
  RequestName request;
  std::uint32_t device;             // of the sender: receives the answers
  std::uint32_t message_class = 0;  // MessageClass
  std::uint64_t key = 0;            // by which the receiver may fetch the payload; 0: it is not offered
};
static_assert(sizeof(Rts) == 40);
/// CTS: lets the sender stream the first `size` bytes of the payload of `request` as fragments of `transfer`,
/// of which the first `granted` bytes may be sent so far; further CTS messages grant more.
struct Cts {
  RequestName request;
  RequestName transfer;
  std::uint64_t size;
  std::uint64_t granted;
  std::uint32_t device;  // of the receiver: receives the fragments
  std::uint32_t reserved;
};
/// CTS for networks that put: lets the sender put the first `size` bytes of the payload of `request` into a
/// landing, once, with the name of `transfer`.
struct ClearToPut {
  RequestName request;
  RequestName transfer;
  std::uint64_t size;
  std::uint64_t address;  // of the landing, as the network of the receiver names it, with its key
  std::uint64_t key;
  std::uint32_t device;  // of the receiver: opened the landing
  std::uint32_t reserved;
};
/// Asks the receiver to forget an RTS whose payload it has not begun to fetch. The receiver answers when it
/// has forgotten it (cancelled); otherwise the message ends as it would have, or the sender asks again.
struct Cancel {
  RequestName request;
  std::uint32_t device;  // of the sender: receives the answer
  std::uint32_t engine;  // of a send
};
/// Follows the data of a send, or the RTS of a large send.
struct MatchTrailer {
  std::uint16_t engine;
  std::uint8_t policy;  // MatchingPolicy, and MessageClass from bit kClassShift on
  std::uint8_t device;  // of the sender: the credit returns there
  std::uint32_t order;  // for ordered engines: number of the message in its stream; else 0
};
/// The bits of MatchTrailer::policy above the policy hold the class whose credit the message has taken.
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
/// Precedes the data in a fragment's packet; keeps the data aligned to 16 bytes.
struct DataHeader {
  std::uint64_t offset;
  std::uint64_t size;
};
/// A piece of a put or get. Precedes the data of a put and keeps it aligned to 16 bytes. Describes the whole
/// access, so that an access that is partly outside the region changes nothing.
struct AccessPiece {
  RequestName region;          // of the target
  std::uint64_t offset;        // of the access in the region
  std::uint64_t size;          // of the access
  std::uint64_t piece_offset;  // of the piece in the access
  RequestName request;         // of the initiator, and the device
  std::uint32_t length;        // of the piece
  std::uint16_t device;        // of the initiator: receives the answer
  std::uint16_t urgent;        // 1: posted inside a handler
};
/// Precedes the bytes that a get asked for; word: the request.
struct GetData {
  std::uint64_t piece_offset;
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
  std::uint64_t expected;  // as in detail::AtomicUpdate
  std::uint8_t operation;  // AtomicOperation, or detail::kCompareSwap
  std::uint8_t type;       // detail::AtomicType
  std::uint16_t device;    // of the initiator: receives the answer
  std::uint16_t urgent;    // 1: posted inside a handler
  std::uint16_t reserved;
};
/// The end of an atomic operation; word: the request.
struct AtomicEnded {
  std::uint64_t old;      // the value before, as in detail::AtomicUpdate
  std::uint32_t outcome;  // ok or refused
  std::uint32_t reserved;
};
static_assert(sizeof(AtomicRequest) == detail::kSlotPayload && sizeof(AtomicEnded) == 16);
static_assert(sizeof(AccessPiece) == 48 && sizeof(GetData) == 16);
static_assert(sizeof(Rts) + sizeof(MatchTrailer) <= detail::kSlotPayload && sizeof(DataHeader) == 16);
static_assert(std::bit_cast<std::uint64_t>(MatchTrailer{0x1234, 0x56, 0x78, 0}) ==
              detail::match_trailer(0x1234, 0x56, 0x78));
static_assert(std::bit_cast<std::uint64_t>(MatchTrailer{0, 0, 0, 9}) == std::uint64_t{9} << 32);
static_assert(sizeof(ClearToPut) == detail::kSlotPayload);
static_assert(sizeof(Cts) <= detail::kSlotPayload && sizeof(MatchTrailer) == 8);

/// RTS of a multipart message: announces parts that lie in the sender's memory. Its front consists of a
/// PartEntry for each part, then the head; the front follows in the same message, or is a large message of
/// its own.
struct MultipartRts {
  RequestName parts;            // the request of their concatenation
  RequestName front;            // of a front that does not follow in the message
  std::uint64_t front_address;  // of a front that does not follow in the message
  std::uint64_t count;          // of the parts: 1 to kMostParts
  std::uint64_t head_size;
  std::uint32_t device;  // of the sender: receives the answers
  std::uint32_t has_front;
};
struct PartEntry {
  std::uint64_t address;
  std::uint64_t size;
};
/// Bounds the memory that a forged RTS makes its receiver allocate.
inline constexpr std::uint64_t kMostParts = std::uint64_t{1} << 20;
inline constexpr std::uint64_t kLargestHead = std::uint64_t{1} << 20;  // the most that a packet can hold
static_assert(sizeof(MultipartRts) == detail::kSlotPayload && sizeof(PartEntry) == 16);

[[nodiscard]] constexpr std::uint64_t word_of(RequestName name) noexcept {
  return static_cast<std::uint64_t>(name.index) << 32 | name.generation;
}
[[nodiscard]] constexpr RequestName name_of(std::uint64_t word) noexcept {
  return {static_cast<std::uint32_t>(word >> 32), static_cast<std::uint32_t>(word)};
}

}  // namespace weft::core
