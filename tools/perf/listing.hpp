#pragma once

#include <string>

namespace weft::tools::perf {

/// What `weft perf --list` prints: a line for every workload and every transport, with what it does.
std::string as_list();

}  // namespace weft::tools::perf
