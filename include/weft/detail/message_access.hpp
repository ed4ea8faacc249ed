// Access to the private parts of messages, for completion objects and the library.
#pragma once

#include <weft/message.hpp>

#include <cstddef>
#include <cstdint>

namespace weft::detail {

struct MessageAccess {
  using Holding = Message::Holding;

  /// Makes the message a view of `data`. Its outcome is unchanged; it is ok in a new message.
  static void set_view(Message& message, Operation operation, int peer, std::uint64_t tag,
                       const std::byte* data, std::size_t size, PayloadLender* lender,
                       std::uint64_t cookie) noexcept {
    constexpr std::uint64_t kKept = std::uint64_t{0xf} << Message::kOutcomeShift;
    message.kind_ = (message.kind_ & kKept) | kind_of(peer, operation, 0);
    message.tag_ = tag;
    message.data_ = data;
    message.size_ = size;
    message.lender_ = lender;
    message.cookie_ = cookie;
  }
  /// Makes the message that of a receive that ended with ok; set_received() must follow.
  static void set_receive(Message& message, int peer, std::uint32_t device) noexcept {
    message.kind_ = kind_of(peer, Operation::receive, device);
    message.lender_ = nullptr;
  }
  static void set_received(Message& message, std::uint64_t tag, const std::byte* data, std::size_t size,
                           std::size_t length, void* user_data) noexcept {
    message.tag_ = tag;
    message.data_ = data;
    message.size_ = size;
    message.cookie_ = length;
    message.user_data_ = user_data;
  }
  /// Sets the device at which an operation ended or a message arrived; after set_view(), which sets device 0.
  static void set_device(Message& message, std::uint32_t device) noexcept {
    message.kind_ |= std::uint64_t{device} << Message::kDeviceShift;
  }
  /// Sets the device of an arrival, and the handle that its word from the wire names.
  static void set_came_by(Message& message, std::uint64_t handle_word, std::uint32_t device) noexcept {
    set_device(message, device);
    message.handle_ = static_cast<std::uint32_t>(handle_word >> 32);
  }
  static std::uint32_t handle(const Message& message) noexcept { return message.handle_; }
  static void set_handle(Message& message, std::uint32_t handle) noexcept { message.handle_ = handle; }
  /// Returns true when the message has arrived from a peer, and so may have a handle.
  static bool has_come(const Message& message) noexcept {
    switch (message.operation()) {
      case Operation::active_message:
      case Operation::put_arrived:
      case Operation::get_arrived:
      case Operation::atomic_arrived:
      case Operation::multipart_message:
        return true;
      default:
        return false;
    }
  }
  /// Returns true for an active message whose payload is a view or lies inside the message, and that the
  /// program did not make (it has no user_data).
  static bool is_plain_arrival(const Message& message) noexcept {
    static_assert(static_cast<int>(Operation::active_message) == 0 && static_cast<int>(Holding::owner) == 2);
    constexpr std::uint64_t kNot =
        std::uint64_t{0xff} << Message::kOperationShift | std::uint64_t{2} << Message::kHoldingShift;
    return (message.kind_ & kNot) == 0;
  }
  /// The word of all fields that are neither payload nor tag; it has kKindBits bits.
  static constexpr int kKindBits = 56;
  static constexpr std::uint64_t kKind = (std::uint64_t{1} << kKindBits) - 1;
  static std::uint64_t kind(const Message& message) noexcept { return message.kind_; }
  static std::uint64_t kind_of_view(const Message& message) noexcept {
    return message.kind_ & ~Message::kHolding;
  }
  static constexpr std::uint64_t kOwner = std::uint64_t{2} << Message::kHoldingShift;
  /// The kind of a message that is_plain_arrival(), with its payload in place.
  static std::uint64_t kind_in_place(const Message& message) noexcept {
    static_assert(static_cast<int>(Holding::view) == 0);
    return message.kind_ | static_cast<std::uint64_t>(Holding::in_place) << Message::kHoldingShift;
  }
  static void set_kind(Message& message, std::uint64_t kind) noexcept { message.kind_ = kind; }
  /// Returns true when the message is still as set_receive() made it, so that no completion object has
  /// changed its kind.
  static bool is_receive(const Message& message, int peer, std::uint32_t device) noexcept {
    return message.kind_ == kind_of(peer, Operation::receive, device);
  }
  /// Returns true when an active message is still as set_arrival() made it.
  static bool is_arrival(const Message& message, int peer, std::uint32_t device) noexcept {
    return message.kind_ == kind_of(peer, Operation::active_message, device);
  }
  /// Makes the message an active message; set_arrived() must follow. `handle`: the one to which it was sent.
  static void set_arrival(Message& message, int peer, std::uint32_t device, std::uint32_t handle) noexcept {
    message.kind_ = kind_of(peer, Operation::active_message, device);
    message.handle_ = handle;
    message.user_data_ = nullptr;
    message.cookie_ = 0;
  }
  static void set_arrived(Message& message, std::uint32_t tag, const std::byte* data, std::size_t size,
                          PayloadLender* lender) noexcept {
    message.tag_ = tag;
    message.data_ = data;
    message.size_ = size;
    message.lender_ = lender;
  }
  /// Sets only those fields of set_view() that differ between messages of one peer.
  static void set_payload(Message& message, std::uint32_t tag, const std::byte* data, std::size_t size,
                          PayloadLender* lender) noexcept {
    set_arrived(message, tag, data, size, lender);
    message.set_holding(Holding::view);
  }
  static void set_owner(Message& message, PayloadOwner* owner, std::uint64_t cookie) noexcept {
    message.set_holding(Holding::owner);
    message.owner_ = owner;
    message.cookie_ = cookie;
    message.lender_ = nullptr;
  }
  /// An outcome that is a failure is to be read (Message). Cancelled is none: it was asked for. Neither is
  /// peer_failed by itself, with which all that is posted for a rank ends when the rank leaves: it is to be
  /// read by a program that is given the message (must_read()).
  static void set_outcome(Message& message, Outcome outcome) noexcept {
    constexpr std::uint64_t kMask = std::uint64_t{0xf} << Message::kOutcomeShift;
    const bool is_failure =
        outcome == Outcome::truncated || outcome == Outcome::timed_out || outcome == Outcome::refused;
    message.kind_ = (message.kind_ & ~kMask) | static_cast<std::uint64_t>(outcome) << Message::kOutcomeShift |
                    (is_failure ? Message::kUnread : 0);
  }
  /// The message goes to the program, which is to read that its peer has failed.
  static void must_read(Message& message) noexcept {
    if (outcome_of(message.kind_) == Outcome::peer_failed) [[unlikely]]
      message.kind_ |= Message::kUnread;
  }
  /// The bits of an outcome in the kind of a message.
  [[nodiscard]] static constexpr std::uint64_t kind_of(Outcome outcome) noexcept {
    return static_cast<std::uint64_t>(outcome) << Message::kOutcomeShift;
  }
  /// The message's outcome need not be read: it belongs to nobody any more, or says nothing new.
  static void excuse_outcome(Message& message) noexcept { message.kind_ &= ~Message::kUnread; }
  /// The outcome, for code that passes the message on; it stays unread.
  [[nodiscard]] static Outcome outcome_of(std::uint64_t kind) noexcept {
    return static_cast<Outcome>(kind >> Message::kOutcomeShift & 0x7);
  }
  [[nodiscard]] static Operation operation_of(std::uint64_t kind) noexcept {
    return static_cast<Operation>(kind >> Message::kOperationShift & 0x7f);
  }
  /// Returns true when something is to be done before the message is overwritten.
  [[nodiscard]] static bool has_end(const Message& message) noexcept {
    return (message.kind_ & Message::kEnds) != 0;
  }
  static void set_user_data(Message& message, void* user_data) noexcept { message.user_data_ = user_data; }
  /// Restores a message that take() or a completion has made; after set_kind().
  static void set_external(Message& message, std::uint64_t tag, const std::byte* data, std::size_t size,
                           void* user_data, PayloadOwner* owner, std::uint64_t cookie,
                           std::uint32_t handle) noexcept {
    set_received(message, tag, data, size, cookie, user_data);
    message.lender_ = nullptr;
    message.owner_ = owner;
    message.handle_ = handle;
  }
  /// Splits the tag into what it is, in its lower half, and the handle.
  static void split_tag(Message& message) noexcept {
    message.handle_ = static_cast<std::uint32_t>(message.tag_ >> 32);
    message.tag_ = static_cast<std::uint32_t>(message.tag_);
  }
  /// Makes the message an arrival whose payload lies inside it. Returns where to write the payload to;
  /// after set_kind().
  static std::byte* set_arrived_in_place(Message& message, std::uint32_t tag, std::size_t size,
                                         std::uint32_t handle) noexcept {
    set_arrived(message, tag, message.storage_, size, nullptr);
    message.user_data_ = nullptr;
    message.handle_ = handle;
    return message.storage_;
  }
  static std::byte* set_in_place(Message& message, std::size_t size) noexcept {
    message.set_holding(Holding::in_place);
    message.lender_ = nullptr;
    message.data_ = message.storage_;
    message.size_ = size;
    return message.storage_;
  }
  /// Removes the payload, which is not read any more and whose memory has been overwritten.
  static void clear_payload(Message& message) noexcept { message.size_ = 0; }
  /// Returns true when a view's payload was made permanent where it lies: its lender must not release it.
  static bool was_kept(const Message& message) noexcept { return message.lender_ == nullptr; }
  static Holding holding(const Message& message) noexcept { return message.holding(); }
  static PayloadLender* lender(const Message& message) noexcept { return message.lender_; }
  static void clear_lender(Message& message) noexcept { message.lender_ = nullptr; }
  static PayloadOwner* owner(const Message& message) noexcept { return message.owner_; }
  static std::uint64_t cookie(const Message& message) noexcept { return message.cookie_; }
  /// Ends the message's ownership without releasing the payload: the caller has stored owner, data and cookie
  /// elsewhere.
  static void disown(Message& message) noexcept {
    message.kind_ &= ~(Message::kHolding | Message::kUnread);
    message.lender_ = nullptr;
  }

 private:
  /// The kind of a view with outcome ok.
  [[nodiscard]] static std::uint64_t kind_of(int peer, Operation operation, std::uint32_t device) noexcept {
    static_assert(static_cast<int>(Outcome::ok) == 0 && static_cast<int>(Holding::view) == 0);
    // The device by its 8 bits: so the compiler knows that such a message has no end.
    return static_cast<std::uint32_t>(peer) |
           static_cast<std::uint64_t>(operation) << Message::kOperationShift |
           std::uint64_t{static_cast<std::uint8_t>(device)} << Message::kDeviceShift;
  }
};

}  // namespace weft::detail
