// When the neighbors of a rank are to be asked whether they name it as well.
#pragma once

#include <weft/collective/call.hpp>

#include <cstdint>
#include <span>
#include <vector>

namespace weft::collective {

/// Who sends to a rank that expects nothing does not wait for it, and would never know. Lists of neighbors
/// that were right are so again while nobody changes them: who does asks those of its lists before and after.
class NeighborChanges {
 public:
  /// A call with neighbors. Returns whom to ask: nobody, unless the lists differ from those of the call
  /// before. Programs that change them all the time are checked in their first changes, and then more and
  /// more rarely. `with_before`: also those that the lists before have named, and these may not.
  [[nodiscard]] std::span<const int> begin(const detail::CollectiveCall& call, bool with_before);

 private:
  static constexpr std::uint64_t kAlwaysAsked = 64;  // changes
  std::vector<int> sources_;                         // of the last call
  std::vector<int> destinations_;
  std::vector<int> asked_;
  std::uint64_t changes_ = 0;
};

}  // namespace weft::collective
