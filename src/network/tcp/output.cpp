#include "network/tcp/output.hpp"

#include <sys/socket.h>

#include <cerrno>
#include <cstring>

namespace weft::network::tcp {

namespace {

constexpr std::array<std::byte, kAlignment> kZeros{};

iovec part(std::span<const std::byte> bytes) noexcept {
  return {const_cast<std::byte*>(bytes.data()), bytes.size()};
}

/// Returns the number of bytes that the socket has taken, which may be 0; -1 when the connection is lost.
ssize_t send_parts(int socket, std::span<iovec> parts) noexcept {
  msghdr message{};
  message.msg_iov = parts.data();
  message.msg_iovlen = parts.size();
  for (;;) {
    const ssize_t sent = ::sendmsg(socket, &message, MSG_NOSIGNAL | MSG_DONTWAIT);
    if (sent >= 0) return sent;
    if (errno == EAGAIN || errno == EWOULDBLOCK || errno == ENOBUFS) return 0;
    if (errno != EINTR) return -1;
  }
}

}  // namespace

Output::Result Output::write(int socket, const Record& record, std::span<const std::byte> header,
                             std::span<const std::byte> payload) noexcept {
  const std::size_t padding = padded(record.bytes) - record.bytes;
  const std::size_t total = sizeof record + record.bytes + padding;
  std::array<iovec, 4> parts{part(std::as_bytes(std::span(&record, 1))), part(header), part(payload),
                             part(std::span(kZeros).first(padding))};
  std::size_t written = 0;
  if (is_empty()) {
    const ssize_t sent = send_parts(socket, parts);
    if (sent < 0) return Result::failed;
    written = static_cast<std::size_t>(sent);
    if (written == total) return Result::taken;
  }
  return keep(parts, written, total) ? Result::taken : Result::full;
}

/// Copies what is not written into the buffer. What has been begun always fits: the buffer was empty then, and
/// no record of this kind is longer than it.
bool Output::keep(std::span<const iovec> pieces, std::size_t written, std::size_t total) noexcept {
  const std::size_t size = total - written;
  if (kRoom - end_ < size) {
    if (kRoom - (end_ - begin_) < size) return false;
    std::memmove(bytes_.get(), bytes_.get() + begin_, end_ - begin_);
    end_ -= begin_;
    begin_ = 0;
  }
  for (const iovec& each : pieces) {
    const std::size_t skipped = written < each.iov_len ? written : each.iov_len;
    written -= skipped;
    if (each.iov_len == skipped) continue;
    std::memcpy(bytes_.get() + end_, static_cast<const std::byte*>(each.iov_base) + skipped,
                each.iov_len - skipped);
    end_ += each.iov_len - skipped;
  }
  return true;
}

Output::Result Output::write_piece(int socket, const Record& record,
                                   std::span<const std::byte> piece) noexcept {
  std::memcpy(head_.data(), &record, sizeof record);
  head_left_ = sizeof record;
  piece_ = piece;
  padding_left_ = padded(piece.size()) - piece.size();
  return flush_piece(socket);
}

Output::Result Output::flush_piece(int socket) noexcept {
  std::array<iovec, 3> parts{part(std::span(head_).last(head_left_)), part(piece_),
                             part(std::span(kZeros).first(padding_left_))};
  const ssize_t sent = send_parts(socket, parts);
  if (sent < 0) return Result::failed;
  auto left = static_cast<std::size_t>(sent);
  const auto take = [&left](std::size_t size) {
    const std::size_t taken = left < size ? left : size;
    left -= taken;
    return taken;
  };
  head_left_ -= take(head_left_);
  piece_ = piece_.subspan(take(piece_.size()));
  padding_left_ -= take(padding_left_);
  return has_piece() ? Result::full : Result::taken;
}

Output::Result Output::flush(int socket) noexcept {
  if (has_piece())
    if (const Result result = flush_piece(socket); result != Result::taken) return result;
  if (begin_ == end_) return Result::taken;
  std::array<iovec, 1> parts{part({bytes_.get() + begin_, end_ - begin_})};
  const ssize_t sent = send_parts(socket, parts);
  if (sent < 0) return Result::failed;
  begin_ += static_cast<std::size_t>(sent);
  if (begin_ != end_) return Result::full;
  begin_ = end_ = 0;
  return Result::taken;
}

}  // namespace weft::network::tcp
