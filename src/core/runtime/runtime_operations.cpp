// Lists the operations of a runtime that are in progress, for explanations.
#include "core/diagnosis/try_for_a_while.hpp"
#include "core/runtime/runtime_state.hpp"

#include <mutex>
#include <string>
#include <vector>

namespace weft::detail {

void RuntimeState::describe(core::PendingList& list, std::vector<std::string>& notes) {
  matching_engines_.for_each_made([&](core::MatchingEngine& engine) {
    if (!engine.is_serial())
      engine.describe(list);
    else if (engine.records().made() != 0)
      notes.push_back("engine " + std::to_string(engine.id()) +
                      " is serial: only its own thread may look at what waits there, so it is not shown");
  });
  if (!core::try_for_a_while([&] { return mutex_.try_lock(); })) {
    notes.emplace_back("a device is being opened or a handle withdrawn: operations of devices are not shown");
    return;
  }
  const std::lock_guard lock(mutex_, std::adopt_lock);
  for (const auto& device : devices_)
    if (device != nullptr) device->describe_refusals(notes);
  for (std::size_t index = 0; index < devices_.size(); ++index)
    if (devices_[index] != nullptr && !devices_[index]->describe(list))
      notes.push_back(
          "device " + std::to_string(index) + " has " + std::to_string(devices_[index]->refused_posts()) +
          " refused operations, which are not shown because a thread stays inside of progress (in "
          "a handler?)");
  // Operations with a timeout name nodes: threads wait for the objects behind them.
  for (const auto& deadlines : deadlines_)
    if (deadlines != nullptr)
      list.replace_completions([&](const void* completion) -> const void* {
        return deadlines->behind(static_cast<const Completion*>(completion));
      });
}

}  // namespace weft::detail
