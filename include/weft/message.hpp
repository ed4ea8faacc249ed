// Messages that completion objects receive: an arrived message, or the end of a posted operation.
#pragma once

#include <weft/detail/export.hpp>
#include <weft/status.hpp>
#include <weft/types.hpp>

#include <cassert>
#include <cstring>
#include <span>
#include <utility>

namespace weft {

/// Payloads up to this size, in bytes, are copied into a queue's entry; larger ones are held where they lie.
inline constexpr std::size_t kEntryPayload = 48;

/// Supplies and takes back payload memory. allocate() is called by progress, for large active messages or for
/// all (AllocatorUse), from any thread that progresses a device to which messages for the object come,
/// several at a time; release() from any thread.
class PayloadOwner {
 public:
  /// `size` bytes aligned to 16, or nullptr: there is no room now, and progress() will ask again, for as long
  /// as it takes. An owner that will never have room says so by refusal().
  virtual std::byte* allocate(std::size_t size) noexcept = 0;
  /// Allocates memory for a message that has come to `device`, an index; progress calls this function.
  /// Override it to keep memory by device, so that threads of different devices share none: release() can
  /// tell the device by `data`.
  virtual std::byte* allocate_on(std::size_t size, std::uint32_t device) noexcept {
    static_cast<void>(device);
    return allocate(size);
  }
  /// Takes back the memory that a message held. `cookie` is the value that was stored with the payload. Any
  /// thread.
  virtual void release(std::byte* data, std::size_t size, std::uint64_t cookie) noexcept = 0;
  /// Called when allocate() has returned nullptr for a large active message. Returns nullptr if there may be
  /// room for `size` bytes later; else the reason why there never will be, a few words in static storage. The
  /// message then ends: with Outcome::refused at its sender, with a line of the log and
  /// RuntimeCounters::refused_messages here.
  [[nodiscard]] virtual const char* refusal(std::size_t size) const noexcept {
    static_cast<void>(size);
    return nullptr;
  }

 protected:
  ~PayloadOwner() = default;
};

namespace detail {

/// Lends the payload of a message that is being delivered, and can keep it beyond the delivery.
class PayloadLender {
 public:
  static constexpr std::size_t kNever = ~std::size_t{0};

  /// Makes the payload permanent: holds the memory at `data`, or copies it and changes `data` to the copy.
  /// Returns the owner that releases it with `cookie`, or nullptr when neither is possible without the heap.
  virtual PayloadOwner* keep(const std::byte*& data, std::size_t size, std::uint64_t& cookie) noexcept = 0;

  /// The size in bytes from which on a payload, or a part of it, is overwritten by the thread that copies it,
  /// if that thread knows that it will not be read again: the next writer of the memory then finds its lines
  /// in one cache.
  [[nodiscard]] std::size_t owned_from() const noexcept { return owned_from_; }

 protected:
  explicit PayloadLender(std::size_t owned_from = kNever) noexcept : owned_from_(owned_from) {}
  ~PayloadLender() = default;

 private:
  const std::size_t owned_from_;
};

struct MessageAccess;

/// Tells, in a line on standard error, of a message whose outcome is not ok and that ends before anybody has
/// read it. `kind` and the others are the fields of the message, by value.
[[gnu::cold]] WEFT_API void tell_unread_outcome(std::uint64_t kind, std::size_t size,
                                                std::uint64_t cookie) noexcept;

/// The owner of the head of a multipart message.
class PartsOwner : public PayloadOwner {
 public:
  [[nodiscard]] std::span<const std::uint64_t> sizes() const noexcept { return sizes_; }

 protected:
  explicit PartsOwner(std::span<const std::uint64_t> sizes) noexcept : sizes_(sizes) {}
  ~PartsOwner() = default;

 private:
  const std::span<const std::uint64_t> sizes_;
};

}  // namespace detail

/// The kind of event that a Message reports.
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
  /// arrived from peer() with parts that are still at the sender: data() is the head, part_sizes() gives
  /// their sizes, and Endpoint::receive_parts fetches them. Destroying the message refuses them.
  multipart_message,
  parts,  ///< an own receive_parts has ended: data() is the head, part_sizes() what the sender had sent
  peer_failure,  ///< peer() has failed: its process has ended without leaving the job
};

