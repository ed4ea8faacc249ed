#pragma once

#include <vector>

namespace weft::tools::run {

/// A processor for each of `count` ranks of this host to start on, each on a core of its own, of those that
/// this process may use: those first that the fewest processes run on now, as there may be other jobs. Empty
/// when there are fewer cores than ranks. The ranks may go on anywhere.
std::vector<int> start_processors(int count);

}  // namespace weft::tools::run
