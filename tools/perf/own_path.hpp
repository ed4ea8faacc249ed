#pragma once

#include <string>

namespace weft::tools::perf {

/// The file of this program. Throws weft::Error.
std::string own_path();

}  // namespace weft::tools::perf