/// A payload that was taken out of its message (Message::release), with the owner that frees it. These are
/// plain values, so that they can be stored anywhere; they are used once, by free() or by a Message that is
/// made of them, and before the runtime ends.
struct Payload {
  std::byte* data = nullptr;
  std::size_t size = 0;           ///< bytes
  PayloadOwner* owner = nullptr;  ///< nullptr: the memory is the program's own
  std::uint64_t cookie = 0;       ///< names the memory to its owner

  [[nodiscard]] MutableBytes bytes() const noexcept { return {data, size}; }
  /// Frees the memory, which may be written to until then. Any thread; once.
  void free() const noexcept {
    if (owner != nullptr) owner->release(data, size, cookie);
  }
};

/// The fields of which a program makes a Message, to signal completion objects with it.
struct MessageFields {
  Operation operation = Operation::active_message;
  Outcome outcome = Outcome::ok;
  int peer = -1;
  std::uint64_t tag = 0;  ///< 32 bits of it with the operations that arrive: active_message and ..._arrived
  /// The payload, borrowed: completion objects that keep a message copy the payload of an active_message, and
  /// no other. With the operations receive, get and atomic it is memory that mutable_data() gives for
  /// writing.
  Bytes bytes{};
  void* user_data = nullptr;
  std::uint32_t device = 0;   ///< 0 to 255
  RemoteCompletion remote{};  ///< with the operations that arrive
  std::size_t length = 0;     ///< of a receive; less than bytes.size() counts as that
};

/// A message that a completion object receives.
///
/// Inside a handler, or signal() of a completion object, the payload may be a view into the slot or packet
/// that is only valid until the call returns; take() keeps it. A Message that was popped from a queue owns
/// its payload until it is destroyed. Payloads are contiguous and aligned to 16 bytes.
///
/// A failure that the library reports is to be read: a message with an outcome other than ok and cancelled
/// that is destroyed, or overwritten, before anybody has called outcome() or length() is told of on standard
/// error. (Those that end as peer_failed only where a call or a completion object has handed them to the
/// program.) One thread at a time uses a message.
class [[nodiscard]] Message {
 public:
  Message() noexcept = default;
  /// A message that the program makes itself: Completion::signal() passes it to any completion object, from
  /// any thread that may signal it.
  WEFT_API explicit Message(const MessageFields& fields) noexcept;
  /// A message that the program makes, and that owns `payload` from now on; `fields.bytes` is ignored. Not
  /// for the operations that have part_sizes(). Threads: any that may signal the completion object.
  WEFT_API Message(const MessageFields& fields, const Payload& payload) noexcept;
  Message(Message&& other) noexcept { move_from(other); }
  Message& operator=(Message&& other) noexcept {
    if (this != &other) {
      free_payload();
      move_from(other);
    }
    return *this;
  }
  Message(const Message&) = delete;
  Message& operator=(const Message&) = delete;
  ~Message() { free_payload(); }

