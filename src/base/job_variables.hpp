// The environment variables by which a launcher describes the job to a rank.
#pragma once

#include <array>
#include <string_view>

namespace weft::base {

/// Set by `weft run` for each rank, and only by it. WEFT_RANK and WEFT_SIZE are promised to users; the others
/// are private to the launcher and the library.
inline constexpr std::array<std::string_view, 6> kJobVariables{
    "WEFT_RANK", "WEFT_SIZE", "WEFT_JOB", "WEFT_BOOTSTRAP", "WEFT_BOOTSTRAP_SOCKET", "WEFT_EXPLAIN_SOCKET"};

}  // namespace weft::base
