// Rendezvous: payloads that are larger than a packet, and sends without a credit.
//
// The sender announces the payload (ready to send, RTS). The receiver finds a buffer, from the allocator of
// an active message's target or from a posted receive. Then it either reads the payload from the sender's
// memory piece by piece, or lets the network fetch it from there, and sends a FIN (finished); or it sends a
// CTS (clear to send) and receives the payload as fragments in packets. Either way the sender's operation
// ends when its buffer is not needed any more.
//
// Sources: send.cpp and receive.cpp (the two halves), admission.cpp (which announced messages get a buffer),
// flow_control.cpp (how many fragments may be outstanding), ways.cpp (read or streamed), cancel.cpp
// (cancelling an RTS), report.cpp (for explanations).
#pragma once

#include "concurrent/high_water.hpp"
#include "concurrent/index_pool.hpp"
#include "concurrent/mpsc_list.hpp"
#include "core/deadline/deadlines.hpp"
#include "core/memory/scatter.hpp"
#include "core/protocol/context.hpp"
#include "core/protocol/rendezvous/learned_ways.hpp"
#include "core/protocol/wire.hpp"
#include "core/protocol/work_list.hpp"

#include <weft/options.hpp>

#include <atomic>
#include <memory>
#include <string>
#include <vector>

namespace weft::core {

class Orphans;

class Rendezvous {
 public:
  explicit Rendezvous(const Context& context);
  /// Releases the buffers of transfers that have not ended.
  ~Rendezvous();

  /// An operation of this rank whose payload is announced by an RTS. `trailer`, unless null, follows the RTS.
  struct Outbound {
    int peer;
    std::uint8_t device;
    Channel channel;
    std::uint64_t word;
    const MatchTrailer* trailer;
    Bytes bytes;
    Operation operation;
    std::uint64_t tag;
    Completion* completion;
    void* user_data;
    MessageClass message_class = MessageClass::normal;
    /// Unless empty, the payload in place of `bytes`: these buffers one behind the other. The list is copied.
    std::span<const Bytes> parts{};
    std::size_t parts_size = 0;  // sum of their sizes
    bool needs_all_ranks = false;
  };
  enum class Start : std::uint8_t { started, no_request, refused };
  /// Sends the RTS of a payload, which this device moves or, when the runtime has one for that, the
  /// PayloadDevice; `result` is the answer of the network: not_ready also while that device is not open.
  Start start(const Outbound& outbound, bool exclusive, network::SendResult& result) noexcept;

  /// The steps of start(), for RTS messages of other forms. reserve() makes an operation that awaits the
  /// peer's answer; it returns kNoRequest when no record or no memory is free. abandon() frees the operation
  /// when its RTS could not be sent; it returns false when the operation has ended meanwhile and was
  /// signalled.
  static constexpr std::uint32_t kNoRequest = concurrent::IndexPool<>::kNone;
  /// With `offers`, the payload is offered to the peer where the network can do that.
  [[nodiscard]] std::uint32_t reserve(const Outbound& outbound, bool offers = false) noexcept;
  /// reserve() for `size` bytes that the caller writes to `staged`; no buffer is borrowed.
  [[nodiscard]] std::uint32_t reserve_staged(int peer, std::size_t size, std::byte*& staged) noexcept;
  /// Returns the copy of the payload, which is made when there is no completion object; nullptr when the
  /// payload is borrowed.
  [[nodiscard]] const std::byte* copy_of_request(std::uint32_t index) const noexcept;
  [[nodiscard]] RequestName name_of_request(std::uint32_t index) const noexcept;
  [[nodiscard]] bool abandon(std::uint32_t index) noexcept;

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
  };
  /// Fetches what fits into the buffer, then signals. Any thread. Returns false when no transfer is free.
  bool fetch(const Claim& claim) noexcept;
  /// fetch() on the runtime's PayloadDevice while that is open.
  bool fetch_payload(const Claim& claim) noexcept;
  /// Tells the sender that its payload will not be fetched. Returns false when no transfer is free.
  bool decline(int peer, const Rts& rts) noexcept { return fetch({peer, rts, 0, {}, nullptr, nullptr}); }

  /// Arrivals of the four channels. on_rts() returns false when no transfer is free; its payload goes to the
  /// runtime's PayloadDevice while that is open.
  bool on_rts(std::uint64_t word, const Message& arrival, network::Sink& sink) noexcept;
  void on_cts(const Message& arrival, network::Sink& sink) noexcept;
  void on_data(std::uint64_t word, Message& arrival, network::Sink& sink) noexcept;
  void on_fin(const Message& arrival, network::Sink& sink) noexcept;

  /// Handles the end of a fetch, for whose token is_fetch() holds.
  void fetch_ended(std::uint64_t token, Outcome outcome) noexcept;
  [[nodiscard]] static constexpr bool is_fetch(std::uint64_t token) noexcept {
    return (token & kFetchToken) != 0;
  }
  /// The number of payloads that the network writes into buffers at the moment. Any thread.
  [[nodiscard]] std::uint32_t landing() const noexcept { return landing_.load(std::memory_order_acquire); }

