// The order of an ordered matching engine: MPI's order, and wildcards.
//
// Receives of one source and tag and messages wait in the engine's table, as in unordered engines. Receives
// with wildcards wait in a list of their own, in the order of posting; messages in the table are in a list as
// well, in the order of arrival, which only receives with wildcards walk. A message that matches both a
// receive of the table and one of the list takes the one that was posted first, which their numbers tell.
//
// An engine whose matching algorithm is the user's uses neither table nor lists: algorithm_matching.hpp.
//
// Sends carry a number for each stream, which leads from one device to one engine. A message that arrives
// before one with a lower number is held, and cannot be matched, until that one has arrived.
#pragma once

#include "core/matching/algorithm_matching.hpp"
#include "core/matching/credits.hpp"
#include "core/matching/matching_contexts.hpp"
#include "core/matching/observation/match_observer.hpp"
#include "core/matching/order_lock.hpp"
#include "core/matching/table/match_record.hpp"
#include "core/matching/table/match_table.hpp"

#include <weft/detail/lane.hpp>
#include <weft/detail/lock.hpp>
#include <weft/options.hpp>

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <memory>
#include <vector>

namespace weft::core {

/// The sending end of a stream.
using detail::SendSequence;

/// The receiving end of a stream. Guarded by the lock of the engine's order.
struct ArrivalSequence {
  std::uint32_t expected = 0;  // number of the next message
  RecordList held;             // messages with later numbers, by number

  [[nodiscard]] bool holds(std::uint32_t number) const noexcept;
  /// Holds a message until those before it have come.
  void hold(std::uint32_t number, const MatchKey& key, MatchRecord& message) noexcept;

 private:
  [[nodiscard]] MatchRecord* last_held_until(std::uint32_t number) const noexcept;
};

/// Its lock guards everything but the functions that say that they take it.
class OrderedMatching : public OrderLock {
 public:
  using Table = MatchTable<MatchRecord>;
  using Answer = Table::Answer;
  /// The tag_mask of receives and probes for which all bits of the tag count.
  static constexpr std::uint64_t kWholeTag = ~std::uint64_t{0};

  /// `table`: serial, and used through this object only. `algorithm`: the user's, or null. `observer`: null,
  /// or outlives the object. The fast paths below are for orders without either.
  OrderedMatching(Table& table, RecordPool<MatchRecord>& records, int ranks, bool serial,
                  std::unique_ptr<AlgorithmMatching> algorithm = nullptr, MatchObserver* observer = nullptr)
      : OrderLock(serial),
        table_(table),
        records_(records),
        algorithm_(std::move(algorithm)),
        observer_(observer),
        sends_(std::make_shared<AccountTable<SendSequence>>(ranks)),
        arrivals_(std::make_unique<AccountTable<ArrivalSequence>>(ranks)) {}
  OrderedMatching(const OrderedMatching&) = delete;
  OrderedMatching& operator=(const OrderedMatching&) = delete;

  /// The stream of sends of the own device to a peer. Any thread.
  [[nodiscard]] SendSequence& sends(int peer, std::uint8_t own_device) {
    return sends_->at(peer, own_device);
  }

  /// The number of receives that are queued in a backlog and not posted yet: later receives stay behind them.
  /// Any thread.
  [[nodiscard]] std::atomic<std::uint32_t>& queued_receives() noexcept { return queued_receives_; }

  /// The user's algorithm, or null.
  [[nodiscard]] std::shared_ptr<MatchingAlgorithm> algorithm() const noexcept {
    return algorithm_ != nullptr ? algorithm_->algorithm() : nullptr;
  }

  /// Waits for the lock; for rare calls.
  [[nodiscard]] Hold enter() noexcept;

