#include "run/ranks/processes.hpp"

#include <dirent.h>
#include <fcntl.h>
#include <fmt/core.h>
#include <signal.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <map>
#include <memory>

#include "base/clock.hpp"

namespace weft::tools::run {
namespace {

// The parent of a process, or 0 when the process does not exist any more or waits to be reaped by its parent.
pid_t parent_of(const char* pid) {
  std::array<char, 512> text{};
  const int file = ::open(fmt::format("/proc/{}/stat", pid).c_str(), O_RDONLY | O_CLOEXEC);
  if (file < 0) return 0;
  const ssize_t length = ::read(file, text.data(), text.size() - 1);
  ::close(file);
  if (length <= 0) return 0;
  // The format is: pid (name) state parent ...; the name may contain parentheses and blanks.
  const char* end = std::strrchr(text.data(), ')');
  char state = 0;
  int parent = 0;
  if (end == nullptr || std::sscanf(end + 1, " %c %d", &state, &parent) != 2) return 0;
  return state == 'Z' ? 0 : parent;
}

std::multimap<pid_t, pid_t> children_by_parent() {
  std::multimap<pid_t, pid_t> children;
  const std::unique_ptr<DIR, int (*)(DIR*)> folder{::opendir("/proc"), ::closedir};
  if (folder == nullptr) return children;
  while (const dirent* entry = ::readdir(folder.get())) {
    if (entry->d_name[0] < '1' || entry->d_name[0] > '9') continue;
    if (const pid_t parent = parent_of(entry->d_name)) children.emplace(parent, std::atoi(entry->d_name));
  }
  return children;
}

std::vector<pid_t> descendants_except(const std::set<pid_t>& spared) {
  const auto children = children_by_parent();
  std::vector<pid_t> found;
  std::vector<pid_t> open{::getpid()};
  while (!open.empty()) {
    const pid_t parent = open.back();
    open.pop_back();
    const auto [first, last] = children.equal_range(parent);
    for (auto child = first; child != last; ++child) {
      if (spared.contains(child->second)) continue;
      found.push_back(child->second);
      open.push_back(child->second);
    }
  }
  return found;
}

}  // namespace

std::string describe_end(int status) {
  if (!WIFSIGNALED(status)) return fmt::format("exited with code {}", WEXITSTATUS(status));
  const char* name = sigabbrev_np(WTERMSIG(status));
  return fmt::format("was killed by signal {} (SIG{})", WTERMSIG(status), name == nullptr ? "?" : name);
}

int exit_code_of(int status) { return WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status); }

std::vector<pid_t> descendants() { return descendants_except({}); }

bool kill_descendants(const std::set<pid_t>& spared) {
  const base::Deadline deadline{5.0};
  while (!deadline.passed()) {
    pid_t reaped = 0;
    do {
      reaped = ::waitpid(-1, nullptr, WNOHANG);
    } while (reaped > 0 || (reaped < 0 && errno == EINTR));
    if (reaped < 0) return true;  // there are no children at all

    // The children of a killed process become ours, so the next round finds those that this one missed.
    const std::vector<pid_t> found = descendants_except(spared);
    if (found.empty() && !spared.empty()) return true;
    for (const pid_t process : found) ::kill(process, SIGKILL);
    const timespec moment{.tv_sec = 0, .tv_nsec = 1'000'000};
    ::nanosleep(&moment, nullptr);
  }
  return false;
}

}  // namespace weft::tools::run
