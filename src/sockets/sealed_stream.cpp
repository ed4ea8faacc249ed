#include "sockets/sealed_stream.hpp"

#include "base/memory/guarded_copy.hpp"

#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <utility>

namespace weft::sockets {

namespace {

constexpr std::size_t kFrames = 4;  // that are written, or read, at once
constexpr std::size_t kRoom = kFrames * kLongestSealed;

}  // namespace

/// What is not used takes no memory: the kernel gives pages when they are written.
struct SealedStream::Buffers {
  explicit Buffers(const SessionKeys& keys)
      : sending(keys.send, keys.protection, keys.uses_aes),
        receiving(keys.receive, keys.protection, keys.uses_aes),
        kept(new std::byte[kRoom]),
        read(new std::byte[kRoom]) {}

  Sealer sending;
  Sealer receiving;
  std::unique_ptr<std::byte[]> kept;
  std::unique_ptr<std::byte[]> read;
};

/// A position in the parts of a message.
class SealedStream::Cursor {
 public:
  explicit Cursor(std::span<const iovec> parts) noexcept : parts_(parts) { skip_empty(); }

  [[nodiscard]] bool is_at_end() const noexcept { return index_ == parts_.size(); }
  [[nodiscard]] std::size_t index() const noexcept { return index_; }
  [[nodiscard]] std::byte* data() const noexcept {
    return static_cast<std::byte*>(parts_[index_].iov_base) + offset_;
  }
  [[nodiscard]] std::size_t size() const noexcept { return parts_[index_].iov_len - offset_; }
  void advance(std::size_t count) noexcept {
    offset_ += count;
    skip_empty();
  }

 private:
  void skip_empty() noexcept {
    while (index_ < parts_.size() && offset_ == parts_[index_].iov_len) {
      ++index_;
      offset_ = 0;
    }
  }

