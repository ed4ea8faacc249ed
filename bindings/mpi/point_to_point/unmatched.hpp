// Messages that nobody has received.
#pragma once

#include <string>

namespace weft::mpi {

/// The same about messages that a matched probe has taken and the program has not received. Gives them up.
[[nodiscard]] std::string probed_messages();

/// What is told: of messages of collectives nothing where the reason is known.
enum class WhichMessages { all, of_program };
/// A line about the messages that have come and that no receive has matched; nothing where there are none.
/// Takes them out.
[[nodiscard]] std::string unmatched_messages(WhichMessages told);

}  // namespace weft::mpi
