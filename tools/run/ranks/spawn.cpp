#include "run/ranks/spawn.hpp"

#include <weft/error.hpp>

#include <fcntl.h>
#include <fmt/core.h>
#include <fmt/format.h>
#include <sched.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "base/system_call.hpp"
#include "base/uninterrupted.hpp"

namespace weft::tools::run {
namespace {

struct Pipe {
  Descriptor read_end;
  Descriptor write_end;
};

Pipe make_pipe() {
  int ends[2] = {-1, -1};
  if (::pipe2(ends, O_CLOEXEC) != 0)
    throw Error("a pipe cannot be opened: " + base::failed_call("pipe2", errno));
  return {Descriptor{ends[0]}, Descriptor{ends[1]}};
}

std::vector<char*> pointers_to(const std::vector<std::string>& texts) {
  std::vector<char*> pointers;
  for (const std::string& text : texts) pointers.push_back(const_cast<char*>(text.c_str()));
  pointers.push_back(nullptr);
  return pointers;
}

cpu_set_t set_of(const std::vector<int>& processors) {
  cpu_set_t set;
  CPU_ZERO(&set);
  for (const int processor : processors) CPU_SET(static_cast<std::size_t>(processor), &set);
  return set;
}

/// Steps of a rank before its program runs, and the text for the failure of each.
enum class Step : int { input, output, processors, files, inherited, program };

struct Failure {
  Step step;
  int error;
};

std::string describe(const Failure& failure, const RankStart& start, const OriginalState& original) {
  const char* const reason = std::strerror(failure.error);
  switch (failure.step) {
    case Step::input:
      return fmt::format("its standard input cannot be opened on /dev/null: {}", reason);
    case Step::output:
      return fmt::format("its output cannot be connected to the launcher: {}", reason);
    case Step::processors:
      return fmt::format(
          "it cannot be bound to the processors {} (--bind): {}; what hwloc tells of this host and what this "
          "process may use do not agree",
          fmt::join(start.processors, ","), reason);
    case Step::files:
      return fmt::format("its limit of open files cannot be set back to {} (`ulimit -n`): {}",
                         original.descriptors.rlim_cur, reason);
    case Step::inherited:
      return fmt::format("the descriptors {} cannot be passed on: {}", fmt::join(start.inherited, ","),
                         reason);
    case Step::program:
      break;
  }
  // The file itself was checked before: what is missing is the interpreter that it names.
  if (failure.error == ENOENT)
    return fmt::format(
        "the program {} cannot be executed: the interpreter or loader that it names is not there",
        start.path);
  return fmt::format("the program {} cannot be executed: {}", start.path, reason);
}

// Moves this process to a processor, and leaves it free to run on all others.
void pass_over(int processor) {
  cpu_set_t allowed;
  cpu_set_t only;
  CPU_ZERO(&only);
  CPU_SET(static_cast<std::size_t>(processor), &only);
  if (::sched_getaffinity(0, sizeof allowed, &allowed) == 0 &&
      ::sched_setaffinity(0, sizeof only, &only) == 0)
    ::sched_setaffinity(0, sizeof allowed, &allowed);
}

// The kernel divides busy processors between sessions, not processes (sched_autogroup): a rank with a session
// of its own gets what any other program gets, as with mpiexec. Ranks that take turns on a processor stay in
// one session, within which alone sched_yield() hands a processor over.
bool has_own_processor(const RankStart& start) {
  return !start.processors.empty() || start.first_processor >= 0;
}

// Runs between fork and exec: system calls only.
[[noreturn]] void become(const char* path, char* const* arguments, char* const* environment,
                         const RankStart& start, const cpu_set_t& processors, const OriginalState& original,
                         pid_t launcher, int output, int errors, int report) {
  if (has_own_processor(start))
    ::setsid();
  else
    ::setpgid(0, 0);
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (::getppid() != launcher) ::_exit(1);  // the launcher died before the line above

  const auto require = [report](bool holds, Step step) {
    if (holds) return;
    const Failure failure{step, errno};
    static_cast<void>(!::write(report, &failure, sizeof failure));
    ::_exit(126);
  };
  const int input = start.input >= 0 ? start.input : ::open("/dev/null", O_RDONLY | O_CLOEXEC);
  require(input >= 0 && ::dup2(input, STDIN_FILENO) >= 0, Step::input);
  require(::dup2(output, STDOUT_FILENO) >= 0 && ::dup2(errors, STDERR_FILENO) >= 0, Step::output);
  if (!start.processors.empty())
    require(::sched_setaffinity(0, sizeof processors, &processors) == 0, Step::processors);
  else if (start.first_processor >= 0)
    pass_over(start.first_processor);
  require(::setrlimit(RLIMIT_NOFILE, &original.descriptors) == 0, Step::files);
  for (const int descriptor : start.inherited) require(::fcntl(descriptor, F_SETFD, 0) == 0, Step::inherited);
  restore(original.signals);
  ::execve(path, arguments, environment);
  require(false, Step::program);
  ::_exit(126);
}

}  // namespace

StartedRank start_rank(const RankStart& start, const OriginalState& original) {
  Pipe output = make_pipe();
  Pipe errors = make_pipe();
  Pipe report = make_pipe();  // closed by a successful exec
  const std::vector<char*> arguments = pointers_to(start.arguments);
  const std::vector<char*> environment = pointers_to(start.environment);
  const cpu_set_t processors = set_of(start.processors);
  const pid_t launcher = ::getpid();

  const pid_t process = ::fork();
  if (process < 0) throw Error("a process cannot be started: " + base::failed_call("fork", errno));
  if (process == 0) {
    become(start.path.c_str(), arguments.data(), environment.data(), start, processors, original, launcher,
           output.write_end.get(), errors.write_end.get(), report.write_end.get());
  }
  // Also here: a signal may have to be forwarded before that. A session of its own is a group as well, and is
  // there when the program has been loaded, which is waited for below.
  if (!has_own_processor(start)) ::setpgid(process, process);

  report.write_end.close();
  Failure failure{};
  const ssize_t length =
      base::uninterrupted([&] { return ::read(report.read_end.get(), &failure, sizeof failure); });
  if (length > 0) {
    base::uninterrupted([process] { return ::waitpid(process, nullptr, 0); });
    throw Error(fmt::format("rank {} cannot be started: {}", start.rank, describe(failure, start, original)));
  }
  for (const Descriptor* end : {&output.read_end, &errors.read_end}) ::fcntl(end->get(), F_SETFL, O_NONBLOCK);
  return {.process = process, .output = std::move(output.read_end), .errors = std::move(errors.read_end)};
}

}  // namespace weft::tools::run
