// Whether a network can be had.
#pragma once

#include <string>

namespace weft::network {

/// Whether this build has a network and this host can run it.
struct Availability {
  bool present = false;
  std::string remark;  ///< what the network connects, or why it is absent
};

}  // namespace weft::network
