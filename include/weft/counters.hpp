// The counters of a runtime and its devices.
#pragma once

#include <weft/detail/export.hpp>

#include <cstdint>
#include <span>

namespace weft {

/// Counts since the runtime was made, or the device opened. Most are derived from data that the data path
/// keeps anyway, or are counted outside of inlined code: no counter costs an inlined post an instruction.
/// They are exact while no thread communicates, else approximate.
///
/// Not counted, because they leave no trace: puts, gets and atomic operations on mapped regions that are
/// loads and stores of the calling thread; sizes of messages of up to 48 bytes; progress calls.
struct RuntimeCounters {
  // Refused and dropped messages and accesses. Of the whole runtime; 0 for a device.
  std::uint64_t refused_handles = 0;   ///< arrived messages whose handle was stale, withdrawn or forged
  std::uint64_t refused_messages = 0;  ///< arrived messages whose lengths or indices were impossible, and
                                       ///< large ones for which there will never be memory
  std::uint64_t dropped_sends = 0;     ///< own messages to peers that had left the job
  std::uint64_t refused_accesses = 0;  ///< own puts and gets without completion object that were refused

  // Sent: messages that the network has accepted.
  std::uint64_t active_messages_sent = 0;  ///< of up to a packet; and signals of puts, gets and atomics
  std::uint64_t matched_sent = 0;          ///< sends of up to a packet
  std::uint64_t inlined_sent = 0;          ///< of both: written into a slot by the inlined post
  std::uint64_t eager_bytes_sent = 0;      ///< of both: bytes of the messages of more than 48
  std::uint64_t large_sent = 0;            ///< large messages that have ended well
  std::uint64_t large_bytes_sent = 0;      ///< of large messages, streamed to their receivers
  std::uint64_t control_sent = 0;          ///< the protocols' own messages: RTS, fragments, credits ...

  // Arrived.
  std::uint64_t active_messages_received = 0;  ///< see active_messages_sent
  std::uint64_t matched_received = 0;          ///< see matched_sent; with or without a posted receive
  std::uint64_t eager_bytes_received = 0;      ///< see eager_bytes_sent
  std::uint64_t large_received = 0;            ///< large messages, delivered
  std::uint64_t large_arriving_now = 0;        ///< large messages whose payload is on its way to this rank
  std::uint64_t large_bytes_received = 0;      ///< of large messages, streamed by their senders
  std::uint64_t large_bytes_read = 0;          ///< of large messages, read from the senders' memory
  std::uint64_t control_received = 0;          ///< see control_sent

  // Own puts, gets and atomic operations that have ended well, except those that leave no trace (see above).
  std::uint64_t puts = 0;
  std::uint64_t put_bytes = 0;
  std::uint64_t gets = 0;
  std::uint64_t get_bytes = 0;
  std::uint64_t atomics = 0;
  std::uint64_t accesses_by_messages = 0;  ///< of these: the ones that the owner has carried out, by messages

  // Refused posts by Reason: answered retry, or queued in the backlog. A post that is tried ten times counts
  // ten times.
  std::uint64_t refused_no_slot = 0;
  std::uint64_t refused_no_packet = 0;
  std::uint64_t refused_no_credit = 0;
  std::uint64_t refused_no_request = 0;
  std::uint64_t refused_lock_contended = 0;
  std::uint64_t refused_backlog = 0;
  std::uint64_t refused_not_ready = 0;
  /// sends of posts and protocols that found the lane locked by another thread
  std::uint64_t lock_misses = 0;

  std::uint64_t backlog_posts = 0;    ///< refused posts that were queued in the backlog
  std::uint64_t backlog_now = 0;      ///< of these: not accepted yet
  std::uint64_t backlog_highest = 0;  ///< most that were queued at the same time

  // Matching. The last three cover the whole runtime, all engines together; 0 for a device.
  std::uint64_t unexpected_now = 0;  ///< unexpected messages, kept until their receive is posted
  /// records made for unexpected messages: most at a time, or a few more
  std::uint64_t unexpected_highest = 0;
  /// records made for receives and unexpected messages together: most at a time, or a few more
  std::uint64_t records_highest = 0;
  std::uint64_t long_searches = 0;  ///< searches that went beyond the bucket that they began in

  std::uint64_t parks = 0;  ///< number of times that a waiting thread slept
  /// of these: ended by their time (attribute park_timeout, a deadline), woken by nobody
  std::uint64_t parks_timed_out = 0;
  std::uint64_t parked_ns = 0;  ///< nanoseconds that threads slept

  std::uint64_t lanes = 0;        ///< lanes to devices of peers; 0 for networks without lanes
  std::uint64_t lanes_grown = 0;  ///< moves of a full lane to a larger ring
};

/// The unit of a counter, and how its values are combined over devices and ranks.
enum class CounterKind : std::uint8_t {
  count,        ///< added
  bytes,        ///< added
  nanoseconds,  ///< added
  highest,      ///< over ranks: the largest
};

/// Describes one member of RuntimeCounters.
struct CounterRow {
  const char* name;  ///< the name of the member
  std::uint64_t RuntimeCounters::*value;
  CounterKind kind;
};

/// Returns a row for every member of RuntimeCounters, in order: for programs that print or collect all. Any
/// thread.
[[nodiscard]] WEFT_API std::span<const CounterRow> counter_rows() noexcept;

}  // namespace weft
