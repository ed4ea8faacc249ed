// weft-study, which `weft study` starts.
#include "command.hpp"
#include "common/commands/run_command.hpp"

int main(int argc, char** argv) {
  return weft::tools::run_as_program("study", weft::tools::command_study, argc, argv);
}
