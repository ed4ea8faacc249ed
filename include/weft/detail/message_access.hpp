// How completion objects and the library take messages apart and put them together.
#pragma once

#include <weft/message.hpp>

namespace weft::detail {

struct MessageAccess {
  using Holding = Message::Holding;

  static void set_view(Message& message, Operation operation, int peer, std::uint64_t tag,
                       const std::byte* data, std::size_t size, PayloadLender* lender,
                       std::uint64_t cookie) noexcept {
    message.operation_ = operation;
    message.peer_ = peer;
    message.tag_ = tag;
    message.data_ = data;
    message.size_ = size;
    message.lender_ = lender;
    message.cookie_ = cookie;
  }
  /// The part of set_view() that differs between messages of one peer.
  /// Makes it the one of a receive that ended well, with set_received() to follow.
  static void set_receive(Message& message, int peer) noexcept {
    set_view(message, Operation::receive, peer, 0, nullptr, 0, nullptr, 0);
    message.outcome_ = Outcome::ok;
    message.holding_ = Holding::view;
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
  /// Whether the message is still what set_receive() made it, whatever a completion object has done to it.
  static bool is_receive(const Message& message, int peer) noexcept {
    return message.peer_ == peer && message.outcome_ == Outcome::ok &&
           message.operation_ == Operation::receive && message.holding_ == Holding::view;
  }
  static void set_payload(Message& message, std::uint32_t tag, const std::byte* data, std::size_t size,
                          PayloadLender* lender) noexcept {
    message.tag_ = tag;
    message.data_ = data;
    message.size_ = size;
    message.lender_ = lender;
    message.holding_ = Holding::view;
  }
  static void set_owner(Message& message, PayloadOwner* owner, std::uint64_t cookie) noexcept {
    message.holding_ = Holding::owner;
    message.owner_ = owner;
    message.cookie_ = cookie;
    message.lender_ = nullptr;
  }
  static void set_outcome(Message& message, Outcome outcome) noexcept { message.outcome_ = outcome; }
  static void set_user_data(Message& message, void* user_data) noexcept { message.user_data_ = user_data; }
  static std::byte* set_in_place(Message& message, std::size_t size) noexcept {
    message.holding_ = Holding::in_place;
    message.lender_ = nullptr;
    message.data_ = message.place_;
    message.size_ = size;
    return message.place_;
  }
  /// Whether a view's payload was made permanent where it lies: its lender must not release it.
  static bool was_kept(const Message& message) noexcept { return message.lender_ == nullptr; }
  static Holding holding(const Message& message) noexcept { return message.holding_; }
  static PayloadLender* lender(const Message& message) noexcept { return message.lender_; }
  static void clear_lender(Message& message) noexcept { message.lender_ = nullptr; }
  static PayloadOwner* owner(const Message& message) noexcept { return message.owner_; }
  static std::uint64_t cookie(const Message& message) noexcept { return message.cookie_; }
  /// Gives up ownership without releasing: the caller has stored owner, data and cookie elsewhere.
  static void disown(Message& message) noexcept {
    message.holding_ = Holding::view;
    message.lender_ = nullptr;
  }
};

}  // namespace weft::detail
