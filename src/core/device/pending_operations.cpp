// Lists the operations of a device that are in progress, for explanations.
#include "concurrent/thread_number.hpp"
#include "core/device/device_state.hpp"
#include "core/diagnosis/try_for_a_while.hpp"
#include "network/unsent.hpp"

#include <string>
#include <vector>

namespace weft::detail {

bool DeviceState::describe(core::PendingList& list) noexcept {
  rendezvous_.describe(list);
  one_sided_.requests().describe(list);
  if (backlog_.empty()) return true;
  const std::uint32_t thread = concurrent::thread_number();
  if (!core::try_for_a_while([&] { return working_.enter(thread); })) return false;
  backlog_.describe(list, &core::ScatteredReceive::show);
  working_.leave();
  return true;
}

void DeviceState::describe_refusals(std::vector<std::string>& notes) const {
  rendezvous_.receiver().admission().describe_refusals(notes);
  if (auto* const port = dynamic_cast<network::HoldsUnsent*>(port_.get())) port->describe_unsent(notes);
}

}  // namespace weft::detail