  std::span<const iovec> parts_;
  std::size_t index_ = 0;
  std::size_t offset_ = 0;
};

SealedStream::SealedStream() = default;
SealedStream::~SealedStream() = default;
SealedStream::SealedStream(SealedStream&&) noexcept = default;
SealedStream& SealedStream::operator=(SealedStream&&) noexcept = default;

void SealedStream::protect(const SessionKeys& keys) {
  if (keys.protection != Protection::none) buffers_ = std::make_unique<Buffers>(keys);
}

void SealedStream::send_first(std::span<const std::byte> bytes) noexcept {
  std::copy(bytes.begin(), bytes.end(), first_.begin());
  first_size_ = bytes.size();
}

ssize_t SealedStream::send_plainly(int socket, std::span<iovec> parts) noexcept {
  // One flat piece costs the kernel less.
  if (parts.size() == 1 && first_size_ == 0)
    return ::send(socket, parts[0].iov_base, parts[0].iov_len, MSG_NOSIGNAL | MSG_DONTWAIT);
  std::array<iovec, 8> all;
  msghdr message{};
  message.msg_iov = parts.data();
  message.msg_iovlen = parts.size();
  const std::size_t first = std::exchange(first_size_, 0);
  if (first != 0) {
    all[0] = {first_.data(), first};
    const std::size_t behind = std::min(parts.size(), all.size() - 1);
    std::copy_n(parts.begin(), behind, all.begin() + 1);
    message.msg_iov = all.data();
    message.msg_iovlen = behind + 1;
  }
  const ssize_t sent = ::sendmsg(socket, &message, MSG_NOSIGNAL | MSG_DONTWAIT);
  if (first == 0) return sent;
  if (sent >= static_cast<ssize_t>(first)) return sent - static_cast<ssize_t>(first);
  // A connection that has carried no more than a greeting has room for so little: it is not as it was.
  if (sent >= 0 || errno == EAGAIN) errno = EPIPE;
  return -1;
}

ssize_t SealedStream::send(int socket, std::span<iovec> parts, std::size_t guarded) noexcept {
  if (buffers_ == nullptr) return send_plainly(socket, parts);
  std::size_t taken = 0;
  Cursor from(parts);
  bool is_readable = true;
  bool has_first = keep_first();
  while (!from.is_at_end() && is_readable) {
    if (!std::exchange(has_first, false)) {
      if (!flush(socket)) return -1;
      if (has_kept()) break;
    }
    while (!from.is_at_end() && is_readable && kRoom - kept_end_ >= kLongestSealed) {
      const std::size_t before = kept_end_;
      is_readable = seal_next(from, guarded);
      if (kept_end_ != before) taken += kept_end_ - before - Sealer::size_of(0);
    }
    if (!flush(socket)) return -1;
    if (has_kept()) break;
  }
  // After what was sealed before it is on its way, the fault is told by the next call.
  if (taken == 0 && !is_readable) {
    errno = EFAULT;
    return -1;
  }
  if (taken == 0 && has_kept()) {
    errno = EAGAIN;
    return -1;
  }
  return static_cast<ssize_t>(taken);
}

/// Makes a frame of what comes next. Returns false when there is memory that cannot be read; what lies before
/// it is sealed.
bool SealedStream::seal_next(Cursor& from, std::size_t guarded) noexcept {
  std::byte* const frame = buffers_->kept.get() + kept_end_;
  std::byte* const bytes = frame + sizeof(FrameHead);
  std::size_t length = 0;
  bool is_readable = true;
  while (length < kMostFramed && !from.is_at_end()) {
    const std::size_t here = std::min(from.size(), kMostFramed - length);
    if (from.index() != guarded)
      std::memcpy(bytes + length, from.data(), here);
    else if (!base::read_guarded(bytes + length, from.data(), here)) {
      is_readable = false;
      break;
    }
    length += here;
    from.advance(here);
  }
  if (length == 0) return is_readable;
  buffers_->sending.seal(frame, length);
  kept_end_ += Sealer::size_of(length);
  return is_readable;
}

/// Moves what belongs to no frame in front of the frames. Returns false when there is none.
bool SealedStream::keep_first() noexcept {
  if (first_size_ == 0) return false;
  std::memcpy(buffers_->kept.get() + kept_end_, first_.data(), first_size_);
  kept_end_ += std::exchange(first_size_, 0);
  return true;
}

bool SealedStream::flush(int socket) noexcept {
  if (first_size_ != 0 && buffers_ == nullptr) return send_plainly(socket, {}) == 0;
  if (first_size_ != 0) static_cast<void>(keep_first());
  while (has_kept()) {
    const ssize_t sent = ::send(socket, buffers_->kept.get() + kept_begin_, kept_end_ - kept_begin_,
                                MSG_DONTWAIT | MSG_NOSIGNAL);
    if (sent < 0 && errno == EINTR) continue;
    if (sent < 0) return errno == EAGAIN || errno == EWOULDBLOCK || errno == ENOBUFS;
    kept_begin_ += static_cast<std::size_t>(sent);
    if (!has_kept()) kept_begin_ = kept_end_ = 0;
  }
  return true;
}

ssize_t SealedStream::receive(int socket, std::span<const iovec> parts, std::size_t guarded) noexcept {
  if (buffers_ == nullptr) {
    if (parts.size() == 1) return ::recv(socket, parts[0].iov_base, parts[0].iov_len, MSG_DONTWAIT);
    msghdr message{};
    message.msg_iov = const_cast<iovec*>(parts.data());
    message.msg_iovlen = parts.size();
    return ::recvmsg(socket, &message, MSG_DONTWAIT);
  }
  std::size_t given = 0;
  bool has_read_all = false;  // that the socket has now
  ssize_t fault = 0;
  Cursor to(parts);
  while (!to.is_at_end() && fault == 0) {
    if (open_begin_ != open_end_) {
      const std::size_t here = std::min(to.size(), open_end_ - open_begin_);
      const std::byte* const from = buffers_->read.get() + open_begin_;
      if (to.index() != guarded) {
        std::memcpy(to.data(), from, here);
      } else if (!base::write_guarded(to.data(), from, here)) {
        errno = EFAULT;
        fault = -1;
        break;
      }
      to.advance(here);
      given += here;
      open_begin_ += here;
    } else if (!open_next()) {
      if (is_broken_) {
        errno = EBADMSG;
        fault = -1;
      } else if (has_read_all) {
        break;
      } else {
        const ssize_t wanted = static_cast<ssize_t>(kRoom - (end_ - begin_));
        const ssize_t got = fill(socket);
        if (got <= 0) {
          fault = got;
          break;
        }
        has_read_all = got < wanted;
      }
    }
  }
  const int reason = errno;
  note_more();
  errno = reason;
  if (given != 0) return static_cast<ssize_t>(given);
  if (fault < 0 || is_broken_) return -1;
  if (has_read_all) {  // a part of a frame
    errno = EAGAIN;
    return -1;
  }
  return 0;
}

/// Opens the next frame if it is whole.
bool SealedStream::open_next() noexcept {
  if (is_broken_ || end_ - begin_ < sizeof(FrameHead)) return false;
  std::byte* const frame = buffers_->read.get() + begin_;
  FrameHead head;
  std::memcpy(&head, frame, sizeof head);
  if (!buffers_->receiving.is_next(head)) {
    is_broken_ = true;
    return false;
  }
  const std::size_t size = Sealer::size_of(head.length);
  if (end_ - begin_ < size) return false;
  if (!buffers_->receiving.open(frame)) {
    is_broken_ = true;
    return false;
  }
  open_begin_ = begin_ + sizeof head;
  open_end_ = open_begin_ + head.length;
  begin_ += size;
  return true;
}

/// Reads what the socket has, as far as there is room. Only while no frame is open, and none is whole.
ssize_t SealedStream::fill(int socket) noexcept {
  std::byte* const all = buffers_->read.get();
  if (begin_ != 0) {
    std::memmove(all, all + begin_, end_ - begin_);
    end_ -= begin_;
    begin_ = 0;
    open_begin_ = open_end_ = 0;
  }
  for (;;) {
    const ssize_t got = ::recv(socket, all + end_, kRoom - end_, MSG_DONTWAIT);
    if (got < 0 && errno == EINTR) continue;
    if (got > 0) end_ += static_cast<std::size_t>(got);
    return got;
  }
}

void SealedStream::note_more() noexcept {
  has_more_ = open_begin_ != open_end_ || is_broken_;
  if (has_more_ || end_ - begin_ < sizeof(FrameHead)) return;
  FrameHead head;
  std::memcpy(&head, buffers_->read.get() + begin_, sizeof head);
  is_broken_ = !buffers_->receiving.is_next(head);
  has_more_ = is_broken_ || end_ - begin_ >= Sealer::size_of(head.length);
}

}  // namespace weft::sockets
