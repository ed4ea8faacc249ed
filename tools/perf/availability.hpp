#pragma once

#include <string>

#include "perf/catalogue.hpp"

namespace weft::tools::perf {

/// Why a transport cannot be measured on this host, as a clause; empty: it can.
std::string why_absent(const Transport& over);

}  // namespace weft::tools::perf
