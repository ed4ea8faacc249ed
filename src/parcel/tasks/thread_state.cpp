#include "parcel/tasks/thread_state.hpp"

#include <fcntl.h>
#include <time.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdio>
#include <string_view>

namespace weft::parcel {

std::int64_t processor_time_of(pthread_t thread) noexcept {
  clockid_t clock{};
  timespec time{};
  if (::pthread_getcpuclockid(thread, &clock) != 0 || ::clock_gettime(clock, &time) != 0) return -1;
  return std::int64_t{time.tv_sec} * 1'000'000'000 + time.tv_nsec;
}

bool is_asleep(pid_t kernel_id) noexcept {
  std::array<char, 64> path{};
  std::snprintf(path.data(), path.size(), "/proc/self/task/%d/stat", static_cast<int>(kernel_id));
  const int file = ::open(path.data(), O_RDONLY | O_CLOEXEC);
  if (file < 0) return true;
  // "123 (name) S ...": a name has at most 15 bytes, parentheses among them.
  std::array<char, 128> text{};
  ssize_t size = 0;
  do {
    size = ::read(file, text.data(), text.size());
  } while (size < 0 && errno == EINTR);
  ::close(file);
  const std::string_view read(text.data(), size > 0 ? static_cast<std::size_t>(size) : 0);
  const std::size_t name_end = read.rfind(')');
  if (name_end == read.npos || name_end + 2 >= read.size()) return true;
  const char state = read[name_end + 2];
  return state == 'S' || state == 'D';
}

}  // namespace weft::parcel
