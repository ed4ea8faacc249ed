// A matching engine: pairs sends that arrive with receives that are posted.
#pragma once

#include "core/diagnosis/pending.hpp"
#include "core/matching/match_record.hpp"
#include "core/matching/match_table.hpp"
#include "core/matching/ordered_matching.hpp"
#include "core/matching/record_pool.hpp"
#include "core/matching/scattered_receive.hpp"
#include "core/matching/unexpected.hpp"

#include <weft/attributes.hpp>
#include <weft/options.hpp>

#include <algorithm>
#include <array>
#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <span>
#include <vector>

namespace weft::core {

/// Computes the key of MatchingPolicy::user.
using KeyFunction = std::uint64_t (*)(int rank, std::uint64_t tag, const void* context) noexcept;

struct MatchingLimits {
  std::uint32_t buckets;  // a power of two
  std::uint32_t records;  // receives posted and messages that wait, together
  int ranks = 1;
};

class MatchingEngine {
 public:
  using Table = MatchTable<MatchRecord>;

  /// `id`: from kMatchingEngines on, the engine is ordered.
  MatchingEngine(std::uint16_t id, const MatchingLimits& limits, bool serial);
  MatchingEngine(const MatchingEngine&) = delete;
  MatchingEngine& operator=(const MatchingEngine&) = delete;

  [[nodiscard]] std::uint16_t id() const noexcept { return id_; }
  [[nodiscard]] bool is_serial() const noexcept { return serial_; }
  [[nodiscard]] Table& table() noexcept { return table_; }
  /// Of an ordered engine, whose table() it guards; of others nullptr.
  [[nodiscard]] OrderedMatching* order() noexcept { return order_.get(); }
  [[nodiscard]] RecordPool<MatchRecord>& records() noexcept { return records_; }
  [[nodiscard]] RecordPool<Unexpected>& unexpected() noexcept { return unexpected_; }
  [[nodiscard]] RecordPool<EarlyBlock>& blocks() noexcept { return blocks_; }

  /// Made at the first call, which allocates; throws weft::Error without address space. Any thread.
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

  /// What is compared. Of MatchingPolicy::user it is what the key function makes of rank and tag.
  [[nodiscard]] MatchKey key(int rank, std::uint64_t tag, MatchingPolicy policy) const noexcept {
    if (policy == MatchingPolicy::user) [[unlikely]]
      tag = user_key(rank, tag);
    return arrived_key(rank, tag, policy);
  }
  /// The same for a message, whose sender has computed the key of MatchingPolicy::user and sent it as the
  /// tag.
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
  /// A record for a message, or nullptr.
  [[nodiscard]] MatchRecord* take_unexpected() noexcept {
    Unexpected* unexpected = unexpected_.take();
    if (unexpected == nullptr) return nullptr;
    MatchRecord* record = records_.take();
    if (record == nullptr)
      unexpected_.give_back(*unexpected);
    else
      set_unexpected(*record, *unexpected);
    return record;
  }
  /// Makes a record that was taken the one of a message.
  static void set_unexpected(MatchRecord& record, Unexpected& unexpected) noexcept {
    record.unexpected = &unexpected;
  }

  // What nearly always happens to a receive, inlined. Locking: NoLock when the engine is serial, else
  // TryLock.

