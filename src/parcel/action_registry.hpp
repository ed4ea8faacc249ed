// The actions of this program, and the numbers that the ranks agree on for them.
#pragma once

#include <weft/parcel/action.hpp>
#include <weft/parcel/parcelport.hpp>

#include <string>
#include <vector>

namespace weft::parcel {

/// Numbers the actions by their names, beginning with 1, and compares the names with those of all ranks.
/// Collective. Throws weft::Error with the names that differ. The actions by number; 0 is nullptr.
[[nodiscard]] std::vector<const detail::ActionEntry*> agree_on_actions(Parcelport& port);
/// The text that names the differences between the sorted names of two ranks; empty when there are none.
[[nodiscard]] std::string differences(const std::vector<std::string>& mine,
                                      const std::vector<std::string>& theirs, int their_rank);
/// The name of an action for messages.
[[nodiscard]] std::string name_of(const detail::ActionEntry& entry);

}  // namespace weft::parcel
