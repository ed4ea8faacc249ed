// The sender's half of a rendezvous: from the announcement of a payload to the end of its request.
//
// Sources: rendezvous_sender.cpp (announces, ends), send_fragments.cpp (answers of the peer, and fragments),
// landing.cpp (payloads that are put), sender_records.cpp (what others look for among the requests:
// deadlines, lost peers, objects, explanations).
#pragma once

#include "concurrent/index_pool.hpp"
#include "core/backlog/caller.hpp"
#include "core/deadline/deadlines.hpp"
#include "core/memory/indexed_records.hpp"
#include "core/protocol/context.hpp"
#include "core/protocol/rendezvous/counts.hpp"
#include "core/protocol/rendezvous/rendezvous_request.hpp"
#include "core/protocol/wire.hpp"
#include "core/protocol/work_list.hpp"

#include <weft/options.hpp>

#include <atomic>
#include <span>

namespace weft::core {

class DetachedOperations;

class RendezvousSender {
 public:
  RendezvousSender(const Context& context, RendezvousCounts& counts);

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
    network::RegionName region{};  // of this rank, that holds `bytes`; generation 0: not known
    /// Unless empty, the payload in place of `bytes`: these buffers one behind the other. The list is copied.
    std::span<const Bytes> parts{};
    std::size_t parts_size = 0;  // sum of their sizes
    bool needs_all_ranks = false;
    bool is_synchronous = false;  // a send that is not received ends as refused
    /// Unless null, holds the payload, and is taken over when the operation starts.
    Packet* packet = nullptr;
  };
  enum class Start : std::uint8_t { started, no_request, refused };
  /// Sends the RTS of a payload from the device of `poster`, for this one to move; `result` is the answer of
  /// the network.
  Start start(const Outbound& outbound, const Context& poster, Caller caller,
              network::SendResult& result) noexcept;

  /// The steps of start(), for RTS messages of other forms. reserve() makes an operation that awaits the
  /// peer's answer; it returns kNoRequest when no record or no memory is free. abandon() frees the operation
  /// when its RTS could not be sent, and gives its packet back; it returns false when the operation has ended
  /// meanwhile and was signalled.
  static constexpr std::uint32_t kNoRequest = concurrent::IndexPool<>::kNone;
  /// With `offers`, the payload is offered to the peer where the network can do that.
  [[nodiscard]] std::uint32_t reserve(const Outbound& outbound, bool offers = false) noexcept;
  /// reserve() for `size` bytes that the caller writes to `staged`; no buffer is borrowed.
  [[nodiscard]] std::uint32_t reserve_staged(int peer, std::size_t size, std::byte*& staged) noexcept;
  /// Returns the copy of the payload, which is made when there is no completion object; nullptr when the
  /// payload is borrowed.
  [[nodiscard]] const std::byte* copy_of_request(std::uint32_t index) const noexcept;
  [[nodiscard]] RequestName name_of_request(std::uint32_t index) const noexcept;
  [[nodiscard]] bool abandon(std::uint32_t index, Packet* packet = nullptr) noexcept;

  /// Answers of peers: room for the payload; its end; that there will never be memory for it; and that it was
  /// forgotten, as a cancel asked.
  void on_cts(const Message& arrival, network::Sink& sink) noexcept;
  void on_clear_to_put(const Message& arrival, network::Sink& sink) noexcept;
  void on_fin(const Message& arrival, network::Sink& sink) noexcept;
  void on_refused(const Message& arrival, network::Sink& sink) noexcept;
  void on_cancelled(const Message& arrival, bool has_failures, network::Sink& sink) noexcept;

  /// Returns true while the network puts a payload into a landing. Any thread.
  [[nodiscard]] bool is_putting() const noexcept;
  /// Handles the end of a put, for whose token is_put() holds.
  void put_completed(std::uint64_t token, Outcome outcome) noexcept;
  [[nodiscard]] static constexpr bool is_put(std::uint64_t token) noexcept {
    return (token & kPutToken) != 0;
  }

  /// Streams the payloads that peers have asked for, a step each. One thread at a time. Returns the number of
  /// steps that made progress.
  std::size_t step(Caller caller) noexcept;

  /// The number of outstanding operations that send. Once it is 0, their buffers are the posters' again.
  [[nodiscard]] std::uint32_t sending() const noexcept { return sending_.load(std::memory_order_acquire); }

  /// Sends a cancel from the device of `poster`, as the RTS was, for the announced messages whose completion
  /// object is due, is_due(completion), or that need ranks of which some have failed, if `has_failures`.
  void cancel(const Context& poster, const Deadlines& deadlines, bool has_failures,
              Caller caller) const noexcept;
  /// Ends the announced messages whose peer has left; see is_lost(). Any thread.
  void complete_lost(const std::atomic<bool>* is_over) noexcept;
  /// Returns true when a message in progress may signal the object. Any thread.
  [[nodiscard]] bool may_name(const Completion& object) const noexcept;
  /// The object is being destroyed: messages that name it signal `instead`. Any thread.
  void forget_object(const Completion& object, DetachedOperations& instead) noexcept;
  /// Lists the messages that have not ended, for an explanation. Any thread.
  void describe(PendingList& list) const noexcept;

 private:
  /// Whether a send to this engine waits for a receive that a rank may have given up because another has
  /// failed.
  [[nodiscard]] bool is_given_up(std::uint16_t engine, std::uint64_t tag) const noexcept;
  [[nodiscard]] bool is_collective(std::uint16_t engine, std::uint64_t tag) const noexcept;
  using Request = RendezvousRequest;
  static constexpr std::uint64_t kPutToken = std::uint64_t{1} << 62;  // no index of a record reaches it

  /// What reserve() and reserve_staged() do once the record is filled.
  void announce(Request& request) noexcept;
  /// The request that a peer names, held until state.let_go(), with its state before; or null.
  [[nodiscard]] HeldRequest hold_request(RequestName name, int peer) noexcept;
  /// Returns the announced request that the answer of a peer ends, for the caller to end; nullptr when the
  /// answer was rejected.
  [[nodiscard]] Request* take_answered(const Message& arrival, network::Sink& sink) noexcept;
  void end(Request& request, Outcome outcome) noexcept;
  Step stream(Request& request, Caller caller) noexcept;
  Step put(Request& request) noexcept;
  [[nodiscard]] static bool names(const Request& request, const Completion& object) noexcept;

  const Context& context_;
  RendezvousCounts& counts_;
  IndexedRecords<Request> requests_;
  std::atomic<std::uint32_t> sending_{0};  // the outstanding operations that are ours
  WorkList<Request> streaming_;
};

}  // namespace weft::core
