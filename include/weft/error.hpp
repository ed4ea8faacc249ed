#pragma once

#include <weft/detail/export.hpp>

#include <stdexcept>

namespace weft {

/// Thrown when set-up or the arguments of a call are wrong: a bad attribute, an unreachable launcher, a
/// failed mapping, a peer that is no rank. what() is one line that names the object, its value and what would
/// be right. Failures on the data path are not thrown; operations that fail end with an Outcome.
class WEFT_API Error : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

}  // namespace weft
