// Which networks a build of weft has, for tools that tell.
#pragma once

#include <weft/detail/export.hpp>

#include <string>
#include <vector>

namespace weft {

/// A network that attribute `network` may name.
struct NetworkDescription {
  std::string name;
  bool present = false;  ///< whether this build has it and this host can run it
  std::string remark;    ///< what it connects, or why it is absent
};

/// All networks that weft knows. Looks at this host, which may take some milliseconds. Throws weft::Error
/// when the environment sets an attribute wrongly.
[[nodiscard]] WEFT_API std::vector<NetworkDescription> describe_networks();

}  // namespace weft
