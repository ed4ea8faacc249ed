#pragma once

#include <string>

#include "perf/libraries/catalogue.hpp"

namespace weft::tools::perf {

/// The reason why a transport cannot be measured on this host, as a clause; empty when it can.
std::string why_absent(const Transport& over);

}  // namespace weft::tools::perf
