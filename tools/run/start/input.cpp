#include "run/start/input.hpp"

#include <weft/error.hpp>

#include <fcntl.h>
#include <fmt/core.h>
#include <poll.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdio>
#include <cstring>

#include "base/system_call.hpp"
#include "base/uninterrupted.hpp"

namespace weft::tools::run {

namespace {

constexpr std::int64_t kNextLookMs = 200;  // at who has the terminal: the kernel notifies nobody

/// What the kernel reports of a process and its terminal.
struct JobControl {
  int group = 0;
  int terminal = 0;          // as the kernel writes it; 0: none
  int foreground_group = 0;  // of the terminal
};

JobControl read_job_control(pid_t process) {
  JobControl found;
  std::array<char, 512> text{};
  const base::Descriptor file(::open(fmt::format("/proc/{}/stat", process).c_str(), O_RDONLY | O_CLOEXEC));
  if (!file || base::uninterrupted([&] { return ::read(file.get(), text.data(), text.size() - 1); }) <= 0)
    return found;
  // pid (name) state parent group session terminal foreground; the name may contain parentheses and blanks.
  const char* const end = std::strrchr(text.data(), ')');
  JobControl parsed;
  if (end != nullptr && std::sscanf(end + 1, " %*c %*d %d %*d %d %d", &parsed.group, &parsed.terminal,
                                    &parsed.foreground_group) == 3)
    found = parsed;
  return found;
}

/// The kernel's form of a device in /proc.
std::uint64_t device_of(int number) {
  const auto bits = static_cast<unsigned>(number);
  return makedev(bits >> 8 & 0xfff, (bits & 0xff) | (bits >> 12 & 0xfff00));
}

}  // namespace

bool input_is_terminal() { return ::isatty(STDIN_FILENO) == 1; }

JobInput::JobInput(pid_t front) : front_(front) {
  struct stat status {};
  if (::fstat(STDIN_FILENO, &status) != 0) return;
  if (input_is_terminal()) {
    terminal_ = status.st_rdev;
    // Of its own, so that it does not block when another process has read the line before.
    input_ = base::Descriptor(::open("/proc/self/fd/0", O_RDONLY | O_NONBLOCK | O_CLOEXEC | O_NOCTTY));
  }
  if (!input_) input_ = base::Descriptor(::fcntl(STDIN_FILENO, F_DUPFD_CLOEXEC, 3));
}

bool JobInput::is_in_foreground() const {
  if (terminal_ == 0) return true;
  const JobControl front = read_job_control(front_);
  return front.terminal == 0 || device_of(front.terminal) != terminal_ ||
         front.group == front.foreground_group;
}

int JobInput::descriptor() {
  if (!input_) return -1;
  is_in_background_ = !is_in_foreground();
  return is_in_background_ ? -1 : input_.get();
}

std::int64_t JobInput::remaining_ms() const { return input_ && is_in_background_ ? kNextLookMs : -1; }

ssize_t JobInput::read(std::span<std::byte> into) {
  if (!input_) return 0;
  if (!is_in_foreground() || !base::is_ready(input_.get(), POLLIN)) return -1;
  const ssize_t got = base::uninterrupted([&] { return ::read(input_.get(), into.data(), into.size()); });
  if (got < 0 && errno == EAGAIN) return -1;
  if (got > 0) return got;
  close();  // also when the terminal is gone
  return 0;
}

void JobInput::close() { input_.close(); }

RankInput::RankInput() {
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC) != 0)
    throw Error("a pipe cannot be opened: " + base::failed_call("pipe2", errno));
  read_end_ = base::Descriptor(ends[0]);
  write_end_ = base::Descriptor(ends[1]);
  ::fcntl(ends[1], F_SETFL, O_NONBLOCK);
}

void RankInput::give(std::span<const std::byte> piece) {
  if (piece.empty()) has_all_ = true;
  if (write_end_) unread_.insert(unread_.end(), piece.begin(), piece.end());
  write();
}

void RankInput::write() {
  while (write_end_ && !unread_.empty()) {
    const ssize_t given =
        base::uninterrupted([&] { return ::write(write_end_.get(), unread_.data(), unread_.size()); });
    if (given < 0 && errno == EAGAIN) return;
    if (given < 0) {  // the rank reads no more
      unread_.clear();
      write_end_.close();
      return;
    }
    unread_.erase(unread_.begin(), unread_.begin() + given);
  }
  if (has_all_) write_end_.close();
}

}  // namespace weft::tools::run
