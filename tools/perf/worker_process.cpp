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

#include "base/descriptor.hpp"
#include "perf/libraries/plugin_host.hpp"
#include "perf/measure/child_process.hpp"
#include "perf/measure/own_path.hpp"

namespace weft::tools::perf {

namespace {

/// The launchers of MPI libraries start processes as ssh does: options, the name of a host, and words that
/// the shell of that host reads. This makes such a program of --launcher-exec, for as long as it lives.
class StarterLikeSsh {
 public:
  explicit StarterLikeSsh(const std::string& launcher_exec) {
    const std::string text =
        "#!/bin/sh\nwhile [ \"${1#-}\" != \"$1\" ]; do shift; done\nhost=$1\nshift\nexec " + launcher_exec +
        " \"$host\" sh -c \"$*\"\n";
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
    std::vector<std::string> command{own_path(), "run", "--hosts", both};
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
      return {own_path(), "run", "-n", over.launch == Launch::one_rank ? "1" : ranks, "--"};
    case Launch::mpiexec:
      return {find_launcher(std::string(over.plugin), std::string(over.launcher)), "-n", ranks};
    default:
      return {};
  }
}

}  // namespace

std::vector<Outcome> start_worker(const Measurement& measurement, const Task& task, const Hosts& hosts) {
  const std::string self = own_path();
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
  const Ended ended = run_to_end(command, 60 + 20 * task.seconds);
  if (!ended.well) throw Error(fmt::format("{}: {}", measurement.name, ended.reason()));
  std::vector<Outcome> outcomes = parse_outcomes(ended.output);
  if (outcomes.empty()) throw Error(fmt::format("{}: the round ended without a result", measurement.name));
  return outcomes;
}

}  // namespace weft::tools::perf
