#pragma once

#include <string>
#include <utility>
#include <vector>

namespace weft::tools::run {

using Variables = std::vector<std::pair<std::string, std::string>>;

/// The environment of a rank, as NAME=VALUE: that of this process without the variables of a job that it may
/// be a rank of, and `own` in their place.
std::vector<std::string> environment_with(const Variables& own);

/// Throws weft::Error that names the variable, its value and what would be right, when ranks with this
/// environment could not start: programs need not tell it in one line themselves.
void check_variables(const Variables& own);

/// The variables of this process that ranks of other hosts get as well: WEFT_*, PATH and LD_LIBRARY_PATH.
Variables variables_for_hosts();

}  // namespace weft::tools::run
