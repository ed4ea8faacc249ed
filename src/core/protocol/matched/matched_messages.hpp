// Matched messages: sends and receives of one device, which a matching engine pairs.
//
// Sources: send.cpp (posting sends), receive.cpp (posting receives), arrive.cpp (an incoming send is matched
// or stored), arrive_batch.cpp (batches of incoming sends), store_unexpected.cpp (batches of unexpected
// messages), ordered.cpp and ordered_batch.cpp (posts and arrivals where the engine is ordered).
#pragma once

#include "concurrent/mpsc_list.hpp"
#include "core/backlog/backlog.hpp"
#include "core/matching/credits.hpp"
#include "core/matching/matching_engines.hpp"
#include "core/protocol/caller.hpp"
#include "core/protocol/context.hpp"
#include "core/protocol/matched/send_payload.hpp"
#include "core/protocol/rendezvous/rendezvous.hpp"
#include "core/protocol/wire.hpp"

#include <weft/detail/device_path.hpp>
#include <weft/options.hpp>
#include <weft/packet.hpp>
#include <weft/status.hpp>

#include <array>
#include <atomic>
#include <span>

namespace weft::core {

class MatchedMessages {
 public:
  MatchedMessages(const Context& context, detail::DevicePath& path, MatchingEngines& engines,
                  CreditLedgers& ledgers, SendCredits& credits, Rendezvous& large_messages) noexcept
      : context_(context),
        path_(path),
        engines_(engines),
        ledgers_(ledgers),
        rendezvous_(large_messages),
        credits_(credits),
        taken_before_(credits.taken()) {}
  /// Gives up the credits that the lanes have not used.
  ~MatchedMessages();
  MatchedMessages(const MatchedMessages&) = delete;
  MatchedMessages& operator=(const MatchedMessages&) = delete;

  /// Sets whether a single thread uses the device.
  void set_exclusive(bool exclusive) noexcept { exclusive_.store(exclusive, std::memory_order_relaxed); }

  /// One attempt to send, with checked arguments. `packet`, unless null, holds the payload already, and is
  /// taken over unless the status is retry. `may_complete_now` false: the completion object is signalled in
  /// any case.
  Status attempt_send(int peer, std::uint64_t tag, const SendPayload& payload, const SendOptions& options,
                      Packet* packet, Caller caller) noexcept;
  Status attempt_receive(MatchingEngine& engine, int source, std::uint64_t tag, std::span<std::byte> buffer,
                         const ReceiveOptions& options) noexcept;

  /// Fast path of a receive by rank and tag whose unexpected message waits first in its bucket. Returns
  /// false, without effect, when it does not apply; the caller then falls back to attempt_receive().
  template <class Locking>
  bool try_receive_unexpected(MatchingEngine& engine, std::uint64_t tag, std::uint32_t source,
                              std::span<std::byte> buffer, Completion* completion, void* user_data) noexcept;

  // attempt_send() and attempt_receive() for an ordered engine; `engine` is this rank's engine with the id of
  // the send's.
  Status attempt_ordered_send(MatchingEngine& engine, int peer, std::uint64_t tag, const SendPayload& payload,
                              const SendOptions& options, Packet* packet, Caller caller) noexcept;
  Status attempt_ordered_receive(MatchingEngine& engine, int source, std::uint64_t tag,
                                 std::span<std::byte> buffer, const ReceiveOptions& options,
                                 Caller caller) noexcept;

  /// Fills a lane that has used up its share of the credits. Returns false when the lane has credits, when
  /// there are none, or when another thread holds the lane.
  template <class Locking>
  bool refill(detail::SendLane& lane, int peer, std::uint8_t device) noexcept;

  /// Receives a message that was taken out of the engine.
  Status receive_probed(MatchingEngine& engine, MatchRecord& record, std::span<std::byte> buffer,
                        const ReceiveOptions& options) noexcept;
  void drop_probed(MatchingEngine& engine, MatchRecord& record) noexcept;
  /// A peer cancels a send whose RTS has arrived at this device: forgets the RTS unless a receive has matched
  /// it.
  void forget_announced(int peer, const Cancel& cancel) noexcept;

