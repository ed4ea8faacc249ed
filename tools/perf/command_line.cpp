#include "perf/command_line.hpp"

#include <weft/error.hpp>

#include <fmt/core.h>
#include <fmt/ranges.h>
#include <CLI/CLI.hpp>

#include <algorithm>
#include <cstdio>

#include "command.hpp"
#include "common/commands/command_line.hpp"
#include "perf/libraries/transports.hpp"
#include "perf/measure/fresh_payload.hpp"
#include "perf/option_values.hpp"
#include "perf/variants.hpp"

namespace weft::tools::perf {
namespace {

constexpr int kRoundsOfComparison = 21;
constexpr double kShortest = 0.001;

/// The options as typed.
struct Typed {
  std::string rounds;
  std::string seconds;
  std::string warm_up;
  std::string minutes;
  std::string compute;
  std::string pin;
  std::string json;
  std::string seed;
  std::string report;
  std::vector<std::string> size;
  std::vector<std::string> window;
  std::vector<std::string> ranks;
  std::vector<std::string> only;
  std::vector<std::string> compare;
  std::vector<std::string> hosts;
};

void add_options_of_workloads(CLI::App& app, Typed& typed, Options& options) {
  app.add_option("--only", typed.only,
                 "some of the measurements, with commas between: all, a workload, a transport, or "
                 "WORKLOAD/TRANSPORT; by "
                 "default rate, latency and solo (--list shows the names)")
      ->type_name("NAMES")
      ->allow_extra_args(false);
  app.add_option(
         "--compare", typed.compare,
         "of the selected measurements those of these transports, with commas between; 21 rounds unless "
         "--rounds says otherwise")
      ->type_name("A,B,...")
      ->allow_extra_args(false);
  app.add_option(
         "--size", typed.size,
         "payload of rate, matched and bandwidth workloads, 0 to 16M; several with commas between, or "
         "sweep: each is measured, and plotted by --report")
      ->type_name("BYTES,...")
      ->allow_extra_args(false);
  app.add_option(
         "--window", typed.window,
         "messages in a window of matched, outstanding and thread workloads, 1 to 1024; several, or sweep")
      ->type_name("N,...")
      ->allow_extra_args(false);
  app.add_option("--ranks", typed.ranks,
                 "of many-to-one, all-to-all (default 4) and allreduce (2), 2 to 16; several, or sweep")
      ->type_name("N,...")
      ->allow_extra_args(false);
  app.add_option("--compute", typed.compute,
                 "busy work before each message: nanoseconds, or a duration (default 0)")
      ->type_name("NS");
  app.add_flag("--fresh", options.fresh,
               "payloads of rate, matched, unexpected, matched-unacknowledged, up to 8K, are written right "
               "before their posts");
  app.add_flag("--progress-thread", options.progress_thread,
               "a thread of its own progresses weft, not the one that sends and receives");
  app.add_option("--seed", typed.seed, "of shuffled orders (default 1)")->type_name("N");
}

void add_options_of_rounds(CLI::App& app, Typed& typed, Options& options) {
  app.add_option("--rounds", typed.rounds, "rounds of each measurement (default 5)")->type_name("N");
  app.add_option("--seconds", typed.seconds, "length of a round (default 0.25s)")->type_name("DURATION");
  app.add_option("--warm-up", typed.warm_up,
                 "of a round, before that (default 20ms and a tenth of --seconds)")
      ->type_name("DURATION");
  app.add_option(
         "--minutes", typed.minutes,
         "further passes over what undecided bars compare, until so many minutes, or another duration, "
         "have gone since the start (default 0: none)")
      ->type_name("MINUTES");
  app.add_option("--hosts", typed.hosts,
                 fmt::format("run the two ranks on two hosts: transports that leave a host only ({})",
                             fmt::join(kTransportsBetweenHosts, ", ")))
      ->type_name("A,B")
      ->allow_extra_args(false);
  app.add_option("--launcher-exec", options.hosts.launcher_exec,
                 "start processes on hosts by COMMAND HOST PROGRAM..., in place of ssh")
      ->type_name("COMMAND");
  app.add_option("--pin", typed.pin, "core: threads are bound to cores (default); none: they are not")
      ->type_name("core|none");
  app.add_option("--json", typed.json,
                 "write all rounds to a file; -: to standard output, instead of the table")
      ->type_name("FILE|-");
  app.add_option("--report", typed.report,
                 "write perf.html (plots), perf.csv and perf.json into a folder, and message-rate.svg where "
                 "rates were measured against threads")
      ->type_name("DIR");
  app.add_flag("--brief", options.brief,
               "four lines: rate, latency, both compared with the bare limits, and the state of the machine");
  app.add_flag("--list", options.lists, "list what can be measured, over what, and what is not installed");
  app.add_flag("--verify", options.verify,
               "check contents and counts instead of measuring: nothing lost, duplicated or torn");
}

/// Ranks of weft that choose their network by themselves take sockets between hosts.
bool leaves_a_host(const Measurement* measurement) {
  const Transport& over = *measurement->over;
  const bool chooses_network =
      std::ranges::none_of(over.environment, [](const auto& each) { return each.first == "WEFT_NETWORK"; });
  return (over.role == Role::weft && over.launch == Launch::ranks && chooses_network) ||
         std::ranges::find(kTransportsBetweenHosts, over.name) != kTransportsBetweenHosts.end();
}

/// With --hosts, leaves out what does not leave a host; refuses when nothing is left.
void choose_for_hosts(const Options& options, std::vector<const Measurement*>& measurements,
                      std::vector<std::string>& left_out) {
  if (options.hosts.names.empty()) {
    if (!options.hosts.launcher_exec.empty()) throw Error("--launcher-exec needs --hosts");
    return;
  }
  const auto [first, last] = std::ranges::stable_partition(measurements, leaves_a_host);
  for (auto each = first; each != last; ++each) left_out.push_back((*each)->name);
  if (first == measurements.begin())
    throw Error(
        fmt::format("{} does not leave a host: with --hosts, --only must name transports of weft between two "
                    "ranks, or of {}",
                    left_out.front(), fmt::join(kTransportsBetweenHosts, ", ")));
  measurements.erase(first, last);
}

void check_combination(const Options& options, bool selects) {
  if (options.brief && options.verify) throw Error("--brief and --verify exclude each other");
  if (options.brief && selects)
    throw Error("--brief and --only or --compare exclude each other: --brief measures what its lines tell");
  if (options.brief && !options.sizes.empty())
    throw Error("--brief and --size exclude each other: --brief tells of 8 bytes");
  if (options.brief && options.json == "-")
    throw Error("--brief and --json - exclude each other: both write to standard output");
  if (options.json && options.json->empty())
    throw Error("--json needs a file name, or - for standard output");
  if (options.report && options.report->empty()) throw Error("--report needs the name of a folder");
}

/// Checks that --fresh stays below the sizes at which libraries borrow payloads.
void check_fresh(const Options& options) {
  if (options.fresh && options.verify)
    throw Error("--fresh and --verify exclude each other: contents are checked of other payloads");
  for (const std::size_t size : options.sizes)
    if (options.fresh && size > kMostFresh)
      throw Error(
          fmt::format("--fresh takes payloads of up to {} bytes, and --size has {}", kMostFresh, size));
}

std::vector<const Measurement*> brief_measurements() {
  return select_measurements(
      {"rate/bare-ring-buffer", "rate/serial-handler", "latency/bare-cache-line", "latency/serial-handler"});
}

void read_values(const CLI::App& app, const Typed& typed, Parsed& parsed) {
  Options& options = parsed.options;
  const auto given = [&app](const char* option) { return app.count(option) > 0; };
  if (given("--rounds")) options.rounds = parse_rounds(typed.rounds);
  if (given("--seconds")) options.seconds = parse_duration("seconds", typed.seconds, kShortest);
  if (given("--warm-up")) options.warm_up = parse_duration("warm-up", typed.warm_up, 0);
  if (given("--minutes")) options.minutes = parse_minutes(typed.minutes);
  if (given("--size")) options.sizes = parse_sizes(typed.size);
  if (given("--window")) options.windows = parse_windows(typed.window);
  if (given("--ranks")) options.ranks = parse_ranks(typed.ranks);
  if (given("--compute")) options.compute_ns = parse_compute(typed.compute);
  if (given("--pin")) options.pins = parse_pin(typed.pin);
  if (given("--json")) options.json = typed.json;
  if (given("--report")) options.report = typed.report;
  check_combination(options, !typed.only.empty() || !typed.compare.empty());
  if (given("--seed")) options.seed = parse_seed(typed.seed);
  check_fresh(options);
  parsed.measurements = options.brief ? brief_measurements() : select_measurements(split(typed.only));
  if (!typed.compare.empty()) {
    parsed.measurements = keep_transports(parsed.measurements, split(typed.compare));
    if (!given("--rounds")) options.rounds = kRoundsOfComparison;
  }
  if (given("--hosts")) options.hosts.names = parse_hosts(typed.hosts);
  if (options.brief && given("--hosts"))
    throw Error("--brief and --hosts exclude each other: --brief tells of the bare limits of one machine");
  choose_for_hosts(options, parsed.measurements, options.left_out);
  check_variants(options, parsed.measurements);
}

}  // namespace

Parsed parse_command_line(int argc, char** argv) {
  CLI::App app{
      "Measures weft between two ranks on this host, or on two, next to the bare limits of the machine and "
      "to other "
      "libraries "
      "(UCX, MPICH, Open MPI: those that were there when weft was built), alternated in short rounds.",
      "weft perf"};
  app.footer("A duration is 250ms, 2s or 1m; a plain number counts in the unit that the option names.");
  const ManualNotes manual{.short_summary = "measure message rate and latency of this machine",
                           .see_also = {"weft(1)"}};
  Typed typed;
  Parsed parsed;
  add_options_of_rounds(app, typed, parsed.options);
  add_options_of_workloads(app, typed, parsed.options);
  try {
    if (const auto end = parse_command_line(app, argc, argv, manual)) {
      parsed.exit_code = print_end("weft perf", *end);
      return parsed;
    }
    read_values(app, typed, parsed);
  } catch (const Error& error) {
    fmt::print(stderr, "weft perf: {}\n", error.what());
    parsed.exit_code = kUsageError;
  }
  return parsed;
}

}  // namespace weft::tools::perf
