// Where figures come from.
#pragma once

#include <string>
#include <string_view>

namespace weft::tools {

/// The command as it was typed, words with blanks or signs of a shell in quotes. argv[0] is the name that
/// `program` replaces.
std::string command_text(std::string_view program, int argc, const char* const* argv);

/// "28 November 2026 14:05 UTC; weft 0.1.0, g++ 12.2.0; Linux 6.1.0-18-amd64 on x86_64".
std::string provenance_text();

}  // namespace weft::tools
