#include "bootstrap/local/channel.hpp"

#include <weft/error.hpp>

#include <poll.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/uio.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <limits>
#include <string>

#include "base/fork_watch.hpp"
#include "base/system_call.hpp"

namespace weft::bootstrap::local {
namespace {

constexpr const char* kLauncherGone = "the launcher (`weft run`) of this job has ended";

/// Returns the reason why the connection is broken, from errno. A launcher ends its ranks before it ends, so
/// a rank that goes on without it shows that the launcher was killed; all other errors are this process's
/// own.
std::string why_broken(const char* call, int error) {
  if (error == EPIPE || error == ECONNRESET) return kLauncherGone;
  std::string why =
      "the connection to the launcher (`weft run`) cannot be used: " + base::failed_call(call, error);
  if (error == EBADF || error == ENOTSOCK || error == ENOTCONN)
    why += "; the program has closed a descriptor that it did not open";
  return why;
}

void send_all(int socket, std::array<iovec, 3> parts, int descriptor) {
  std::size_t part = 0;
  while (part < parts.size()) {
    ssize_t sent = send_parts(socket, parts.data() + part, parts.size() - part, descriptor, 0);
    if (sent < 0 && errno == EINTR) continue;
    if (sent < 0) throw Error(ErrorClass::job, why_broken("sendmsg", errno));
    descriptor = -1;  // the descriptor is sent with the first byte
    while (part < parts.size() && static_cast<std::size_t>(sent) >= parts[part].iov_len) {
      sent -= static_cast<ssize_t>(parts[part].iov_len);
      ++part;
    }
    if (part == parts.size()) return;
    parts[part].iov_base = static_cast<char*>(parts[part].iov_base) + sent;
    parts[part].iov_len -= static_cast<std::size_t>(sent);
  }
}

iovec part_of(std::span<const std::byte> bytes) {
  return {const_cast<std::byte*>(bytes.data()), bytes.size()};
}

}  // namespace

Channel::Channel(Descriptor socket) : socket_(std::move(socket)) {
  struct stat status {};
  if (::fstat(socket_.get(), &status) == 0) inode_ = status.st_ino;
}

Channel::~Channel() {
  if (!has_socket()) static_cast<void>(socket_.release());  // the number now belongs to a file of the program
}

bool Channel::has_socket() const noexcept {
  struct stat status {};
  return ::fstat(socket_.get(), &status) == 0 && S_ISSOCK(status.st_mode) && status.st_ino == inode_;
}

std::uint32_t Channel::send(Message message, std::int32_t argument, std::span<const std::byte> first,
                            std::span<const std::byte> second, int descriptor, bool expects_answer) {
  base::refuse_in_forked_copy("bootstrap");
  if (!has_socket()) {
    const std::lock_guard lock{mutex_};
    fail_locked(why_broken("fstat", EBADF));
  }
  const std::lock_guard send_lock{send_mutex_};
  Header header{.length = static_cast<std::uint32_t>(first.size() + second.size()),
                .request = 0,
                .message = message,
                .argument = argument};
  {
    const std::lock_guard lock{mutex_};
    if (!broken_.empty()) throw Error(ErrorClass::job, broken_);
    header.request = next_request_++;
    if (expects_answer) pending_.try_emplace(header.request);
  }
  try {
    send_all(socket_.get(), {part_of(std::as_bytes(std::span{&header, 1})), part_of(first), part_of(second)},
             descriptor);
  } catch (const Error& error) {
    const std::lock_guard lock{mutex_};
    pending_.erase(header.request);
    fail_locked(error.what());
    throw;
  }
  return header.request;
}

void Channel::tell(Message message, std::span<const std::byte> payload, std::int32_t argument) {
  try {
    send(message, argument, payload, {}, -1, false);
  } catch (const Error&) {
    // Messages without an answer report how this rank leaves, which a launcher that has ended need not know.
  }
}

std::optional<Answer> Channel::ask(Message message, std::int32_t argument, std::span<const std::byte> first,
                                   std::span<const std::byte> second,
                                   const std::optional<base::Deadline>& deadline, int descriptor) {
  const std::uint32_t request = send(message, argument, first, second, descriptor, true);
  std::unique_lock lock{mutex_};
  const auto entry = pending_.find(request);
  while (!entry->second.has_value() && broken_.empty()) {
    if (deadline && deadline->passed()) {
      pending_.erase(entry);
      return std::nullopt;
    }
    if (reading_) {
      if (deadline) {
        changed_.wait_for(lock, std::chrono::milliseconds(deadline->remaining_ms()));
      } else {
        changed_.wait(lock);
      }
      continue;
    }
    reading_ = true;
    lock.unlock();
    std::string failure;
    try {
      read_once(deadline ? deadline->remaining_ms() : -1);
    } catch (const std::exception& error) {
      failure = error.what();
    }
    lock.lock();
    reading_ = false;
    if (!failure.empty()) fail_locked(std::move(failure));
    // A waiting thread may now find its answer, or has to become the reader.
    changed_.notify_all();
  }
  std::optional<Answer> answer = std::move(entry->second);
  pending_.erase(entry);
  if (!answer) throw Error(ErrorClass::job, broken_);
  return answer;
}

void Channel::read_once(std::int64_t timeout_ms) {
  pollfd ready{.fd = socket_.get(), .events = POLLIN, .revents = 0};
  const int wait = static_cast<int>(std::min<std::int64_t>(timeout_ms, std::numeric_limits<int>::max()));
  if (::poll(&ready, 1, wait) <= 0) return;

  const bool has_header = received_ == sizeof header_;
  const std::span<std::byte> room =
      has_header ? payload_.room() : std::as_writable_bytes(std::span(&header_, 1)).subspan(received_);
  const ssize_t count = receive_part(socket_.get(), room.data(), room.size(), passed_, MSG_DONTWAIT);
  if (count < 0 && (errno == EINTR || errno == EAGAIN)) return;
  if (count < 0) throw Error(ErrorClass::job, why_broken("recvmsg", errno));
  if (count == 0) throw Error(ErrorClass::job, kLauncherGone);
  if (has_header) {
    payload_.came(static_cast<std::size_t>(count));
  } else if ((received_ += static_cast<std::size_t>(count)) == sizeof header_) {
    if (header_.length > kMaximumAnswer)
      throw Error(ErrorClass::job, "the launcher sent an answer of impossible length");
    payload_.expect(header_.length);
  }
  if (received_ == sizeof header_ && payload_.is_complete()) deliver();
}

void Channel::deliver() {
  const std::lock_guard lock{mutex_};
  const auto entry = pending_.find(header_.request);
  std::vector<std::byte> payload = payload_.take();
  if (entry != pending_.end())
    entry->second = Answer{header_.message, std::move(payload), std::move(passed_)};
  passed_.close();
  received_ = 0;
}

void Channel::fail_locked(std::string reason) {
  if (broken_.empty()) broken_ = std::move(reason);
  changed_.notify_all();
}

}  // namespace weft::bootstrap::local
