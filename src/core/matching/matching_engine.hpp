// A matching engine: matches sends that arrive with receives that are posted.
#pragma once

#include "core/completion/object_end.hpp"
#include "core/diagnosis/pending.hpp"
#include "core/matching/matching_setup.hpp"
#include "core/matching/observation/match_observer.hpp"
#include "core/matching/ordered_matching.hpp"
#include "core/matching/scattered_receive.hpp"
#include "core/matching/table/match_record.hpp"
#include "core/matching/table/match_table.hpp"
#include "core/matching/table/record_pool.hpp"
#include "core/matching/table/unexpected_message.hpp"

#include <weft/attributes.hpp>
#include <weft/options.hpp>

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <span>

namespace weft::core {

class ImmediateEnds;

/// Computes the key of MatchingPolicy::user.
using KeyFunction = std::uint64_t (*)(int rank, std::uint64_t tag, const void* context) noexcept;

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
  [[nodiscard]] bool is_ordered() const noexcept { return order_ != nullptr; }
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
  [[nodiscard]] RecordPool<MatchRecord>& records() noexcept { return records_; }
  [[nodiscard]] RecordPool<Unexpected>& unexpected() noexcept { return unexpected_; }
  [[nodiscard]] RecordPool<UnexpectedBlock>& blocks() noexcept { return blocks_; }

  /// The pool of scattered receives. Made at the first call, which allocates; throws weft::Error when there
  /// is no address space. Any thread.
  [[nodiscard]] ScatteredReceive::Pool& scattered_receives();

  [[nodiscard]] MatchingEngineAttributes attributes() const noexcept {
    return {id_,
            serial_,
            has_key_function(),
            order_ != nullptr ? MatchOrder::ordered : MatchOrder::unordered,
            table_.buckets(),
            records_.limit()};
  }

  void set_key_function(KeyFunction function, const void* context) noexcept {
    key_function_ = function;
    key_context_ = context;
  }
  [[nodiscard]] bool has_key_function() const noexcept { return key_function_ != nullptr; }

  /// Returns the key of a receive or send. For MatchingPolicy::user it contains what the key function makes
  /// of rank and tag.
  [[nodiscard]] MatchKey key(int rank, std::uint64_t tag, MatchingPolicy policy) const noexcept {
    if (policy == MatchingPolicy::user) [[unlikely]]
      tag = user_key(rank, tag);
    return arrived_key(rank, tag, policy);
  }
  /// Returns the key of an incoming message, whose sender has computed the key of MatchingPolicy::user and
  /// sent it as the tag.
  [[nodiscard]] static MatchKey arrived_key(int rank, std::uint64_t tag, MatchingPolicy policy) noexcept {
    const bool by_tag = policy != MatchingPolicy::rank_only && policy != MatchingPolicy::any;
    const bool by_rank = policy == MatchingPolicy::rank_and_tag || policy == MatchingPolicy::rank_only;
    return {by_tag ? tag : 0, by_rank ? static_cast<std::uint32_t>(rank) : 0,
            static_cast<std::uint32_t>(policy)};
  }
  [[nodiscard]] std::uint64_t user_key(int rank, std::uint64_t tag) const noexcept {
    return key_function_ != nullptr ? key_function_(rank, tag, key_context_) : tag;
  }

