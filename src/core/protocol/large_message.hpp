// Rendezvous: payloads that are larger than a packet, and sends without a credit.
//
// The sender announces the payload. The receiver finds a buffer, from the allocator of an active message's
// target or from a posted receive, and then either reads the payload from the sender's memory piece by piece
// and says so (finished), or asks for it (clear_to_send) and receives it as chunks through packets. Either
// way the sender's operation ends when its buffer is not needed any more.
#pragma once

#include "concurrent/index_pool.hpp"
#include "core/deadline/deadlines.hpp"
#include "core/memory/scatter.hpp"
#include "core/protocol/context.hpp"
#include "core/protocol/wire.hpp"
#include "core/protocol/work_list.hpp"

#include <weft/options.hpp>

#include <atomic>
#include <memory>

namespace weft::core {

class LargeMessages {
 public:
  explicit LargeMessages(const Context& context);
  /// Gives back the buffers of transfers that have not ended.
  ~LargeMessages();

  /// An own operation whose payload is to be announced. With `trailer`, that goes behind the announcement.
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
    /// Unless empty, the payload: these one behind the other, instead of `bytes`. The list is copied.
    std::span<const Bytes> parts{};
    std::size_t parts_size = 0;  // of all of them
    bool needs_all_ranks = false;
  };
  enum class Start : std::uint8_t { started, no_request, refused };
  /// Announces a payload, which this device moves or, when the runtime has one for that, the PayloadDevice;
  /// `result` says what the network answered: not_ready as well while that device is not open.
  Start start(const Outbound& outbound, bool exclusive, network::SendResult& result) noexcept;

  /// The parts of start(), for announcements of other forms. reserve() makes an own operation that awaits the
  /// peer's answer; kNoRequest: no record or no memory is free. abandon() takes it back, because it could not
  /// be announced; false: it has ended meanwhile and was signalled.
  static constexpr std::uint32_t kNoRequest = concurrent::IndexPool<>::kNone;
  [[nodiscard]] std::uint32_t reserve(const Outbound& outbound) noexcept;
  /// The same for `size` bytes that the caller puts together at `staged` and that nobody borrows.
  [[nodiscard]] std::uint32_t reserve_staged(int peer, std::size_t size, std::byte*& staged) noexcept;
  [[nodiscard]] RequestName name_of_request(std::uint32_t index) const noexcept;
  [[nodiscard]] bool abandon(std::uint32_t index) noexcept;

  /// A receive that has met an announcement.
  struct Claim {
    int peer;
    LargeMessage announcement;
    std::uint64_t tag;
    std::span<std::byte> buffer;
    Completion* completion;
    void* user_data;
    /// Unless empty: where the payload goes, instead of to the memory of `buffer`, whose size still says how
    /// much of it is wanted. Stays until the completion object has been signalled.
    std::span<const ScatterPart> parts{};
  };
  /// Fetches what fits into the buffer, then signals. Any thread. False: no transfer is free.
  bool fetch(const Claim& claim) noexcept;
  /// The same on the runtime's PayloadDevice while that is open.
  bool fetch_payload(const Claim& claim) noexcept;
  /// Tells the sender that nobody will fetch its payload. False: no transfer is free.
  bool decline(int peer, const LargeMessage& announcement) noexcept {
    return fetch({peer, announcement, 0, {}, nullptr, nullptr});
  }

  /// Arrivals of the four channels. on_announcement: false when no transfer is free; its payload comes to the
  /// runtime's PayloadDevice while that is open.
  bool on_announcement(std::uint64_t word, const Message& arrival, network::Sink& sink) noexcept;
  void on_clear_to_send(const Message& arrival, network::Sink& sink) noexcept;
  void on_chunk(std::uint64_t word, Message& arrival, network::Sink& sink) noexcept;
  void on_finished(const Message& arrival, network::Sink& sink) noexcept;

  /// Asks the peers of announced messages whose completion object is one for which is_due(completion) holds,
  /// or that need all ranks while `has_failures` says that these are not there, to forget them. Those that do
  /// end as timed_out or peer_failed; a message that is being fetched ends as it would have. By whoever may
  /// step(). In large_message_withdraw.cpp, as what follows.
  void withdraw(const Deadlines& deadlines, bool has_failures, bool exclusive) noexcept;
  /// Reads what a peer wants to be forgotten. False: that is nothing.
  static bool read_withdraw(const Message& arrival, Withdraw& withdraw, network::Sink& sink) noexcept;
  /// A message for the memory of an active message's target, which has none yet. Any thread.
  void forget_arrived(int peer, const Withdraw& withdraw) noexcept;
  /// A message that somebody else has kept. Unless no transfer is free, calls take_out(), which says whether
  /// it was there and is not any more, and then tells the sender.
  template <class TakeOut>
  void forget_kept(int peer, const Withdraw& withdraw, const TakeOut& take_out) noexcept;
  void on_withdrawn(const Message& arrival, bool has_failures, network::Sink& sink) noexcept;

