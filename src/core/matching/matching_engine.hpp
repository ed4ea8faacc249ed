// A matching engine: matches sends that arrive with receives that are posted.
#pragma once

#include "core/completion/object_end.hpp"
#include "core/diagnosis/pending.hpp"
#include "core/matching/engine_keys.hpp"
#include "core/matching/match_storage.hpp"
#include "core/matching/matching_contexts.hpp"
#include "core/matching/matching_setup.hpp"
#include "core/matching/needed_ranks.hpp"
#include "core/matching/observation/match_observer.hpp"
#include "core/matching/ordered_matching.hpp"
#include "core/matching/receive_expectation.hpp"
#include "core/matching/scattered_receive.hpp"
#include "core/matching/table/match_record.hpp"
#include "core/matching/table/match_table.hpp"

#include <weft/attributes.hpp>
#include <weft/options.hpp>

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <span>

namespace weft::core {

class ImmediateCompletions;

class MatchingEngine {
 public:
  using Table = MatchTable<MatchRecord>;

  /// `id`: from kMatchingEngines on, the engine is ordered. Only ordered engines may have an algorithm, whose
  /// reserve() may throw.
  MatchingEngine(std::uint16_t id, const MatchingLimits& limits, const MatchingSetup& setup);
  MatchingEngine(std::uint16_t id, const MatchingLimits& limits, bool serial)
      : MatchingEngine(id, limits, MatchingSetup{.serial = serial}) {}
  MatchingEngine(const MatchingEngine&) = delete;
  MatchingEngine& operator=(const MatchingEngine&) = delete;

  [[nodiscard]] std::uint16_t id() const noexcept { return id_; }
  [[nodiscard]] bool is_serial() const noexcept { return serial_; }
  /// Returns false when every post and arrival has to take the slow path, because an algorithm or an observer
  /// sees it.
  [[nodiscard]] bool has_fast_path() const noexcept { return has_fast_path_; }
  /// Returns true when the engine already is what an engine made with this setup would be.
  [[nodiscard]] bool fits(const MatchingSetup& setup) const noexcept {
    return serial_ == (setup.serial && setup.has_fast_path()) && algorithm() == setup.algorithm &&
           (observer_ != nullptr) == setup.is_observed();
  }
  [[nodiscard]] std::shared_ptr<MatchingAlgorithm> algorithm() const noexcept {
    return order_ != nullptr ? order_->algorithm() : nullptr;
  }
  /// All zeros when nobody has asked for counters.
  [[nodiscard]] MatchingCounters counters() const noexcept {
    return observer_ != nullptr ? observer_->counters() : MatchingCounters{};
  }
  [[nodiscard]] Table& table() noexcept { return table_; }
  /// The order of an ordered engine, which guards its table(); nullptr for other engines.
  [[nodiscard]] OrderedMatching* order() noexcept { return order_.get(); }
  [[nodiscard]] MatchStorage& storage() noexcept { return storage_; }
  [[nodiscard]] EngineKeys& keys() noexcept { return keys_; }
  [[nodiscard]] const EngineKeys& keys() const noexcept { return keys_; }
  /// What posts of receives expect, and learn.
  [[nodiscard]] ReceiveExpectation& expectation() noexcept { return expectation_; }

  /// The pool of scattered receives. Made at the first call, which allocates; throws weft::Error when there
  /// is no address space. Any thread.
  [[nodiscard]] ScatteredReceive::Pool& scattered_receives();

  [[nodiscard]] MatchingEngineAttributes attributes() const noexcept {
    return {id_,
            serial_,
            keys_.has_function(),
            order_ != nullptr ? MatchOrder::ordered : MatchOrder::unordered,
            table_.buckets(),
            storage_.records().limit()};
  }

  [[nodiscard]] ReceiveHandle handle(const MatchRecord& record) const noexcept {
    return {record.index(), record.generation(), id_};
  }
  /// Table::pair() of an unordered engine, for the slow paths.
  template <class Make>
  [[nodiscard]] Table::Result pair(MatchSide side, const MatchKey& key, Make&& make) noexcept {
    if (observer_ == nullptr) [[likely]]
      return table_.pair(side, key, make);
    return pair_observed(side, key, make);
  }
  /// Unlinks and returns the oldest message with a key, or returns nullptr. For unordered engines.
  [[nodiscard]] MatchRecord* take_message(const MatchKey& key) noexcept;

  // Fast paths of receives, inlined. Locking: NoLock when the engine is serial, else TryLock.

