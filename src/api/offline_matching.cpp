#include <weft/matching/offline.hpp>

#include <weft/error.hpp>
#include <weft/matching/algorithm.hpp>

#include <bit>
#include <string>

#include "concurrent/backoff.hpp"
#include "core/matching/matching_engine.hpp"

namespace weft {

namespace {

using Engine = core::MatchingEngine;
using core::MatchKey;
using core::MatchRecord;
using core::OrderedMatching;
using Table = Engine::Table;

constexpr std::uint32_t kMostRecords = 1 << 24;

void check(bool is_valid, const char* name, std::int64_t value, const char* valid) {
  if (!is_valid)
    throw Error(ErrorClass::option, std::string("OfflineMatchingEngine: ") + name + " is " +
                                        std::to_string(value) + "; it must be " + valid);
}

/// The number that the caller has given to a receive or message lies where receives have their user data.
void set_id(MatchRecord& record, std::uint64_t id) noexcept { record.user_data = std::bit_cast<void*>(id); }
std::uint64_t id_of(const MatchRecord& record) noexcept {
  return std::bit_cast<std::uint64_t>(record.user_data);
}

}  // namespace

struct OfflineMatchingEngine::State {
  explicit State(const OfflineMatchingOptions& options)
      : engine(static_cast<std::uint16_t>(options.order == MatchOrder::ordered ? kMatchingEngines : 0),
               {options.buckets, options.records, options.ranks},
               core::MatchingSetup{
                   .serial = options.serial, .algorithm = options.algorithm, .counters = options.counters}),
        ranks(options.ranks) {}

  void check_source(int source, const char* call, bool may_be_any) const {
    if (source >= 0 && source < ranks) [[likely]]
      return;
    if (source == any_source && may_be_any && engine.attributes().order == MatchOrder::ordered) return;
    throw Error(ErrorClass::option,
                std::string("OfflineMatchingEngine: ") + call + ": source " + std::to_string(source) +
                    " is not a rank (0 to " + std::to_string(ranks - 1) + ")" +
                    (source == any_source && may_be_any ? "; any_source needs an ordered engine" : ""));
  }

  MatchRecord* take_receive(std::uint64_t id) noexcept {
    MatchRecord* const record = engine.storage().records().take();
    if (record != nullptr) set_id(*record, id);
    return record;
  }
  MatchRecord* take_message(std::uint64_t id) noexcept {
    MatchRecord* const record = engine.storage().take_unexpected();
    if (record != nullptr) set_id(*record, id);
    return record;
  }
  /// Ends the use of a record that has stopped waiting.
  Result matched(MatchRecord* record) noexcept {
    if (record == nullptr) return {};
    const std::uint64_t id = id_of(*record);
    engine.storage().release(*record);
    return {Answer::matched, id};
  }
  Result answer_of(const Table::Result& result) noexcept {
    switch (result.answer) {
      case Table::Answer::matched:
        return matched(result.record);
      case Table::Answer::kept:
        return {Answer::waits, 0};
      case Table::Answer::contended:
        return {Answer::contended, 0};
      case Table::Answer::exhausted:
        break;
    }
    return {Answer::exhausted, 0};
  }

  // The same fast paths, in the same order, as those of posts and messages of a runtime.

  template <class Locking, core::MatchSide kSide, class Make>
  [[nodiscard]] Result pair(const MatchKey& key, const Make& make) noexcept {
    Table& table = engine.table();
    constexpr bool kIsReceive = kSide == core::MatchSide::posted;
    if (engine.has_fast_path()) [[likely]] {
      if constexpr (!kIsReceive) {
        if (MatchRecord* const receive = table.try_take<Locking, kSide>(key); receive != nullptr) [[likely]]
          return matched(receive);
      }
      if (kIsReceive && table.try_add<Locking, kSide>(key, make)) [[likely]]
        return {Answer::waits, 0};
    }
    return answer_of(engine.pair(kSide, key, make));
  }

  template <class Make>
  [[nodiscard]] Result arrive_in_order(const MatchKey& key, const Make& make) noexcept {
    OrderedMatching& order = *engine.order();
    const OrderedMatching::Hold hold = order.try_enter();
    if (hold == nullptr) return {Answer::contended, 0};
    core::ArrivalSequence& stream = order.arrivals(static_cast<int>(key.source), 0);
    MatchRecord* const receive =
        engine.has_fast_path() ? order.try_take_receive(stream, stream.expected, key) : nullptr;
    const Table::Result result =
        receive != nullptr ? Table::Result{Table::Answer::matched, receive} : order.match(key, make);
    order.leave(hold);
    return answer_of(result);
  }

