#pragma once

#include <string>

namespace weft::base {

/// Returns the name of this host that the kernel tells; "?" when it tells none.
std::string host_name();

}  // namespace weft::base
