// The environment variables of weft that are no attributes.
#pragma once

#include <array>
#include <string_view>

namespace weft::base {

struct JobVariable {
  std::string_view name;
  std::string_view help;
  bool is_promised = false;  ///< users and programs may rely on it
};

/// Set by `weft run` for each rank, and only by it. WEFT_RANK and WEFT_SIZE are promised to users; the others
/// are private to the launcher and the library.
inline constexpr std::array<JobVariable, 7> kJobVariables{{
    {"WEFT_RANK", "set by `weft run` for each rank: its number, 0 to WEFT_SIZE - 1", true},
    {"WEFT_SIZE", "set by `weft run` for each rank: the number of ranks", true},
    {"WEFT_JOB", "set by `weft run` for each rank: the name of the job"},
    {"WEFT_BOOTSTRAP",
     "the way by which a rank joins its job, where `weft run` has not set it: alone, pmi1, pmix, mpi, "
     "environment or "
     "srun; unset: the one that the launcher's variables tell",
     true},
    {"WEFT_BOOTSTRAP_SOCKET", "set by `weft run` for each rank: a connection to the launcher"},
    {"WEFT_EXPLAIN_SOCKET", "set by `weft run` for each rank: where the rank is asked what it waits for"},
    {"WEFT_START_PROCESSOR", "set by `weft run` for each rank: the processor on which it starts"},
}};

/// Set by users, and read by the bootstrap alone.
inline constexpr std::array<JobVariable, 1> kUserVariables{{
    {"WEFT_JOB_SECRET",
     "ranks that find each other by RANK, WORLD_SIZE, MASTER_ADDR and MASTER_PORT: a text, the same for all, "
     "that "
     "each has to know to join",
     true},
}};

}  // namespace weft::base
