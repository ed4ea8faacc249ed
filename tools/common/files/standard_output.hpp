// Whether what a program has printed has arrived.
#pragma once

#include <exception>
#include <string>
#include <string_view>

namespace weft::tools {

/// The end of a program: writes what standard output still holds. Returns `exit_code`; 1, after a line of
/// `program` on standard error, where all had gone well but for that.
int end_of_output(std::string_view program, int exit_code) noexcept;

/// What an exception says, and of one that printing has thrown what could not be written.
std::string reason_of(const std::exception& error);

}  // namespace weft::tools
