// The receiver's half of a rendezvous: from the RTS to the end of the transfer (FIN).
//
// Sources: rendezvous_receiver.cpp (how transfers begin and end), receive.cpp (how their payload moves),
// landing.cpp (payloads that the sender puts).
#pragma once

#include "core/backlog/caller.hpp"
#include "core/memory/scatter.hpp"
#include "core/protocol/context.hpp"
#include "core/protocol/rendezvous/admission.hpp"
#include "core/protocol/rendezvous/counts.hpp"
#include "core/protocol/rendezvous/flow_control.hpp"
#include "core/protocol/rendezvous/incoming_transfers.hpp"
#include "core/protocol/wire.hpp"
#include "core/protocol/work_list.hpp"

#include <atomic>
#include <cstdint>
#include <span>

namespace weft::core {

class RendezvousReceiver {
 public:
  RendezvousReceiver(const Context& context, RendezvousCounts& counts);

  /// A receive that has matched an RTS.
  struct Claim {
    int peer;
    Rts rts;
    std::uint64_t tag;
    std::span<std::byte> buffer;
    Completion* completion;
    void* user_data;
    /// Unless empty: where the payload goes, in place of the memory of `buffer`, whose size still says how
    /// much of it is wanted. Must stay valid until the completion object has been signalled.
    std::span<const ScatterPart> parts{};
    bool is_dropped = false;  // there is no receive: the sender is told, and nothing is fetched
  };
  /// Fetches what fits into the buffer, then signals. Any thread. Returns false when no transfer is free.
  bool fetch(const Claim& claim) noexcept;
  /// Tells the sender that its payload will not be fetched. Returns false when no transfer is free.
  bool decline(int peer, const Rts& rts) noexcept { return fetch({peer, rts, 0, {}, nullptr, nullptr}); }
  /// Takes a valid RTS of an active message. Returns false when no transfer is free.
  bool take_rts(std::uint64_t word, int peer, const Rts& rts) noexcept;
  void on_data(std::uint64_t word, Message& arrival, network::Sink& sink) noexcept;

  /// Handles the end of a fetch, for whose token is_fetch() holds.
  void fetch_completed(std::uint64_t token, Outcome outcome) noexcept;
  [[nodiscard]] static constexpr bool is_fetch(std::uint64_t token) noexcept {
    return (token & kFetchToken) != 0;
  }
  /// A peer has put into a landing; see Sink::landed().
  void landed(std::uint64_t name, std::size_t bytes, network::Sink& sink) noexcept;
  /// The number of payloads that the network writes into buffers at the moment. Any thread.
  [[nodiscard]] std::uint32_t landing() const noexcept { return landing_.load(std::memory_order_acquire); }

  /// Marks a message that waits for memory, which its sender has cancelled: the thread that continues it
  /// finds the mark, unless it has found memory before. Any thread.
  void mark_forgotten(int peer, const Cancel& cancel) noexcept;
  /// Forgets a message that another protocol has stored. Unless no transfer is free, calls take_out(), which
  /// removes the message and returns true when it was there, and then tells the sender.
  template <class TakeOut>
  void forget_queued(int peer, const Cancel& cancel, const TakeOut& take_out) noexcept;

  /// Continues the transfers in progress, one step each. One thread at a time. Returns the number of steps
  /// that made progress.
  std::size_t step(Caller caller) noexcept;
  /// Ends the transfers whose peer has left; see is_lost(). Any thread.
  void complete_lost(const std::atomic<bool>* is_over) noexcept;

  [[nodiscard]] Admission& admission() noexcept { return admission_; }
  [[nodiscard]] const Admission& admission() const noexcept { return admission_; }
  [[nodiscard]] Transfers& transfers() noexcept { return transfers_; }
  [[nodiscard]] const Transfers& transfers() const noexcept { return transfers_; }

 private:
  using Incoming = IncomingTransfer;
  static constexpr std::uint64_t kFetchToken = std::uint64_t{1} << 63;  // no index of a record reaches it

  void begin(Incoming& incoming) noexcept;
  void confirm_cancel(Incoming& incoming, int peer, const Cancel& cancel) noexcept;
  Step advance(Incoming& incoming, Caller caller) noexcept;
  [[nodiscard]] bool read_some(Incoming& incoming) noexcept;
  Step fetch_by_network(Incoming& incoming) noexcept;
  Step open_landing(Incoming& incoming, Caller caller) noexcept;
  Step end_landing(Incoming& incoming) noexcept;
  void close_landing(Incoming& incoming) noexcept;
  void lose_landing(Incoming& incoming, int peer) noexcept;
  [[nodiscard]] static bool leave_opened(Incoming& incoming, Incoming::State to) noexcept;
  void ask_instead(Incoming& incoming, const char* why) noexcept;
  Step deliver_and_answer(Incoming& incoming, Caller caller) noexcept;
  Step send_answer(const Incoming& incoming, Caller caller) noexcept;
  void lose(Incoming& incoming) noexcept;
  void deliver(Incoming& incoming, Outcome outcome = Outcome::ok) noexcept;

  const Context& context_;
  RendezvousCounts& counts_;
  Transfers transfers_;
  FlowControl flow_control_;
  Admission admission_;
  std::atomic<std::uint32_t> landing_{0};
};

template <class TakeOut>
void RendezvousReceiver::forget_queued(int peer, const Cancel& cancel, const TakeOut& take_out) noexcept {
  // Taken first, so that the cancel can be answered. Without a transfer the sender sends the cancel again.
  Incoming* const incoming = transfers_.take();
  if (incoming == nullptr) return;
  if (take_out())
    confirm_cancel(*incoming, peer, cancel);
  else
    transfers_.put_back(*incoming);
}

}  // namespace weft::core
