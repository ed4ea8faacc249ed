// The lane: a ring of 64-byte slots from one device to another, and its sending half, which is inlined.
//
// Sender and receiver agree on the position by counting; there is no shared index. A slot's header is written
// last, with release, and cleared by the receiver after it has read the slot. How a lane is set up, received,
// grown and retired is in src/network/shm; docs/internals/wire.md has the layout bit by bit.
#pragma once

#include <weft/detail/bias.hpp>
#include <weft/detail/copy.hpp>
#include <weft/detail/export.hpp>
#include <weft/detail/processor.hpp>
#include <weft/types.hpp>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstring>

namespace weft::detail {

inline constexpr std::size_t kSlotPayload = 48;

/// The kind of a slot's contents. Zero is never a kind, so that a cleared header is empty.
enum class SlotKind : std::uint8_t {
  message = 1,  ///< payload in this and the following slots
  packet,       ///< payload in a packet of the sender
  padding,      ///< unused slots up to the end of the ring
  resized,      ///< the lane goes on in a larger ring
  end,          ///< the sender will not use this lane any more
};

struct alignas(64) Slot {
  std::atomic<std::uint64_t> header;  // see slot_header(); 0: empty
  std::uint64_t word;                 // handle(32) and tag(32), or as the channel defines it
  std::byte payload[kSlotPayload];
};
static_assert(sizeof(Slot) == 64 && offsetof(Slot, payload) == 16);

/// Channel of active messages in a slot's header; see src/core/protocol/wire.hpp for the others.
inline constexpr std::uint8_t kActiveMessageChannel = 1;

/// The position at which the lap of `position` begins.
[[nodiscard]] constexpr std::uint64_t lap_of(std::uint64_t position, std::uint64_t mask) noexcept {
  return position & ~mask;
}
/// Messages that a lane has sent by its reply slot are counted modulo kPassed, and laps begin at multiples of
/// it. The header of a slot holds lap and count in one number, so that a receiver sees when a message in the
/// reply slot comes before the next one in the ring.
inline constexpr std::uint32_t kPassed = 64;

/// lap(32) | size(16) | channel(8) | kind(8). `lap`: lap_of() the slot's position, plus the count of messages
/// that were sent by the reply slot; for a message in a reply slot, its turn. `channel` tells the protocol
/// what the payload is; the lane ignores it.
[[nodiscard]] constexpr std::uint64_t slot_header(std::uint64_t lap, std::size_t size, std::uint8_t channel,
                                                  SlotKind kind) noexcept {
  return lap << 32 | static_cast<std::uint64_t>(size) << 16 | static_cast<std::uint64_t>(channel) << 8 |
         static_cast<std::uint64_t>(kind);
}

/// Returns the turn in the header of a reply slot.
[[nodiscard]] constexpr std::uint32_t turn_of(std::uint64_t header) noexcept {
  return static_cast<std::uint32_t>(header >> 32);
}
[[nodiscard]] constexpr bool is_message(std::uint64_t header) noexcept {
  return static_cast<SlotKind>(header & 0xff) == SlotKind::message;
}

/// The words of a lane that its receiver writes. The sender reads `cold` after each message and needs it in
/// its own cache; `credit` changes every quarter of the ring, and is read when no more slots are known to be
/// free.
struct LaneControl {
  alignas(64) std::atomic<std::uint64_t> credit;  // slots consumed so far
  std::atomic<std::uint32_t> reply_slot_turn;     // of the last message taken from the lane's reply slot
  alignas(64) std::atomic<std::uint32_t> cold;  // 1: the receiver does not poll this lane; ring the doorbell
  std::atomic<std::uint32_t> released;          // 1: the receiver has left this ring for good
};
static_assert(sizeof(LaneControl) == 128 && offsetof(LaneControl, cold) == 64);

/// Numbers the sends of one device to an ordered matching engine of one peer. Its lock protects the next
/// number and ensures that messages go to the network in the order of their numbers.
struct SendSequence {
  std::atomic<std::uint32_t> lock{0};
  std::uint32_t next = 0;
  Bias bias;                           // of the lock
  std::atomic<std::uint32_t> kept{0};  // posts in the backlog, which get their numbers when they leave
};

/// The sender's private half of a lane. The members that inlined posts use are in its first cache line.
struct alignas(64) SendLane {
  // The slot for the next message.
  Slot* next = nullptr;
  // When equal to `next`: no more slots are known to be free, or the ring ends here.
  const Slot* end = nullptr;
  // slot_header() of an empty message of no kind in this lap.
  std::uint64_t mark = 0;
  LaneControl* control = nullptr;
  // The peer's table of handles, by id: open_handle() or closed_handle().
  const std::atomic<std::uint32_t>* open_handles = nullptr;
  std::atomic<std::uint32_t> lock{0};
  // Messages that try_post_matched_slot() may still send to the peer's matching engines.
  std::uint32_t credits = 0;
  Bias bias;  // of the lock

