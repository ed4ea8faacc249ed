#pragma once

#include <string>

namespace weft::tools::perf {

/// The path of this program. Throws weft::Error.
std::string own_path();

}  // namespace weft::tools::perf
