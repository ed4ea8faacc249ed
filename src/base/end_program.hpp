#pragma once

#include <string_view>

namespace weft::base {

/// Writes "weft: ..." to standard error, one line, and aborts the process: for errors of the program after
/// which it would go on with memory that is gone, or in a race.
[[noreturn]] void end_program(std::string_view line) noexcept;

}  // namespace weft::base
