#pragma once

#include <cstddef>
#include <vector>

namespace weft::tools::perf {

/// One processor of each of `count` different cores near each other; with fewer cores, of two, or two of one
/// core when that is all there is; empty when there is only one processor.
std::vector<int> choose_processors(std::size_t count = 2);

/// For `count` ranks: as many cores, or all that there are.
std::vector<int> choose_processors_of_ranks(std::size_t count);

/// Binds the calling thread to processors[index], or where there are fewer to one that others use as well;
/// does nothing when there is none. Throws weft::Error.
void pin_thread(const std::vector<int>& processors, std::size_t index);

/// The rank that `weft run` gave to this process, known before a runtime exists.
int rank_from_environment();

}  // namespace weft::tools::perf
