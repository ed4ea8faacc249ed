#pragma once

#include <cstddef>
#include <vector>

namespace weft::tools::perf {

/// One processor of each of two different cores near each other, or of one core when that is all there is;
/// empty when there is only one processor.
std::vector<int> choose_processors();

/// Binds the calling thread to processors[index]; does nothing when there are fewer. Throws weft::Error.
void pin_thread(const std::vector<int>& processors, std::size_t index);

/// The rank that `weft run` gave to this process, known before a runtime exists.
int rank_from_environment();

}  // namespace weft::tools::perf
