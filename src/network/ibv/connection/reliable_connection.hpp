// A reliable connection between a device of this rank and a device of a peer: a pair of queue pairs.
#pragma once

#include "network/ibv/connection/cards.hpp"
#include "network/ibv/connection/send_queue.hpp"
#include "network/ibv/verbs/thread_domain.hpp"
#include "network/session/link/link.hpp"

#include <cstdint>

namespace weft::network::ibv {

/// Under the device's lock.
struct Connection {
  std::uint32_t index = 0;  // among those of the device
  int rank = -1;            // of the peer, as the next
  std::uint8_t device = 0;
  Purpose purpose = Purpose::messages;
  std::uint8_t round = 0;          // of one for accesses: the how-manieth, see RegionAccesses
  Connection* messages = nullptr;  // of one for accesses: the one for messages
  Connection* accesses = nullptr;  // of one for messages: the newest for accesses of this rank
  Connection* accessed = nullptr;  // and for those of the peer
  bool reaches_regions = true;     // of one for messages: one for accesses of this rank can be made
  Address address{};
  ThreadDomain thread_domain;  // of this queue pair alone, if there is one
  QueuePair queue_pair;
  Route route;  // of datagrams
  std::uint32_t inline_bytes = 0;
  std::uint32_t first_packet = 0;
  std::uint32_t peer_queue_pair = 0;  // 0: not told yet
  bool is_open = false;               // the peer's queue pair receives
  bool is_closed = false;             // nothing is posted any more: it has failed, or the peer has left
  bool is_flushed = false;            // its queue pair carries nothing any more
  std::int64_t next_card = 0;         // when the next is due; of base::now_ns()
  SendQueue sends;
};

/// What queue pairs of a device have in common.
struct QueuePairPlan {
  Device& device;
  ibv_cq& completions;
  ibv_srq& receives;
  std::uint8_t ack_timeout;           // exponent, as verbs have it
  const ThreadDomain& thread_domain;  // that they share; none where each has its own
  bool has_thread_domains_of_their_own;
};

/// The number of bytes that are inlined in a work request where the device can.
inline constexpr std::uint32_t kInlineBytes = 220;
/// Reads of a queue pair that may be under way.
[[nodiscard]] std::uint8_t reads_of(const Device& device) noexcept;
/// The exponent of a time of which eight are at most `seconds`, within what makes sense.
[[nodiscard]] std::uint8_t ack_timeout_of(double seconds) noexcept;
/// The way to the device at `address`.
[[nodiscard]] ibv_ah_attr route_to(const Device& device, const Address& address) noexcept;

/// Makes the queue pair of a connection. Throws weft::Error.
void make_queue_pair(Connection& connection, const QueuePairPlan& plan);
/// Connects it with a queue pair of the peer: it receives and sends then. Throws weft::Error.
void connect_queue_pair(Connection& connection, const QueuePairPlan& plan, std::uint32_t queue_pair,
                        std::uint32_t first_packet);
/// Ends what is under way: each work request completes with an error, and nothing is posted any more.
void close_queue_pair(Connection& connection) noexcept;

}  // namespace weft::network::ibv
