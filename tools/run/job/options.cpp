#include "run/job/options.hpp"

#include <weft/error.hpp>

#include <fmt/core.h>
#include <CLI/CLI.hpp>

#include <cstdio>
#include <cstdlib>

#include "base/job_variables.hpp"
#include "base/text/parse.hpp"
#include "command.hpp"
#include "common/commands/command_line.hpp"
#include "common/commands/nearest_name.hpp"

namespace weft::tools::run {
namespace {

constexpr std::int64_t kMostRanks = 4096;

int parse_ranks(const std::string& text) {
  const auto ranks = base::parse_integer(text);
  if (!ranks || *ranks < 1 || *ranks > kMostRanks) {
    throw Error(fmt::format("-n {} is not valid: it must be an integer from 1 to {}", text, kMostRanks));
  }
  return static_cast<int>(*ranks);
}

double parse_time(const char* option, const std::string& text) {
  const auto seconds = base::parse_seconds(text);
  constexpr double kLongest = 1e9;
  if (!seconds || *seconds <= 0 || *seconds > kLongest) {
    throw Error(fmt::format("{} {} is not valid: it must be {}, or a number of seconds, above 0", option,
                            text, base::kDurationForm));
  }
  return *seconds;
}

Binding parse_binding(const std::string& text) {
  if (text == "none") return Binding::none;
  if (text == "core") return Binding::core;
  if (text == "node") return Binding::node;
  throw Error(fmt::format("--bind {} is not valid: it must be core, node or none", text));
}

std::pair<std::string, std::string> parse_variable(const std::string& text) {
  const std::size_t equals = text.find('=');
  const std::string name = text.substr(0, equals);
  const char* const value = std::getenv(name.c_str());
  if (name.empty()) throw Error(fmt::format("--env {} is not valid: it must be NAME=VALUE, or NAME", text));
  if (equals == std::string::npos && value == nullptr)
    throw Error(fmt::format(
        "--env {} is not valid: it must be NAME=VALUE, or the name of a variable that is set", text));
  std::pair<std::string, std::string> variable{name,
                                               equals == std::string::npos ? value : text.substr(equals + 1)};
  for (const base::JobVariable& own : base::kJobVariables) {
    if (variable.first == own.name)
      throw Error(fmt::format("--env {} is not valid: `weft run` sets {} itself", text, own.name));
  }
  return variable;
}

/// Places the ranks on the hosts; without any, on this host.
void take_hosts(Options& options, const std::string& hosts, const std::string& hostfile,
                const std::string& ranks) {
  if (!hosts.empty() && !hostfile.empty())
    throw Error("--hosts and --hostfile are given: one of them is enough");
  if (!hosts.empty()) options.hosts = parse_hosts(hosts);
  if (!hostfile.empty()) options.hosts = read_hostfile(hostfile);
  if (options.hosts.empty()) {
    if (!options.launcher_exec.empty()) throw Error("--launcher-exec needs --hosts or --hostfile");
    if (ranks.empty()) throw Error("-n is required (or --hosts, which tells the number of ranks)");
    return;
  }
  if (ranks.empty()) options.ranks = count_slots(options.hosts);
  if (options.ranks > kMostRanks)
    throw Error(
        fmt::format("the hosts have {} slots; a job has at most {} ranks (-n)", options.ranks, kMostRanks));
  options.ranks_per_host = place_ranks(options.hosts, options.ranks);
}

/// -np and --np, as other launchers have it, are -n. The words of the program are left alone.
std::vector<std::string> with_own_names(const CLI::App& app, int argc, char** argv) {
  std::vector<std::string> words(argv, argv + argc);
  for (std::size_t at = 1; at < words.size() && words[at].starts_with('-') && words[at] != "--"; ++at) {
    std::string& word = words[at];
    for (const std::string_view other : {"--np", "-np"}) {
      if (word != other && !word.starts_with(std::string(other) + "=")) continue;
      // A value that is joined to a name of one letter has no sign between them.
      word = "-n" + (word == other ? "" : word.substr(other.size() + 1));
      break;
    }
    if (word == "-N" || word == "-c")
      throw Error(fmt::format("there is no option {}: the number of ranks is -n N", word));
    const CLI::Option* const option = app.get_option_no_throw(word);
    if (option != nullptr && option->get_items_expected_max() > 0) ++at;  // its value
  }
  return words;
}

void take_program(Options& options, std::vector<std::string> rest, const CLI::App& app) {
  if (!rest.empty() && rest.front() == "--") {
    rest.erase(rest.begin());
  } else if (!rest.empty() && rest.front().starts_with('-')) {
    const std::string name = rest.front().substr(0, rest.front().find('='));
    throw Error(fmt::format("there is no option {}{} (`weft run --help` lists all)", name,
                            suggestion(name, names_of_options(app))));
  }
  if (rest.empty() || rest.front().empty()) {
    throw Error("the program to start is missing: weft run -n N [OPTIONS] [--] program args...");
  }
  options.program = rest.front();
  options.arguments.assign(rest.begin() + 1, rest.end());
}

ManualNotes manual_notes() {
  return {.short_summary = "start the ranks of a job",
          .exit_codes = {{"124", "The job was ended by --timeout."},
                         {"126, 127", "The program cannot be executed, or was not found."},
                         {"other",
                          "That of the rank that failed first; 128 and the number of the signal "
                          "that ended it."}},
          .environment = {{"WEFT_RANK, WEFT_SIZE",
                           "Set for each rank: its number, from 0 on, and the number of ranks."}},
          .see_also = {"weft(1)", "weft-info(1)"}};
}

}  // namespace

Parsed parse_options(int argc, char** argv) {
  CLI::App app{
      "Starts N ranks of a program on this host, or on the hosts that are named, and ends them all when one "
      "fails, or with --keep-going none.",
      "weft run"};
  app.prefix_command();
  app.footer(
      "The program and its arguments follow the options: weft run -n N [OPTIONS] [--] program args...\n"
      "A DURATION is 500ms, 30s, 2m or 1h; a plain number counts seconds.");
  std::string ranks;
  std::string hosts;
  std::string hostfile;
  std::string ports;
  std::string interface;
  std::string timeout;
  std::string explain;
  std::string bind = "none";
  std::vector<std::string> environment;
  Parsed parsed;
  app.add_option("-n", ranks, "number of ranks, 1 to 4096 (also -np); with hosts: all slots by default")
      ->type_name("N");
  app.add_option("--hosts", hosts, "run on these hosts: names or addresses, each with its number of ranks")
      ->type_name("HOST:SLOTS,...");
  app.add_option("--hostfile", hostfile,
                 "the same from a file, a line each: HOST, HOST:SLOTS or HOST slots=SLOTS")
      ->type_name("FILE");
  app.add_option("--launcher-exec", parsed.options.launcher_exec,
                 "start processes on hosts by COMMAND HOST PROGRAM..., in place of ssh")
      ->type_name("COMMAND");
  app.add_option("--ports", ports, "ports for all connections between hosts (WEFT_PORTS)")
      ->type_name("LO-HI");
  app.add_option("--interface", interface, "interfaces for them: names or subnets (WEFT_INTERFACE)")
      ->type_name("LIST");
  app.add_option("--timeout", timeout, "end the job after this time, with exit code 124")
      ->type_name("DURATION");
  app.add_option("--explain", explain,
                 "tell who waits for whom when the job has not ended after this time (once), and whenever "
                 "`weft run` gets SIGUSR1")
      ->type_name("DURATION");
  app.add_flag("--tag-output", parsed.options.tag_output, "begin every line of output with [rank]");
  app.add_flag(
      "--keep-going", parsed.options.keep_going,
      "let the others go on when a rank fails; the end is told, and the exit code is the first one's");
  app.add_option(
         "--bind", bind,
         "core: each rank runs on one core, in turn; node: on the cores of one NUMA node, equal shares of "
         "the ranks on each; none: anywhere (default)")
      ->type_name("core|node|none");
  app.add_option("--env", environment, "set an environment variable of the ranks; may be repeated")
      ->type_name("NAME[=VALUE]")
      ->allow_extra_args(false);
  try {
    const std::vector<std::string> words = with_own_names(app, argc, argv);
    std::vector<const char*> named;
    for (const std::string& word : words) named.push_back(word.c_str());
    named.push_back(nullptr);
    if (const auto end = parse_command_line(app, argc, named.data(), manual_notes())) {
      parsed.exit_code = print_end("weft run", *end);
      return parsed;
    }
    if (app.count("-n") != 0) parsed.options.ranks = parse_ranks(ranks);
    for (const auto& [name, value] : {std::pair{"WEFT_PORTS", ports}, {"WEFT_INTERFACE", interface}})
      if (!value.empty()) parsed.options.environment.emplace_back(name, value);
    for (const auto& [option, value] : {std::pair{"--hosts", hosts},
                                        {"--hostfile", hostfile},
                                        {"--ports", ports},
                                        {"--interface", interface},
                                        {"--launcher-exec", parsed.options.launcher_exec},
                                        {"--timeout", timeout},
                                        {"--explain", explain}})
      if (app.count(option) != 0 && value.empty())
        throw Error(fmt::format("{} is empty: it needs a value", option));
    take_hosts(parsed.options, hosts, hostfile, ranks);
    if (!timeout.empty()) parsed.options.timeout_seconds = parse_time("--timeout", timeout);
    if (!explain.empty()) parsed.options.explain_seconds = parse_time("--explain", explain);
    parsed.options.binding = parse_binding(bind);
    for (const std::string& text : environment) parsed.options.environment.push_back(parse_variable(text));
    take_program(parsed.options, app.remaining(), app);
  } catch (const Error& error) {
    fmt::print(stderr, "weft run: {}\n", error.what());
    parsed.exit_code = kUsageError;
  }
  return parsed;
}

}  // namespace weft::tools::run
