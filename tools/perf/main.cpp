// weft-perf, which `weft perf` starts.
#include "command.hpp"
#include "common/commands/run_command.hpp"

int main(int argc, char** argv) {
  return weft::tools::run_as_program("perf", weft::tools::command_perf, argc, argv);
}
