// Messages that nobody has received.
#pragma once

#include <string>

namespace weft::mpi {

/// What is told: of messages of collectives nothing where the reason is known.
enum class WhichMessages { all, of_program };
/// A line about the messages that have come and that no receive has matched; nothing where there are none.
/// Takes them out.
[[nodiscard]] std::string unmatched_messages(WhichMessages told);

}  // namespace weft::mpi
