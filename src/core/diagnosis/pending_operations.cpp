// Lists the operations of a runtime that are in progress, for explanations.
#include "concurrent/thread_number.hpp"
#include "core/runtime/device_state.hpp"
#include "core/runtime/runtime_state.hpp"
#include "network/unsent.hpp"

#include <chrono>
#include <string>
#include <thread>

namespace weft::detail {

namespace {

constexpr int kTries = 500;  // a millisecond each

/// Returns true when `attempt` succeeds within half a second: the explainer never waits for a thread that may
/// not come back.
template <class Attempt>
bool try_for_a_while(const Attempt& attempt) {
  for (int count = 0; count < kTries; ++count) {
    if (attempt()) return true;
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  return false;
}

}  // namespace

bool DeviceState::describe(core::PendingList& list) noexcept {
  rendezvous_.describe(list);
  one_sided_.describe(list);
  if (backlog_.empty()) return true;
  const std::uint32_t thread = concurrent::thread_number();
  if (!try_for_a_while([&] { return working_.enter(thread); })) return false;
  backlog_.describe(list, &core::ScatteredReceive::show);
  working_.leave();
  return true;
}

void DeviceState::describe_refusals(std::vector<std::string>& notes) const {
  rendezvous_.describe_refusals(notes);
  if (auto* const port = dynamic_cast<network::HoldsUnsent*>(port_.get())) port->describe_unsent(notes);
}

void RuntimeState::describe(core::PendingList& list, std::vector<std::string>& notes) {
  matching_engines_.for_each_made([&](core::MatchingEngine& engine) {
    if (!engine.is_serial())
      engine.describe(list);
    else if (engine.records().made() != 0)
      notes.push_back("engine " + std::to_string(engine.id()) +
                      " is serial: only its own thread may look at what waits there, so it is not shown");
  });
  if (!try_for_a_while([&] { return mutex_.try_lock(); })) {
    notes.emplace_back("a device is being opened or a handle withdrawn: operations of devices are not shown");
    return;
  }
  const std::lock_guard lock(mutex_, std::adopt_lock);
  for (const auto& device : devices_)
    if (device != nullptr) device->describe_refusals(notes);
  for (std::size_t index = 0; index < devices_.size(); ++index)
    if (devices_[index] != nullptr && !devices_[index]->describe(list))
      notes.push_back(
          "device " + std::to_string(index) + " has " +
          std::to_string(devices_[index]->posts().backlog.size()) +
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
