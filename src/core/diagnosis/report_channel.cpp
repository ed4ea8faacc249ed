#include "core/diagnosis/report_channel.hpp"

#include <fcntl.h>
#include <sys/socket.h>
#include <sys/stat.h>

#include <atomic>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <string>

namespace weft::core {

namespace {

std::atomic<bool> is_taken{false};  // a runtime of this process uses the descriptor

bool is_number(const char* variable, int number) {
  const char* const text = std::getenv(variable);
  return text != nullptr && std::to_string(number) == text;
}

}  // namespace

ReportChannel::ReportChannel(int rank, int size) {
  const char* const text = std::getenv("WEFT_EXPLAIN_SOCKET");
  if (text == nullptr || !is_number("WEFT_RANK", rank) || !is_number("WEFT_SIZE", size)) return;
  int descriptor = -1;
  unsigned long long inode = 0;
  struct stat status {};
  // A program in between may have closed it, and its number may belong to something else.
  if (std::sscanf(text, "%d:%llu", &descriptor, &inode) != 2 || ::fstat(descriptor, &status) != 0 ||
      !S_ISSOCK(status.st_mode) || status.st_ino != inode || is_taken.exchange(true))
    return;
  descriptor_ = descriptor;
  is_owner_ = true;
  // Programs that this one starts meanwhile are other processes. A program that replaces this one by exec is
  // the same rank.
  ::fcntl(descriptor_, F_SETFD, FD_CLOEXEC);
}

ReportChannel::~ReportChannel() {
  if (!is_owner_) return;
  if (descriptor_ >= 0) ::fcntl(descriptor_, F_SETFD, 0);
  is_taken.store(false);
}

bool ReportChannel::receive(ReportRequest& request) noexcept {
  char byte = 0;
  const ssize_t count = ::recv(descriptor_, &byte, sizeof byte, MSG_DONTWAIT);
  if (count == 0 || (count < 0 && errno != EAGAIN && errno != EINTR)) descriptor_ = -1;
  if (count != 1) return false;
  request = static_cast<ReportRequest>(byte);
  return true;
}

void ReportChannel::send(std::string_view report) noexcept {
  while (::send(descriptor_, report.data(), report.size(), MSG_NOSIGNAL) < 0 && errno == EINTR) {
  }
}

}  // namespace weft::core
