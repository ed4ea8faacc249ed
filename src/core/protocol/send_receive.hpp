// Sends and receives of one device, which a matching engine pairs.
//
// Sources: send.cpp (posting sends), receive.cpp (posting receives), arrival.cpp (what arrives meets
// receives), arrival_runs.cpp (the same of several messages at once), ordered.cpp (all of that where the
// engine is ordered).
#pragma once

#include "concurrent/intake.hpp"
#include "core/backlog/backlog.hpp"
#include "core/matching/credits.hpp"
#include "core/matching/matching_engine.hpp"
#include "core/protocol/context.hpp"
#include "core/protocol/large_message.hpp"
#include "core/protocol/send_payload.hpp"
#include "core/protocol/wire.hpp"

#include <weft/detail/device_path.hpp>
#include <weft/options.hpp>
#include <weft/packet.hpp>
#include <weft/status.hpp>

#include <array>
#include <atomic>
#include <span>

namespace weft::core {

class SendReceive {
 public:
  SendReceive(const Context& context, detail::DevicePath& path, MatchingEngines& engines,
              CreditLedgers& ledgers, LargeMessages& large_messages, int ranks,
              std::uint32_t credits) noexcept
      : context_(context),
        path_(path),
        engines_(engines),
        ledgers_(ledgers),
        large_messages_(large_messages),
        credits_{Credits(ranks, credits), Credits(ranks, credits), Credits(ranks, credits)} {}

  /// Whether one thread has the device for itself.
  void set_exclusive(bool exclusive) noexcept { exclusive_.store(exclusive, std::memory_order_relaxed); }

  /// One attempt, for arguments that have been checked. `packet` holds the payload already, unless null, and
  /// is taken over when the answer is not retry. `may_complete_now` false: the completion object is signalled
  /// in any case. `keeps_room`: others wait for room, inlined posts shall not overtake them.
  Status attempt_send(int peer, std::uint64_t tag, const SendPayload& payload, const SendOptions& options,
                      Packet* packet, bool keeps_room, bool exclusive) noexcept;
  Status attempt_receive(MatchingEngine& engine, int source, std::uint64_t tag, std::span<std::byte> buffer,
                         const ReceiveOptions& options) noexcept;

  /// What nearly always happens to a receive by rank and tag whose message is there already: it is the one
  /// that waits first in its bucket. False, without effect: attempt_receive() knows.
  template <class Locking>
  bool receive_first_arrived(MatchingEngine& engine, std::uint64_t tag, std::uint32_t source,
                             std::span<std::byte> buffer, Completion* completion, void* user_data) noexcept;

  // The same on an ordered engine; `engine` is the own one with the id of the send's. `again`: it comes from
  // the backlog.
  Status attempt_ordered_send(MatchingEngine& engine, int peer, std::uint64_t tag, const SendPayload& payload,
                              const SendOptions& options, Packet* packet, bool keeps_room, bool exclusive,
                              bool again) noexcept;
  Status attempt_ordered_receive(MatchingEngine& engine, int source, std::uint64_t tag,
                                 std::span<std::byte> buffer, const ReceiveOptions& options,
                                 bool again) noexcept;

  /// Gives a lane that has used up its share of the credits another one. False: it has some, or there is
  /// none, or another thread has the lane.
  template <class Locking>
  bool refill(detail::SendLane& lane, int peer, std::uint8_t device) noexcept;

  /// Receives a message that was taken out of the engine.
  Status receive_arrived(MatchingEngine& engine, MatchRecord& record, std::span<std::byte> buffer,
                         const ReceiveOptions& options) noexcept;
  void drop_arrived(MatchingEngine& engine, MatchRecord& record) noexcept;
  /// A peer does not want a send to be fetched any more that it has announced to this device: forgets it
  /// unless a receive has met it.
  void forget_announced(int peer, const Withdraw& withdraw) noexcept;

