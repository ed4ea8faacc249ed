#include "experiment/launch/child_process.hpp"

#include <weft/error.hpp>

#include <fcntl.h>
#include <fmt/core.h>
#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <optional>
#include <vector>

#include "base/clock.hpp"
#include "base/uninterrupted.hpp"
#include "common/pinning.hpp"
#include "experiment/launch/interruption.hpp"

namespace weft::tools {
namespace {

constexpr double kGrace = 2;         // seconds from SIGTERM to SIGKILL
constexpr double kRestOfOutput = 1;  // seconds for output after the end of the program
constexpr std::int64_t kLookMs = 50;

struct Pipe {
  int ends[2] = {-1, -1};
  Pipe() {
    if (::pipe2(ends, O_CLOEXEC) != 0) throw Error(fmt::format("no pipe: {}", std::strerror(errno)));
  }
};

[[noreturn]] void become(const Command& command, pid_t parent, int output, int errors) {
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (::getppid() != parent) ::_exit(1);
  const int nothing = ::open("/dev/null", O_RDONLY);
  ::dup2(nothing, STDIN_FILENO);
  ::dup2(output, STDOUT_FILENO);
  ::dup2(errors, STDERR_FILENO);
  for (const auto& [name, value] : command.environment) ::setenv(name.c_str(), value.c_str(), 1);
  if (command.processor) pin_thread({*command.processor}, 0);
  std::vector<char*> arguments;
  for (const std::string& argument : command.arguments)
    arguments.push_back(const_cast<char*>(argument.c_str()));
  arguments.push_back(nullptr);
  ::execvp(arguments[0], arguments.data());
  const std::string line = fmt::format("{} cannot be started: {}\n", arguments[0], std::strerror(errno));
  [[maybe_unused]] const auto written = ::write(STDERR_FILENO, line.data(), line.size());
  ::_exit(127);
}

/// Appends the available output; returns false at its end.
bool take(int descriptor, std::string& text) {
  char buffer[4096];
  const ssize_t count = ::read(descriptor, buffer, sizeof buffer);
  if (count < 0) return errno == EINTR || errno == EAGAIN;
  text.append(buffer, static_cast<std::size_t>(count));
  return count > 0;
}

void add_descendants(pid_t process, std::vector<pid_t>& all) {
  std::ifstream children(fmt::format("/proc/{0}/task/{0}/children", process));
  for (pid_t child = 0; children >> child;) {
    all.push_back(child);
    add_descendants(child, all);
  }
}

}  // namespace

std::string Ended::reason() const {
  std::string_view text = errors;
  while (!text.empty() && (text.back() == '\n' || text.back() == ' ')) text.remove_suffix(1);
  if (const std::size_t line = text.rfind('\n'); line != std::string_view::npos) text.remove_prefix(line + 1);
  return text.empty() ? how : fmt::format("{} ({})", text, how);
}

Child::Child(const Command& command) {
  Pipe output;
  Pipe errors;
  const pid_t parent = ::getpid();
  process_ = ::fork();
  if (process_ == 0) become(command, parent, output.ends[1], errors.ends[1]);
  ::close(output.ends[1]);
  ::close(errors.ends[1]);
  output_ = output.ends[0];
  errors_ = errors.ends[0];
  if (process_ < 0) throw Error(fmt::format("a process cannot be started: {}", std::strerror(errno)));
}

Child::~Child() {
  kill_and_reap();
  ::close(output_);
  ::close(errors_);
}

void Child::kill_and_reap() {
  if (process_ <= 0) return;
  ::kill(process_, SIGKILL);
  base::uninterrupted([this] { return ::waitpid(process_, &status_, 0); });
  process_ = 0;
}

bool Child::is_running() {
  if (process_ <= 0) return false;
  if (::waitpid(process_, &status_, WNOHANG) != process_) return true;
  process_ = 0;
  return false;
}

/// A launcher that is asked has time to end what it has started; what it leaves is killed.
void Child::end_gently() {
  std::vector<pid_t> all;
  add_descendants(process_, all);
  ::kill(process_, SIGTERM);
  for (const base::Deadline deadline(kGrace); is_running() && !deadline.passed();) ::usleep(500);
  kill_and_reap();
  for (const pid_t process : all) ::kill(process, SIGKILL);
}

/// Until the program has ended and its output with it. What it has left running may hold its output open, and
/// is not waited for.
void Child::collect(Ended& ended, double seconds) {
  const base::Deadline deadline(seconds);
  std::optional<base::Deadline> rest;
  pollfd waiting[2] = {{output_, POLLIN, 0}, {errors_, POLLIN, 0}};
  std::string* texts[2] = {&ended.output, &ended.errors};
  while (!deadline.passed() && Interruption::signal() == 0) {
    const bool has_output = waiting[0].fd >= 0 || waiting[1].fd >= 0;
    if (!is_running()) {
      if (!has_output) return;
      if (!rest) rest.emplace(kRestOfOutput);
      if (rest->passed()) return;
    }
    if (!has_output) ::usleep(500);
    ::poll(waiting, 2,
           has_output ? static_cast<int>(std::min<std::int64_t>(deadline.remaining_ms(), kLookMs)) : 0);
    for (int i = 0; i < 2; ++i) {
      if (waiting[i].fd >= 0 && waiting[i].revents != 0 && !take(waiting[i].fd, *texts[i]))
        waiting[i].fd = -1;
    }
  }
}

Ended Child::finish(double seconds) {
  Ended ended;
  collect(ended, seconds);
  if (process_ > 0 && is_running()) {
    end_gently();
    ended.in_time = Interruption::signal() != 0;
    ended.how = ended.in_time ? "was interrupted" : fmt::format("was ended after {:g} s", seconds);
    return ended;
  }
  ended.well = WIFEXITED(status_) && WEXITSTATUS(status_) == 0;
  ended.how = WIFEXITED(status_) ? fmt::format("exited with code {}", WEXITSTATUS(status_))
                                 : fmt::format("was killed by signal {}", WTERMSIG(status_));
  return ended;
}

Ended run_to_end(const Command& command, double seconds) { return Child{command}.finish(seconds); }

std::string find_in_path(const std::string& program) {
  const char* variable = std::getenv("PATH");
  std::string_view path = variable == nullptr ? "/usr/bin:/bin" : variable;
  while (!path.empty()) {
    const std::string_view folder = path.substr(0, path.find(':'));
    path.remove_prefix(std::min(path.size(), folder.size() + 1));
    std::string candidate = fmt::format("{}/{}", folder.empty() ? "." : folder, program);
    if (::access(candidate.c_str(), X_OK) == 0) return candidate;
  }
  return {};
}

}  // namespace weft::tools
