// One-sided accesses by messages: the target's side. Everything that the initiator sends is checked.
//
// Sources: target.cpp (puts, gets, answers), target_atomic.cpp (atomic operations).
#pragma once

#include "core/backlog/caller.hpp"
#include "core/memory/indexed_records.hpp"
#include "core/protocol/context.hpp"
#include "core/protocol/one_sided/one_sided_access.hpp"
#include "core/protocol/wire.hpp"
#include "core/protocol/work_list.hpp"

#include <atomic>

namespace weft::core {

class AccessTarget {
 public:
  AccessTarget(const Context& context, OneSidedCounts& counts);

  /// Arrivals of the channels put, get and atomic. Return false when the message cannot be accepted now.
  bool on_put(std::uint64_t word, const Message& arrival, network::Sink& sink) noexcept;
  bool on_get(const Message& arrival, network::Sink& sink) noexcept;
  bool on_atomic(std::uint64_t word, const Message& arrival, network::Sink& sink) noexcept;
  /// The network reports a put with signal.
  void immediate_arrived(int peer, std::uint64_t immediate, std::size_t bytes) noexcept;
  /// An access of the peer has ended: signals the object that it names.
  void signal(std::uint64_t word, Operation operation, int peer) noexcept;

  /// Gives the answers that networks have not accepted. One thread at a time. Returns the number of them that
  /// made progress.
  std::size_t step(Caller caller) noexcept;

 private:
  /// An answer that still has to be sent to a peer.
  struct Answer {
    Answer* next = nullptr;
    std::uint32_t index = 0;
    int peer = 0;
    std::uint8_t device = 0;
    Channel channel = Channel::access_completed;
    RequestName request{};
    Outcome outcome = Outcome::ok;
    AccessPiece wanted{};    // of get_data
    std::uint64_t old = 0;   // of atomic_completed
    std::uint64_t word = 0;  // of put_signal: a signal of the peer, for an object that is not exposed yet
  };

  [[nodiscard]] std::byte* find(const AccessPiece& piece) const noexcept;
  [[nodiscard]] bool store(const AccessPiece& piece, std::byte* memory, const std::byte* from) const noexcept;
  [[nodiscard]] bool load(const AccessPiece& piece, std::byte* to, const std::byte* memory) const noexcept;
  [[nodiscard]] Answer* take_answer(bool urgent) noexcept;
  Step give(Answer& answer, Caller caller) noexcept;
  network::SendResult give_data(const AccessPiece& wanted, const network::Outgoing& outgoing,
                                Caller caller) noexcept;
  void give_or_store(Answer& answer) noexcept;
  void free(Answer& answer) noexcept;

  const Context& context_;
  OneSidedCounts& counts_;
  const PieceSizes sizes_;
  IndexedRecords<Answer> answers_;
  std::atomic<std::uint32_t> answers_in_use_{0};
  WorkList<Answer> giving_;
};

}  // namespace weft::core