  /// Arrivals of the channels send, large_send and credit. False: cannot be taken now.
  bool on_send(std::uint64_t tag, Message& arrival, network::Sink& sink) noexcept;
  /// Several sends, until `backlog` is over its limit. Run: SlotRun or WideRun.
  template <class Run>
  void on_sends(Run& run, detail::PayloadLender* lender, network::Sink& sink,
                const Backlog& backlog) noexcept;
  bool on_large_send(std::uint64_t tag, const Message& arrival, network::Sink& sink) noexcept;
  void on_credit(std::uint64_t word, const Message& arrival, network::Sink& sink) noexcept;

  /// Sends with their payload, those of inlined posts included. Any thread; exact while none is under way.
  [[nodiscard]] std::uint64_t sends() noexcept;

  /// Continues what could not be finished. One thread at a time. Returns how many steps did something.
  std::size_t step(bool exclusive) noexcept;
  [[nodiscard]] bool has_work() const noexcept {
    return waiting_.load(std::memory_order_relaxed) != 0 || ledgers_.has_kept();
  }

 private:
  using Table = MatchingEngine::Table;

  [[nodiscard]] Credits& credits_of(const SendOptions& options) noexcept {
    return credits_[static_cast<std::size_t>(options.message_class)];
  }
  bool take_credit(int peer, const SendOptions& options, bool exclusive) noexcept;
  bool take_share(detail::SendLane& lane, int peer, std::uint8_t device, std::uint32_t column,
                  bool exclusive) noexcept;
  /// Whether a payload and its trailer leave by slots, or what the network has in place of them.
  [[nodiscard]] bool goes_without_packet(std::size_t size) const noexcept;
  /// Whether it leaves with its post: a packet may hold less than slots do, and has room for any trailer.
  [[nodiscard]] bool goes_at_once(std::size_t size) const noexcept {
    return goes_without_packet(size) || size <= context_.limits.packet_bytes;
  }
  Status send_at_once(int peer, std::uint64_t tag, const SendPayload& payload, const MatchTrailer& trailer,
                      const SendOptions& options, Packet* packet, bool keeps_room, bool exclusive) noexcept;
  Status announce(int peer, std::uint64_t tag, const SendPayload& payload, const MatchTrailer& trailer,
                  const SendOptions& options, bool exclusive) noexcept;
  Status start_large(int peer, std::uint64_t tag, const SendPayload& payload, const MatchTrailer& trailer,
                     const SendOptions& options, bool exclusive, network::SendResult& result) noexcept;
  Status sent(network::SendResult result, int peer, std::uint64_t tag, Bytes bytes,
              const SendOptions& options) noexcept;
  Status ended(bool lost, int peer, std::uint64_t tag, Bytes bytes, const SendOptions& options) noexcept;
  Status send_silently(int peer, std::uint64_t tag, const SendPayload& payload, const MatchTrailer& trailer,
                       const SendOptions& options, Packet* packet, bool keeps_room, bool exclusive) noexcept;
  static MatchRecord* take_posted(MatchingEngine& engine, std::span<std::byte> buffer,
                                  const ReceiveOptions& options) noexcept;
  bool announce_in_order(MatchingEngine& engine, const MatchTrailer& trailer, Unexpected& note,
                         network::Sink& sink) noexcept;
  [[nodiscard]] static bool is_ordered(std::uint32_t trailer) noexcept;
  void receive_held(MatchingEngine& engine, MatchRecord* first) noexcept;
  bool on_ordered_send(MatchingEngine& engine, std::uint64_t tag, Message& arrival,
                       const MatchTrailer& trailer, network::Sink& sink) noexcept;
  static std::uint32_t meet_counted_in_order(detail::SlotRun& all, MatchRecord& first, std::uint64_t tag,
                                             std::uint32_t kind, MatchingEngine& engine,
                                             ArrivalStream& stream, OrderedMatching::Hold hold) noexcept;
  template <class Locking>
  std::uint32_t keep_early_in_order(detail::SlotRun& run, std::uint64_t trailer, MatchingEngine& engine,
                                    ArrivalStream& stream) noexcept;
  bool on_ordered_sends(detail::SlotRun& run, detail::PayloadLender* lender, network::Sink& sink,
                        const Backlog& backlog) noexcept;
  template <class Run>
  static std::uint32_t prefetch(MatchingEngine& engine, const Run& run) noexcept;
  [[nodiscard]] const std::atomic<MatchingEngine*>* usual_engine(std::uint32_t trailer) const noexcept;
  void settle_met(int peer, std::uint32_t trailer, std::uint32_t messages) noexcept;
  template <class Locking, class Run>
  static std::uint32_t meet(Run& run, std::size_t most, std::uint32_t trailer, MatchingEngine& engine,
                            const Backlog& backlog) noexcept;
  template <class Locking, class Run>
  static void meet_counted(Run& run, MatchRecord& first, std::uint64_t tag, std::uint32_t trailer,
                           MatchingEngine& engine, Table::Finder& finder,
                           std::uint32_t* free_records) noexcept;
  template <class Locking, class Run>
  std::uint32_t keep_early(Run& run, std::uint32_t trailer, MatchingEngine& engine,
                           const Backlog& backlog) noexcept;
  enum class Met : std::uint8_t { receive, nothing, refused };
  Met on_other_send(std::uint64_t tag, Message& arrival, network::Sink& sink) noexcept;
  bool meet_one(std::uint64_t tag, Message& arrival) noexcept;
  template <class Locking>
  bool meet_one(std::uint64_t tag, Message& arrival, std::uint32_t trailer, MatchingEngine& engine) noexcept;
  static std::size_t fill_receive(const MatchRecord& record, Bytes payload,
                                  Message* arrival = nullptr) noexcept;
  template <class Release>
  static void complete(MatchRecord& record, Message& message, std::uint64_t tag, Bytes payload,
                       const Release& release, Message* arrival = nullptr) noexcept;
  static void complete(MatchingEngine& engine, MatchRecord& record, Message& message, std::uint64_t tag,
                       Bytes payload, Message* arrival = nullptr) noexcept;
  static void fill(const MatchRecord& record, const std::byte* from, std::size_t size) noexcept;
  static void fill(const MatchRecord& record, Message& arrival, std::size_t size) noexcept;
  static void copy(MutableBytes buffer, const std::byte* from, std::size_t size) noexcept;
  static bool read_trailer(const Message& arrival, MatchTrailer& trailer, network::Sink& sink) noexcept;
  MatchRecord* keep(MatchingEngine& engine, std::uint64_t tag, Message& arrival,
                    const MatchTrailer& trailer) noexcept;
  void fetch(MatchingEngine& engine, MatchRecord& record) noexcept;
  bool try_fetch(MatchRecord& record) noexcept;
  void settle(CreditLedger& ledger, int peer, std::uint8_t device, std::uint32_t messages,
              bool exclusive) noexcept {
    const std::uint32_t count = ledger.settle(peer, device, messages, exclusive);
    if (count != 0) settle_batch(ledger, peer, device, count, exclusive);
  }
  /// Returns so many credits, now or later.
  void settle_batch(CreditLedger& ledger, int peer, std::uint8_t device, std::uint32_t count,
                    bool exclusive) noexcept {
    if (!return_credits(ledger, peer, device, count, exclusive)) [[unlikely]]
      ledger.keep(peer, device, count);
  }
  bool return_credits(CreditLedger& ledger, int peer, std::uint8_t device, std::uint32_t count,
                      bool exclusive) noexcept;
  static void release(MatchingEngine& engine, MatchRecord& record) noexcept;

  const Context& context_;
  detail::DevicePath& path_;
  MatchingEngines& engines_;
  CreditLedgers& ledgers_;
  LargeMessages& large_messages_;
  std::array<Credits, 3> credits_;  // by MessageClass
  std::atomic<bool> exclusive_{false};
  std::atomic<std::uint32_t> waiting_{0};
  concurrent::Intake<MatchRecord> announced_;  // matched, but no transfer was free
};

}  // namespace weft::core
