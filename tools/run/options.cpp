#include "run/options.hpp"

#include <weft/error.hpp>

#include <fmt/core.h>
#include <CLI/CLI.hpp>

#include <cstdio>

#include "base/job_variables.hpp"
#include "base/parse.hpp"
#include "command.hpp"

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
    throw Error(fmt::format("{} {} is not valid: it must be a number of seconds above 0", option, text));
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
  if (equals == std::string::npos || equals == 0) {
    throw Error(fmt::format("--env {} is not valid: it must be NAME=VALUE", text));
  }
  std::pair<std::string, std::string> variable{text.substr(0, equals), text.substr(equals + 1)};
  for (const std::string_view own : base::kJobVariables) {
    if (variable.first == own)
      throw Error(fmt::format("--env {} is not valid: `weft run` sets {} itself", text, own));
  }
  return variable;
}

void take_program(Options& options, std::vector<std::string> rest) {
  if (!rest.empty() && rest.front() == "--") {
    rest.erase(rest.begin());
  } else if (!rest.empty() && rest.front().starts_with('-')) {
    throw Error(fmt::format("the option {} does not exist (`weft run --help` lists all)", rest.front()));
  }
  if (rest.empty() || rest.front().empty()) {
    throw Error("the program to start is missing: weft run -n N [OPTIONS] [--] program args...");
  }
  options.program = rest.front();
  options.arguments.assign(rest.begin() + 1, rest.end());
}

}  // namespace

Parsed parse_options(int argc, char** argv) {
  CLI::App app{
      "Starts N ranks of a program on this host, and ends them all when one fails, or with --keep-going "
      "none.",
      "weft run"};
  app.prefix_command();
  app.footer(
      "The program and its arguments follow the options: weft run -n N [OPTIONS] [--] program args...");
  std::string ranks;
  std::string timeout;
  std::string explain;
  std::string bind = "none";
  std::vector<std::string> environment;
  Parsed parsed;
  app.add_option("-n", ranks, "number of ranks, 1 to 4096")->required()->type_name("N");
  app.add_option("--timeout", timeout, "end the job after this time, with exit code 124")
      ->type_name("SECONDS");
  app.add_option("--explain", explain,
                 "tell who waits for whom when the job has not ended after this time (once), and whenever "
                 "`weft run` gets SIGUSR1")
      ->type_name("SECONDS");
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
      ->type_name("NAME=VALUE")
      ->allow_extra_args(false);
  try {
    app.parse(argc, argv);
    parsed.options.ranks = parse_ranks(ranks);
    if (!timeout.empty()) parsed.options.timeout_seconds = parse_time("--timeout", timeout);
    if (!explain.empty()) parsed.options.explain_seconds = parse_time("--explain", explain);
    parsed.options.binding = parse_binding(bind);
    for (const std::string& text : environment) parsed.options.environment.push_back(parse_variable(text));
    take_program(parsed.options, app.remaining());
  } catch (const CLI::CallForHelp&) {
    fmt::print("{}", app.help());
    parsed.exit_code = 0;
  } catch (const CLI::ParseError& error) {
    fmt::print(stderr, "weft run: {} (`weft run --help` shows the options)\n", error.what());
    parsed.exit_code = kUsageError;
  } catch (const Error& error) {
    fmt::print(stderr, "weft run: {}\n", error.what());
    parsed.exit_code = kUsageError;
  }
  return parsed;
}

}  // namespace weft::tools::run
