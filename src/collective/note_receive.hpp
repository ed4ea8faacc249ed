// Receives the notes of the roll call in Collectives that expose no object.
#pragma once

#include "collective/calls/roll_call.hpp"

#include <weft/completion/completion.hpp>
#include <weft/completion/graph.hpp>

#include <array>
#include <atomic>
#include <cstddef>
#include <optional>

namespace weft::collective {

class CollectiveContext;

/// A receive of a message from any rank, which is always posted.
class NoteReceive final : public Completion {
 public:
  explicit NoteReceive(CollectiveContext& context) noexcept : context_(context) {}
  ~NoteReceive() override { stop(); }

  void begin();
  /// Cancels the receive, for good; it is not signalled any more.
  void stop() noexcept {
    is_stopped_.store(true, std::memory_order_relaxed);
    retire();
    receive_.reset();
  }
  /// The receive has ended.
  void signal(Message& message) noexcept override;
  [[nodiscard]] bool ready() const noexcept override { return false; }

 private:
  CollectiveContext& context_;
  std::optional<Graph> receive_;  // which progress posts again where not even the backlog takes it
  std::atomic<bool> goes_on_{false};
  std::atomic<bool> is_stopped_{false};
  alignas(16) std::array<std::byte, RollCall::kNoteBytes> buffer_{};
};

}  // namespace weft::collective
