#include "bootstrap/local/channel.hpp"

#include <weft/error.hpp>

#include <poll.h>
#include <sys/socket.h>
#include <sys/uio.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <limits>

namespace weft::bootstrap::local {
namespace {

constexpr const char* kLauncherGone = "the launcher (`weft run`) of this job has ended";

void send_all(int socket, std::array<iovec, 3> parts) {
  std::size_t part = 0;
  while (part < parts.size()) {
    msghdr message{};
    message.msg_iov = parts.data() + part;
    message.msg_iovlen = parts.size() - part;
    ssize_t sent = ::sendmsg(socket, &message, MSG_NOSIGNAL);
    if (sent < 0 && errno == EINTR) continue;
    if (sent < 0) throw Error(kLauncherGone);
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

std::uint32_t Channel::send(Message message, std::int32_t argument, std::span<const std::byte> first,
                            std::span<const std::byte> second, bool expects_answer) {
  const std::lock_guard send_lock{send_mutex_};
  Header header{.length = static_cast<std::uint32_t>(first.size() + second.size()),
                .request = 0,
                .message = message,
                .argument = argument};
  {
    const std::lock_guard lock{mutex_};
    if (!broken_.empty()) throw Error(broken_);
    header.request = next_request_++;
    if (expects_answer) pending_.try_emplace(header.request);
  }
  try {
    send_all(socket_.get(), {part_of(std::as_bytes(std::span{&header, 1})), part_of(first), part_of(second)});
  } catch (const Error& error) {
    const std::lock_guard lock{mutex_};
    pending_.erase(header.request);
    fail_locked(error.what());
    throw;
  }
  return header.request;
}

void Channel::tell(Message message) {
  try {
    send(message, 0, {}, {}, false);
  } catch (const Error&) {
    // The one message of this kind says that this rank leaves, which a launcher that has gone need not know.
  }
}

std::optional<Answer> Channel::ask(Message message, std::int32_t argument, std::span<const std::byte> first,
                                   std::span<const std::byte> second,
                                   const std::optional<base::Deadline>& deadline) {
  const std::uint32_t request = send(message, argument, first, second, true);
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
    // Whoever waits may now find its answer, or has to become the reader.
    changed_.notify_all();
  }
  std::optional<Answer> answer = std::move(entry->second);
  pending_.erase(entry);
  if (!answer) throw Error(broken_);
  return answer;
}

void Channel::read_once(std::int64_t timeout_ms) {
  pollfd ready{.fd = socket_.get(), .events = POLLIN, .revents = 0};
  const int wait = static_cast<int>(std::min<std::int64_t>(timeout_ms, std::numeric_limits<int>::max()));
  if (::poll(&ready, 1, wait) <= 0) return;

  std::byte* target = nullptr;
  std::size_t wanted = 0;
  if (received_ < sizeof header_) {
    target = reinterpret_cast<std::byte*>(&header_) + received_;
    wanted = sizeof header_ - received_;
  } else {
    target = payload_.data() + (received_ - sizeof header_);
    wanted = payload_.size() - (received_ - sizeof header_);
  }
  const ssize_t count = ::recv(socket_.get(), target, wanted, MSG_DONTWAIT);
  if (count < 0 && (errno == EINTR || errno == EAGAIN)) return;
  if (count <= 0) throw Error(kLauncherGone);
  received_ += static_cast<std::size_t>(count);
  if (received_ == sizeof header_) {
    if (header_.length > kMaximumAnswer) throw Error("the launcher sent an answer of impossible length");
    payload_.resize(header_.length);
  }
  if (received_ == sizeof header_ + payload_.size() && received_ >= sizeof header_) deliver();
}

void Channel::deliver() {
  const std::lock_guard lock{mutex_};
  const auto entry = pending_.find(header_.request);
  if (entry != pending_.end()) entry->second = Answer{header_.message, std::move(payload_)};
  payload_ = {};
  received_ = 0;
}

void Channel::fail_locked(std::string reason) {
  if (broken_.empty()) broken_ = std::move(reason);
  changed_.notify_all();
}

}  // namespace weft::bootstrap::local
