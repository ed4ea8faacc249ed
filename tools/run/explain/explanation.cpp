#include "run/explain/explanation.hpp"

#include <weft/error.hpp>

#include <fmt/core.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "base/system_call.hpp"

namespace weft::tools::run {
namespace {

constexpr double kPatience = 2.0;  // seconds for an answer
constexpr std::size_t kLongestReport = std::size_t{1} << 20;

}  // namespace

void close_channel_of_outer_job() {
  const char* const text = std::getenv("WEFT_EXPLAIN_SOCKET");
  int descriptor = -1;
  unsigned long long inode = 0;
  struct stat status {};
  // Only if the descriptor is the one that the variable means: its number may be used for another file by
  // now.
  if (text != nullptr && std::sscanf(text, "%d:%llu", &descriptor, &inode) == 2 &&
      ::fstat(descriptor, &status) == 0 && S_ISSOCK(status.st_mode) && status.st_ino == inode)
    ::close(descriptor);
}

Explanation::Explanation(int ranks, double seconds)
    : epoll_(::epoll_create1(EPOLL_CLOEXEC)),
      sockets_(static_cast<std::size_t>(ranks)),
      answers_(static_cast<std::size_t>(ranks)),
      look_at_(seconds / 2),
      ask_at_(seconds) {
  if (!epoll_)
    throw Error("the launcher cannot wait for its ranks: " + base::failed_call("epoll_create1", errno));
}

Explanation::RankEnd Explanation::open(int rank) {
  int ends[2] = {-1, -1};
  if (::socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) != 0)
    throw Error("a socket cannot be opened: " + base::failed_call("socketpair", errno));
  Descriptor& own = sockets_[static_cast<std::size_t>(rank)];
  own = Descriptor{ends[0]};
  Descriptor theirs{ends[1]};
  epoll_event event{};
  event.events = EPOLLIN;
  event.data.u32 = static_cast<std::uint32_t>(rank);
  struct stat status {};
  if (::epoll_ctl(epoll_.get(), EPOLL_CTL_ADD, own.get(), &event) != 0 || ::fstat(theirs.get(), &status) != 0)
    throw Error(fmt::format("the reports of rank {} cannot be watched: {}", rank, std::strerror(errno)));
  std::string name = fmt::format("{}:{}", theirs.get(), status.st_ino);
  return {std::move(theirs), std::move(name)};
}

void Explanation::rank_ended(int rank, std::string how) {
  answers_[static_cast<std::size_t>(rank)].end = std::move(how);
}

void Explanation::postpone(std::int64_t by_ns) {
  for (auto* deadline : {&look_at_, &ask_at_, &answer_until_})
    if (*deadline) (*deadline)->postpone(by_ns);
}

std::int64_t Explanation::remaining_ms() const {
  std::int64_t remaining = -1;
  for (const auto& deadline : {look_at_, ask_at_, answer_until_}) {
    if (!deadline) continue;
    const std::int64_t left = deadline->remaining_ms();
    remaining = remaining < 0 ? left : std::min(remaining, left);
  }
  return remaining;
}

void Explanation::ask_all(char request) {
  for (const Descriptor& socket : sockets_)
    if (socket) static_cast<void>(::send(socket.get(), &request, 1, MSG_DONTWAIT | MSG_NOSIGNAL));
}

void Explanation::ask() {
  if (answer_until_) return;
  for (RankAnswer& answer : answers_) answer.report.reset();
  ask_all('r');
  answer_until_.emplace(kPatience);
}

void Explanation::receive(std::size_t rank) {
  std::string text(kLongestReport, '\0');
  const ssize_t size = ::recv(sockets_[rank].get(), text.data(), text.size(), MSG_DONTWAIT);
  if (size < 0 && (errno == EAGAIN || errno == EINTR)) return;
  if (size <= 0) {  // the other end is closed
    sockets_[rank].close();
    return;
  }
  text.resize(static_cast<std::size_t>(size));
  answers_[rank].report = std::move(text);
}

std::optional<std::string> Explanation::work() {
  std::array<epoll_event, 64> events{};
  const int count = ::epoll_wait(epoll_.get(), events.data(), static_cast<int>(events.size()), 0);
  for (int i = 0; i < count; ++i) receive(events[static_cast<std::size_t>(i)].data.u32);
  if (look_at_ && look_at_->passed()) {
    look_at_.reset();
    ask_all('l');
  }
  if (ask_at_ && ask_at_->passed()) {
    ask_at_.reset();
    ask();
  }
  if (!answer_until_) return std::nullopt;
  bool is_complete = true;
  for (std::size_t rank = 0; rank < answers_.size(); ++rank)
    is_complete = is_complete && (answers_[rank].report || !answers_[rank].end.empty() || !sockets_[rank]);
  if (!is_complete && !answer_until_->passed()) return std::nullopt;
  answer_until_.reset();
  return explain(answers_);
}

}  // namespace weft::tools::run
