// The transfers of the receiver's half of a rendezvous: their records, those that step() moves forward, and
// the way that each payload comes by.
#pragma once

#include "core/backlog/caller.hpp"
#include "core/memory/indexed_records.hpp"
#include "core/protocol/context.hpp"
#include "core/protocol/rendezvous/counts.hpp"
#include "core/protocol/rendezvous/learned_ways.hpp"
#include "core/protocol/rendezvous/transfer.hpp"
#include "core/protocol/work_list.hpp"

#include <memory>

namespace weft::core {

class DetachedOperations;

class Transfers {
 public:
  Transfers(const Context& context, RendezvousCounts& counts);
  /// Releases the buffers of transfers that have not ended.
  ~Transfers();
  Transfers(const Transfers&) = delete;
  Transfers& operator=(const Transfers&) = delete;

  /// A record that is free, or nullptr. The caller fills it, and either begins it or puts it back.
  [[nodiscard]] IncomingTransfer* take() noexcept { return records_.take(); }
  void put_back(IncomingTransfer& incoming) noexcept { records_.put(incoming); }
  /// The transfer signals a completion object when it ends.
  void note_named(const IncomingTransfer& incoming) noexcept;
  /// From here on the transfer counts until it is freed. The caller hands it to whoever is next.
  void begin(IncomingTransfer& incoming) noexcept;
  void free(IncomingTransfer& incoming) noexcept;

  [[nodiscard]] const IndexedRecords<IncomingTransfer>& records() const noexcept { return records_; }

  /// The transfer moves forward with step().
  void advance(IncomingTransfer& incoming) noexcept { advancing_.add(incoming); }
  template <class Advance>
  std::size_t step(const Advance& advance) noexcept {
    return advancing_.run(counts_.working, advance);
  }

  /// Chooses how the payload comes, and sets the state that goes with it.
  void choose_way(IncomingTransfer& incoming) noexcept;
  /// The payload begins to move.
  void start_time(IncomingTransfer& incoming) const noexcept;
  /// The payload has come, or does not.
  void learn(IncomingTransfer& incoming, LearnedWays::End how) noexcept;

  /// Calls `visit(user_data)` for every receive that has not ended and would have signalled `completion`;
  /// only while no other thread uses this object any more.
  template <class Visit>
  void visit(const Completion& completion, const Visit& visit) noexcept;
  /// Returns true when a transfer may signal the object. Any thread.
  [[nodiscard]] bool may_name(const Completion& object) const noexcept;
  /// The object is being destroyed: receives that name it signal `instead`. Any thread.
  void forget_object(const Completion& object, DetachedOperations& instead) noexcept;
  /// How many have begun and are not answered yet. Looks at all records. Any thread.
  [[nodiscard]] std::size_t in_progress() const noexcept;
  /// Lists the transfers for an explanation. Any thread.
  void describe(PendingList& list) const noexcept;

 private:
  using Incoming = IncomingTransfer;

  [[nodiscard]] static bool names(const Incoming& incoming, const Completion& object) noexcept;

  const Context& context_;
  RendezvousCounts& counts_;
  IndexedRecords<Incoming> records_;
  const std::unique_ptr<LearnedWays> ways_;  // only with Transfer::automatic
  WorkList<Incoming> advancing_;
};

template <class Visit>
void Transfers::visit(const Completion& completion, const Visit& visit) noexcept {
  for (const Incoming& incoming : records_) {
    const Incoming::State state = incoming.state.load(std::memory_order_acquire);
    if (state != Incoming::State::free && state != Incoming::State::answering && incoming.is_receive &&
        incoming.completion == &completion)
      visit(incoming.user_data);
  }
}

}  // namespace weft::core
