#include "run/ranks/output.hpp"

#include <weft/error.hpp>

#include <fcntl.h>
#include <fmt/core.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <climits>
#include <cstring>

#include <vector>
#include "base/system_call.hpp"
#include "base/uninterrupted.hpp"

namespace weft::tools::run {

Output::Output(int target, bool tagged)
    : target_(target), write_limit_(kBufferLimit), tagged_(tagged), epoll_(::epoll_create1(EPOLL_CLOEXEC)) {
  if (!epoll_)
    throw Error("the launcher cannot wait for its ranks: " + base::failed_call("epoll_create1", errno));
  struct stat status {};
  if (::fstat(target, &status) != 0) return;
  is_socket_ = S_ISSOCK(status.st_mode);
  if (!S_ISFIFO(status.st_mode) && !S_ISCHR(status.st_mode)) return;
  // An open file description of its own can be non-blocking without a change for other processes that use
  // this output.
  reopened_ = Descriptor{
      ::open(fmt::format("/proc/self/fd/{}", target).c_str(), O_WRONLY | O_NONBLOCK | O_CLOEXEC | O_NOCTTY)};
  if (reopened_) {
    target_ = reopened_.get();
  } else {
    write_limit_ = PIPE_BUF;  // a pipe that is reported as writable takes this much without blocking
  }
}

void Output::add(int rank, Descriptor pipe) {
  const int descriptor = pipe.get();
  epoll_event event{};
  event.events = EPOLLIN;
  event.data.fd = descriptor;
  if (::epoll_ctl(epoll_.get(), EPOLL_CTL_ADD, descriptor, &event) != 0) {
    throw Error(fmt::format("the output of rank {} cannot be watched: {}", rank, std::strerror(errno)));
  }
  sources_.emplace(descriptor, Source{.rank = rank, .pipe = std::move(pipe), .partial = {}});
}

void Output::read_sources() {
  std::array<epoll_event, 64> events{};
  const int count = ::epoll_wait(epoll_.get(), events.data(), static_cast<int>(events.size()), 0);
  for (int i = 0; i < count && wants_input(); ++i) {
    const auto found = sources_.find(events[static_cast<std::size_t>(i)].data.fd);
    if (found == sources_.end() || read_from(found->second) != Read::end) continue;
    emit(found->second.rank, found->second.partial);
    sources_.erase(found);
  }
}

Output::Read Output::read_from(Source& source) {
  std::array<char, kLongestLine> chunk;
  const ssize_t count =
      base::uninterrupted([&] { return ::read(source.pipe.get(), chunk.data(), chunk.size()); });
  if (count < 0 && errno == EAGAIN) return Read::nothing;
  if (count <= 0) return Read::end;

  add_text(source.rank, source.partial, {chunk.data(), static_cast<std::size_t>(count)});
  return Read::some;
}

void Output::take(int rank, std::string_view text) { add_text(rank, partials_[rank], text); }

void Output::take_end(int rank) {
  const auto found = partials_.find(rank);
  if (found == partials_.end()) return;
  emit(rank, found->second);
  partials_.erase(found);
}

void Output::add_text(int rank, std::string& partial, std::string_view text) {
  const std::size_t last_break = text.rfind('\n');
  if (last_break == std::string_view::npos) {
    partial += text;
  } else {
    partial += text.substr(0, last_break + 1);
    emit(rank, partial);
    partial = text.substr(last_break + 1);
  }
  if (partial.size() >= kLongestLine) {
    emit(rank, partial);
    partial.clear();
  }
}

void Output::emit(int rank, std::string_view text) {
  if (text.empty() || broken_) return;
  if (open_line_of_ != kNobody && open_line_of_ != rank) {
    buffer_ += '\n';
    open_line_of_ = kNobody;
  }
  if (!tagged_ || rank == kLauncher) {
    buffer_ += text;
  } else {
    bool at_begin = open_line_of_ == kNobody;
    for (std::string_view rest = text; !rest.empty();) {
      const std::size_t end = rest.find('\n');
      const std::string_view line = rest.substr(0, end == std::string_view::npos ? rest.size() : end + 1);
      if (at_begin) buffer_ += fmt::format("[{}] ", rank);
      buffer_ += line;
      at_begin = true;
      rest.remove_prefix(line.size());
    }
  }
  open_line_of_ = text.ends_with('\n') ? kNobody : rank;
}

void Output::say(std::string_view line) { emit(kLauncher, std::string(line) + "\n"); }

void Output::write_pending() {
  while (has_pending()) {
    const std::size_t length = std::min(buffer_.size() - written_, write_limit_);
    const ssize_t count =
        is_socket_ ? ::send(target_, buffer_.data() + written_, length, MSG_DONTWAIT | MSG_NOSIGNAL)
                   : ::write(target_, buffer_.data() + written_, length);
    if (count < 0 && errno == EINTR) continue;
    if (count < 0 && errno == EAGAIN) break;
    if (count < 0) {
      abandon();
      return;
    }
    written_ += static_cast<std::size_t>(count);
    if (write_limit_ == PIPE_BUF) break;
  }
  if (!has_pending()) {
    buffer_.clear();
    written_ = 0;
  } else if (written_ > kBufferLimit) {
    buffer_.erase(0, written_);
    written_ = 0;
  }
}

// The output has no reader any more: the ranks get SIGPIPE, as they would without a launcher.
void Output::abandon() {
  broken_ = true;
  if (errno != EPIPE) failure_ = std::strerror(errno);
  buffer_.clear();
  written_ = 0;
  sources_.clear();
}

void Output::finish_sources() {
  for (auto& [descriptor, source] : sources_) {
    while (!broken_ && read_from(source) == Read::some) {
    }
    emit(source.rank, source.partial);
  }
  sources_.clear();
  for (const auto& [rank, partial] : partials_) emit(rank, partial);
  partials_.clear();
}

}  // namespace weft::tools::run
