#pragma once

#include <weft/detail/export.hpp>

#include <stdexcept>

namespace weft {

/// Thrown when something cannot be set up: a bad attribute, an unreachable launcher, a failed mapping.
/// what() is one line that names the thing, its value and what would be right.
/// Nothing on the data path throws; failed operations end as completions with a status.
class WEFT_API Error : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

}  // namespace weft
