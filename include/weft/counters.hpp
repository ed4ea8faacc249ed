// What a runtime and its devices have counted.
#pragma once

#include <weft/detail/export.hpp>

#include <cstdint>
#include <span>

namespace weft {

/// Counts since the runtime was made, or the device opened. Most are derived from what the data path keeps
/// anyway or counted where a call is made: none costs a post that is inlined an instruction. They are exact
/// while nothing moves, and approximate while threads communicate.
///
/// Not counted, because they leave no trace: puts, gets and atomic operations on mapped regions that are
/// loads and stores of the calling thread; sizes of messages of up to 48 bytes; progress calls.
struct RuntimeCounters {
  // Refused and dropped. Of the whole runtime; 0 for a device.
  std::uint64_t refused_handles = 0;   ///< arrived messages whose handle was stale, withdrawn or forged
  std::uint64_t refused_messages = 0;  ///< arrived messages whose lengths or indices were impossible
  std::uint64_t dropped_sends = 0;     ///< own messages to peers that had left the job
  std::uint64_t refused_accesses = 0;  ///< own puts and gets without completion object that were refused

  // Sent: what the network has taken.
  std::uint64_t active_messages_sent = 0;  ///< of up to a packet; and signals of puts, gets and atomics
  std::uint64_t matched_sent = 0;          ///< sends of up to a packet
  std::uint64_t inlined_sent = 0;          ///< of both: written into a slot by the inlined post
  std::uint64_t eager_bytes_sent = 0;      ///< of both: bytes of those of more than 48
  std::uint64_t large_sent = 0;            ///< large messages that have ended well
  std::uint64_t large_bytes_sent = 0;      ///< of large messages, streamed to their receivers
  std::uint64_t control_sent = 0;  ///< the protocols' own messages: announcements, chunks, credits ...

  // Arrived.
  std::uint64_t active_messages_received = 0;  ///< as active_messages_sent
  std::uint64_t matched_received = 0;          ///< as matched_sent, whether a receive was posted or not
  std::uint64_t eager_bytes_received = 0;      ///< as eager_bytes_sent
  std::uint64_t large_received = 0;            ///< large messages, delivered
  std::uint64_t large_bytes_received = 0;      ///< of large messages, streamed by their senders
  std::uint64_t large_bytes_read = 0;          ///< of large messages, read from the senders' memory
  std::uint64_t control_received = 0;          ///< as control_sent

  // Own puts, gets and atomic operations that have ended well, but for those named above.
  std::uint64_t puts = 0;
  std::uint64_t put_bytes = 0;
  std::uint64_t gets = 0;
  std::uint64_t get_bytes = 0;
  std::uint64_t atomics = 0;
  std::uint64_t accesses_by_messages = 0;  ///< of them: carried out by the owner, which was sent messages

  // Refused posts by Reason: answered retry, or kept in the backlog. One that is tried ten times counts ten
  // times.
  std::uint64_t refused_no_slot = 0;
  std::uint64_t refused_no_packet = 0;
  std::uint64_t refused_no_credit = 0;
  std::uint64_t refused_no_request = 0;
  std::uint64_t refused_lock_contended = 0;
  std::uint64_t refused_backlog = 0;
  std::uint64_t refused_not_ready = 0;
  std::uint64_t lock_misses = 0;  ///< sends of posts and protocols that met another thread in the lane

  std::uint64_t backlog_posts = 0;    ///< refused posts that were kept
  std::uint64_t backlog_now = 0;      ///< of them: not accepted yet
  std::uint64_t backlog_highest = 0;  ///< most that were kept at a time

  // Matching. The last three are of the whole runtime, all engines together; 0 for a device.
  std::uint64_t unexpected_now = 0;      ///< messages that are kept until their receive is posted
  std::uint64_t unexpected_highest = 0;  ///< records made for such messages: most at a time, or a few more
  std::uint64_t records_highest = 0;     ///< the same for receives and such messages together
  std::uint64_t long_searches = 0;       ///< searches that went beyond the bucket that they began in

  std::uint64_t parks = 0;      ///< times that a waiting thread slept
  std::uint64_t parked_ns = 0;  ///< nanoseconds that threads slept

  std::uint64_t lanes = 0;        ///< to devices of peers; networks without lanes: 0
  std::uint64_t lanes_grown = 0;  ///< moves of a full lane to a larger ring
};

/// How a value is to be read, and combined over devices and ranks.
enum class CounterKind : std::uint8_t {
  count,        ///< added
  bytes,        ///< added
  nanoseconds,  ///< added
  highest,      ///< of ranks: the largest
};

/// Describes one member of RuntimeCounters.
struct CounterRow {
  const char* name;  ///< the member's
  std::uint64_t RuntimeCounters::*value;
  CounterKind kind;
};

/// A row for every member, in their order: for programs that print or collect all. Any thread.
[[nodiscard]] WEFT_API std::span<const CounterRow> counter_rows() noexcept;

}  // namespace weft