  [[nodiscard]] ReceiveHandle handle(const MatchRecord& record) const noexcept {
    return {record.index(), record.generation(), id_};
  }
  /// Returns a record for a message, or nullptr.
  [[nodiscard]] MatchRecord* take_unexpected() noexcept {
    Unexpected* unexpected = unexpected_.take();
    if (unexpected == nullptr) return nullptr;
    MatchRecord* record = records_.take();
    if (record == nullptr)
      unexpected_.release(*unexpected);
    else
      set_unexpected(*record, *unexpected);
    return record;
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
  /// Makes a record that of an unexpected message.
  static void set_unexpected(MatchRecord& record, Unexpected& unexpected) noexcept {
    record.unexpected = &unexpected;
  }

  // Fast paths of receives, inlined. Locking: NoLock when the engine is serial, else TryLock.

  /// Returns the record of a receive, ready to be posted; nullptr when the fast path does not apply; the
  /// caller then falls back to take(). A part of try_post().
  template <class Locking>
  [[nodiscard, gnu::always_inline]] inline MatchRecord* take_receive(std::span<std::byte> buffer,
                                                                     Completion* completion,
                                                                     void* user_data) noexcept {
    MatchRecord* const record = records_.try_take<Locking::kExclusive>();
    if (record == nullptr) [[unlikely]]
      return nullptr;
    record->buffer = buffer;
    record->completion = completion;
    record->user_data = user_data;
    return record;
  }
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
          return take_receive<Locking>(buffer, completion, user_data);
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
          MatchRecord* const record = take_receive<Locking>(buffer, options.completion, options.user_data);
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
          MatchRecord* const record = take_receive<Locking>(buffer, completion, user_data);
          if (record != nullptr && named != nullptr) *named = handle(*record);
          return record;
        });
    order.leave<Locking>(hold);
    return is_posted;
  }
  /// Unlinks and returns the receive that a message with this key matches; nullptr, without effect, when the
  /// fast path does not apply; the caller then falls back to pair().
  template <class Locking>
  [[nodiscard, gnu::always_inline]] inline MatchRecord* try_take_receive(const MatchKey& key,
                                                                         Table::Finder& finder) noexcept {
    return table_.try_take<Locking, MatchSide::unexpected>(key, finder);
  }
  /// try_take_receive() for several receives under one hold of their bucket: see
  /// MatchTable::try_take_while().
  template <class Locking, class Wants, class Take>
  [[nodiscard, gnu::always_inline]] inline std::uint32_t try_take_receives(const MatchKey& key,
                                                                           Table::Finder& finder,
                                                                           const Wants& wants,
                                                                           const Take& take) noexcept {
    return table_.try_take_while<Locking, MatchSide::unexpected>(key, finder, wants, take);
  }
  /// Releases the record of a receive; handles that name it become invalid.
  void release_receive(MatchRecord& record) noexcept { records_.release(record); }
  /// Releases any record.
  void release(MatchRecord& record) noexcept {
    if (record.unexpected != nullptr) {
      if (UnexpectedBlock* const block = record.unexpected->take_block(); block != nullptr)
        blocks_.release(*block);
      record.unexpected->drop_held();
      unexpected_.release(*record.unexpected);
      record.unexpected = nullptr;
    }
    records_.release(record);
  }
  /// Unlinks and returns the receive that the handle names, unless it has matched a message; the record then
  /// belongs to the caller.
  [[nodiscard]] MatchRecord* cancel(const ReceiveHandle& handle) noexcept;
  /// Lists the waiting receives and messages, for an explanation. Any thread, but not of a serial engine. In
  /// matching_report.cpp.
  void describe(PendingList& list) noexcept;
  /// Returns true when the record is that of a receive or message that waits here. For unlink_where().
  [[nodiscard]] bool waits(const MatchRecord& record) const noexcept;
  /// Unlinks everything that waits and calls each(record), which then owns the record. Any thread; records
  /// that other threads link meanwhile may stay.
  template <class Each>
  void unlink_all(const Each& each) noexcept {
    unlink_where([](const MatchRecord&) { return true; }, each);
  }
  /// unlink_all() for waiting records for which which(record) returns true. Any thread; for a serial engine
  /// only its own.
  template <class Which, class Each>
  void unlink_where(const Which& which, const Each& each) noexcept {
    const std::uint32_t made = records_.made();
    for (std::uint32_t index = 0; index < made; ++index) {
      MatchRecord* record = records_.find(index);
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
  void forget_object(const Completion& object, Orphans& instead, const IsPassedOn& is_passed_on) noexcept;
  /// Ends the receives that only ranks that are gone, is_gone(rank), could have matched as peer_failed, or
  /// all receives when one of them has failed and all ranks are needed, and drops the RTS messages of those
  /// ranks: they will never send their payloads. Any thread; for a serial engine only its own.
  template <class IsGone>
  void end_peers(const IsGone& is_gone, bool any_failed) noexcept;
  /// All ranks but this one, `own`, have left: ends, as end_peers() does, the receives that do not name it.
  /// Receives of MatchingPolicy::user stay, because only the key function determines whether messages of this
  /// rank to itself match them.
  void end_all_but(int own) noexcept;

  /// Returns true when the engine is serial exactly if `serial`, and expects_unexpected() is false. Any
  /// thread.
  [[nodiscard]] bool expects_receives(bool serial) const noexcept {
    return expectation_.load(std::memory_order_relaxed) == expectation(serial, false);
  }
  /// Returns true when the messages of the last receives were all unexpected, so that the next one's probably
  /// is, too. Any thread; a guess.
  [[nodiscard]] bool expects_unexpected() const noexcept {
    return expectation_.load(std::memory_order_relaxed) == expectation(serial_, true);
  }
  /// Records whether the message of a receive that left the fast path was unexpected. Written only when that
  /// changes the count.
  void learn_unexpected(bool was_there) noexcept {
    const std::uint32_t before = unexpected_in_row_.load(std::memory_order_relaxed);
    const std::uint32_t after = !was_there ? 0 : before < kExpected ? before + 1 : before;
    if (after == before) return;
    unexpected_in_row_.store(static_cast<std::uint8_t>(after), std::memory_order_relaxed);
    expectation_.store(expectation(serial_, after == kExpected), std::memory_order_relaxed);
  }

  /// Returns true when waiting operations end as soon as any rank has failed. Any thread.
  [[nodiscard]] bool needs_all_ranks() const noexcept {
    return needs_all_ranks_.load(std::memory_order_relaxed);
  }
  void set_needs_all_ranks(bool value) noexcept { needs_all_ranks_.store(value, std::memory_order_relaxed); }

  /// The device whose thread last posted to the engine, if it is serial; -1: none has.
  [[nodiscard]] int device() const noexcept { return device_.load(std::memory_order_relaxed); }
  void set_device(std::uint32_t device) noexcept {
    device_.store(static_cast<int>(device), std::memory_order_relaxed);
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

  static constexpr std::uint32_t kMaxBlocks = 65536;  // further payloads wait in packets
  static constexpr std::uint32_t kExpected = 4;  // messages in a row; fewer may be the beginning of a window
  static constexpr std::uint8_t expectation(bool serial, bool arrived) noexcept {
    return static_cast<std::uint8_t>((serial ? 2 : 0) + (arrived ? 1 : 0));
  }

  const std::uint16_t id_;
  const bool serial_;
  const bool has_fast_path_;
  std::atomic<std::uint8_t> unexpected_in_row_{0};  // unexpected messages in a row
  std::atomic<std::uint8_t> expectation_;  // the value that a post of a receive checks, in one comparison
  std::atomic<int> device_{-1};
  std::atomic<bool> needs_all_ranks_{false};
  KeyFunction key_function_ = nullptr;
  const void* key_context_ = nullptr;
  Table table_;
  RecordPool<MatchRecord> records_;
  RecordPool<Unexpected> unexpected_;
  RecordPool<UnexpectedBlock> blocks_;
  const std::unique_ptr<MatchObserver> observer_;
  std::unique_ptr<OrderedMatching> order_;
  std::once_flag scattered_once_;
  std::unique_ptr<ScatteredReceive::Pool> scattered_receives_;
  std::atomic<bool> scattered_{false};  // whether there are scattered receives
};

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
                   ImmediateEnds* ends = nullptr) noexcept;

}  // namespace weft::core

#include "core/matching/matching_engine.inl.hpp"