  /// Calls `visit(user_data)` for every fetch that has not ended and would have signalled `completion`; only
  /// while nothing is under way any more.
  template <class Visit>
  void visit_fetches(const Completion& completion, const Visit& visit) noexcept;

  /// Continues what is under way, one step each. One thread at a time. Returns how many steps did something.
  std::size_t step(bool exclusive) noexcept;
  /// Operations that step() has to continue.
  [[nodiscard]] bool has_work() const noexcept { return working_.load(std::memory_order_relaxed) != 0; }

  /// How many records step(), or a protocol on top of this one, has to continue; for its work lists.
  [[nodiscard]] std::atomic<std::uint32_t>& working() noexcept { return working_; }
  /// A count that makes awaits_peers() hold: there is something else to look at from time to time.
  [[nodiscard]] std::atomic<std::uint32_t>& awaiting() noexcept { return transfers_; }
  /// Own operations that have not ended.
  [[nodiscard]] std::uint32_t outstanding() const noexcept {
    return outstanding_.load(std::memory_order_relaxed);
  }
  /// Lists what has not ended, for an explanation. Any thread. In large_message_report.cpp.
  void describe(PendingList& list) const noexcept;
  /// Ends the operations whose peer has left. Any thread.
  void end_lost_operations() noexcept;
  /// Whether end_lost_operations() might have something to do.
  [[nodiscard]] bool awaits_peers() const noexcept {
    return outstanding_.load(std::memory_order_relaxed) != 0 ||
           transfers_.load(std::memory_order_relaxed) != 0;
  }

 private:
  struct Request;   // of the sender
  struct Incoming;  // of the receiver
  struct Grants;    // of the receiver, by peer

  bool take_announcement(std::uint64_t word, int peer, const LargeMessage& announcement) noexcept;
  void wake() const noexcept;
  void withdraw_from(const LargeMessages& mover, const Deadlines& deadlines, bool has_failures,
                     bool exclusive) noexcept;
  void mark_forgotten(int peer, const Withdraw& withdraw) noexcept;
  void tell_forgotten(std::uint32_t index, int peer, const Withdraw& withdraw) noexcept;
  [[nodiscard]] Request* find_request(RequestName name, int peer) noexcept;
  /// The announced request that the answer of a peer ends, for the caller to end; nullptr: it was rejected.
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
  Step find_memory(Incoming& incoming) noexcept;
  [[nodiscard]] bool read_some(Incoming& incoming) noexcept;
  void set_fetching(Incoming& incoming) noexcept;
  void deliver(Incoming& incoming, Outcome outcome = Outcome::ok) noexcept;
  void begin(Incoming& incoming) noexcept;
  void end_lost(Incoming& incoming) noexcept;
  void lose(Incoming& incoming) noexcept;
  void free(Incoming& incoming) noexcept;
  [[nodiscard]] network::Outgoing answer(const Incoming& incoming, Channel channel) const noexcept;

  const Context& context_;
  concurrent::IndexPool<> free_requests_;
  concurrent::IndexPool<> free_incoming_;
  std::unique_ptr<Request[]> requests_;
  std::unique_ptr<Incoming[]> incoming_;
  std::unique_ptr<Grants[]> grants_;
  alignas(64) std::atomic<std::uint32_t> working_{0};
  std::atomic<std::uint32_t> outstanding_{0};
  std::atomic<std::uint32_t> transfers_{0};  // of the receiver, in use; and what others await
  WorkList<Request> streaming_;
  WorkList<Incoming> advancing_;
  WorkList<Grants> granting_;
};

template <class TakeOut>
void LargeMessages::forget_kept(int peer, const Withdraw& withdraw, const TakeOut& take_out) noexcept {
  // First, so that what was taken out can be answered. Without one the sender asks again.
  const std::uint32_t index = free_incoming_.take();
  if (index == concurrent::IndexPool<>::kNone) return;
  if (take_out())
    tell_forgotten(index, peer, withdraw);
  else
    free_incoming_.put(index);
}

}  // namespace weft::core
