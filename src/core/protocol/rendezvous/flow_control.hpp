// Rendezvous by fragments: which payload a peer may stream to this device (CTS), and how many bytes of it may
// be outstanding.
#pragma once

#include "core/backlog/caller.hpp"
#include "core/protocol/context.hpp"
#include "core/protocol/rendezvous/counts.hpp"
#include "core/protocol/rendezvous/incoming_transfers.hpp"
#include "core/protocol/work_list.hpp"

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>

namespace weft::core {

class FlowControl {
 public:
  FlowControl(const Context& context, Transfers& transfers, RendezvousCounts& counts);

  /// Queues a transfer among those of its peer that are not fully granted, and sets its state: behind those
  /// of its class and of more urgent ones. Idle: another thread is about to.
  Step queue(IncomingTransfer& incoming) noexcept;
  /// Counts received bytes and may grant more, so that the sender continues while this rank works on what it
  /// has received.
  void received(const IncomingTransfer& incoming, std::size_t size) noexcept;
  /// Takes a transfer out whose peer has left: no fragment will arrive. Returns true when it is the caller's
  /// to end. Any thread.
  bool take_out(IncomingTransfer& incoming, int peer) noexcept;
  /// Grants what there is room for. One thread at a time. Returns the number of peers with progress.
  std::size_t step(Caller caller) noexcept;

 private:
  /// What one peer may stream to this device: few enough bytes at a time that they stay in the caches of both
  /// sides, granted to its transfers one after the other.
  struct Grants {
    Grants* next = nullptr;
    std::atomic<std::int64_t> under_way{0};  // bytes granted and not received
    std::atomic<std::uint32_t> busy{0};      // try-lock of the members below
    std::atomic<bool> is_listed{false};      // in granting_; written with the lock
    IncomingTransfer* first =
        nullptr;  // transfers that are not fully granted, through IncomingTransfer::next
    IncomingTransfer* last = nullptr;
  };

  Step grant(Grants& grants, Caller caller) noexcept;
  bool grant_next(Grants& grants, Caller caller) noexcept;
  [[nodiscard]] Grants& grants_of(const IncomingTransfer& incoming) noexcept {
    return grants_[static_cast<std::size_t>(incoming.peer.load(std::memory_order_relaxed))];
  }

  const Context& context_;
  Transfers& transfers_;
  RendezvousCounts& counts_;
  std::unique_ptr<Grants[]> grants_;  // by rank
  WorkList<Grants> granting_;
};

}  // namespace weft::core