  /// A record for it, as it is to be posted; nullptr: take() knows. A part of post_first().
  template <class Locking>
  [[nodiscard, gnu::always_inline]] inline MatchRecord* take_receive(std::span<std::byte> buffer,
                                                                     Completion* completion,
                                                                     void* user_data) noexcept {
    MatchRecord* const record = records_.take_first<Locking::kExclusive>();
    if (record == nullptr) [[unlikely]]
      return nullptr;
    record->buffer = buffer;
    record->completion = completion;
    record->user_data = user_data;
    return record;
  }
  /// Posts it when its bucket has room for it at once. False, without effect: pair() knows.
  template <class Locking>
  [[nodiscard, gnu::always_inline]] inline bool post_first(const MatchKey& key, std::span<std::byte> buffer,
                                                           Completion* completion,
                                                           void* user_data = nullptr) noexcept {
    return table_.add_first<Locking, MatchSide::posted>(
        key, [&] { return take_receive<Locking>(buffer, completion, user_data); });
  }
  /// `options` are read when there is room: it may lie in memory.
  template <class Locking>
  [[nodiscard, gnu::always_inline]] inline bool post_first(const MatchKey& key,
                                                           const std::span<std::byte>& buffer,
                                                           const ReceiveOptions& options) noexcept {
    return table_.add_first<Locking, MatchSide::posted>(key, [&] {
      MatchRecord* const record = take_receive<Locking>(buffer, options.completion, options.user_data);
      if (record != nullptr && options.handle != nullptr) *options.handle = handle(*record);
      return record;
    });
  }
  /// The same on an ordered engine, for a key without wildcards. False, without effect:
  /// OrderedMatching::post() knows.
  template <class Locking>
  [[nodiscard, gnu::always_inline]] inline bool post_first_in_order(const MatchKey& key,
                                                                    std::span<std::byte> buffer,
                                                                    Completion* completion,
                                                                    void* user_data = nullptr,
                                                                    ReceiveHandle* named = nullptr) noexcept {
    OrderedMatching& order = *order_;
    const OrderedMatching::Hold hold = order.try_enter_decided<Locking>();
    if (hold == nullptr) [[unlikely]]
      return false;
    const bool is_posted = order.post_first(key, [&] {
      MatchRecord* const record = take_receive<Locking>(buffer, completion, user_data);
      if (record != nullptr && named != nullptr) *named = handle(*record);
      return record;
    });
    order.leave<Locking>(hold);
    return is_posted;
  }
  /// The receive that a message with this key meets, unlinked; nullptr: pair() knows.
  template <class Locking>
  [[nodiscard, gnu::always_inline]] inline MatchRecord* take_first_receive(const MatchKey& key,
                                                                           Table::Finder& finder) noexcept {
    return table_.take_first<Locking, MatchSide::unexpected>(key, finder);
  }
  /// The same for several with one hold of their bucket: see MatchTable::take_first_while().
  template <class Locking, class Wants, class Take>
  [[nodiscard, gnu::always_inline]] inline std::uint32_t take_first_receives(const MatchKey& key,
                                                                             Table::Finder& finder,
                                                                             const Wants& wants,
                                                                             const Take& take) noexcept {
    return table_.take_first_while<Locking, MatchSide::unexpected>(key, finder, wants, take);
  }
  /// Gives the record of a receive back; handles that name it end.
  void release_receive(MatchRecord& record) noexcept { records_.give_back(record); }
  /// Gives any record back.
  void release(MatchRecord& record) noexcept {
    if (record.unexpected != nullptr) {
      if (EarlyBlock* const block = record.unexpected->take_block(); block != nullptr)
        blocks_.give_back(*block);
      record.unexpected->drop_held();
      unexpected_.give_back(*record.unexpected);
      record.unexpected = nullptr;
    }
    records_.give_back(record);
  }
  /// Unlinks the receive that the handle names, unless it has met its message; the record is then the
  /// caller's.
  [[nodiscard]] MatchRecord* cancel(const ReceiveHandle& handle) noexcept;
  /// Lists what waits, for an explanation. Any thread, but not of a serial engine. In matching_report.cpp.
  void describe(PendingList& list) noexcept;
  /// Unlinks whatever waits and calls each(record), whose the record is then. Any thread; what others link
  /// meanwhile may stay.
  template <class Each>
  void unlink_all(const Each& each) noexcept {
    unlink_where([](const MatchRecord&) { return true; }, each);
  }
  /// The same for what waits and for which which(record) holds. Any thread, of a serial engine its own.
  template <class Which, class Each>
  void unlink_where(const Which& which, const Each& each) noexcept {
    const std::uint32_t made = std::min(records_.made(), records_.limit());
    for (std::uint32_t index = 0; index < made; ++index) {
      MatchRecord* record = records_.find(index);
      if (record == nullptr) continue;  // another thread is making it
      if (unlink(*record, [&] { return which(*record); })) each(*record);
    }
  }
  /// Ends the receives that only this rank could have matched as peer_failed, or all, and drops its
  /// announcements: it will never send what they announce. Any thread, of a serial engine its own.
  void end_peer(int rank) noexcept;

  /// Whether the engine is serial, or not, and not expects_arrived(). Any thread.
  [[nodiscard]] bool expects_receives(bool serial) const noexcept {
    return expectation_.load(std::memory_order_relaxed) == expectation(serial, false);
  }
  /// Whether the messages of the last receives had all come before them, so that the next one's probably has,
  /// too. Any thread; a guess.
  [[nodiscard]] bool expects_arrived() const noexcept {
    return expectation_.load(std::memory_order_relaxed) == expectation(serial_, true);
  }
  /// Tells it of a receive that did not find its way at once: whether its message was there. Written only
  /// while that is news.
  void learn_arrived(bool was_there) noexcept {
    const std::uint32_t before = arrived_in_row_.load(std::memory_order_relaxed);
    const std::uint32_t after = !was_there ? 0 : before < kExpected ? before + 1 : before;
    if (after == before) return;
    arrived_in_row_.store(static_cast<std::uint8_t>(after), std::memory_order_relaxed);
    expectation_.store(expectation(serial_, after == kExpected), std::memory_order_relaxed);
  }

  /// Whether what waits ends when any rank has failed. Any thread.
  [[nodiscard]] bool needs_all_ranks() const noexcept {
    return needs_all_ranks_.load(std::memory_order_relaxed);
  }
  void set_needs_all_ranks(bool value) noexcept { needs_all_ranks_.store(value, std::memory_order_relaxed); }

