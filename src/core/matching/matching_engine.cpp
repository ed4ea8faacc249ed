#include "core/matching/matching_engine.hpp"

#include "concurrent/process_barrier.hpp"
#include "concurrent/racy_read.hpp"
#include "core/completion/immediate_completions.hpp"

#include <weft/completion/completion.hpp>
#include <weft/detail/message_access.hpp>
#include <weft/error.hpp>

#include <algorithm>
#include <string>
#include <utility>

namespace weft::core {

using Table = MatchingEngine::Table;

MatchingEngine::MatchingEngine(std::uint16_t id, const MatchingLimits& limits, const MatchingSetup& setup)
    : id_(id),
      serial_(setup.serial && setup.has_fast_path()),
      has_fast_path_(setup.has_fast_path()),
      expectation_(serial_),
      // The lock of an ordered engine's order guards the table, which then holds a key for each record.
      table_(limits.buckets, serial_ || id >= kMatchingEngines,
             id >= kMatchingEngines ? std::max(limits.records, 16 * limits.buckets) : 0),
      storage_(limits.records, serial_),
      observer_(setup.is_observed() ? std::make_unique<MatchObserver>(id, setup.log) : nullptr) {
  if (id < kMatchingEngines) return;
  auto algorithm = setup.algorithm != nullptr ? std::make_unique<AlgorithmMatching>(
                                                    id, setup.algorithm, storage_.records(), limits.ranks)
                                              : nullptr;
  order_ = std::make_unique<OrderedMatching>(table_, storage_.records(), limits.ranks, serial_,
                                             std::move(algorithm), observer_.get());
}

MatchRecord* MatchingEngine::take_message(const MatchKey& key) noexcept {
  MatchRecord* const message = table_.take(MatchSide::unexpected, key);
  if (message != nullptr && observer_ != nullptr) observer_->taken(key, ~std::uint64_t{0});
  return message;
}

/// The record has stopped waiting without having been matched.
void MatchingEngine::tell_unlinked(const MatchRecord& record) noexcept {
  if (record.is_receive())
    observer_->cancelled(identity_of(record));
  else
    observer_->left(MatchSide::unexpected);
}

WEFT_READS_RACILY bool MatchingEngine::may_name(const Completion& object) const noexcept {
  const std::uint32_t made = std::min(storage_.records().made(), storage_.records().limit());
  for (std::uint32_t index = 0; index < made; ++index)
    if (const MatchRecord* record = storage_.records().find(index);
        record != nullptr && concurrent::racy_read(record->completion) == &object &&
        (record->is_linked() || (order_ != nullptr && concurrent::racy_read(record->order) != 0)) &&
        concurrent::racy_read(record->unexpected) == nullptr)
      return true;
  if (!scattered_.load(std::memory_order_acquire)) return false;
  for (std::uint32_t index = 0; index < scattered_receives_->made(); ++index)
    if (const ScatteredReceive* receive = scattered_receives_->find(index);
        receive != nullptr && receive->passes_on_to(object))
      return true;
  return false;
}

void await_checks(MatchingEngine& engine) noexcept {
  if (OrderedMatching* const order = engine.order(); order != nullptr)
    order->leave(order->enter());
  else
    concurrent::private_barrier();
}

MatchRecord* MatchingEngine::cancel(const ReceiveHandle& handle) noexcept {
  MatchRecord* record = storage_.records().find(handle.index);
  if (record == nullptr) return nullptr;
  const auto still = [&] { return record->generation() == handle.generation && record->is_receive(); };
  return unlink(*record, still) ? record : nullptr;
}

ScatteredReceive::Pool& MatchingEngine::scattered_receives() {
  // Used by many threads even where the engine is serial: a large message may end on another device.
  std::call_once(scattered_once_, [this] {
    scattered_receives_ = std::make_unique<ScatteredReceive::Pool>(storage_.records().limit(), false);
    scattered_.store(true, std::memory_order_release);
  });
  return *scattered_receives_;
}

void end_unmatched(MatchingEngine& engine, MatchRecord& record, Outcome outcome, std::uint32_t device,
                   ImmediateCompletions* ends) noexcept {
  Message message;
  const MatchKey key = record.key();
  detail::MessageAccess::set_view(message, Operation::receive, static_cast<int>(key.source), key.tag,
                                  record.buffer.data(), 0, nullptr, 0);
  detail::MessageAccess::set_device(message, device);
  detail::MessageAccess::set_user_data(message, record.user_data);
  detail::MessageAccess::set_outcome(message, outcome);
  Completion* completion = record.completion;
  engine.storage().release(record);
  if (ends != nullptr) return ends->signal(*completion, message);
  const SignalScope scope;
  completion->signal(message);
}

namespace {

/// Returns true when only a key function determines whose messages match the key.
bool is_of_user(const MatchKey& key) noexcept {
  return static_cast<MatchingPolicy>(key.policy) == MatchingPolicy::user;
}

}  // namespace

/// Returns true when the record is in the table, or is a receive with a wildcard that has not matched a
/// message.
bool MatchingEngine::waits(const MatchRecord& record) const noexcept {
  return record.is_linked() || record.waits_elsewhere();
}

void MatchingEngine::end_all_but(int own) noexcept {
  unlink_where(
      [this, own](const MatchRecord& record) {
        return waits(record) && record.is_receive() && only_source(record.key()) != own &&
               !is_of_user(record.key());
      },
      [this](MatchRecord& record) { end_unmatched(*this, record, Outcome::peer_failed); });
}

}  // namespace weft::core
