#pragma once

#include <cstddef>
#include <vector>

namespace weft::tools {

/// Chooses one processor of each of `count` different cores near each other; with fewer cores, processors of
/// two cores, or two of one core when there is only one; empty when there is only one processor.
std::vector<int> choose_processors(std::size_t count = 2);

/// Chooses processors for `count` ranks: on as many cores, or on all cores when there are fewer.
std::vector<int> choose_processors_of_ranks(std::size_t count);

/// Binds the calling thread to processors[index], or, when there are fewer processors, to one that other
/// threads use as well; does nothing when there is none. Throws weft::Error.
void pin_thread(const std::vector<int>& processors, std::size_t index);

/// The rank that `weft run` gave to this process, known before a runtime exists.
int rank_from_environment();

}  // namespace weft::tools