  Slot* slots = nullptr;
  std::uint64_t lap = 0;    // lap_of() all positions up to the ring's end
  std::uint64_t limit = 0;  // first position that may not be written yet
  std::uint32_t mask = 0;
  // The ordered engine of the last ordered send, and its stream, which lives as long as the runtime.
  std::uint32_t ordered_engine = 0;
  SendSequence* stream = nullptr;
  // Odd while the members that define the tail are being changed, for threads that read them without the
  // lock.
  std::atomic<std::uint32_t> moves{0};
  std::uint32_t passed = 0;  // messages sent by the reply slot, modulo kPassed
  // The reply slot, while the sender may use it: the next message is written there instead. The receiving
  // half stores it when this is null; the sender, under the lock, uses it and stores null.
  std::atomic<Slot*> reply_slot{nullptr};
  std::uint64_t reply_slot_mark = 0;  // as `mark`, with the turn in place of the lap

  [[nodiscard]] Slot& at(std::uint64_t position) const noexcept { return slots[position & mask]; }
  /// Next position to write.
  [[nodiscard]] std::uint64_t tail() const noexcept { return lap + static_cast<std::uint64_t>(next - slots); }
  void move_to(std::uint64_t position, std::uint64_t new_limit) noexcept {
    begin_move();
    place_at(position);
    end_move();
    set_limit(new_limit);
  }
  /// begin_move() and end_move() enclose changes of the members that define the tail.
  void begin_move() noexcept {
    moves.store(moves.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);
    std::atomic_thread_fence(std::memory_order_release);
  }
  void end_move() noexcept {
    moves.store(moves.load(std::memory_order_relaxed) + 1, std::memory_order_release);
  }
  void place_at(std::uint64_t position) noexcept {
    next = &at(position);
    lap = lap_of(position, mask);
    mark = header_at(position, 0, 0, SlotKind{});
  }
  [[nodiscard]] std::uint64_t header_at(std::uint64_t position, std::size_t size, std::uint8_t channel,
                                        SlotKind kind) const noexcept {
    return slot_header(lap_of(position, mask) | passed, size, channel, kind);
  }
  /// Notes that the next message in the ring comes after one in the reply slot.
  void pass() noexcept {
    passed = (passed + 1) % kPassed;
    mark = slot_header(lap | passed, 0, 0, SlotKind{});
  }
  void set_limit(std::uint64_t position) noexcept {
    limit = position;
    const std::uint64_t slots_of_lap = std::uint64_t{mask} + 1;
    end = slots + (limit - lap < slots_of_lap ? limit - lap : slots_of_lap);
  }
  /// Reads how far the receiver has read, and moves the limit accordingly.
  void learn_credit() noexcept {
    // Pairs with the release with which the receiver publishes the credit: it has read those slots.
    const std::uint64_t credit = control->credit.load(std::memory_order_acquire);
    // One slot stays free for the slot kinds resized and end.
    if (const std::uint64_t written = tail(); credit <= written && written - credit <= mask)
      set_limit(credit + mask);
  }
};
static_assert(offsetof(SendLane, slots) == 64 && sizeof(SendLane) == 128);

/// A handle and a tag as they travel in a slot: id(16) | generation(16) | tag(32).
[[nodiscard]] constexpr std::uint64_t handle_word(RemoteCompletion remote, std::uint32_t tag) noexcept {
  return (remote.bits() & 0xffffffff00000000U) | tag;
}
/// The word of a handle that is open and whose senders are not stopped: id(16) | generation(16).
[[nodiscard]] constexpr std::uint32_t open_handle(std::uint64_t handle_word) noexcept {
  return static_cast<std::uint32_t>(handle_word >> 32);
}
/// The entry of a table of open handles for an id that is not open: a word that no handle with this id has,
/// in any generation. Zero except for id 0.
[[nodiscard]] constexpr std::uint32_t closed_handle(std::uint16_t id) noexcept {
  return id == 0 ? 0x10000U : 0;
}

/// Notifies the receiver of a cold lane that the lane is not empty any more; wakes it when it is parked.
WEFT_API void ring_doorbell(SendLane& lane) noexcept;

/// For a lane that is locked and whose `next` is its `end`: reads how far its receiver has read, and goes on
/// at the ring's first slot when the ring has ended. Returns false when no more slots are free.
WEFT_API bool reserve_slot(SendLane& lane) noexcept;
/// Returns true when a locked lane has a free slot to write.
[[nodiscard, gnu::always_inline]] inline bool has_slot(SendLane& lane) noexcept {
  if (lane.next != lane.end) [[likely]]
    return true;
  return reserve_slot(lane);
}

/// The distance, in slots, at which lines are prefetched for writing by messages in several slots or a
/// packet. Rings have pages of their own with as much room behind them.
inline constexpr std::uint64_t kPrefetchDistance = 16;

/// A claimed slot, which is being written.
struct SlotClaim {
  Slot* slot;
  std::uint64_t mark;  // header of an empty message of no kind at that slot
  Slot* next;          // the lane's `next` after the commit
};

/// Claims a slot of a lane that is locked: the reply slot when the sender has it, else the next slot of the
/// ring. Returns a null slot when none is free. The lines of later slots are not prefetched: a nearby
/// receiver has them already, and would fetch them back. docs/decisions/026.
[[nodiscard, gnu::always_inline]] inline SlotClaim claim_slot(SendLane& lane) noexcept {
  // Pairs with the release in SendState::take_reply_slot(): the previous message has been read. The branch is
  // marked unlikely in favour of streams; its cost does not matter to single messages.
  if (Slot* const reply_slot = lane.reply_slot.load(std::memory_order_acquire); reply_slot != nullptr)
      [[unlikely]] {
    lane.reply_slot.store(nullptr, std::memory_order_relaxed);
    lane.pass();
    return {reply_slot, lane.reply_slot_mark, lane.next};
  }
  if (!has_slot(lane)) [[unlikely]]
    return {nullptr, 0, nullptr};
  Slot* const slot = lane.next;
  if (slot == nullptr) __builtin_unreachable();  // spares callers a test for null
  return {slot, lane.mark, slot + 1};
}
/// Publishes a slot, which has been filled before: makes its contents visible to the receiver, and moves the
/// lane on to `next`. The only place where a slot's header is published. Returns true when the receiver may
/// not look at the lane: ring_doorbell() follows before the lane is left.
[[nodiscard, gnu::always_inline]] inline bool publish(SendLane& lane, Slot& slot, std::uint64_t header,
                                                      Slot* next) noexcept {
  // Pairs with the acquire of the receiver's poll: payload and word are visible with the header.
  slot.header.store(header, std::memory_order_release);
  lane.next = next;
  // Pairs with the process-wide barrier of a receiver that stops polling this lane: either the receiver still
  // finds the slot, or this load sees that the lane is cold.
  std::atomic_signal_fence(std::memory_order_seq_cst);
  return lane.control->cold.load(std::memory_order_relaxed) != 0;
}
/// Commits a slot: publishes it, and wakes the receiver where that is necessary.
[[gnu::always_inline]] inline void commit(SendLane& lane, Slot& slot, std::uint64_t header,
                                          Slot* next) noexcept {
  if (publish(lane, slot, header, next)) [[unlikely]]
    ring_doorbell(lane);
}
/// Commits a claimed slot with a message of `size` bytes on a channel.
[[gnu::always_inline]] inline void commit_slot(SendLane& lane, const SlotClaim& claim, std::size_t size,
                                               std::uint8_t channel,
                                               SlotKind kind = SlotKind::message) noexcept {
  commit(lane, *claim.slot, claim.mark | slot_header(0, size, channel, kind), claim.next);
}

/// Writes word and payload of a slot, which are neighbours.
[[gnu::always_inline]] inline void fill_slot(Slot& slot, std::uint64_t word, Bytes bytes) noexcept {
  static_assert(offsetof(Slot, payload) == offsetof(Slot, word) + sizeof word);
  copy_behind(reinterpret_cast<std::byte*>(&slot) + offsetof(Slot, word), word, bytes.data(), bytes.size());
}

/// Sends one slot whose word and `size` bytes of payload are written by fill(slot, word), which is called
/// once it is certain that the slot will be sent; its other writes are visible to the thread that has read
/// the slot. Returns false, without effect, when the lane is contended or full, or the handle is not open;
/// the caller then falls back to the slow path, which determines the reason.
template <class Locking, class Fill>
[[nodiscard, gnu::always_inline]] inline bool try_post_filled_slot(SendLane& lane, RemoteCompletion remote,
                                                                   std::uint32_t tag, std::size_t size,
                                                                   std::uint8_t channel,
                                                                   const Fill& fill) noexcept {
  if (lane.open_handles[remote.id()].load(std::memory_order_relaxed) != open_handle(remote.bits()))
      [[unlikely]]
    return false;
  auto* const hold = enter<Locking>(lane.bias, lane.lock);
  if (hold == nullptr) [[unlikely]]
    return false;
  const SlotClaim claim = claim_slot(lane);
  if (claim.slot == nullptr) [[unlikely]] {
    leave<Locking>(hold);
    return false;
  }
  fill(*claim.slot, handle_word(remote, tag));
  commit_slot(lane, claim, size, channel);
  leave<Locking>(hold);
  return true;
}

/// try_post_filled_slot() without a payload: calls first() before it writes the word.
template <class Locking, class First>
[[nodiscard, gnu::always_inline]] inline bool try_post_slot_after(SendLane& lane, RemoteCompletion remote,
                                                                  std::uint32_t tag, std::uint8_t channel,
                                                                  const First& first) noexcept {
  return try_post_filled_slot<Locking>(
      lane, remote, tag, 0, channel, [&](Slot & slot, std::uint64_t word) __attribute__((always_inline)) {
        first();
        slot.word = word;
      });
}

/// try_post_filled_slot() with a payload in memory, of at most kSlotPayload bytes.
template <class Locking>
[[nodiscard, gnu::always_inline]] inline bool try_post_slot(SendLane& lane, RemoteCompletion remote,
                                                            std::uint32_t tag, Bytes bytes,
                                                            std::uint8_t channel) noexcept {
  return try_post_filled_slot<Locking>(
      lane, remote, tag, bytes.size(),
      channel, [&](Slot & slot, std::uint64_t word) __attribute__((always_inline)) {
        fill_slot(slot, word, bytes);
      });
}

/// Composes the first word of a match trailer of its parts; src/core/protocol/wire.hpp has the layout.
[[nodiscard]] constexpr std::uint64_t match_trailer(std::uint16_t engine, std::uint8_t policy,
                                                    std::uint8_t device) noexcept {
  return static_cast<std::uint64_t>(device) << 24 | static_cast<std::uint64_t>(policy) << 16 | engine;
}
inline constexpr std::size_t kMatchTrailer = 8;
/// The bit for ReceiveOptions::may_complete_now, above engine and source in an argument of
/// MatchedCalls::try_post_receive().
inline constexpr std::uint64_t kMayCompleteNow = std::uint64_t{1} << 48;
/// Channel of sends that come with their payload.
inline constexpr std::uint8_t kSendChannel = 7;

/// Writes a send into a slot of a locked lane, and uses up a credit.
[[gnu::always_inline]] inline void write_matched_slot(SendLane& lane, const SlotClaim& claim,
                                                      std::uint64_t tag, Bytes bytes,
                                                      std::uint64_t trailer) noexcept {
  --lane.credits;
  fill_slot(*claim.slot, tag, bytes);
  std::memcpy(claim.slot->payload + bytes.size(), &trailer, sizeof trailer);
  commit_slot(lane, claim, bytes.size() + kMatchTrailer, kSendChannel);
}

/// Sends one slot with a send: `bytes`, at most kSlotPayload - kMatchTrailer, and the trailer behind them.
/// Returns false, without effect, when the lane is contended or full, or its share of credits is used up.
template <class Locking>
[[nodiscard, gnu::always_inline]] inline bool try_post_matched_slot(SendLane& lane, std::uint64_t tag,
                                                                    Bytes bytes,
                                                                    std::uint64_t trailer) noexcept {
  auto* const hold = enter<Locking>(lane.bias, lane.lock);
  if (hold == nullptr) [[unlikely]]
    return false;
  bool is_sent = false;
  if (lane.credits != 0) [[likely]] {
    const SlotClaim claim = claim_slot(lane);
    is_sent = claim.slot != nullptr;
    if (is_sent) [[likely]]
      write_matched_slot(lane, claim, tag, bytes, trailer);
  }
  leave<Locking>(hold);
  return is_sent;
}

/// Writes a send to an ordered engine into a locked lane by write(trailer), whose trailer has the next number
/// of the stream; the number is used up when write() returns true. Returns false, without effect, when it
/// returns false, when the lane holds the stream of another engine, when the stream is contended, and when
/// sends in the backlog wait for their numbers. kDecided: makes no call, and returns false while it is
/// undecided which thread has the bias of the stream's lock.
template <class Locking, bool kDecided = false, class Write>
[[nodiscard, gnu::always_inline]] inline bool write_in_order(SendLane& lane, std::uint64_t trailer,
                                                             std::uint32_t engine,
                                                             const Write& write) noexcept {
  if (lane.ordered_engine != engine) [[unlikely]]
    return false;
  SendSequence& stream = *lane.stream;
  if (stream.kept.load(std::memory_order_relaxed) != 0) [[unlikely]]
    return false;
  auto* const turn =
      kDecided ? enter_decided<Locking>(stream.bias, stream.lock) : enter<Locking>(stream.bias, stream.lock);
  if (turn == nullptr) [[unlikely]]
    return false;
  const bool is_sent = write(trailer | static_cast<std::uint64_t>(stream.next) << 32);
  if (is_sent) [[likely]]
    ++stream.next;
  leave<Locking>(turn);
  return is_sent;
}

/// try_post_matched_slot() to an ordered engine, by write_in_order().
template <class Locking>
[[nodiscard, gnu::always_inline]] inline bool post_ordered_slot(SendLane& lane, std::uint64_t tag,
                                                                Bytes bytes, std::uint64_t trailer,
                                                                std::uint32_t engine) noexcept {
  auto* const hold = enter<Locking>(lane.bias, lane.lock);
  if (hold == nullptr) [[unlikely]]
    return false;
  bool is_sent = false;
  if (lane.credits != 0) [[likely]]
    is_sent = write_in_order<Locking>(
        lane, trailer, engine, [&](std::uint64_t numbered) __attribute__((always_inline)) {
          const SlotClaim claim = claim_slot(lane);
          if (claim.slot == nullptr) [[unlikely]]
            return false;
          write_matched_slot(lane, claim, tag, bytes, numbered);
          return true;
        });
  leave<Locking>(hold);
  return is_sent;
}

}  // namespace weft::detail
