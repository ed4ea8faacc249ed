// What two copies of each message cost and nothing else: the reference for arrays over shared memory.
#pragma once

#include <nlohmann/json.hpp>

namespace weft::tools::study {

/// Runs the cases that stream arrays without a limit, by two threads on a core each: one copies into the
/// slots of a ring, the other out of them. Other cases answer {}. Returns the exit code. Throws weft::Error.
int two_copy_ring_main(const nlohmann::json& job);

}  // namespace weft::tools::study
