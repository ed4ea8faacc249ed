// The order in which the participants of an experiment have their turns.
#pragma once

#include <cstddef>

namespace weft::tools {

/// Calls turn(index) for each of `count` participants, until one returns false: forwards in even passes,
/// backwards in odd ones, so that none always comes before or behind the same other one.
template <class Turn>
void alternate(std::size_t pass, std::size_t count, const Turn& turn) {
  for (std::size_t index = 0; index < count; ++index)
    if (!turn(pass % 2 == 0 ? index : count - 1 - index)) return;
}

}  // namespace weft::tools
