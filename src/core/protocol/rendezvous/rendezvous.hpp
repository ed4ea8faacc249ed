// Rendezvous: payloads that are larger than a packet, and sends without a credit.
//
// The sender announces the payload (ready to send, RTS). The receiver finds a buffer, from the allocator of
// an active message's target or from a posted receive. Then it either reads the payload from the sender's
// memory piece by piece, or lets the network fetch it from there, and sends a FIN (finished); or it sends a
// CTS (clear to send) and receives the payload as fragments in packets. Either way the sender's operation
// ends when its buffer is not needed any more.
//
// A device has both halves: RendezvousSender, and RendezvousReceiver with Transfers (its records), Admission
// (which announced messages get a buffer) and FlowControl (how many fragments may be outstanding). Here is
// what needs both, and what goes to the PayloadDevice of the runtime, where there is one.
#pragma once

#include "core/backlog/caller.hpp"
#include "core/deadline/deadlines.hpp"
#include "core/protocol/context.hpp"
#include "core/protocol/rendezvous/counts.hpp"
#include "core/protocol/rendezvous/rendezvous_receiver.hpp"
#include "core/protocol/rendezvous/rendezvous_sender.hpp"
#include "core/protocol/wire.hpp"

#include <atomic>

namespace weft::core {

class DetachedOperations;

class Rendezvous {
 public:
  using Outbound = RendezvousSender::Outbound;
  using Start = RendezvousSender::Start;
  using Claim = RendezvousReceiver::Claim;

  explicit Rendezvous(const Context& context);

  [[nodiscard]] RendezvousSender& sender() noexcept { return sender_; }
  [[nodiscard]] const RendezvousSender& sender() const noexcept { return sender_; }
  [[nodiscard]] RendezvousReceiver& receiver() noexcept { return receiver_; }
  [[nodiscard]] const RendezvousReceiver& receiver() const noexcept { return receiver_; }

  /// Sends the RTS of a payload, which this device moves or, when the runtime has one for that, the
  /// PayloadDevice; `result` is the answer of the network: not_ready also while that device is not open.
  Start start(const Outbound& outbound, Caller caller, network::SendResult& result) noexcept;
  /// Arrival of an RTS of an active message, whose payload goes to the PayloadDevice while that is open.
  /// Returns false when no transfer is free.
  bool on_rts(std::uint64_t word, const Message& arrival, network::Sink& sink) noexcept;
  /// RendezvousReceiver::fetch() on the PayloadDevice while that is open.
  bool fetch_payload(const Claim& claim) noexcept;

  // A message whose RTS was sent and whose payload is not being fetched yet is cancelled by a message of its
  // own. The receiver of the RTS either forgets it and answers (cancelled), or has begun to fetch the payload
  // and does not answer: then the message ends as it would have. The request stays announced until one of the
  // two happens, so its buffer is never released while the peer may read it. A cancel that overtakes its RTS
  // finds nothing, and is sent again.

  /// Sends a cancel for the announced messages that are due; see RendezvousSender::cancel(). Only for the
  /// thread that may call step().
  void cancel(const Deadlines& deadlines, bool has_failures, Caller caller) noexcept;
  /// Reads a cancel of a peer. Returns false when it is invalid.
  static bool read_cancel(const Message& arrival, Cancel& cancel, network::Sink& sink) noexcept;
  /// Forgets a message that waits for memory of an active message's target. Any thread.
  void forget_unexpected(int peer, const Cancel& cancel) noexcept;

  /// Continues the transfers in progress, one step each. One thread at a time. Returns the number of steps
  /// that made progress.
  std::size_t step(Caller caller) noexcept;
  /// Returns true when there are operations that step() has to continue.
  [[nodiscard]] bool has_work() const noexcept {
    return counts_.working.load(std::memory_order_relaxed) != 0;
  }
  /// The number of records that step(), or a protocol on top of this one, has to continue; for its work
  /// lists.
  [[nodiscard]] std::atomic<std::uint32_t>& working() noexcept { return counts_.working; }

  /// Ends the operations whose peer has left or failed. `is_over`: by rank, true when everything that had
  /// arrived from a peer that has left has been delivered; the last arrivals may end an operation. Any
  /// thread.
  void complete_lost_operations(const std::atomic<bool>* is_over) noexcept;
  /// Returns true when complete_lost_operations() might have work.
  [[nodiscard]] bool awaits_peers() const noexcept {
    return counts_.outstanding.load(std::memory_order_relaxed) != 0 ||
           counts_.awaiting.load(std::memory_order_relaxed) != 0;
  }
  /// A count that makes awaits_peers() true: other protocols raise it while they wait for peers.
  [[nodiscard]] std::atomic<std::uint32_t>& awaiting() noexcept { return counts_.awaiting; }
  /// The number of operations of this rank that have not ended.
  [[nodiscard]] std::uint32_t outstanding() const noexcept {
    return counts_.outstanding.load(std::memory_order_relaxed);
  }

  /// Returns true when a message in progress may signal the object. Any thread; cheap while there are none.
  [[nodiscard]] bool may_name(const Completion& object) const noexcept;
  /// The object is being destroyed: sends and receives that name it signal `instead`. Any thread.
  void forget_object(const Completion& object, DetachedOperations& instead) noexcept;
  /// Lists the operations that have not ended, for an explanation. Any thread.
  void describe(PendingList& list) const noexcept;

 private:
  void wake() const noexcept;

  const Context& context_;
  RendezvousCounts counts_;
  RendezvousSender sender_;
  RendezvousReceiver receiver_;
};

}  // namespace weft::core
