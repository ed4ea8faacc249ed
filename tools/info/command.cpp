#include "command.hpp"

#include <fmt/core.h>
#include <CLI/CLI.hpp>

#include "common/commands/command_line.hpp"
#include "common/commands/nearest_name.hpp"
#include "info/mpi.hpp"
#include "info/report.hpp"

namespace weft::tools {
namespace {

/// The line for a name that is no attribute's, with the one that was perhaps meant.
std::string unknown_attribute(const info::Report& report, const std::string& name) {
  std::vector<std::string> names;
  for (const info::AttributeState& state : report.attributes) {
    names.push_back(state.name);
    names.push_back(state.variable);
  }
  return fmt::format("there is no attribute {}{} `weft info` lists all", name,
                     suggestion(name, names).empty() ? ":" : suggestion(name, names));
}

}  // namespace

int command_info(int argc, char** argv) {
  CLI::App app{"Shows version, build options, host, networks and every attribute; of NAME everything.",
               "weft info"};
  bool json = false;
  bool markdown = false;
  bool mpi = false;
  std::string name;
  app.add_option("name", name, "an attribute: packet_size, or WEFT_PACKET_SIZE")->type_name("NAME");
  app.add_flag("--json", json, "for programs instead of people");
  app.add_flag("--markdown", markdown, "the page of the documents that lists every environment variable");
  app.add_flag("--mpi", mpi, "weft-mpi instead: its version, its limits, and which functions of MPI it has");
  const ManualNotes notes{.short_summary = "show version, build, host, networks and attributes of weft",
                          .see_also = {"weft(1)"}};
  if (const auto end = parse_command_line(app, argc, argv, notes)) return print_end("weft info", *end);
  if (markdown) {
    fmt::print("{}", info::variables_page());
    return 0;
  }
  if (mpi) {
    if (!info::has_mpi()) {
      fmt::print(stderr, "weft info: this build has no weft-mpi (WEFT_BUILD_MPI)\n");
      return kUsageError;
    }
    fmt::print("{}", json ? info::mpi_as_json() : info::mpi_as_table());
    return 0;
  }
  const info::Report report = info::make_report();
  if (app.count("name") == 0) {
    fmt::print("{}", json ? info::as_json(report) : info::as_table(report));
    return 0;
  }
  const info::AttributeState* const state = info::find_attribute(report, name);
  if (state == nullptr) {
    fmt::print(stderr, "weft info: {}\n", unknown_attribute(report, name));
    return kUsageError;
  }
  fmt::print("{}", json ? info::as_json(*state) : info::as_explanation(*state));
  return 0;
}

}  // namespace weft::tools
