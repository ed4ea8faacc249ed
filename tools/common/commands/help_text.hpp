// What --help prints, in lines that a terminal shows whole.
#pragma once

#include <cstddef>
#include <string>

namespace CLI {
class App;
}  // namespace CLI

namespace weft::tools {

/// The columns of the terminal that standard output is, 60 to 100; 80 where it is none.
std::size_t help_width();

/// The help of a command. Words that are wider than the width stay whole.
std::string help_text(const CLI::App& app, std::size_t width);

}  // namespace weft::tools
