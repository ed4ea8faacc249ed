// The frame of a command of weft, in whichever program it lies.
#pragma once

#include <string>
#include <string_view>

namespace weft::tools {

/// A command as a function: argv[0] is the command's name; the result is the exit code. May throw.
using CommandFunction = int (*)(int argc, char** argv);

/// Calls it. What it throws is one line of `program` ("weft perf") on standard error; so is a standard output
/// that could not be written.
int run_command(const std::string& program, CommandFunction function, int argc, char** argv);

/// What main() of a program that is one command does: `weft-perf --help` is `weft perf --help`.
int run_as_program(std::string_view command, CommandFunction function, int argc, char** argv);

}  // namespace weft::tools
