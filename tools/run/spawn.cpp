#include "run/spawn.hpp"

#include <weft/error.hpp>

#include <fcntl.h>
#include <fmt/core.h>
#include <sched.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

namespace weft::tools::run {
namespace {

struct Pipe {
  Descriptor read_end;
  Descriptor write_end;
};

Pipe make_pipe() {
  int ends[2] = {-1, -1};
  if (::pipe2(ends, O_CLOEXEC) != 0)
    throw Error(std::string("a pipe cannot be opened: ") + std::strerror(errno));
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

// Between fork and exec: system calls only.
[[noreturn]] void become(const char* path, char* const* arguments, char* const* environment,
                         const RankStart& start, const cpu_set_t& processors, const OriginalState& original,
                         pid_t launcher, int output, int errors, int report) {
  ::setpgid(0, 0);
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (::getppid() != launcher) ::_exit(1);  // it died before the line above

  bool ready = true;
  if (!start.inherits_input) {
    const int nothing = ::open("/dev/null", O_RDONLY | O_CLOEXEC);
    ready = nothing >= 0 && ::dup2(nothing, STDIN_FILENO) >= 0;
  }
  ready = ready && ::dup2(output, STDOUT_FILENO) >= 0 && ::dup2(errors, STDERR_FILENO) >= 0;
  if (!start.processors.empty()) ready = ready && ::sched_setaffinity(0, sizeof processors, &processors) == 0;
  ::setrlimit(RLIMIT_NOFILE, &original.descriptors);
  ::signal(SIGPIPE, original.ignores_broken_pipes ? SIG_IGN : SIG_DFL);
  ::sigprocmask(SIG_SETMASK, &original.signal_mask, nullptr);
  if (start.inherited >= 0) ready = ready && ::fcntl(start.inherited, F_SETFD, 0) == 0;
  if (ready) ::execve(path, arguments, environment);

  const int reason = errno;
  static_cast<void>(!::write(report, &reason, sizeof reason));
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
  if (process < 0) throw Error(std::string("a process cannot be started: ") + std::strerror(errno));
  if (process == 0) {
    become(start.path.c_str(), arguments.data(), environment.data(), start, processors, original, launcher,
           output.write_end.get(), errors.write_end.get(), report.write_end.get());
  }
  ::setpgid(process, process);  // also here: a signal may have to be forwarded before the child gets so far

  report.write_end.close();
  int reason = 0;
  ssize_t length = 0;
  do {
    length = ::read(report.read_end.get(), &reason, sizeof reason);
  } while (length < 0 && errno == EINTR);
  if (length > 0) {
    ::waitpid(process, nullptr, 0);
    throw Error(fmt::format("the program {} cannot be executed: {}", start.path, std::strerror(reason)));
  }
  for (const Descriptor* end : {&output.read_end, &errors.read_end}) ::fcntl(end->get(), F_SETFL, O_NONBLOCK);
  return {.process = process, .output = std::move(output.read_end), .errors = std::move(errors.read_end)};
}

}  // namespace weft::tools::run
