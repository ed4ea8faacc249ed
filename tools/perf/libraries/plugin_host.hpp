#pragma once

#include <string>

#include "perf/measure/task.hpp"

namespace weft::tools::perf {

/// The path of a library's plugin; empty when it has not been built.
std::string find_plugin(const std::string& name);

/// The program that starts the ranks of a plugin's library: the one that was named when the plugin was built,
/// else the one of the given name in PATH; empty when there is none.
std::string find_launcher(const std::string& plugin, const std::string& name);

/// Does a task over the library of a plugin: both ranks, in this process and a child of it, or, when the
/// library's own launcher has started this process, the one rank that it is.
int run_plugin(const Task& task, const std::string& name, bool launched);

}  // namespace weft::tools::perf
