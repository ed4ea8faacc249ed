// Rendezvous of active messages: which announced message (RTS) gets a buffer, and when.
//
// A sender may have a thousand messages in progress. Buffers for all of them at once would be a thousand
// times the memory that a stream needs, none of it in a cache. So the messages of one peer wait, in the order
// of their classes and RTS messages, while enough bytes of earlier ones have a buffer and have not arrived
// yet. One message is always fetched, however large; messages that have arrived and are with the program do
// not count.

#pragma once

#include "concurrent/mpsc_list.hpp"
#include "core/protocol/context.hpp"
#include "core/protocol/rendezvous/counts.hpp"
#include "core/protocol/rendezvous/flow_control.hpp"
#include "core/protocol/rendezvous/incoming_transfers.hpp"
#include "core/protocol/work_list.hpp"

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace weft::core {

class Admission {
 public:
  Admission(const Context& context, Transfers& transfers, FlowControl& flow_control,
            RendezvousCounts& counts);

  /// An active message has been announced, and has begun to wait. Any thread.
  void add(IncomingTransfer& incoming) noexcept { announced_.put(incoming); }
  /// The number of bytes to be fetched for an active message that has a buffer changes. Any thread.
  void change_fetching(const IncomingTransfer& incoming, std::int64_t change) noexcept;
  void less_to_fetch(const IncomingTransfer& incoming, std::size_t size) noexcept {
    change_fetching(incoming, -static_cast<std::int64_t>(size));
  }
  /// A waiting message of the peer was cancelled, or the peer has left. Any thread.
  void look_again(int peer) noexcept {
    peers_[static_cast<std::size_t>(peer)].must_look.store(true, std::memory_order_release);
  }
  /// Takes up messages that have been announced, and finds buffers for those that may have one. One thread at
  /// a time; step() returns the number of peers with progress.
  void take_announced() noexcept;
  std::size_t step() noexcept;

  /// The runtime ends: messages that wait for memory are declined from now on.
  void decline_what_has_no_memory() noexcept { declines_.store(true, std::memory_order_relaxed); }
  /// Adds a note about messages that were refused because there never is memory for them. Any thread.
  void describe_refusals(std::vector<std::string>& notes) const;

 private:
  using Incoming = IncomingTransfer;

  /// Active messages of one peer: those that have a buffer and are being fetched, and those that wait for
  /// one. As many get a buffer as keep a stream going; more would only take memory, and caches, from what the
  /// program does with messages that have arrived.
  struct Peer {
    Peer* next = nullptr;
    /// Bytes that have a buffer and have not been received, by urgency_of().
    std::array<std::atomic<std::int64_t>, kUrgencies> fetching{};
    std::atomic<bool> must_look{false};  // a waiting message was cancelled, or its sender has left
    // Used by step() alone:
    bool is_listed = false;     // in admitting_
    Incoming* first = nullptr;  // waiting messages, through Incoming::next, by class and age
    Incoming* last = nullptr;
  };

  Step admit(Peer& peer) noexcept;
  void look_at_waiting(Peer& peer) noexcept;
  bool find_memory(Incoming& incoming) noexcept;
  void resume(Incoming& incoming) noexcept;
  [[nodiscard]] std::int64_t fetch_limit() const noexcept;
  void report_refusal(const Incoming& incoming, const char* why) noexcept;
  void report_no_room(const Incoming& incoming) noexcept;
  [[nodiscard]] Peer& peer_of(const Incoming& incoming) noexcept {
    return peers_[static_cast<std::size_t>(incoming.peer.load(std::memory_order_relaxed))];
  }

  const Context& context_;
  Transfers& transfers_;
  FlowControl& flow_control_;
  RendezvousCounts& counts_;
  std::unique_ptr<Peer[]> peers_;  // by rank
  const std::int64_t cached_bytes_;
  concurrent::MpscList<Incoming> announced_;
  WorkList<Peer> admitting_;
  std::int64_t admitting_peers_ = 0;            // in admitting_; of step() alone
  std::uint64_t no_room_ = 0;                   // messages that have waited for memory; of step() alone
  std::atomic<bool> declines_{false};           // messages that wait for memory are declined
  std::atomic<std::uint64_t> refused_{0};       // messages for which there is never memory
  std::atomic<std::uint64_t> refused_size_{0};  // size of the last of them
  std::atomic<int> refused_peer_{0};
};

}  // namespace weft::core
