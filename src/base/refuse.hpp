// Errors of calls whose arguments are wrong.
#pragma once

#include <weft/error.hpp>

#include <string>
#include <string_view>

namespace weft::base {

/// Throws weft::Error: the call, or the CallContext of the thread in place of it, and why.
[[noreturn, gnu::cold]] void refuse(ErrorClass error_class, std::string_view call, const std::string& why);

}  // namespace weft::base