  template <class Make>
  [[nodiscard]] Result post_in_order(const MatchKey& key, std::uint64_t tag_mask, const Make& make) noexcept {
    OrderedMatching& order = *engine.order();
    const OrderedMatching::Hold hold = order.enter();
    if (engine.has_fast_path() && !OrderedMatching::is_wildcard(key) && order.try_post(key, make))
        [[likely]] {
      order.leave(hold);
      return {Answer::waits, 0};
    }
    const Table::Result result = order.post(key, make, tag_mask);
    order.leave(hold);
    return answer_of(result);
  }

  Engine engine;
  const int ranks;
};

OfflineMatchingEngine::OfflineMatchingEngine(const OfflineMatchingOptions& options)
    : state_([&] {
        check(options.records >= 1 && options.records <= kMostRecords, "records", options.records,
              "1 to 2^24");
        check(std::has_single_bit(options.buckets) && options.buckets <= kMostRecords, "buckets",
              options.buckets, "a power of two up to 2^24");
        check(options.ranks >= 1, "ranks", options.ranks, "at least 1");
        if (options.algorithm != nullptr && options.order != MatchOrder::ordered)
          throw Error(ErrorClass::option,
                      "OfflineMatchingEngine: a matching algorithm needs MatchOrder::ordered");
        return std::make_unique<State>(options);
      }()) {}

OfflineMatchingEngine::~OfflineMatchingEngine() = default;

auto OfflineMatchingEngine::post(std::uint64_t id, int source, std::uint64_t tag, std::uint64_t tag_mask,
                                 ReceiveHandle* handle) -> Result {
  State& state = *state_;
  state.check_source(source, "post", true);
  const auto make = [&]() -> MatchRecord* {
    MatchRecord* const record = state.take_receive(id);
    if (record != nullptr && handle != nullptr) *handle = state.engine.handle(*record);
    return record;
  };
  if (state.engine.order() != nullptr)
    return state.post_in_order(OrderedMatching::key_of(source, tag, tag_mask), tag_mask, make);
  const MatchKey key{tag, static_cast<std::uint32_t>(source), 0};
  for (concurrent::Backoff backoff;; backoff.wait()) {
    const Result result = state.engine.is_serial()
                              ? state.pair<detail::NoLock, core::MatchSide::posted>(key, make)
                              : state.pair<detail::TryLock, core::MatchSide::posted>(key, make);
    if (result.answer != Answer::contended) return result;
  }
}

auto OfflineMatchingEngine::arrive(std::uint64_t id, int source, std::uint64_t tag) -> Result {
  State& state = *state_;
  state.check_source(source, "arrive", false);
  const MatchKey key{tag, static_cast<std::uint32_t>(source), 0};
  const auto make = [&] { return state.take_message(id); };
  if (state.engine.order() != nullptr) return state.arrive_in_order(key, make);
  return state.engine.is_serial() ? state.pair<detail::NoLock, core::MatchSide::unexpected>(key, make)
                                  : state.pair<detail::TryLock, core::MatchSide::unexpected>(key, make);
}

bool OfflineMatchingEngine::cancel(const ReceiveHandle& handle) noexcept {
  MatchRecord* const record = state_->engine.cancel(handle);
  if (record != nullptr) state_->engine.storage().release(*record);
  return record != nullptr;
}

auto OfflineMatchingEngine::probe(int source, std::uint64_t tag, std::uint64_t tag_mask) -> Result {
  state_->check_source(source, "probe", true);
  Engine& engine = state_->engine;
  Result result;
  const auto tell = [&](const MatchRecord& message) { result = {Answer::matched, id_of(message)}; };
  if (engine.order() != nullptr)
    static_cast<void>(
        engine.order()->visit_message(OrderedMatching::key_of(source, tag, tag_mask), tell, tag_mask));
  else
    static_cast<void>(engine.table().visit_oldest(core::MatchSide::unexpected,
                                                  {tag, static_cast<std::uint32_t>(source), 0}, tell));
  return result;
}

auto OfflineMatchingEngine::take(int source, std::uint64_t tag, std::uint64_t tag_mask) -> Result {
  state_->check_source(source, "take", true);
  Engine& engine = state_->engine;
  if (engine.order() != nullptr)
    return state_->matched(
        engine.order()->take_message(OrderedMatching::key_of(source, tag, tag_mask), tag_mask));
  return state_->matched(engine.take_message({tag, static_cast<std::uint32_t>(source), 0}));
}

MatchingCounters OfflineMatchingEngine::counters() const noexcept { return state_->engine.counters(); }

}  // namespace weft
