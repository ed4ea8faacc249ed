// What completion objects carry: an arrived message, or the end of a posted operation.
#pragma once

#include <weft/detail/export.hpp>
#include <weft/status.hpp>
#include <weft/types.hpp>

#include <cassert>
#include <cstring>
#include <span>
#include <utility>

namespace weft {

/// Payloads up to this size are copied into a queue's entry; larger ones are held where they lie.
inline constexpr std::size_t kEntryPayload = 48;

/// Supplies and takes back payload memory. allocate() is called by progress for large active messages, from
/// any thread that progresses; release() from any thread.
class PayloadOwner {
 public:
  /// `size` bytes aligned to 16, or nullptr: there is no room now, progress will ask again.
  virtual std::byte* allocate(std::size_t size) noexcept = 0;
  /// Takes back what a message held. `cookie` is what was stored with the payload.
  virtual void release(std::byte* data, std::size_t size, std::uint64_t cookie) noexcept = 0;

 protected:
  ~PayloadOwner() = default;
};

namespace detail {

/// Lends the payload of a message that is being delivered, and knows how to keep it beyond the delivery.
class PayloadLender {
 public:
  static constexpr std::size_t kNever = ~std::size_t{0};

  /// Makes the payload permanent: holds what lies at `data`, or copies it and moves `data`. Returns who
  /// releases it with `cookie`, or nullptr when neither is possible without the heap.
  virtual PayloadOwner* keep(const std::byte*& data, std::size_t size, std::uint64_t& cookie) noexcept = 0;

  /// From how many bytes on a payload, or a part of it, is overwritten by whoever copies it and knows that
  /// nobody reads it again: its memory is written next by somebody who finds the lines in one cache then.
  [[nodiscard]] std::size_t owned_from() const noexcept { return owned_from_; }

 protected:
  explicit PayloadLender(std::size_t owned_from = kNever) noexcept : owned_from_(owned_from) {}
  ~PayloadLender() = default;

 private:
  const std::size_t owned_from_;
};

struct MessageAccess;

/// What holds the head of a message with bodies.
class BodiesOwner : public PayloadOwner {
 public:
  [[nodiscard]] std::span<const std::uint64_t> sizes() const noexcept { return sizes_; }

 protected:
  explicit BodiesOwner(std::span<const std::uint64_t> sizes) noexcept : sizes_(sizes) {}
  ~BodiesOwner() = default;

 private:
  const std::span<const std::uint64_t> sizes_;
};

}  // namespace detail

/// What a Message reports.
enum class Operation : std::uint8_t {
  active_message,       ///< arrived from peer()
  active_message_sent,  ///< an own post_am has ended: data() is the buffer that was posted
  send,                 ///< an own post_send has ended: data() is the buffer that was posted
  receive,              ///< an own post_receive has ended: data() is the posted buffer, peer() the sender
  put,                  ///< an own post_put has ended
  get,                  ///< an own post_get has ended: data() is the buffer that was filled
  put_arrived,          ///< peer() has put into a region of this rank, with this signal
  get_arrived,          ///< peer() has got from a region of this rank, with this signal
  atomic,               ///< an own atomic operation has ended: data() is the old value, if that was asked for
  atomic_arrived,       ///< peer() has changed a value in a region of this rank atomically, with this signal
  graph,                ///< a graph has ended; there is no peer()
  /// arrived from peer() with bodies that are still there: data() is the head, body_sizes() tells of them,
  /// and Endpoint::receive_bodies fetches them. Destroying the message refuses them.
  vectored_message,
  bodies,  ///< an own receive_bodies has ended: data() is the head, body_sizes() what the sender had sent
  peer_failure,  ///< peer() has failed: its process has ended without leaving the job
};

/// One message as a completion object sees it.
///
/// Inside a handler, or signal() of a completion object, the payload may be a view into the slot or packet
/// that is only valid until the call returns; take() keeps it. A Message that was popped from a queue owns
/// its payload until it is destroyed. Payloads are contiguous and aligned to 16 bytes.
class Message {
 public:
  Message() noexcept = default;
  Message(Message&& other) noexcept { move_from(other); }
  Message& operator=(Message&& other) noexcept {
    if (this != &other) {
      release();
      move_from(other);
    }
    return *this;
  }
  Message(const Message&) = delete;
  Message& operator=(const Message&) = delete;
  ~Message() { release(); }

