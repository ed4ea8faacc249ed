// How completion objects and the library take messages apart and put them together.
#pragma once

#include <weft/message.hpp>

#include <cstddef>
#include <cstdint>

namespace weft::detail {

struct MessageAccess {
  using Holding = Message::Holding;

  /// The outcome stays as it was: ok, in a new message.
  static void set_view(Message& message, Operation operation, int peer, std::uint64_t tag,
                       const std::byte* data, std::size_t size, PayloadLender* lender,
                       std::uint64_t cookie) noexcept {
    constexpr std::uint64_t kKept = std::uint64_t{0xff} << Message::kOutcomeShift;
    message.kind_ = (message.kind_ & kKept) | kind_of(peer, operation);
    message.tag_ = tag;
    message.data_ = data;
    message.size_ = size;
    message.lender_ = lender;
    message.cookie_ = cookie;
  }
  /// Makes it the one of a receive that ended well, with set_received() to follow.
  static void set_receive(Message& message, int peer) noexcept {
    set_kind(message, peer, Operation::receive);
  }
  static void set_received(Message& message, std::uint64_t tag, const std::byte* data, std::size_t size,
                           std::size_t length, void* user_data) noexcept {
    message.tag_ = tag;
    message.data_ = data;
    message.size_ = size;
    message.lender_ = nullptr;
    message.cookie_ = length;
    message.user_data_ = user_data;
  }
  /// All that is neither payload nor tag, as one word of so many bits.
  static constexpr int kKindBits = 56;
  static constexpr std::uint64_t kKind = (std::uint64_t{1} << kKindBits) - 1;
  static std::uint64_t kind(const Message& message) noexcept { return message.kind_; }
  static std::uint64_t kind_in_place(const Message& message) noexcept {
    constexpr std::uint64_t kHolding = std::uint64_t{0xff} << Message::kHoldingShift;
    return (message.kind_ & ~kHolding) | static_cast<std::uint64_t>(Holding::in_place)
                                             << Message::kHoldingShift;
  }
  static void set_kind(Message& message, std::uint64_t kind) noexcept { message.kind_ = kind; }
  /// Whether the message is still what set_receive() made it, whatever a completion object has done to it.
  static bool is_receive(const Message& message, int peer) noexcept {
    return message.kind_ == kind_of(peer, Operation::receive);
  }
  /// The same of an active message, after set_arrival().
  static bool is_arrival(const Message& message, int peer) noexcept {
    return message.kind_ == kind_of(peer, Operation::active_message);
  }
  /// Makes it an active message, with set_arrived() to follow.
  static void set_arrival(Message& message, int peer) noexcept {
    set_kind(message, peer, Operation::active_message);
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
  /// The part of set_view() that differs between messages of one peer.
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
  static void set_outcome(Message& message, Outcome outcome) noexcept {
    constexpr std::uint64_t kMask = std::uint64_t{0xff} << Message::kOutcomeShift;
    message.kind_ = (message.kind_ & ~kMask) | static_cast<std::uint64_t>(outcome) << Message::kOutcomeShift;
  }
  static void set_user_data(Message& message, void* user_data) noexcept { message.user_data_ = user_data; }
  /// What take() or a completion has made of a message; after set_kind().
  static void set_external(Message& message, std::uint64_t tag, const std::byte* data, std::size_t size,
                           void* user_data, PayloadOwner* owner, std::uint64_t cookie) noexcept {
    set_received(message, tag, data, size, cookie, user_data);
    message.owner_ = owner;
  }
  /// An arrival with the payload inside, to be written to what is returned; after set_kind().
  static std::byte* set_arrived_in_place(Message& message, std::uint32_t tag, std::size_t size) noexcept {
    set_arrived(message, tag, message.place_, size, nullptr);
    message.user_data_ = nullptr;
    return message.place_;
  }
  static std::byte* set_in_place(Message& message, std::size_t size) noexcept {
    message.set_holding(Holding::in_place);
    message.lender_ = nullptr;
    message.data_ = message.place_;
    message.size_ = size;
    return message.place_;
  }
  /// Nobody reads the payload any more, and its memory has been overwritten.
  static void clear_payload(Message& message) noexcept { message.size_ = 0; }
  /// Whether a view's payload was made permanent where it lies: its lender must not release it.
  static bool was_kept(const Message& message) noexcept { return message.lender_ == nullptr; }
  static Holding holding(const Message& message) noexcept { return message.holding(); }
  static PayloadLender* lender(const Message& message) noexcept { return message.lender_; }
  static void clear_lender(Message& message) noexcept { message.lender_ = nullptr; }
  static PayloadOwner* owner(const Message& message) noexcept { return message.owner_; }
  static std::uint64_t cookie(const Message& message) noexcept { return message.cookie_; }
  /// Gives up ownership without releasing: the caller has stored owner, data and cookie elsewhere.
  static void disown(Message& message) noexcept {
    message.set_holding(Holding::view);
    message.lender_ = nullptr;
  }

 private:
  /// Of a view that has ended well.
  [[nodiscard]] static std::uint64_t kind_of(int peer, Operation operation) noexcept {
    static_assert(static_cast<int>(Outcome::ok) == 0 && static_cast<int>(Holding::view) == 0);
    return static_cast<std::uint32_t>(peer) | static_cast<std::uint64_t>(operation)
                                                  << Message::kOperationShift;
  }
  static void set_kind(Message& message, int peer, Operation operation) noexcept {
    message.kind_ = kind_of(peer, operation);
  }
};

}  // namespace weft::detail
