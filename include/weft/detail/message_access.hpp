// How completion objects and the library take messages apart and put them together.
#pragma once

#include <weft/message.hpp>

#include <bit>
#include <cstddef>
#include <cstdint>

namespace weft::detail {

struct MessageAccess {
  using Holding = Message::Holding;

  static void set_view(Message& message, Operation operation, int peer, std::uint64_t tag,
                       const std::byte* data, std::size_t size, PayloadLender* lender,
                       std::uint64_t cookie) noexcept {
    message.kind_.operation = operation;
    message.kind_.peer = peer;
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
  /// Whether the message is still what set_receive() made it, whatever a completion object has done to it.
  static bool is_receive(const Message& message, int peer) noexcept {
    return std::bit_cast<std::uint64_t>(message.kind_) == kind_of(peer, Operation::receive);
  }
  /// The same of an active message, after set_arrival().
  static bool is_arrival(const Message& message, int peer) noexcept {
    return std::bit_cast<std::uint64_t>(message.kind_) == kind_of(peer, Operation::active_message);
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
    message.kind_.holding = Holding::view;
  }
  static void set_owner(Message& message, PayloadOwner* owner, std::uint64_t cookie) noexcept {
    message.kind_.holding = Holding::owner;
    message.owner_ = owner;
    message.cookie_ = cookie;
    message.lender_ = nullptr;
  }
  static void set_outcome(Message& message, Outcome outcome) noexcept { message.kind_.outcome = outcome; }
  static void set_user_data(Message& message, void* user_data) noexcept { message.user_data_ = user_data; }
  static std::byte* set_in_place(Message& message, std::size_t size) noexcept {
    message.kind_.holding = Holding::in_place;
    message.lender_ = nullptr;
    message.data_ = message.place_;
    message.size_ = size;
    return message.place_;
  }
  /// Whether a view's payload was made permanent where it lies: its lender must not release it.
  static bool was_kept(const Message& message) noexcept { return message.lender_ == nullptr; }
  static Holding holding(const Message& message) noexcept { return message.kind_.holding; }
  static PayloadLender* lender(const Message& message) noexcept { return message.lender_; }
  static void clear_lender(Message& message) noexcept { message.lender_ = nullptr; }
  static PayloadOwner* owner(const Message& message) noexcept { return message.owner_; }
  static std::uint64_t cookie(const Message& message) noexcept { return message.cookie_; }
  /// Gives up ownership without releasing: the caller has stored owner, data and cookie elsewhere.
  static void disown(Message& message) noexcept {
    message.kind_.holding = Holding::view;
    message.lender_ = nullptr;
  }

 private:
  /// Of a view that has ended well, as one word: a comparison as a whole of what has just been written in
  /// parts would wait until all that was written before has left the core, slots of other ranks included.
  [[nodiscard]] static std::uint64_t kind_of(int peer, Operation operation) noexcept {
    static_assert(std::endian::native == std::endian::little);
    static_assert(offsetof(Message::Kind, operation) == 5 && sizeof(Message::Kind) == 8);
    static_assert(static_cast<int>(Outcome::ok) == 0 && static_cast<int>(Holding::view) == 0);
    return static_cast<std::uint32_t>(peer) | static_cast<std::uint64_t>(operation) << 40;
  }
  static void set_kind(Message& message, int peer, Operation operation) noexcept {
    message.kind_ = std::bit_cast<Message::Kind>(kind_of(peer, operation));
  }
};

}  // namespace weft::detail