  [[nodiscard]] ArrivalSequence& arrivals(int peer, std::uint8_t device) {
    return arrivals_->at(peer, device);
  }
  /// The key of a receive or probe. Its policy tells whether only some bits of the tag count.
  [[nodiscard]] static MatchKey key_of(int source, std::uint64_t tag, std::uint64_t tag_mask) noexcept {
    return {tag, static_cast<std::uint32_t>(source), tag_mask == kWholeTag ? 0 : kMasked};
  }
  [[nodiscard]] static bool is_wildcard(const MatchKey& key) noexcept {
    return key.source == static_cast<std::uint32_t>(any_source) || key.tag == any_tag || key.policy != 0;
  }

  /// Returns true when it is the turn of the message with this number, and no other is held.
  [[nodiscard]] static bool is_plain_turn(const ArrivalSequence& stream, std::uint32_t number) noexcept {
    return stream.expected == number && stream.held.first() == nullptr;
  }
  /// Unlinks and returns the receive that the message with this number matches, when it is a plain turn and
  /// the receive is found at once: among those with wildcards, or first in its bucket. Returns nullptr,
  /// without effect, otherwise; the caller then falls back to arrive().
  [[nodiscard, gnu::always_inline]] inline MatchRecord* try_take_receive(ArrivalSequence& stream,
                                                                         std::uint32_t number,
                                                                         const MatchKey& key) noexcept {
    if (!is_plain_turn(stream, number)) [[unlikely]]
      return nullptr;
    MatchRecord* receive = wildcards_.first() == nullptr ? nullptr : take_receive_among_wildcards(key);
    if (receive == nullptr) [[likely]]
      receive = table_.try_take<detail::NoLock, MatchSide::unexpected>(key);
    if (receive != nullptr) [[likely]]
      ++stream.expected;
    return receive;
  }
  /// try_take_receive() for the messages that follow it with its key, as MatchTable::try_take_while():
  /// wants(record, number) returns true when the next message has this number.
  template <class Wants, class Take>
  [[gnu::always_inline]] inline void try_take_receives(ArrivalSequence& stream, const MatchKey& key,
                                                       const Wants& wants, const Take& take) noexcept {
    if (wildcards_.first() != nullptr) [[unlikely]] {
      while (MatchRecord* const receive = find_receive_among_wildcards(key)) {
        if (!wants(*receive, stream.expected)) return;
        remove_wildcard(*receive);
        ++stream.expected;
        take(*receive);
      }
      if (wildcards_.first() != nullptr) return;  // they may be meant for what follows
    }
    Table::Finder finder(table_, key.origin(), key.tag);
    std::uint32_t number = stream.expected;
    stream.expected += table_.try_take_while<detail::NoLock, MatchSide::unexpected>(
        key, finder, [&](const MatchRecord& receive) { return wants(receive, number++); }, take);
  }
  /// Stores a message whose plain turn it is, in the record that make() returns, when no receive that it
  /// matches waits and its bucket has room for it at once. Returns false, without effect, otherwise, or when
  /// make() returned nullptr; the caller then falls back to arrive().
  template <class Make>
  [[nodiscard, gnu::always_inline]] inline bool try_store(ArrivalSequence& stream, const MatchKey& key,
                                                          const Make& make) noexcept {
    if (wildcards_.first() != nullptr && find_receive_among_wildcards(key) != nullptr) [[unlikely]]
      return false;
    const bool is_kept = table_.try_add<detail::NoLock, MatchSide::unexpected>(
        key, [&]() __attribute__((always_inline)) {
          MatchRecord* const message = make();
          if (message != nullptr) [[likely]]
            messages_.append(*message);
          return message;
        });
    if (is_kept) [[likely]]
      ++stream.expected;
    return is_kept;
  }
  /// Unlinks and returns the message that a receive without wildcards matches, when it is found at once.
  /// Returns nullptr, without effect, otherwise; the caller then falls back to post().
  [[nodiscard, gnu::always_inline]] inline MatchRecord* try_take_message(const MatchKey& key) noexcept {
    MatchRecord* const message = table_.try_take<detail::NoLock, MatchSide::posted>(key);
    if (message != nullptr) [[likely]]
      messages_.remove(*message);
    return message;
  }
  /// Posts a receive without wildcards, which make() returns, when its bucket has room for it at once.
  /// Returns false, without effect, otherwise, or when make() returned nullptr; the caller then falls back to
  /// post().
  template <class Make>
  [[nodiscard, gnu::always_inline]] inline bool try_post(const MatchKey& key, const Make& make) noexcept {
    return table_.try_add<detail::NoLock, MatchSide::posted>(key, [&] {
      MatchRecord* const receive = make();
      if (receive != nullptr) [[likely]]
        receive->order = ++posted_;
      return receive;
    });
  }
  // For receives with wildcards. Messages that do not fit are walked over.

