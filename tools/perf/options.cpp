#include "perf/options.hpp"

#include <weft/error.hpp>

#include <fmt/core.h>
#include <CLI/CLI.hpp>

#include <cstdio>

#include "base/parse.hpp"
#include "command.hpp"

namespace weft::tools::perf {
namespace {

constexpr std::int64_t kMostRounds = 1000;
constexpr double kShortest = 0.001;
constexpr double kLongest = 60;

int parse_rounds(const std::string& text) {
  const auto rounds = base::parse_integer(text);
  if (!rounds || *rounds < 1 || *rounds > kMostRounds) {
    throw Error(
        fmt::format("--rounds {} is not valid: it must be an integer from 1 to {}", text, kMostRounds));
  }
  return static_cast<int>(*rounds);
}

double parse_duration(const std::string& text) {
  const auto seconds = base::parse_seconds(text);
  if (!seconds || *seconds < kShortest || *seconds > kLongest) {
    throw Error(fmt::format("--seconds {} is not valid: it must be a number of seconds from {} to {}", text,
                            kShortest, kLongest));
  }
  return *seconds;
}

std::size_t parse_payload(const std::string& text) {
  const auto size = base::parse_size(text);
  if (!size || *size < 1 || *size > static_cast<std::int64_t>(kLargestSize)) {
    throw Error(fmt::format("--size {} is not valid: it must be a number of bytes from 1 to {}", text,
                            base::size_text(static_cast<std::int64_t>(kLargestSize))));
  }
  return static_cast<std::size_t>(*size);
}

std::vector<std::string> split(const std::vector<std::string>& lists) {
  std::vector<std::string> names;
  for (const std::string& list : lists) {
    for (std::size_t at = 0; at <= list.size();) {
      const std::size_t comma = std::min(list.find(',', at), list.size());
      names.push_back(list.substr(at, comma - at));
      at = comma + 1;
    }
  }
  return names;
}

std::vector<const Measurement*> brief_measurements() {
  return select_measurements({"rate/ring", "rate/serial-handler", "latency/line", "latency/serial-handler"});
}

void check_combination(const Options& options, bool selects) {
  if (options.brief && options.verify) throw Error("--brief and --verify exclude each other");
  if (options.brief && selects)
    throw Error("--brief and --only exclude each other: --brief measures what its lines tell");
  if (options.brief && options.size != 8)
    throw Error("--brief and --size exclude each other: --brief tells of 8 bytes");
  if (options.brief && options.json == "-")
    throw Error("--brief and --json - exclude each other: both write to standard output");
  if (options.json && options.json->empty())
    throw Error("--json needs a file name, or - for standard output");
}

}  // namespace

Parsed parse_options(int argc, char** argv) {
  CLI::App app{
      "Measures active messages between two ranks on this host: rate and latency of weft, of the bare limits "
      "of "
      "the machine, and of UCX when ucx_perftest is installed, alternated in short rounds.",
      "weft perf"};
  std::string rounds;
  std::string seconds;
  std::string size;
  std::string json;
  std::vector<std::string> only;
  Parsed parsed;
  Options& options = parsed.options;
  app.add_option("--rounds", rounds, "rounds of each measurement (default 5)")->type_name("N");
  app.add_option("--seconds", seconds, "length of a round (default 0.25)")->type_name("S");
  app.add_option("--size", size, "payload of rate measurements (default 8); latency always takes 8 bytes")
      ->type_name("BYTES");
  app.add_option(
         "--only", only,
         "some of the measurements, with commas between: rate, latency, solo, a transport (ring, line, "
         "serial-handler, serial-queue, single-consumer-queue, queue, default-handler, ucx), or both "
         "(rate/ucx)")
      ->type_name("NAMES")
      ->allow_extra_args(false);
  app.add_option("--json", json, "write all rounds to a file; -: to standard output, instead of the table")
      ->type_name("FILE|-");
  app.add_flag("--brief", options.brief,
               "three lines: rate, latency, and both compared with the bare limits");
  app.add_flag("--verify", options.verify,
               "check contents and counts instead of measuring: nothing lost, duplicated or torn");
  try {
    app.parse(argc, argv);
    if (app.count("--rounds") > 0) options.rounds = parse_rounds(rounds);
    if (app.count("--seconds") > 0) options.seconds = parse_duration(seconds);
    if (app.count("--size") > 0) options.size = parse_payload(size);
    if (app.count("--json") > 0) options.json = json;
    check_combination(options, !only.empty());
    options.measurements = options.brief ? brief_measurements() : select_measurements(split(only));
  } catch (const CLI::CallForHelp&) {
    fmt::print("{}", app.help());
    parsed.exit_code = 0;
  } catch (const CLI::ParseError& error) {
    fmt::print(stderr, "weft perf: {} (`weft perf --help` shows the options)\n", error.what());
    parsed.exit_code = kUsageError;
  } catch (const Error& error) {
    fmt::print(stderr, "weft perf: {}\n", error.what());
    parsed.exit_code = kUsageError;
  }
  return parsed;
}

}  // namespace weft::tools::perf
