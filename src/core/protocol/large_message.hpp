// Rendezvous: payloads that are larger than a packet, and sends without a credit.
//
// The sender announces the payload. The receiver finds a buffer, from the allocator of an active message's
// target or from a posted receive, and then either reads the payload from the sender's memory piece by piece
// and says so (finished), or asks for it (clear_to_send) and receives it as chunks through packets. Either
// way the sender's operation ends when its buffer is not needed any more.
#pragma once

#include "concurrent/index_pool.hpp"
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
  };
  enum class Start : std::uint8_t { started, no_request, refused };
  /// Announces a payload; `result` says what the network answered.
  Start start(const Outbound& outbound, bool exclusive, network::SendResult& result) noexcept;

  /// A receive that has met an announcement.
  struct Claim {
    int peer;
    LargeMessage announcement;
    std::uint64_t tag;
    std::span<std::byte> buffer;
    Completion* completion;
    void* user_data;
  };
  /// Fetches what fits into the buffer, then signals. Any thread. False: no transfer is free.
  bool fetch(const Claim& claim) noexcept;
  /// Tells the sender that nobody will fetch its payload. False: no transfer is free.
  bool decline(int peer, const LargeMessage& announcement) noexcept {
    return fetch({peer, announcement, 0, {}, nullptr, nullptr});
  }

  /// Arrivals of the four channels. on_announcement: false when no transfer is free.
  bool on_announcement(std::uint64_t word, const Message& arrival, network::Sink& sink) noexcept;
  void on_clear_to_send(const Message& arrival, network::Sink& sink) noexcept;
  void on_chunk(std::uint64_t word, const Message& arrival, network::Sink& sink) noexcept;
  void on_finished(const Message& arrival, network::Sink& sink) noexcept;

  /// Continues what is under way, one step each. One thread at a time. Returns how many steps did something.
  std::size_t step(bool exclusive) noexcept;
  /// Operations that step() has to continue.
  [[nodiscard]] bool has_work() const noexcept { return working_.load(std::memory_order_relaxed) != 0; }

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

  [[nodiscard]] Request* find_request(RequestName name, int peer) noexcept;
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
  std::atomic<std::uint32_t> transfers_{0};  // of the receiver, in use
  WorkList<Request> streaming_;
  WorkList<Incoming> advancing_;
  WorkList<Grants> granting_;
};

}  // namespace weft::core