  /// Returns the message that a receive with wildcards matches, or nullptr.
  [[nodiscard, gnu::always_inline]] inline MatchRecord* find_waiting(const MatchKey& key,
                                                                     std::uint64_t tag_mask) const noexcept {
    MatchRecord* message = messages_.first();
    while (message != nullptr && !fits(key, tag_mask, message->key())) message = message->next;
    return message;
  }
  /// Unlinks a message that find_waiting() has returned: the oldest with its key.
  [[gnu::always_inline]] inline void take_waiting(MatchRecord& message) noexcept {
    if (table_.try_take<detail::NoLock, MatchSide::posted>(message.key()) == nullptr) [[unlikely]]
      static_cast<void>(table_.unlink(message, [] { return true; }));
    messages_.remove(message);
  }
  /// Posts a receive with wildcards that no waiting message matches.
  [[gnu::always_inline]] inline void post_wildcard(MatchRecord& receive, const MatchKey& key,
                                                   std::uint64_t tag_mask) noexcept {
    receive.order = ++posted_;
    add_wildcard(receive, key, tag_mask);
  }

  /// Unlinks and returns the message that a receive matches; when there is none, the record that make()
  /// returns begins to wait as a receive.
  template <class Make>
  [[nodiscard]] Table::Result post(const MatchKey& key, Make&& make,
                                   std::uint64_t tag_mask = kWholeTag) noexcept;

  /// The result of an arrival.
  struct Arrival {
    enum class Answer : std::uint8_t {
      matched,   ///< record: the receive, unlinked
      kept,      ///< the record that make() returned waits for its receive, or for its turn
      later,     ///< another thread holds the lock, or make() returned nullptr; without effect
      rejected,  ///< no message may have this number; without effect
    };
    Answer answer = Answer::later;
    MatchRecord* record = nullptr;
    /// Receives that have matched held messages whose turn came with this one, linked through `next`, each
    /// with its message in `unexpected`.
    MatchRecord* due = nullptr;
    /// Held messages of contexts that have ended, unlinked when their turn came, linked likewise.
    MatchRecord* late = nullptr;
  };
  /// Unlinks and returns the receive that a message matches whose turn it is by the caller's knowledge; when
  /// there is none, the record that make() returns begins to wait as a message.
  template <class Make>
  [[nodiscard]] Table::Result match(const MatchKey& key, Make&& make) noexcept;
  /// Handles a message that arrives from this device of a peer. make() makes the record in which it waits.
  /// `contexts`: those that the engine serves, or null. Takes the lock, by one attempt.
  template <class Make>
  [[nodiscard]] Arrival arrive(int peer, std::uint8_t device, std::uint32_t number, std::uint64_t tag,
                               const Make& make, const MatchingContexts* contexts = nullptr) noexcept;

  // Each of the functions below takes the lock itself and waits for it.

  /// MatchTable::unlink(), for wildcards too.
  template <class Still>
  [[nodiscard]] bool unlink(MatchRecord& record, const Still& still) noexcept;
  /// Unlinks and returns the message that a receive would match, or returns nullptr.
  [[nodiscard]] MatchRecord* take_message(const MatchKey& key, std::uint64_t tag_mask = kWholeTag) noexcept;
  /// Calls visit(message) under the lock; returns false when there is none.
  template <class Visit>
  bool visit_message(const MatchKey& key, const Visit& visit, std::uint64_t tag_mask = kWholeTag) noexcept;