  /// Posts a receive when its bucket has room for it at once, and receives were posted with its completion
  /// object, which is not null, before. Returns false, without effect, when it does not apply; the caller
  /// then falls back to pair().
  template <class Locking>
  [[nodiscard, gnu::always_inline]] inline bool try_post(const MatchKey& key, std::span<std::byte> buffer,
                                                         Completion* completion,
                                                         void* user_data = nullptr) noexcept {
    if (!detail::NamedCompletion::is_noted(*completion)) [[unlikely]]
      return false;
    return table_.try_add<Locking, MatchSide::posted>(
        key, [&]() __attribute__((always_inline)) {
          return storage_.take_receive<Locking>(buffer, completion, user_data);
        });
  }
  /// try_post() with options, which are read only when there is room: they may lie in memory.
  template <class Locking>
  [[nodiscard, gnu::always_inline]] inline bool try_post(const MatchKey& key,
                                                         const std::span<std::byte>& buffer,
                                                         const ReceiveOptions& options) noexcept {
    if (!detail::NamedCompletion::is_noted(*options.completion)) [[unlikely]]
      return false;
    return table_.try_add<Locking, MatchSide::posted>(
        key, [&]() __attribute__((always_inline)) {
          MatchRecord* const record =
              storage_.take_receive<Locking>(buffer, options.completion, options.user_data);
          if (record != nullptr && options.handle != nullptr) *options.handle = handle(*record);
          return record;
        });
  }
  /// try_post() on an ordered engine, for a key without wildcards. Returns false, without effect, when it
  /// does not apply; the caller then falls back to OrderedMatching::post().
  template <class Locking>
  [[nodiscard, gnu::always_inline]] inline bool try_post_in_order(const MatchKey& key,
                                                                  std::span<std::byte> buffer,
                                                                  Completion* completion,
                                                                  void* user_data = nullptr,
                                                                  ReceiveHandle* named = nullptr) noexcept {
    if (!detail::NamedCompletion::is_noted(*completion)) [[unlikely]]
      return false;
    OrderedMatching& order = *order_;
    const OrderedMatching::Hold hold = order.try_enter_decided<Locking>();
    if (hold == nullptr) [[unlikely]]
      return false;
    const bool is_posted = order.try_post(
        key, [&]() __attribute__((always_inline)) {
          MatchRecord* const record = storage_.take_receive<Locking>(buffer, completion, user_data);
          if (record != nullptr && named != nullptr) *named = handle(*record);
          return record;
        });
    order.leave<Locking>(hold);
    return is_posted;
  }
  /// Unlinks and returns the receive that the handle names, unless it has matched a message; the record then
  /// belongs to the caller.
  [[nodiscard]] MatchRecord* cancel(const ReceiveHandle& handle) noexcept;
  /// Lists the waiting receives and messages, for an explanation. Any thread, but not of a serial engine. In
  /// matching_report.cpp.
  void describe(PendingList& list) noexcept;
  /// Returns true when the record is that of a receive or message that waits here. For unlink_where().
  [[nodiscard]] bool waits(const MatchRecord& record) const noexcept;
  /// Unlinks what waits and for which which(record) returns true, and calls each(record), which then owns the
  /// record. Any thread, for a serial engine only its own; records that other threads link meanwhile may
  /// stay.
  template <class Which, class Each>
  void unlink_where(const Which& which, const Each& each) noexcept {
    const std::uint32_t made = storage_.records().made();
    for (std::uint32_t index = 0; index < made; ++index) {
      MatchRecord* record = storage_.records().find(index);
      if (record == nullptr) continue;  // another thread is making it
      if (unlink(*record, [&] { return which(*record); })) each(*record);
    }
  }
  /// Returns true when a receive may name the object, which is being destroyed: reads every record that was
  /// ever made, without a lock. Any thread.
  [[nodiscard]] bool may_name(const Completion& object) const noexcept;
  /// Cancels the receives that name the object, or that name another object that passes on to it,
  /// is_passed_on(completion): they signal `instead`. Any thread; for a serial engine only its own.
  template <class IsPassedOn>
  void forget_object(const Completion& object, DetachedOperations& instead,
                     const IsPassedOn& is_passed_on) noexcept;
  /// Ends the receives that only ranks that are gone, is_gone(rank), could have matched as peer_failed, or
  /// all receives when one of them has failed and all ranks are needed, and drops the RTS messages of those
  /// ranks: they will never send their payloads. Any thread; for a serial engine only its own.
  template <class IsGone>
  void end_peers(const IsGone& is_gone, bool any_failed) noexcept;
  /// All ranks but this one, `own`, have left: ends, as end_peers() does, the receives that do not name it.
  /// Receives of MatchingPolicy::user stay, because only the key function determines whether messages of this
  /// rank to itself match them.
  void end_all_but(int own) noexcept;

