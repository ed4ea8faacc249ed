#include "core/matching/matching_engines.hpp"

#include <weft/error.hpp>

#include <string>
#include <utility>

namespace weft::core {

MatchingEngines::~MatchingEngines() {
  for (auto& engine : engines_) delete engine.load(std::memory_order_relaxed);
}

MatchingEngine* MatchingEngines::make(std::uint32_t id) {
  const std::lock_guard lock(mutex_);
  MatchingEngine* engine = engines_[id].load(std::memory_order_relaxed);
  if (engine != nullptr) return engine;
  engine = new MatchingEngine(static_cast<std::uint16_t>(id), limits_, MatchingSetup{.log = log_});
  if (weft::detail::is_context_engine(id)) engine->serve(contexts_);
  note_used(id);
  publish(id, *engine);
  return engine;
}

void MatchingEngines::publish(std::uint32_t id, MatchingEngine& engine) noexcept {
  // Pairs with the acquires in find_existing() and on the fast paths.
  engines_[id].store(&engine, std::memory_order_release);
  fast_paths_[id].store(engine.has_fast_path() ? &engine : nullptr, std::memory_order_release);
}

void MatchingEngines::note_used(std::uint32_t id) noexcept {
  const std::uint32_t used = used_.load(std::memory_order_relaxed);
  used_ids_[used] = static_cast<std::uint16_t>(id);
  used_.store(used + 1, std::memory_order_release);
}

MatchingEngine& MatchingEngines::open(std::uint32_t id, MatchOrder order, MatchingSetup setup,
                                      KeyFunction function, const void* context) {
  const bool is_ordered = order == MatchOrder::ordered;
  const std::uint32_t first = is_ordered ? kMatchingEngines : 0;
  const std::uint32_t end = is_ordered ? kEngineIds : kMatchingEngines;
  if (id < first || id >= end)
    throw Error(ErrorClass::engine,
                "matching engine " + std::to_string(id) +
                    " is out of range: " + (is_ordered ? "ordered engines have the ids " : "") +
                    std::to_string(first) + " to " + std::to_string(end - 1) +
                    (!is_ordered && id < kEngineIds ? "; ordered engines need MatchOrder::ordered" : ""));
  if (weft::detail::is_context_engine(id))
    throw Error(ErrorClass::engine, "matching engine " + std::to_string(id) +
                                        " serves the matching contexts; choose another id from " +
                                        std::to_string(first + 1) + " to " + std::to_string(id - 1));
  if (is_ordered && function != nullptr)
    throw Error(ErrorClass::engine, "matching engine " + std::to_string(id) +
                                        " is ordered: it matches by rank and tag, not by a make_key");
  if (!is_ordered && setup.algorithm != nullptr)
    throw Error(ErrorClass::engine, "matching engine " + std::to_string(id) +
                                        " is unordered: a matching algorithm needs MatchOrder::ordered");
  return open_any(id, std::move(setup), function, context);
}

MatchingEngine& MatchingEngines::open_of_stream(std::uint32_t device, bool serial) {
  MatchingEngine& engine =
      open_any(weft::detail::kStreamEngines + device, {.serial = serial}, nullptr, nullptr);
  if (serial) engine.expectation().set_device(device);
  return engine;
}

MatchingEngine& MatchingEngines::open_any(std::uint32_t id, MatchingSetup setup, KeyFunction function,
                                          const void* context) {
  setup.log = log_;
  const std::lock_guard lock(mutex_);
  if (open_[id])
    throw Error(ErrorClass::engine,
                "matching engine " + std::to_string(id) + " is open already in this runtime");
  std::uint32_t served = id;
  if (setup.algorithm != nullptr)
    for_each([&](const MatchingEngine& other) {
      if (other.algorithm() == setup.algorithm) served = other.id();
    });
  if (served != id)
    throw Error(ErrorClass::engine, "matching engine " + std::to_string(id) +
                                        ": its algorithm serves engine " + std::to_string(served) +
                                        " already; each engine needs one of its own");
  MatchingEngine* old = engines_[id].load(std::memory_order_relaxed);
  MatchingEngine* engine = old;
  if (old == nullptr || !old->fits(setup)) {
    // The engines differ: by the contract of opening no other thread uses this one now, except to send to
    // ordered engines of peers with this id, which both have the numbers for.
    engine = new MatchingEngine(static_cast<std::uint16_t>(id), limits_, setup);
    if (old != nullptr)
      move_all(*old, *engine);
    else
      note_used(id);
    publish(id, *engine);
    // Records that wait for a transfer may still belong to the old engine.
    if (old != nullptr) replaced_.emplace_back(old);
  }
  engine->keys().set_function(function, context);
  open_[id] = true;
  return *engine;
}

void MatchingEngines::move_all(MatchingEngine& from, MatchingEngine& to) {
  const auto copy_of = [&](MatchRecord& record) -> MatchRecord* {
    MatchRecord* copy =
        record.unexpected != nullptr ? to.storage().take_unexpected() : to.storage().records().take();
    if (copy == nullptr) return nullptr;
    copy->buffer = record.buffer;
    copy->completion = record.completion;
    copy->user_data = record.user_data;
    if (record.unexpected == nullptr) return copy;
    const bool has_block = record.unexpected->storage() == UnexpectedPayload::Storage::beside;
    UnexpectedBlock* const block = has_block ? to.storage().blocks().take() : nullptr;
    if (has_block && block == nullptr) {
      to.storage().release(*copy);
      return nullptr;
    }
    copy->unexpected->take_over(record.unexpected->content(), block);
    return copy;
  };
  if (from.order() != nullptr) {
    to.order()->take_over(*from.order(), [&](MatchRecord& record) {
      MatchRecord* copy = copy_of(record);
      from.storage().release(record);
      return copy;
    });
    return;
  }
  from.table().clear([&](MatchRecord& record, MatchSide side) {
    const auto moved = to.pair(side, record.key(), [&] { return copy_of(record); });
    static_cast<void>(moved);
    from.storage().release(record);
  });
}

void MatchingEngines::close(std::uint32_t id) noexcept {
  const std::lock_guard lock(mutex_);
  open_[id] = false;
}

}  // namespace weft::core