  [[nodiscard]] Outcome outcome() const noexcept {
    return static_cast<Outcome>(kind_ >> kOutcomeShift & 0xff);
  }
  [[nodiscard]] Operation operation() const noexcept {
    return static_cast<Operation>(kind_ >> kOperationShift & 0xff);
  }
  /// The rank at the other end.
  [[nodiscard]] int peer() const noexcept { return static_cast<std::int32_t>(kind_); }
  /// 32 bits for active messages and signals, 64 for receives and sends.
  [[nodiscard]] std::uint64_t tag() const noexcept { return tag_; }
  /// The user_data of the own post that ended; nullptr for arrivals.
  [[nodiscard]] void* user_data() const noexcept { return user_data_; }
  /// Payload length in bytes.
  [[nodiscard]] std::size_t size() const noexcept { return size_; }
  /// The length that the sender sent; more than size() when a receive was truncated.
  [[nodiscard]] std::size_t length() const noexcept {
    return operation() == Operation::receive ? static_cast<std::size_t>(cookie_) : size_;
  }
  [[nodiscard]] const std::byte* data() const noexcept { return data_; }
  [[nodiscard]] Bytes bytes() const noexcept { return {data_, size_}; }

  /// The sizes in bytes of the bodies that were sent with a head (Operation::vectored_message and bodies);
  /// empty for all other messages. Valid as long as the message.
  [[nodiscard]] std::span<const std::uint64_t> body_sizes() const noexcept {
    const bool has_bodies = operation() == Operation::vectored_message || operation() == Operation::bodies;
    return has_bodies && is_owner() ? static_cast<const detail::BodiesOwner*>(owner_)->sizes()
                                    : std::span<const std::uint64_t>();
  }

  /// The payload's first sizeof(T) bytes as a value. A shorter payload is a broken premise (assert); in
  /// release builds what is missing reads as zero.
  template <class T>
  requires std::is_trivially_copyable_v<T>
  [[nodiscard]] T as() const noexcept {
    assert(size_ >= sizeof(T));
    if (size_ == sizeof(T)) {
      alignas(T) std::byte storage[sizeof(T)];
      std::memcpy(storage, data_, sizeof(T));
      return *reinterpret_cast<T*>(storage);
    }
    alignas(T) std::byte storage[sizeof(T)] = {};
    std::memcpy(storage, data_, size_ < sizeof(T) ? size_ : sizeof(T));
    return *reinterpret_cast<T*>(storage);
  }

  /// Whether the payload stays valid after the handler returns.
  [[nodiscard]] bool is_owner() const noexcept { return holding() != Holding::view; }

  /// A message that owns its payload. Up to kEntryPayload bytes are copied; a packet is held as it is, within
  /// the quota of its sender (attribute held_packets), and copied out beyond. Do not use this one afterwards.
  [[nodiscard]] WEFT_API Message take() noexcept;

  /// The user may write into a large payload that the message owns (an allocator's buffer).
  [[nodiscard]] std::byte* mutable_data() noexcept {
    return is_owner() ? const_cast<std::byte*>(data_) : nullptr;
  }

 private:
  friend struct detail::MessageAccess;
  enum class Holding : std::uint8_t { view, in_place, owner };
  // Where the parts of kind_ lie, above the peer.
  static constexpr int kOutcomeShift = 32;
  static constexpr int kOperationShift = 40;
  static constexpr int kHoldingShift = 48;

  [[nodiscard]] Holding holding() const noexcept {
    return static_cast<Holding>(kind_ >> kHoldingShift & 0xff);
  }
  void set_holding(Holding holding) noexcept {
    kind_ = (kind_ & ~(std::uint64_t{0xff} << kHoldingShift)) | static_cast<std::uint64_t>(holding)
                                                                    << kHoldingShift;
  }
  void move_from(Message& other) noexcept {
    size_ = other.size_;
    user_data_ = other.user_data_;
    tag_ = other.tag_;
    kind_ = other.kind_;
    data_ = other.data_;
    if (holding() == Holding::in_place) {
      std::memcpy(place_, other.place_, sizeof place_);
      data_ = place_;
    } else {
      owner_ = other.owner_;
      lender_ = other.lender_;
      cookie_ = other.cookie_;
    }
    other.set_holding(Holding::view);
    other.lender_ = nullptr;
    other.data_ = nullptr;
    other.size_ = 0;
  }
  // Inlined, always: a message whose address no call gets need not exist in memory (Arrivals::for_each).
  [[gnu::always_inline]] void release() noexcept {
    if (holding() == Holding::owner) {
      set_holding(Holding::view);
      owner_->release(const_cast<std::byte*>(data_), size_, cookie_);
    }
  }

  const std::byte* data_ = nullptr;
  std::size_t size_ = 0;
  void* user_data_ = nullptr;
  std::uint64_t tag_ = 0;
  // peer(32) | outcome(8) | operation(8) | holding(8). One word: it is compared as a whole, and a comparison
  // of what was written in parts waits until all that was written before has left the core.
  std::uint64_t kind_ = 0;
  PayloadOwner* owner_ = nullptr;            // who releases, when holding() == owner
  detail::PayloadLender* lender_ = nullptr;  // who can keep it, when holding() == view
  std::uint64_t cookie_ = 0;  // names the payload to owner_ or lender_; of a receive: the sender's length
  alignas(16) std::byte place_[kEntryPayload];  // valid when holding() == in_place
};

}  // namespace weft
