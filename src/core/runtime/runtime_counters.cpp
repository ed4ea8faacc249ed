// The counters of a runtime: the sum over its devices, and what they share.
#include "base/uninterrupted.hpp"
#include "core/diagnosis/counter_report.hpp"
#include "core/runtime/runtime_state.hpp"

#include <unistd.h>

#include <mutex>
#include <new>
#include <string>
#include <string_view>

namespace weft::detail {

RuntimeCounters RuntimeDevices::counters() noexcept {
  const std::lock_guard counting(counting_mutex_);
  RuntimeCounters result = of_closed_devices_;
  for (OpenDevice* device : counted_) core::add(result, device->counters());
  return result;
}

RuntimeCounters RuntimeState::all_counters() noexcept {
  RuntimeCounters result = devices_.counters();
  result.refused_handles = counters_.refused_handles.load(std::memory_order_relaxed);
  result.refused_messages = counters_.refused_messages.load(std::memory_order_relaxed);
  result.dropped_sends = counters_.dropped_sends.load(std::memory_order_relaxed);
  result.refused_accesses = counters_.refused_accesses.load(std::memory_order_relaxed);
  matching_engines_.for_each([&](core::MatchingEngine& engine) {
    result.unexpected_highest += engine.storage().unexpected().made();
    result.records_highest += engine.storage().records().made();
    result.long_searches += engine.table().long_searches();
  });
  return result;
}

void RuntimeDevices::take_unready(std::int32_t& peer, std::int32_t& id) noexcept {
  const std::lock_guard counting(counting_mutex_);
  for (OpenDevice* device : counted_)
    if (device->take_unready(peer, id)) return;
}

/// Called at the end, when all devices are closed.
void RuntimeState::print_counters() noexcept try {
  const std::string_view form = attributes_.text(base::Attribute::counters);
  if (form == "off") return;
  const RuntimeCounters counters = all_counters();
  const std::string text =
      form == "json" ? core::to_json_line(counters, rank_, size_) : core::to_table(counters, rank_);
  // In one write, so that the text of several ranks does not mix.
  static_cast<void>(
      base::uninterrupted([&text] { return ::write(STDERR_FILENO, text.data(), text.size()); }));
} catch (const std::bad_alloc&) {
  log_.warn("the counters are not written: there is no memory left");
}

}  // namespace weft::detail
