#include "core/matching/matching_engine.hpp"

#include <weft/completion/completion.hpp>
#include <weft/detail/message_access.hpp>
#include <weft/error.hpp>

#include <algorithm>
#include <string>
#include <utility>

namespace weft::core {

using Table = MatchingEngine::Table;

MatchingEngine::MatchingEngine(std::uint16_t id, const MatchingLimits& limits, bool serial)
    : id_(id),
      serial_(serial),
      expectation_(expectation(serial, false)),
      // Of an ordered engine the order's lock guards the table, which then holds a key for each record.
      table_(limits.buckets, serial || id >= kMatchingEngines,
             id >= kMatchingEngines ? std::max(limits.records, 16 * limits.buckets) : 0),
      records_(limits.records, serial),
      unexpected_(limits.records, serial),
      blocks_(std::min(limits.records, kMaxBlocks), serial),
      order_(id >= kMatchingEngines
                 ? std::make_unique<OrderedMatching>(table_, records_, limits.ranks, serial)
                 : nullptr) {}

MatchRecord* MatchingEngine::cancel(const ReceiveHandle& handle) noexcept {
  MatchRecord* record = records_.find(handle.index);
  if (record == nullptr) return nullptr;
  const auto still = [&] { return record->generation() == handle.generation && record->is_receive(); };
  return unlink(*record, still) ? record : nullptr;
}

ScatteredReceive::Pool& MatchingEngine::scattered_receives() {
  // Of many threads also where the engine is serial: a large message may end on another device.
  std::call_once(scattered_once_, [this] {
    scattered_receives_ = std::make_unique<ScatteredReceive::Pool>(records_.limit(), false);
  });
  return *scattered_receives_;
}

void end_unmatched(MatchingEngine& engine, MatchRecord& record, Outcome outcome) noexcept {
  Message message;
  const MatchKey key = record.key();
  detail::MessageAccess::set_view(message, Operation::receive, static_cast<int>(key.source), key.tag,
                                  record.buffer.data(), 0, nullptr, 0);
  detail::MessageAccess::set_user_data(message, record.user_data);
  detail::MessageAccess::set_outcome(message, outcome);
  Completion* completion = record.completion;
  engine.release(record);
  completion->signal(message);
}

void MatchingEngine::end_peer(int rank) noexcept {
  const auto is_of_peer = [this, rank](const MatchRecord& record) {
    // Otherwise somebody else may be using it.
    if (!record.is_linked()) return false;
    if (!record.is_receive()) return record.unexpected->is_announced() && record.unexpected->peer == rank;
    if (needs_all_ranks()) return true;
    const MatchKey key = record.key();
    const auto policy = static_cast<MatchingPolicy>(key.policy);
    return (policy == MatchingPolicy::rank_and_tag || policy == MatchingPolicy::rank_only) &&
           key.source == static_cast<std::uint32_t>(rank);
  };
  unlink_where(is_of_peer, [this](MatchRecord& record) {
    if (record.is_receive())
      end_unmatched(*this, record, Outcome::peer_failed);
    else
      release(record);
  });
}

MatchingEngines::~MatchingEngines() {
  for (auto& engine : engines_) delete engine.load(std::memory_order_relaxed);
}

MatchingEngine* MatchingEngines::make(std::uint32_t id) {
  const std::lock_guard lock(mutex_);
  MatchingEngine* engine = engines_[id].load(std::memory_order_relaxed);
  if (engine != nullptr) return engine;
  engine = new MatchingEngine(static_cast<std::uint16_t>(id), limits_, false);
  // Pairs with the acquire in find().
  engines_[id].store(engine, std::memory_order_release);
  return engine;
}

MatchingEngine& MatchingEngines::open(std::uint32_t id, MatchOrder order, bool serial, KeyFunction function,
                                      const void* context) {
  const bool is_ordered = order == MatchOrder::ordered;
  const std::uint32_t first = is_ordered ? kMatchingEngines : 0;
  const std::uint32_t end = is_ordered ? kEngineIds : kMatchingEngines;
  if (id < first || id >= end)
    throw Error("matching engine " + std::to_string(id) +
                " is out of range: " + (is_ordered ? "ordered engines have the ids " : "") +
                std::to_string(first) + " to " + std::to_string(end - 1) +
                (!is_ordered && id < kEngineIds ? "; ordered engines need MatchOrder::ordered" : ""));
  if (is_ordered && function != nullptr)
    throw Error("matching engine " + std::to_string(id) +
                " is ordered: it matches by rank and tag, not by a make_key");
  const std::lock_guard lock(mutex_);
  if (open_[id]) throw Error("matching engine " + std::to_string(id) + " is open already in this runtime");
  MatchingEngine* old = engines_[id].load(std::memory_order_relaxed);
  MatchingEngine* engine = old;
  if (old == nullptr || old->attributes().is_serial != serial) {
    // Of two engines one is serial, the one that an early message made or the one that was closed before: by
    // its contract no other thread is near.
    engine = new MatchingEngine(static_cast<std::uint16_t>(id), limits_, serial);
    if (old != nullptr) move_all(*old, *engine);
    engines_[id].store(engine, std::memory_order_release);
    // Records that wait for a transfer may still be its own.
    if (old != nullptr) replaced_.emplace_back(old);
  }
  engine->set_key_function(function, context);
  open_[id] = true;
  return *engine;
}

void MatchingEngines::move_all(MatchingEngine& from, MatchingEngine& to) {
  const auto copy_of = [&](MatchRecord& record) -> MatchRecord* {
    MatchRecord* copy = record.unexpected != nullptr ? to.take_unexpected() : to.records().take();
    if (copy == nullptr) return nullptr;
    copy->buffer = record.buffer;
    copy->completion = record.completion;
    copy->user_data = record.user_data;
    if (record.unexpected == nullptr) return copy;
    const bool has_block = record.unexpected->kept() == Arrived::Kept::beside;
    EarlyBlock* const block = has_block ? to.blocks().take() : nullptr;
    if (has_block && block == nullptr) {
      to.release(*copy);
      return nullptr;
    }
    copy->unexpected->take_over(record.unexpected->content(), block);
    return copy;
  };
  if (from.order() != nullptr) {
    to.order()->take_over(*from.order(), [&](MatchRecord& record) {
      MatchRecord* copy = copy_of(record);
      from.release(record);
      return copy;
    });
    return;
  }
  from.table().clear([&](MatchRecord& record, MatchSide side) {
    const auto moved = to.table().pair(side, record.key(), [&] { return copy_of(record); });
    static_cast<void>(moved);
    from.release(record);
  });
}

void MatchingEngines::close(std::uint32_t id) noexcept {
  const std::lock_guard lock(mutex_);
  open_[id] = false;
}

}  // namespace weft::core