  /// Sends a cancel for the announced messages whose completion object is due, is_due(completion), or that
  /// need all ranks while `has_failures` says that some have failed. Messages that the peer forgets end as
  /// timed_out or peer_failed; a message that is being fetched ends as it would have. Only for the thread
  /// that may call step(). This function and those below are in cancel.cpp.
  void cancel(const Deadlines& deadlines, bool has_failures, bool exclusive) noexcept;
  /// Reads a cancel of a peer. Returns false when it is invalid.
  static bool read_cancel(const Message& arrival, Cancel& cancel, network::Sink& sink) noexcept;
  /// Forgets a message that waits for memory of an active message's target. Any thread.
  void forget_unexpected(int peer, const Cancel& cancel) noexcept;
  /// Forgets a message that another protocol has stored. Unless no transfer is free, calls take_out(), which
  /// removes the message and returns true when it was there, and then tells the sender.
  template <class TakeOut>
  void forget_queued(int peer, const Cancel& cancel, const TakeOut& take_out) noexcept;
  void on_cancelled(const Message& arrival, bool has_failures, network::Sink& sink) noexcept;
  /// Handles the answer that the peer will never have memory for a message.
  void on_refused(const Message& arrival, network::Sink& sink) noexcept;

  /// Calls `visit(user_data)` for every fetch that has not ended and would have signalled `completion`; only
  /// while no other thread uses this object any more.
  template <class Visit>
  void visit_fetches(const Completion& completion, const Visit& visit) noexcept;

  /// Continues the transfers in progress, one step each. One thread at a time. Returns the number of steps
  /// that made progress.
  std::size_t step(bool exclusive) noexcept;
  /// Returns true when there are operations that step() has to continue.
  [[nodiscard]] bool has_work() const noexcept { return working_.load(std::memory_order_relaxed) != 0; }

  /// The number of records that step(), or a protocol on top of this one, has to continue; for its work
  /// lists.
  [[nodiscard]] std::atomic<std::uint32_t>& working() noexcept { return working_; }
  /// A count that makes awaits_peers() true: other protocols raise it while they wait for peers.
  [[nodiscard]] std::atomic<std::uint32_t>& awaiting() noexcept { return transfers_; }
  /// Returns true when a message in progress may signal the object. Any thread; cheap while there are none.
  [[nodiscard]] bool may_name(const Completion& object) const noexcept;
  /// The object is being destroyed: sends and receives that name it signal `instead`. Any thread.
  void forget_object(const Completion& object, Orphans& instead) noexcept;
  /// The number of operations of this rank that have not ended.
  [[nodiscard]] std::uint32_t outstanding() const noexcept {
    return outstanding_.load(std::memory_order_relaxed);
  }
  /// The number of outstanding operations that send. Once it is 0, their buffers are the posters' again.
  [[nodiscard]] std::uint32_t sending() const noexcept { return sending_.load(std::memory_order_acquire); }
  /// Lists the operations that have not ended, for an explanation. Any thread. In report.cpp.
  void describe(PendingList& list) const noexcept;
  /// The runtime ends: messages that wait for memory are declined from now on.
  void decline_what_has_no_memory() noexcept { declines_.store(true, std::memory_order_relaxed); }
  /// Adds a note about messages that were refused because there never is memory for them. Any thread.
  void describe_refusals(std::vector<std::string>& notes) const;
  /// Ends the operations whose peer has left or failed. `is_over`: by rank, true when everything that had
  /// arrived from a peer that has left has been delivered; the last arrivals may end an operation. Any
  /// thread.
  void end_lost_operations(const std::atomic<bool>* is_over) noexcept;
  /// Returns true when end_lost_operations() might have work.
  [[nodiscard]] bool awaits_peers() const noexcept {
    return outstanding_.load(std::memory_order_relaxed) != 0 ||
           transfers_.load(std::memory_order_relaxed) != 0;
  }

 private:
  static constexpr std::uint64_t kFetchToken = std::uint64_t{1} << 63;  // no index of a record reaches it

  struct Request;      // of the sender
  struct HeldRequest;  // by a thread that handles a message of its peer
  struct Incoming;     // of the receiver
  struct Grants;       // of the receiver, by peer
  struct Admission;    // of the receiver, by peer
  [[nodiscard]] static bool names(const Request& request, const Completion& object) noexcept;
  [[nodiscard]] static bool names(const Incoming& incoming, const Completion& object) noexcept;