  /// Arrivals of the channels send, send_rts and credit. Return false when the message cannot be accepted
  /// now.
  bool on_send(std::uint64_t tag, Message& arrival, network::Sink& sink) noexcept;
  /// Handles several sends, until `backlog` is over its limit. Batch: SlotBatch or MultiSlotBatch.
  template <class Batch>
  void on_sends(Batch& batch, detail::PayloadLender* lender, network::Sink& sink,
                const Backlog& backlog) noexcept;
  bool on_send_rts(std::uint64_t tag, const Message& arrival, network::Sink& sink) noexcept;
  void on_credit(std::uint64_t word, const Message& arrival, network::Sink& sink) noexcept;

  /// The number of sends that travelled with their payload, inlined posts included. Any thread; exact while
  /// no send is in progress.
  [[nodiscard]] std::uint64_t sends() noexcept;

  /// Continues what could not be finished. One thread at a time. Returns the number of steps that made
  /// progress.
  std::size_t step(bool exclusive) noexcept;
  [[nodiscard]] bool has_work() const noexcept {
    return waiting_.load(std::memory_order_relaxed) != 0 || ledgers_.has_kept();
  }

 private:
  using Table = MatchingEngine::Table;

  [[nodiscard]] Credits& credits_of(const SendOptions& options) noexcept {
    return credits_.of(options.message_class);
  }
  bool take_credit(int peer, const SendOptions& options, bool exclusive) noexcept;
  bool take_credit_of_others(int peer, const SendOptions& options, bool exclusive) noexcept;
  bool take_share(detail::SendLane& lane, int peer, std::uint8_t device, std::uint32_t column,
                  bool exclusive) noexcept;
  /// Returns true when a payload and its trailer are sent in slots, or by the network's equivalent of them.
  [[nodiscard]] bool goes_without_packet(int peer, std::size_t size) const noexcept;
  /// Returns true when the payload is sent by its post: a packet may hold less than slots do, and has room
  /// for any trailer.
  [[nodiscard]] bool goes_at_once(int peer, std::size_t size) const noexcept {
    return goes_without_packet(peer, size) || size <= context_.limits.packet_bytes;
  }
  Status send_at_once(int peer, std::uint64_t tag, const SendPayload& payload, const MatchTrailer& trailer,
                      const SendOptions& options, Packet* packet, Caller caller) noexcept;
  Status announce(int peer, std::uint64_t tag, const SendPayload& payload, const MatchTrailer& trailer,
                  const SendOptions& options, Caller caller) noexcept;
  Status start_large(int peer, std::uint64_t tag, const SendPayload& payload, const MatchTrailer& trailer,
                     const SendOptions& options, Caller caller, network::SendResult& result) noexcept;
  Status sent(network::SendResult result, int peer, std::uint64_t tag, Bytes bytes,
              const SendOptions& options) noexcept;
  Status ended(bool lost, int peer, std::uint64_t tag, Bytes bytes, const SendOptions& options) noexcept;
  Status send_silently(int peer, std::uint64_t tag, const SendPayload& payload, const MatchTrailer& trailer,
                       const SendOptions& options, Packet* packet, Caller caller) noexcept;
  static MatchRecord* take_posted(MatchingEngine& engine, std::span<std::byte> buffer,
                                  const ReceiveOptions& options) noexcept;
  bool announce_in_order(MatchingEngine& engine, const MatchTrailer& trailer, Unexpected& stored,
                         network::Sink& sink) noexcept;
  [[nodiscard]] static bool is_ordered(std::uint32_t trailer) noexcept;
  void receive_held(MatchingEngine& engine, MatchRecord* first) noexcept;
  bool on_ordered_send(MatchingEngine& engine, std::uint64_t tag, Message& arrival,
                       const MatchTrailer& trailer, network::Sink& sink) noexcept;
  static std::uint32_t match_counted_in_order(detail::SlotBatch& all, MatchRecord& first, std::uint64_t tag,
                                              std::uint32_t kind, MatchingEngine& engine,
                                              ArrivalSequence& stream, OrderedMatching::Hold hold) noexcept;
  template <class Locking>
  std::uint32_t store_unexpected_in_order(detail::SlotBatch& batch, std::uint64_t trailer,
                                          MatchingEngine& engine, ArrivalSequence& stream) noexcept;
  bool on_ordered_sends(detail::SlotBatch& batch, detail::PayloadLender* lender, network::Sink& sink,
                        const Backlog& backlog) noexcept;
  template <class Batch>
  static std::uint32_t prefetch(MatchingEngine& engine, const Batch& batch) noexcept;
  [[nodiscard]] const std::atomic<MatchingEngine*>* fast_path_engine(std::uint32_t trailer) const noexcept;
  void credit_matched(int peer, std::uint32_t trailer, std::uint32_t messages) noexcept;
  template <class Locking, class Batch>
  std::uint32_t match(Batch& batch, std::size_t most, std::uint32_t trailer, MatchingEngine& engine,
                      const Backlog& backlog) noexcept;
  template <class Locking, class Batch>
  static void match_counted(Batch& batch, MatchRecord& first, std::uint64_t tag, std::uint32_t trailer,
                            MatchingEngine& engine, Table::Finder& finder,
                            std::uint32_t* free_records) noexcept;
  template <class Locking, class Batch>
  std::uint32_t store_unexpected(Batch& batch, std::uint32_t trailer, MatchingEngine& engine,
                                 const Backlog& backlog) noexcept;
  enum class Match : std::uint8_t { receive, nothing, refused };
  Match on_send_slow(std::uint64_t tag, Message& arrival, network::Sink& sink) noexcept;
  bool match_one(std::uint64_t tag, Message& arrival) noexcept;
  template <class Locking>
  bool match_one(std::uint64_t tag, Message& arrival, std::uint32_t trailer, MatchingEngine& engine) noexcept;
  /// Tells that a message was longer than the buffer of a receive whose completion object only counts.
  [[gnu::cold]] static void tell_cut(const MatchRecord& record, std::size_t size,
                                     std::size_t length) noexcept;
  static std::size_t fill_receive(const MatchRecord& record, Bytes payload,
                                  Message* arrival = nullptr) noexcept;
  static void fill_counted(const MatchRecord& record, Bytes payload, Message* arrival = nullptr) noexcept;
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
  void consume(CreditLedger& ledger, int peer, std::uint8_t device, std::uint32_t messages,
               bool exclusive) noexcept {
    const std::uint32_t count = ledger.consume(peer, device, messages, exclusive);
    if (count != 0) return_batch(ledger, peer, device, count, exclusive);
  }
  /// Returns `count` credits to the peer, now or later.
  void return_batch(CreditLedger& ledger, int peer, std::uint8_t device, std::uint32_t count,
                    bool exclusive) noexcept {
    if (!return_credits(ledger, peer, device, count, exclusive)) [[unlikely]]
      ledger.keep(peer, device, count);
  }
  bool return_credits(CreditLedger& ledger, int peer, std::uint8_t device, std::uint32_t count,
                      bool exclusive) noexcept;
  [[nodiscard]] std::uint32_t grant_more(CreditLedger& ledger, int peer, std::uint8_t device,
                                         std::uint32_t by) noexcept;
  static void release(MatchingEngine& engine, MatchRecord& record) noexcept;

  template <class Visit>
  void for_each_lane(const Visit& visit) const noexcept;

  const Context& context_;
  detail::DevicePath& path_;
  MatchingEngines& engines_;
  CreditLedgers& ledgers_;
  Rendezvous& rendezvous_;
  SendCredits& credits_;
  const std::uint64_t taken_before_;  // by earlier devices of this index
  std::atomic<bool> exclusive_{false};
  std::atomic<std::uint32_t> waiting_{0};
  concurrent::MpscList<MatchRecord> announced_;  // matched, but no transfer was free
};

}  // namespace weft::core
