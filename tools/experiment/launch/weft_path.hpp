#pragma once

#include <string>

namespace weft::tools {

/// The path of the command `weft`, which lies beside this program: it starts ranks (`weft run`) and the
/// commands that are programs of their own. Throws weft::Error.
std::string weft_path();

}  // namespace weft::tools