  bool take_rts(std::uint64_t word, int peer, const Rts& rts) noexcept;
  void wake() const noexcept;
  void cancel_from(const Rendezvous& mover, const Deadlines& deadlines, bool has_failures,
                   bool exclusive) noexcept;
  void mark_forgotten(int peer, const Cancel& cancel) noexcept;
  void confirm_cancel(std::uint32_t index, int peer, const Cancel& cancel) noexcept;
  /// The request that a peer names, held until state.let_go(), with its state before; or null.
  [[nodiscard]] HeldRequest hold_request(RequestName name, int peer) noexcept;
  /// Returns the announced request that the answer of a peer ends, for the caller to end; nullptr when the
  /// answer was rejected.
  [[nodiscard]] Request* take_answered(const Message& arrival, network::Sink& sink) noexcept;
  void end(Request& request, Outcome outcome) noexcept;
  Step stream(Request& request, bool exclusive) noexcept;
  Step advance(Incoming& incoming, bool exclusive) noexcept;
  Step queue(Incoming& incoming) noexcept;
  Step grant(Grants& grants, bool exclusive) noexcept;
  bool grant_next(Grants& grants, bool exclusive) noexcept;
  void received(Grants& grants, std::size_t size) noexcept;
  [[nodiscard]] Grants& grants_of(const Incoming& incoming) noexcept;
  Step send_answer(const Incoming& incoming, bool exclusive) noexcept;
  void line_up_announced() noexcept;
  Step admit(Admission& admission) noexcept;
  void look_at_waiting(Admission& admission) noexcept;
  void go_on(Incoming& incoming) noexcept;
  [[nodiscard]] static std::int64_t fetched_in_caches() noexcept;
  [[nodiscard]] std::int64_t fetch_limit() const noexcept;
  [[nodiscard]] Admission& admission_of(const Incoming& incoming) noexcept;
  void change_fetching(const Incoming& incoming, std::int64_t change) noexcept;
  void less_to_fetch(const Incoming& incoming, std::size_t size) noexcept;
  bool find_memory(Incoming& incoming) noexcept;
  void report_refusal(const Incoming& incoming, const char* why) noexcept;
  void report_no_room(const Incoming& incoming) noexcept;
  [[nodiscard]] bool read_some(Incoming& incoming) noexcept;
  Step fetch_by_network(Incoming& incoming, bool exclusive) noexcept;
  void ask_instead(Incoming& incoming, const char* why) noexcept;
  Step deliver_and_answer(Incoming& incoming, bool exclusive) noexcept;
  void set_fetching(Incoming& incoming) noexcept;
  void start_time(Incoming& incoming) noexcept;
  void learn(Incoming& incoming, LearnedWays::End how) noexcept;
  void deliver(Incoming& incoming, Outcome outcome = Outcome::ok) noexcept;
  void begin(Incoming& incoming) noexcept;
  void end_lost(Incoming& incoming, const std::atomic<bool>* is_over) noexcept;
  /// Returns true when nothing more will arrive from the peer.
  [[nodiscard]] bool is_lost(int peer, const std::atomic<bool>* is_over) const noexcept;
  void lose(Incoming& incoming) noexcept;
  void free(Incoming& incoming) noexcept;
  [[nodiscard]] network::Outgoing answer(const Incoming& incoming, Channel channel) const noexcept;

  const Context& context_;
  concurrent::IndexPool<> free_requests_;
  concurrent::IndexPool<> free_incoming_;
  concurrent::HighWater used_requests_;
  concurrent::HighWater used_incoming_;  // by receives
  std::unique_ptr<Request[]> requests_;
  std::unique_ptr<Incoming[]> incoming_;
  std::unique_ptr<Grants[]> grants_;
  std::unique_ptr<Admission[]> admissions_;
  const std::unique_ptr<LearnedWays> ways_;  // only with Transfer::automatic
  const std::int64_t cached_bytes_ = fetched_in_caches();
  alignas(64) std::atomic<std::uint32_t> working_{0};
  std::atomic<std::uint32_t> outstanding_{0};
  std::atomic<std::uint32_t> sending_{0};  // the sending ones of these
  std::atomic<bool> declines_{false};      // messages that wait for memory are declined
  std::atomic<std::uint32_t> landing_{0};
  std::atomic<std::uint32_t> transfers_{0};  // of the receiver, in use; and what other protocols await
  WorkList<Request> streaming_;
  WorkList<Incoming> advancing_;
  concurrent::MpscList<Incoming> announced_;
  WorkList<Admission> admitting_;
  WorkList<Grants> granting_;
  std::int64_t admitting_peers_ = 0;            // in admitting_; of step() alone
  std::uint64_t no_room_ = 0;                   // messages that have waited for memory; of step() alone
  std::atomic<std::uint64_t> refused_{0};       // messages for which there is never memory
  std::atomic<std::uint64_t> refused_size_{0};  // size of the last of them
  std::atomic<int> refused_peer_{0};
};

template <class TakeOut>
void Rendezvous::forget_queued(int peer, const Cancel& cancel, const TakeOut& take_out) noexcept {
  // Taken first, so that the cancel can be answered. Without a transfer the sender sends the cancel again.
  const std::uint32_t index = free_incoming_.take();
  if (index == concurrent::IndexPool<>::kNone) return;
  if (take_out())
    confirm_cancel(index, peer, cancel);
  else
    free_incoming_.put(index);
}

}  // namespace weft::core