  [[nodiscard]] Outcome outcome() const noexcept {
    note_read();
    return static_cast<Outcome>(kind_ >> kOutcomeShift & 0x7);
  }
  [[nodiscard]] Operation operation() const noexcept {
    return static_cast<Operation>(kind_ >> kOperationShift & 0x7f);
  }
  /// The rank at the other end.
  [[nodiscard]] int peer() const noexcept { return static_cast<std::int32_t>(kind_); }
  /// Index of the device at which the message arrived, or whose operation ended. 0 where no device takes
  /// part: graphs and failed peers.
  [[nodiscard]] std::uint32_t device() const noexcept { return kind_ >> kDeviceShift & 0xff; }
  /// The handle to which an active message or a signal was sent, as its sender names it for this device: the
  /// one of Runtime::expose, on_device(device()). Empty for own operations.
  [[nodiscard]] RemoteCompletion remote() const noexcept {
    return handle_ == 0
               ? RemoteCompletion()
               : RemoteCompletion(static_cast<std::uint16_t>(handle_ >> 16),
                                  static_cast<std::uint16_t>(handle_), static_cast<std::uint8_t>(device()));
  }
  /// The tag: 32 bits for active messages and signals, 64 for receives and sends. In a matching context the
  /// word, which has the number of the context in its upper half.
  [[nodiscard]] std::uint64_t tag() const noexcept { return tag_; }
  /// Of a receive or send in a matching context: the tag, without the context, whose number is above it
  /// (MatchingContext::has(tag())).
  [[nodiscard]] std::uint32_t tag_in_context() const noexcept { return static_cast<std::uint32_t>(tag_); }
  /// The user_data of the own post that ended; nullptr for arrivals.
  [[nodiscard]] void* user_data() const noexcept { return user_data_; }
  /// Payload length in bytes.
  [[nodiscard]] std::size_t size() const noexcept { return size_; }
  /// The length that the sender sent; more than size() when a receive was truncated.
  [[nodiscard]] std::size_t length() const noexcept {
    note_read();
    return operation() == Operation::receive && holding() == Holding::view ? static_cast<std::size_t>(cookie_)
                                                                           : size_;
  }
  [[nodiscard]] const std::byte* data() const noexcept { return data_; }
  [[nodiscard]] Bytes bytes() const noexcept { return {data_, size_}; }

  /// The sizes in bytes of the parts that were sent with a head (Operation::multipart_message and parts);
  /// empty for all other messages. Valid as long as the message.
  [[nodiscard]] std::span<const std::uint64_t> part_sizes() const noexcept {
    const bool has_parts = operation() == Operation::multipart_message || operation() == Operation::parts;
    return has_parts && is_owner() ? static_cast<const detail::PartsOwner*>(owner_)->sizes()
                                   : std::span<const std::uint64_t>();
  }

