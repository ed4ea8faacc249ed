#include "perf/worker_process.hpp"

#include <weft/error.hpp>

#include <fcntl.h>
#include <fmt/core.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <iterator>
#include <optional>

#include "base/attributes.hpp"
#include "base/descriptor.hpp"
#include "base/system_call.hpp"
#include "base/text/hex.hpp"
#include "experiment/launch/child_process.hpp"
#include "experiment/launch/weft_path.hpp"
#include "perf/libraries/plugin_host.hpp"

namespace weft::tools::perf {

namespace {

/// The launchers of MPI libraries start processes as ssh does: options, the name of a host, and words that
/// the shell of that host reads. This makes such a program of --launcher-exec, for as long as it lives. The
/// words travel as one word of digits, so that it does not matter whether that command joins words.
class StarterLikeSsh {
 public:
  explicit StarterLikeSsh(const std::string& launcher_exec) {
    const std::string text =
        "#!/bin/sh\nwhile [ \"${1#-}\" != \"$1\" ]; do shift; done\nhost=$1\nshift\nexec " + launcher_exec +
        " \"$host\" " + weft_path() +
        " perf --shell \"$(printf %s \"$*\" | od -An -v -tx1 | tr -d ' \\n')\"\n";
    // A file of memory leaves nothing behind, however this process ends. What is open for writing cannot be
    // executed.
    const base::Descriptor written(::memfd_create("weft-perf-starter", MFD_CLOEXEC));
    if (written && ::write(written.get(), text.data(), text.size()) == std::ssize(text))
      file_ = base::Descriptor(
          ::open(fmt::format("/proc/self/fd/{}", written.get()).c_str(), O_RDONLY | O_CLOEXEC));
    if (!file_)
      throw Error(fmt::format("no program for --launcher-exec can be made: {}", std::strerror(errno)));
    name_ = fmt::format("/proc/{}/fd/{}", ::getpid(), file_.get());
  }
  StarterLikeSsh(const StarterLikeSsh&) = delete;
  StarterLikeSsh& operator=(const StarterLikeSsh&) = delete;
  [[nodiscard]] const std::string& name() const { return name_; }

 private:
  base::Descriptor file_;
  std::string name_;
};

/// The command that starts two ranks, each on a host of its own.
std::vector<std::string> launch_on(const Hosts& hosts, const Transport& over,
                                   std::optional<StarterLikeSsh>& starter) {
  const std::string both = fmt::format("{0}:1,{1}:1", hosts.names[0], hosts.names[1]);
  if (over.launch != Launch::mpiexec) {
    std::vector<std::string> command{weft_path(), "run", "--hosts", both};
    if (!hosts.launcher_exec.empty()) command.insert(command.end(), {"--launcher-exec", hosts.launcher_exec});
    for (const auto& [name, value] : over.environment)
      command.insert(command.end(), {"--env", name + "=" + value});
    command.emplace_back("--");
    return command;
  }
  std::vector<std::string> command{find_launcher(std::string(over.plugin), std::string(over.launcher))};
  if (!hosts.launcher_exec.empty()) starter.emplace(hosts.launcher_exec);
  const std::string shell = starter ? starter->name() : "ssh";
  if (over.plugin.starts_with("openmpi"))
    command.insert(command.end(), {"--host", both, "--mca", "plm_rsh_agent", shell, "--map-by", "node"});
  else
    command.insert(command.end(), {"-hosts", both, "-launcher", "ssh", "-launcher-exec", shell});
  command.insert(command.end(), {"-n", "2"});
  return command;
}

std::vector<std::string> launch_here(const Task& task, const Transport& over) {
  const std::string ranks = std::to_string(task.ranks);
  switch (over.launch) {
    case Launch::ranks:
    case Launch::one_rank:
      return {weft_path(), "run", "-n", over.launch == Launch::one_rank ? "1" : ranks, "--"};
    case Launch::mpiexec:
      return {find_launcher(std::string(over.plugin), std::string(over.launcher)), "-n", ranks};
    default:
      return {};
  }
}

/// Seconds in which a round must have ended. Ranks on several hosts must have found each other before within
/// the time that weft allows for that; weft's own launcher tells when they have not.
double limit_of(const Task& task, const Transport& over) {
  const double rounds = 20 * (task.seconds + task.warm_up);
  if (!task.apart) return 60 + rounds;
  const double start = base::Attributes::load({}).seconds(base::Attribute::bootstrap_timeout);
  return (over.launch == Launch::mpiexec ? start : 2 * start) + rounds;
}

std::string why_ended(const Ended& ended, const Task& task, const Transport& over, const Hosts& hosts,
                      double limit) {
  if (ended.in_time || !task.apart) return ended.reason();
  std::string_view words = ended.errors;
  while (!words.empty() && (words.back() == '\n' || words.back() == ' ')) words.remove_suffix(1);
  if (const std::size_t line = words.rfind('\n'); line != std::string_view::npos)
    words.remove_prefix(line + 1);
  return fmt::format(
      "no result within {:g} s: {} has not started two ranks on {} and {} by {}, or they have "
      "not found each other{}",
      limit, over.launch == Launch::mpiexec ? over.launcher : "weft run", hosts.names[0], hosts.names[1],
      hosts.launcher_exec.empty() ? "ssh" : hosts.launcher_exec,
      words.empty() ? "" : fmt::format(" (it says: {})", words));
}

}  // namespace

std::vector<Outcome> start_worker(const Measurement& measurement, const Task& task, const Hosts& hosts) {
  const std::string self = weft_path();
  const Transport& over = *measurement.over;
  Command command;
  command.environment = over.environment;
  std::optional<StarterLikeSsh> starter;
  if (task.apart) {
    command.arguments = launch_on(hosts, over, starter);
    // Chosen for ranks of one host.
    std::erase_if(command.environment, [](const auto& each) { return each.first == "UCX_NET_DEVICES"; });
  } else {
    command.arguments = launch_here(task, over);
  }
  command.arguments.insert(command.arguments.end(), {self, "perf", "--worker", text_of(task)});
  const double limit = limit_of(task, over);
  const Ended ended = run_to_end(command, limit);
  if (!ended.well)
    throw Error(fmt::format("{}: {}", measurement.name, why_ended(ended, task, over, hosts, limit)));
  std::vector<Outcome> outcomes = parse_outcomes(ended.output);
  if (outcomes.empty()) throw Error(fmt::format("{}: the round ended without a result", measurement.name));
  return outcomes;
}

int run_shell(const std::string& digits) {
  const auto bytes = base::from_hex(digits);
  if (!bytes)
    throw Error(
        "--shell is for the launchers of other libraries: its value must be pairs of hexadecimal digits");
  const std::string words(reinterpret_cast<const char*>(bytes->data()), bytes->size());
  ::execl("/bin/sh", "sh", "-c", words.c_str(), nullptr);
  throw Error("/bin/sh cannot be executed: " + base::failed_call("execl", errno));
}

}  // namespace weft::tools::perf
