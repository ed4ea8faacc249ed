#include "network/tcp/connection/output.hpp"

#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

namespace weft::network::tcp {

namespace {

constexpr std::array<std::byte, kAlignment> kZeros{};
std::array<std::byte, kLongestPiece> zeros_of_piece;  // never touched, so that it takes no memory

iovec part(std::span<const std::byte> bytes) noexcept {
  return {const_cast<std::byte*>(bytes.data()), bytes.size()};
}

constexpr std::size_t kShort = 256;  // bytes of a record that are copied together first

}  // namespace

/// Returns the number of bytes that the stream has taken, which may be 0; -1 when the connection is lost.
ssize_t Output::send_parts(int socket, std::span<iovec> parts, std::size_t guarded) noexcept {
  for (;;) {
    const ssize_t sent = stream_.send(socket, parts, guarded);
    if (sent >= 0) return sent;
    if (errno == EAGAIN || errno == EWOULDBLOCK || errno == ENOBUFS) return 0;
    if (errno != EINTR) return -1;
  }
}

void Output::open() {
  for (Waiting& each : waiting_) each.bytes.reset(new std::byte[kRoom + kRoomForAnswers]);
}

bool Output::is_empty() const noexcept {
  return !has_piece() && !stream_.has_kept() &&
         std::all_of(waiting_.begin(), waiting_.end(), [](const Waiting& each) { return each.size() == 0; });
}

std::size_t Output::size() const noexcept {
  std::size_t bytes = stream_.kept_size();
  for (const Waiting& each : waiting_) bytes += each.size();
  return bytes;
}

bool Output::Waiting::append(std::span<const iovec> parts, std::size_t skipped, std::size_t size,
                             std::size_t room) noexcept {
  if (end + size > room) {
    if (this->size() + size > room) return false;
    std::memmove(bytes.get(), bytes.get() + begin, this->size());
    end -= begin;
    begin = 0;
  }
  for (const iovec& each : parts) {
    const std::size_t here = std::min(skipped, each.iov_len);
    skipped -= here;
    if (each.iov_len == here) continue;
    std::memcpy(bytes.get() + end, static_cast<const std::byte*>(each.iov_base) + here, each.iov_len - here);
    end += each.iov_len - here;
  }
  return true;
}

std::size_t Output::Waiting::rest_behind(std::size_t written) const noexcept {
  std::size_t offset = 0;
  while (offset < written) {
    Record record{};
    std::memcpy(&record, bytes.get() + begin + offset, sizeof record);
    offset += sizeof record + padded(record.bytes);
  }
  return offset - written;
}

Output::Result Output::write(int socket, Queue queue, const Record& record, std::span<const std::byte> header,
                             std::span<const std::byte> payload) noexcept {
  const std::size_t padding = padded(record.bytes) - record.bytes;
  const std::size_t total = sizeof record + record.bytes + padding;
  std::array<iovec, 4> parts{part(std::as_bytes(std::span(&record, 1))), part(header), part(payload),
                             part(std::span(kZeros).first(padding))};
  const auto index = static_cast<std::size_t>(queue);
  if (is_empty() && total <= kShort) {
    // One flat piece costs the kernel less than four.
    std::array<std::byte, kShort> flat;
    std::byte* end = flat.data();
    for (const iovec& each : parts) {
      if (each.iov_len != 0) std::memcpy(end, each.iov_base, each.iov_len);
      end += each.iov_len;
    }
    iovec whole{flat.data(), total};
    const ssize_t sent = send_parts(socket, {&whole, 1});
    if (sent < 0) return Result::failed;
    return static_cast<std::size_t>(sent) == total
               ? Result::taken
               : keep_rest(index, parts, static_cast<std::size_t>(sent), total);
  }
  if (!is_empty()) return waiting_[index].append(parts, 0, total) ? Result::taken : Result::full;
  const ssize_t sent = send_parts(socket, parts);
  if (sent < 0) return Result::failed;
  const auto written = static_cast<std::size_t>(sent);
  return written == total ? Result::taken : keep_rest(index, parts, written, total);
}

Output::Result Output::write_answer(int socket, const Record& record) noexcept {
  if (is_empty()) return write(socket, Queue::urgent, record, {}, {});
  const std::array<iovec, 1> parts{part(std::as_bytes(std::span(&record, 1)))};
  Waiting& urgent = waiting_[static_cast<std::size_t>(Queue::urgent)];
  return urgent.append(parts, 0, sizeof record, kRoom + kRoomForAnswers) ? Result::taken : Result::full;
}

/// The queue is empty, and has room for any record.
Output::Result Output::keep_rest(std::size_t index, std::span<const iovec> parts, std::size_t written,
                                 std::size_t total) noexcept {
  static_cast<void>(waiting_[index].append(parts, written, total - written));
  if (written != 0) {
    begun_queue_ = index;
    begun_left_ = total - written;
  }
  return Result::taken;
}

Output::Result Output::write_piece(int socket, const Record& record, std::span<const std::byte> header,
                                   std::span<const std::byte> piece) noexcept {
  std::memcpy(head_.data(), &record, sizeof record);
  if (!header.empty()) std::memcpy(head_.data() + sizeof record, header.data(), header.size());
  head_size_ = head_left_ = sizeof record + header.size();
  piece_ = piece;
  padding_left_ = padded(piece.size()) - piece.size();
  return flush_piece(socket);
}

Output::Result Output::flush_piece(int socket) noexcept {
  std::array<iovec, 3> parts{part(std::span(head_).first(head_size_).last(head_left_)), part(piece_),
                             part(std::span(kZeros).first(padding_left_))};
  const ssize_t sent = send_parts(socket, parts, 1);
  if (sent < 0) return Result::failed;
  auto left = static_cast<std::size_t>(sent);
  const auto take = [&left](std::size_t size) {
    const std::size_t taken = std::min(left, size);
    left -= taken;
    return taken;
  };
  head_left_ -= take(head_left_);
  piece_ = piece_.subspan(take(piece_.size()));
  padding_left_ -= take(padding_left_);
  return has_piece() ? Result::full : Result::taken;
}

void Output::replace_piece() noexcept { piece_ = std::span(zeros_of_piece).first(piece_.size()); }

Output::Result Output::flush(int socket) noexcept {
  if (!stream_.flush(socket)) return Result::failed;
  if (stream_.has_kept()) return Result::full;
  if (has_piece())
    if (const Result result = flush_piece(socket); result != Result::taken) return result;
  const Result result = flush_queues(socket);
  return result == Result::taken && stream_.has_kept() ? Result::full : result;
}

Output::Result Output::flush_queues(int socket) noexcept {
  if (is_empty()) return Result::taken;
  std::array<iovec, kQueues + 1> parts;
  std::size_t total = 0;
  for (std::size_t queue = 0; queue < kQueues; ++queue) {
    const Waiting& each = waiting_[queue];
    const std::size_t begun = begun_left_ != 0 && begun_queue_ == queue ? begun_left_ : 0;
    if (begun != 0) parts[0] = part({each.bytes.get() + each.begin, begun});
    parts[queue + 1] = part({each.bytes.get() + each.begin + begun, each.size() - begun});
    total += each.size();
  }
  if (begun_left_ == 0) parts[0] = part({});
  const ssize_t sent = send_parts(socket, parts);
  if (sent < 0) return Result::failed;
  note_written(static_cast<std::size_t>(sent));
  return static_cast<std::size_t>(sent) == total ? Result::taken : Result::full;
}

void Output::note_written(std::size_t size) noexcept {
  const auto drop = [](Waiting& from, std::size_t count) {
    from.begin += count;
    if (from.begin == from.end) from.begin = from.end = 0;
  };
  const std::size_t of_begun = std::min(size, begun_left_);
  if (of_begun != 0) drop(waiting_[begun_queue_], of_begun);
  begun_left_ -= of_begun;
  size -= of_begun;
  for (std::size_t queue = 0; size != 0; ++queue) {
    Waiting& each = waiting_[queue];
    const std::size_t here = std::min(size, each.size());
    size -= here;
    if (size == 0 && here < each.size()) {
      begun_queue_ = queue;
      begun_left_ = each.rest_behind(here);
    }
    drop(each, here);
  }
}

}  // namespace weft::network::tcp
