#include "command.hpp"

#include <fmt/core.h>
#include <CLI/CLI.hpp>

#include "info/report.hpp"

namespace weft::tools {

int command_info(int argc, char** argv) {
  CLI::App app{"Shows version, build options, host, networks and every attribute.", "weft info"};
  bool json = false;
  app.add_flag("--json", json, "for programs instead of people");
  try {
    app.parse(argc, argv);
  } catch (const CLI::CallForHelp&) {
    fmt::print("{}", app.help());
    return 0;
  } catch (const CLI::ParseError& error) {
    fmt::print(stderr, "weft info: {} (`weft info --help` shows the options)\n", error.what());
    return kUsageError;
  }
  const info::Report report = info::make_report();
  fmt::print("{}", json ? info::as_json(report) : info::as_table(report));
  return 0;
}

}  // namespace weft::tools