  /// Calls visit(record, side, is_held) for everything that waits; is_held: the message's turn has not come.
  template <class Visit>
  void for_each(const Visit& visit) noexcept;

  /// Moves everything from another order into this new one. copy_of(record) makes a record of this engine of
  /// one of the other, which it releases, or returns nullptr. No other thread may use either.
  template <class CopyOf>
  void take_over(OrderedMatching& from, const CopyOf& copy_of);

 private:
  /// match() and post() of engines that have an algorithm or an observer.
  template <class Make>
  [[nodiscard]] Table::Result match_observed(const MatchKey& key, Make& make) noexcept;
  template <class Make>
  [[nodiscard]] Table::Result post_observed(const MatchKey& key, Make& make, std::uint64_t tag_mask) noexcept;
  [[nodiscard]] bool is_observed() const noexcept { return algorithm_ != nullptr || observer_ != nullptr; }
  /// Matches held messages with their receives, as far as it is their turn. Returns those, as Arrival::due;
  /// links to `late` those of contexts that have ended.
  [[nodiscard]] MatchRecord* match_held(ArrivalSequence& stream, MatchRecord*& late,
                                        const MatchingContexts* contexts) noexcept;
  // Instead of a policy, of which ordered engines have one only: reports show the rank and no tag.
  static constexpr auto kMasked = static_cast<std::uint32_t>(MatchingPolicy::rank_only);
  [[nodiscard]] static bool fits(const MatchKey& wanted, std::uint64_t tag_mask,
                                 const MatchKey& message) noexcept {
    return (wanted.source == message.source || wanted.source == static_cast<std::uint32_t>(any_source)) &&
           (((wanted.tag ^ message.tag) & tag_mask) == 0 || wanted.tag == any_tag);
  }
  [[nodiscard]] MatchRecord* find_message(const MatchKey& wanted, std::uint64_t tag_mask,
                                          std::uint32_t* depth = nullptr) noexcept;
  // By value: a key that fast paths pass by reference lies in memory, whose two halves were just written, and
  // its next read as a whole waits for everything written before (docs/decisions/013).
  [[nodiscard]] MatchRecord* find_receive_among_wildcards(MatchKey key,
                                                          std::uint32_t* depth = nullptr) noexcept;
  [[nodiscard]] MatchRecord* take_receive_among_wildcards(MatchKey key,
                                                          std::uint32_t* depth = nullptr) noexcept;
  void unlink_message(MatchRecord& message) noexcept;
  void add_wildcard(MatchRecord& receive, const MatchKey& key, std::uint64_t tag_mask) noexcept {
    receive.set_key(key);
    receive.tag_mask = tag_mask;
    wildcards_.append(receive);
    receive.set_waits_elsewhere(true);
  }
  void remove_wildcard(MatchRecord& record) noexcept {
    wildcards_.remove(record);
    record.set_waits_elsewhere(false);
    record.order = 0;
  }
  [[nodiscard]] bool unlink_here(MatchRecord& record) noexcept;

  Table& table_;
  RecordPool<MatchRecord>& records_;
  const std::unique_ptr<AlgorithmMatching> algorithm_;
  MatchObserver* const observer_;
  // Shared with the order that this one has taken over: threads may be sending by it meanwhile.
  std::shared_ptr<AccountTable<SendSequence>> sends_;
  std::unique_ptr<AccountTable<ArrivalSequence>> arrivals_;
  std::atomic<std::uint32_t> queued_receives_{0};
  alignas(64) std::uint64_t posted_ = 0;  // number of receives so far
  RecordList wildcards_;                  // receives; their `order` is not 0
  RecordList messages_;                   // messages in the table
};

}  // namespace weft::core

#include "core/matching/ordered_matching.inl.hpp"