  /// The payload's first sizeof(T) bytes as a value. A shorter payload is a broken premise (assert); in
  /// release builds missing bytes read as zero. Pointers and views are refused by the compiler: they would
  /// refer to memory of another process (bytes_of()).
  template <class T>
  requires std::is_trivially_copyable_v<T>
  [[nodiscard]] T as() const noexcept {
    detail::check_bytes<T>();
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

  /// Returns true when the payload stays valid after the handler returns.
  [[nodiscard]] bool is_owner() const noexcept { return holding() != Holding::view; }

  /// A message that owns its payload. Up to kEntryPayload bytes are copied; a packet is held as it is, within
  /// the quota of its sender (attribute held_packets), and copied out beyond. Do not use this message
  /// afterwards.
  [[nodiscard]] WEFT_API Message take() noexcept;

  /// The payload if it may be written to, else nullptr. Payloads that the message owns may be written to, and
  /// the program's own buffer that a receive, a get or an atomic operation has filled.
  [[nodiscard]] std::byte* mutable_data() noexcept {
    return is_owner() || is_in_own_buffer() ? const_cast<std::byte*>(data_) : nullptr;
  }
  /// The payload that may be written to, see mutable_data(), as a span; else an empty span.
  [[nodiscard]] MutableBytes mutable_bytes() noexcept {
    std::byte* const data = mutable_data();
    return data != nullptr ? MutableBytes(data, size_) : MutableBytes();
  }

  /// Takes the payload out of the message, together with its owner. A payload that the message owns, a packet
  /// or a large buffer, is not copied; a view, or a payload inside the message, is kept as take() does, or
  /// copied to the heap. The program's own buffers come without an owner: those of receives and gets, and
  /// those of sends, which must not be written to. Afterwards the message has no payload, size() is 0; all
  /// else stays. Any thread. (Of a message with parts it is the head; freeing it refuses the parts.)
  [[nodiscard]] WEFT_API Payload release() noexcept;

 private:
  friend struct detail::MessageAccess;
  enum class Holding : std::uint8_t { view, in_place, owner };
  // The positions of the parts of kind_, above the peer.
  static constexpr int kOperationShift = 32;  // 7 bits, and one that is set when the program made the message
  static constexpr int kDeviceShift = 40;     // 8 bits
  static constexpr int kOutcomeShift = 48;    // 3 bits, and one that is set until it has been read
  static constexpr int kHoldingShift = 52;    // 2 bits
  static constexpr std::uint64_t kHolding = std::uint64_t{3} << kHoldingShift;
  static constexpr std::uint64_t kUnread = std::uint64_t{8} << kOutcomeShift;
  /// A message with one of these bits has something to do at its end.
  static constexpr std::uint64_t kEnds = kUnread | std::uint64_t{2} << kHoldingShift;
  static constexpr std::uint64_t kMade = std::uint64_t{0x80} << kOperationShift;

  [[nodiscard]] Holding holding() const noexcept { return static_cast<Holding>(kind_ >> kHoldingShift & 3); }
  void set_holding(Holding holding) noexcept {
    kind_ = (kind_ & ~kHolding) | static_cast<std::uint64_t>(holding) << kHoldingShift;
  }
  [[nodiscard]] bool is_in_own_buffer() const noexcept {
    return operation() == Operation::receive || operation() == Operation::get ||
           operation() == Operation::atomic;
  }
  void note_read() const noexcept {
    if ((kind_ & kUnread) != 0) [[unlikely]]
      kind_ &= ~kUnread;
  }
  void move_from(Message& other) noexcept {
    size_ = other.size_;
    user_data_ = other.user_data_;
    tag_ = other.tag_;
    kind_ = other.kind_;
    data_ = other.data_;
    handle_ = other.handle_;
    if (holding() == Holding::in_place) {
      std::memcpy(storage_, other.storage_, sizeof storage_);
      data_ = storage_;
    } else {
      owner_ = other.owner_;
      lender_ = other.lender_;
      cookie_ = other.cookie_;
    }
    other.kind_ &= ~(kHolding | kUnread);
    other.lender_ = nullptr;
    other.data_ = nullptr;
    other.size_ = 0;
  }
  // Always inlined: a message whose address is passed to no call need not exist in memory
  // (Arrivals::for_each).
  [[gnu::always_inline]] void free_payload() noexcept {
    if ((kind_ & kEnds) == 0) return;
    const std::uint64_t kind = kind_;
    kind_ = kind & ~(kHolding | kUnread);
    end(kind, owner_, data_, size_, cookie_);
  }
  // A function of its own that gets what it needs by value: in one with a loop over messages, theirs would
  // lie in memory.
  [[gnu::noinline]] static void end(std::uint64_t kind, PayloadOwner* owner, const std::byte* data,
                                    std::size_t size, std::uint64_t cookie) noexcept {
    if ((kind & kUnread) != 0) [[unlikely]]
      detail::tell_unread_outcome(kind, size, cookie);
    if (static_cast<Holding>(kind >> kHoldingShift & 3) == Holding::owner)
      owner->release(const_cast<std::byte*>(data), size, cookie);
  }

  const std::byte* data_ = nullptr;
  std::size_t size_ = 0;
  void* user_data_ = nullptr;
  std::uint64_t tag_ = 0;
  // peer(32) | operation(8) | device(8) | outcome(4) | holding(2), and 8 bits that entries of queues use. One
  // word: it is compared as a whole, and a comparison of a word that was written in parts waits until all
  // earlier stores have left the core. Mutable for kUnread.
  mutable std::uint64_t kind_ = 0;
  PayloadOwner* owner_ = nullptr;            // releases the payload, when holding() == owner
  detail::PayloadLender* lender_ = nullptr;  // can keep the payload, when holding() == view
  std::uint64_t cookie_ = 0;  // names the payload to owner_ or lender_; of a receive: the sender's length
  std::uint32_t handle_ = 0;  // the handle it was sent to: id(16) | generation(16), or 0
  alignas(16) std::byte storage_[kEntryPayload];  // valid when holding() == in_place
};

}  // namespace weft
