#include "command.hpp"

#include <fmt/core.h>
#include <signal.h>

#include <cstdio>
#include <optional>
#include <string_view>
#include <utility>

#include "common/machine/provenance.hpp"
#include "experiment/launch/interruption.hpp"
#include "experiment/report/report_files.hpp"
#include "perf/command_line.hpp"
#include "perf/comparison.hpp"
#include "perf/listing.hpp"
#include "perf/measure/task.hpp"
#include "perf/report/plots.hpp"
#include "perf/report/report_formats.hpp"
#include "perf/worker.hpp"
#include "perf/worker_process.hpp"

namespace weft::tools {

int command_perf(int argc, char** argv) {
  if (argc == 3 && std::string_view{argv[1]} == "--worker")
    return perf::run_worker(perf::parse_task(argv[2]));
  if (argc == 3 && std::string_view{argv[1]} == "--shell") return perf::run_shell(argv[2]);
  const perf::Parsed parsed = perf::parse_command_line(argc, argv);
  if (parsed.exit_code) return *parsed.exit_code;
  const perf::Options& options = parsed.options;
  if (options.lists) {
    fmt::print("{}", perf::as_list());
    return 0;
  }
  if (options.verify) return perf::verify(options, parsed.measurements) ? 0 : 1;

  std::optional<ReportFiles> files(std::in_place, "perf", options.report.value_or(""),
                                   options.json.value_or(""));
  const perf::Results results = perf::compare(options, parsed.measurements);
  if (const int signal = Interruption::signal(); signal != 0 && !perf::has_rounds(results)) {
    // Nothing is known that was not known before: files stay as they are.
    files.reset();
    ::signal(signal, SIG_DFL);
    ::raise(signal);
  }
  files->write({.text = [&] { return options.brief ? perf::as_brief(results) : perf::as_table(results); },
                .html = [&] { return perf::as_html(results, command_text("weft perf", argc, argv)); },
                .csv = [&] { return perf::as_csv(results); },
                .json = [&] { return perf::as_json(results); }});
  files->write_further("message-rate.svg", [&] { return perf::picture_of_message_rate(results); });
  if (results.ended_early.empty()) return 0;
  std::fflush(stdout);
  fmt::print(stderr, "weft perf: {}\n", results.ended_early);
  const int signal = Interruption::signal();
  return signal == 0 ? 1 : 128 + signal;
}

}  // namespace weft::tools
