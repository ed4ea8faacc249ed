#pragma once

#include <string>

#include "perf/task.hpp"

namespace weft::tools::perf {

/// Where the plugin of a library lies, empty when it has not been built.
std::string find_plugin(const std::string& name);

/// The program that starts the ranks of a plugin's library, empty when there is none: the one that was named
/// when the plugin was built, else the one of the given name in PATH.
std::string find_launcher(const std::string& plugin, const std::string& name);

/// Does a task over the library of a plugin: both ranks, in this process and a child of it, or the one rank
/// that this process is when the library's own launcher has started it.
int run_plugin(const Task& task, const std::string& name, bool launched);

}  // namespace weft::tools::perf
