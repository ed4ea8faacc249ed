// Rendezvous: active messages that are larger than a packet.
//
// The sender announces the payload (large_message). The receiver asks the target's allocator for a buffer
// and then either reads the payload from the sender's memory piece by piece and says so (finished), or asks
// for it (clear_to_send) and receives it as chunks through packets. Either way the sender's operation ends
// when its buffer is not needed any more.
#pragma once

#include "concurrent/index_pool.hpp"
#include "concurrent/intake.hpp"
#include "core/protocol/context.hpp"
#include "core/protocol/wire.hpp"

#include <weft/options.hpp>

#include <atomic>
#include <memory>

namespace weft::core {

class LargeMessages {
 public:
  explicit LargeMessages(const Context& context);
  /// Gives back the buffers of transfers that have not ended.
  ~LargeMessages();

  enum class Start : std::uint8_t { started, no_request, refused };
  /// Announces a payload; `result` says what the network answered.
  Start start(int peer, RemoteCompletion remote, Bytes bytes, const ActiveMessageOptions& options,
              bool exclusive, network::SendResult& result) noexcept;

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
  /// Ends the operations whose peer has left.
  void end_lost_operations() noexcept;

 private:
  struct Request;   // of the sender
  struct Incoming;  // of the receiver
  enum class Step : std::uint8_t { idle, moved, finished };

  [[nodiscard]] Request* find_request(RequestName name, int peer) noexcept;
  void end(Request& request, Outcome outcome) noexcept;
  Step stream(Request& request, bool exclusive) noexcept;
  Step advance(Incoming& incoming, bool exclusive) noexcept;
  Step send_answer(const Incoming& incoming, bool exclusive) noexcept;
  Step find_memory(Incoming& incoming) noexcept;
  void deliver(Incoming& incoming) noexcept;
  void free(Incoming& incoming) noexcept;
  [[nodiscard]] network::Outgoing answer(const Incoming& incoming, Channel channel) const noexcept;

  const Context& context_;
  concurrent::IndexPool<> free_requests_;
  concurrent::IndexPool<> free_incoming_;
  std::unique_ptr<Request[]> requests_;
  std::unique_ptr<Incoming[]> incoming_;
  alignas(64) std::atomic<std::uint32_t> working_{0};
  std::atomic<std::uint32_t> outstanding_{0};
  concurrent::Intake<Request> ready_requests_;
  concurrent::Intake<Incoming> ready_incoming_;
  Request* streaming_ = nullptr;   // owned by step()
  Incoming* advancing_ = nullptr;  // likewise
};

}  // namespace weft::core
