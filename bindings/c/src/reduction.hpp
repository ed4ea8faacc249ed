// Reductions by the numbers of types and operators.
#pragma once

#include <weft_c/collective.h>

#include <weft/collective/operators.hpp>

namespace weft::c {

/// The reduction that the struct describes. Throws BadArgument.
[[nodiscard]] AnyReduction reduction_of(const weft_reduction& given);

}  // namespace weft::c