  /// The device whose thread posted to the engine last, of a serial one; -1: none has.
  [[nodiscard]] int device() const noexcept { return device_.load(std::memory_order_relaxed); }
  void set_device(std::uint32_t device) noexcept {
    device_.store(static_cast<int>(device), std::memory_order_relaxed);
  }

 private:
  template <class Still>
  [[nodiscard]] bool unlink(MatchRecord& record, const Still& still) noexcept {
    return order_ == nullptr ? table_.unlink(record, still) : order_->unlink(record, still);
  }

  static constexpr std::uint32_t kMaxBlocks = 65536;  // payloads beyond wait in packets
  static constexpr std::uint32_t kExpected = 4;  // messages in a row; fewer may be the beginning of a window
  static constexpr std::uint8_t expectation(bool serial, bool arrived) noexcept {
    return static_cast<std::uint8_t>((serial ? 2 : 0) + (arrived ? 1 : 0));
  }

  const std::uint16_t id_;
  const bool serial_;
  std::atomic<std::uint8_t> arrived_in_row_{0};  // messages before their receives
  std::atomic<std::uint8_t> expectation_;        // what a post of a receive asks for, in one comparison
  std::atomic<int> device_{-1};
  std::atomic<bool> needs_all_ranks_{false};
  KeyFunction key_function_ = nullptr;
  const void* key_context_ = nullptr;
  Table table_;
  RecordPool<MatchRecord> records_;
  RecordPool<Unexpected> unexpected_;
  RecordPool<EarlyBlock> blocks_;
  std::unique_ptr<OrderedMatching> order_;
  std::once_flag scattered_once_;
  std::unique_ptr<ScatteredReceive::Pool> scattered_receives_;
};

/// Signals a receive that was unlinked before it met its message, and gives the record back.
void end_unmatched(MatchingEngine& engine, MatchRecord& record, Outcome outcome) noexcept;

/// The engines of a runtime by id. One that a message names before it was opened is made then, so that no
/// start-up barrier is needed.
class MatchingEngines {
 public:
  static constexpr std::uint32_t kMaxEngines = kMatchingEngines;  // unordered ones

  explicit MatchingEngines(const MatchingLimits& limits) noexcept : limits_(limits) {}
  ~MatchingEngines();
  MatchingEngines(const MatchingEngines&) = delete;
  MatchingEngines& operator=(const MatchingEngines&) = delete;

  /// The unordered engine when it exists already, else nullptr.
  [[nodiscard]] MatchingEngine* find_made(std::uint32_t id) const noexcept {
    // Pairs with the release in make().
    return id < kMaxEngines ? engines_[id].load(std::memory_order_acquire) : nullptr;
  }
  /// The ordered engine when it exists already, else nullptr.
  [[nodiscard]] MatchingEngine* find_ordered(std::uint32_t id) const noexcept {
    return id - kMatchingEngines < kEngineIds - kMatchingEngines
               ? engines_[id].load(std::memory_order_acquire)
               : nullptr;
  }
  /// Where the pointer to one is kept, to be loaded with acquire; `id` in range.
  [[nodiscard]] const std::atomic<MatchingEngine*>& place(std::uint32_t id) const noexcept {
    return engines_[id];
  }
  /// Only reads when the engine exists, otherwise makes it: first use, which allocates. nullptr: the id is
  /// out of range.
  [[nodiscard]] MatchingEngine* find(std::uint32_t id) {
    if (id >= kEngineIds) [[unlikely]]
      return nullptr;
    // Pairs with the release in make().
    MatchingEngine* engine = engines_[id].load(std::memory_order_acquire);
    return engine != nullptr ? engine : make(id);
  }
  /// What an object of the user opens: throws weft::Error when it is open already or out of range for its
  /// order.
  MatchingEngine& open(std::uint32_t id, MatchOrder order, bool serial, KeyFunction function,
                       const void* context);
  void close(std::uint32_t id) noexcept;
  template <class Each>
  void for_each(const Each& each) noexcept {
    for (auto& engine : engines_)
      if (MatchingEngine* made = engine.load(std::memory_order_acquire); made != nullptr) each(*made);
  }
  /// The same while none is made, opened or closed.
  template <class Each>
  void for_each_made(const Each& each) {
    const std::lock_guard lock(mutex_);
    for_each(each);
  }

 private:
  MatchingEngine* make(std::uint32_t id);
  static void move_all(MatchingEngine& from, MatchingEngine& to);

  const MatchingLimits limits_;
  std::mutex mutex_;  // making and opening; set-up and first contact only
  std::array<std::atomic<MatchingEngine*>, kEngineIds> engines_{};
  std::array<bool, kEngineIds> open_{};
  std::vector<std::unique_ptr<MatchingEngine>> replaced_;
};

}  // namespace weft::core