  /// What ends because a rank is missing.
  [[nodiscard]] NeededRanks& needed_ranks() noexcept { return needed_ranks_; }
  [[nodiscard]] const NeededRanks& needed_ranks() const noexcept { return needed_ranks_; }
  /// The engine is one of contexts: the upper halves of tags are numbers of contexts, for every policy.
  /// Before it is used; `contexts` outlives it.
  void serve(const MatchingContexts& contexts) noexcept {
    contexts_ = &contexts;
    needed_ranks_.serve(contexts);
    keys_.set_always(kContextBits);
  }
  /// The contexts that the engine serves; null: none.
  [[nodiscard]] const MatchingContexts* contexts() const noexcept { return contexts_; }
  /// Unlinks a message that waits in the record since it had this generation. Returns false when it does not
  /// any more. Any thread.
  [[nodiscard]] bool take_back(MatchRecord& message, std::uint32_t generation) noexcept {
    return unlink(message, [&] {
      return message.generation() == generation && waits(message) && !message.is_receive();
    });
  }

 private:
  template <class Still>
  [[nodiscard]] bool unlink(MatchRecord& record, const Still& still) noexcept {
    const bool is_unlinked = order_ == nullptr ? table_.unlink(record, still) : order_->unlink(record, still);
    if (is_unlinked && observer_ != nullptr) [[unlikely]]
      tell_unlinked(record);
    return is_unlinked;
  }
  void tell_unlinked(const MatchRecord& record) noexcept;
  template <class Make>
  [[nodiscard]] Table::Result pair_observed(MatchSide side, const MatchKey& key, Make& make) noexcept;

  const std::uint16_t id_;
  const bool serial_;
  const bool has_fast_path_;
  ReceiveExpectation expectation_;
  const MatchingContexts* contexts_ = nullptr;  // those that it serves
  NeededRanks needed_ranks_;
  EngineKeys keys_;
  Table table_;
  MatchStorage storage_;
  const std::unique_ptr<MatchObserver> observer_;
  std::unique_ptr<OrderedMatching> order_;
  std::once_flag scattered_once_;
  std::unique_ptr<ScatteredReceive::Pool> scattered_receives_;
  std::atomic<bool> scattered_{false};  // whether there are scattered receives
};

/// Returns true when a message with this tag comes in a context that has ended here. Takes a lock where it
/// may.
[[nodiscard]] inline bool comes_late(const MatchingEngine& engine, std::uint64_t tag) noexcept {
  return engine.contexts() != nullptr && engine.contexts()->is_late(tag);
}

/// How often contexts have ended here, GoneContexts::ended(); 0 where the engine serves none.
[[nodiscard]] inline std::uint32_t ended_contexts(const MatchingEngine& engine) noexcept {
  return engine.contexts() != nullptr ? engine.contexts()->gone().ended() : 0;
}
/// GoneContexts::has_ended_more(). For messages of unordered engines: those of ordered ones are checked and
/// stored in one hold of the order.
[[nodiscard]] inline bool has_ended_more(const MatchingEngine& engine, std::uint32_t ended) noexcept {
  return engine.contexts() != nullptr && engine.contexts()->gone().has_ended_more(ended);
}
/// Contexts of the engine begin to close. From now on unlink_where() finds every message in them but those of
/// threads that will see, after they have stored it, that it comes late.
void await_checks(MatchingEngine& engine) noexcept;

/// Returns the rank that a receive names as its only source; -1 when others' messages may match it, too.
[[nodiscard]] constexpr int only_source(const MatchKey& key) noexcept {
  const auto policy = static_cast<MatchingPolicy>(key.policy);
  return policy == MatchingPolicy::rank_and_tag || policy == MatchingPolicy::rank_only
             ? static_cast<int>(key.source)
             : -1;
}

/// Signals a receive that was unlinked before it matched a message, and releases its record. `ends`: of the
/// device whose post or cancel() ends it; null: no device is involved, or the call is inside progress.
void end_unmatched(MatchingEngine& engine, MatchRecord& record, Outcome outcome, std::uint32_t device = 0,
                   ImmediateCompletions* ends = nullptr) noexcept;

}  // namespace weft::core

#include "core/matching/matching_engine.inl.hpp"
