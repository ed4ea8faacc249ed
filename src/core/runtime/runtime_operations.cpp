// Lists the operations of a runtime that are in progress, for explanations.
#include "core/runtime/runtime_state.hpp"

#include <string>
#include <vector>

namespace weft::detail {

void RuntimeState::describe(core::PendingList& list, std::vector<std::string>& notes) {
  matching_engines_.for_each_made([&](core::MatchingEngine& engine) {
    if (!engine.is_serial())
      engine.describe(list);
    else if (engine.storage().records().made() != 0)
      notes.push_back("engine " + std::to_string(engine.id()) +
                      " is serial: only its own thread may look at what waits there, so it is not shown");
  });
  if (!devices_.describe(list, notes))
    notes.emplace_back("a device is being opened or a handle withdrawn: operations of devices are not shown");
}

}  // namespace weft::detail
