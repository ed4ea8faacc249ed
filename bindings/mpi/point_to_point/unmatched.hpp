// Messages that nobody has received.
#pragma once

#include <string>

namespace weft::mpi {

/// A line about the messages of the program that have come and that no receive has matched; nothing where
/// there are none. Takes them out.
[[nodiscard]] std::string unmatched_messages();

}  // namespace weft::mpi
