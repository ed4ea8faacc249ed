// The networks that a build of weft has, for tools that list them.
#pragma once

#include <weft/detail/export.hpp>

#include <string>
#include <vector>

namespace weft {

/// A network that attribute `network` may name.
struct NetworkDescription {
  std::string name;
  bool present = false;  ///< true when this build has the network and this host can run it
  std::string remark;    ///< what the network connects, or why it is absent
};

/// Returns all networks that weft knows. Inspects this host, which may take some milliseconds. Throws
/// weft::Error when the environment sets an attribute wrongly.
[[nodiscard]] WEFT_API std::vector<NetworkDescription> describe_networks();

}  // namespace weft
