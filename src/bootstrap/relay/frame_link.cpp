#include "bootstrap/relay/frame_link.hpp"

#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>

#include "base/system_call.hpp"
#include "sockets/silence.hpp"
#include "sockets/tcp_socket.hpp"

namespace weft::bootstrap::relay {

namespace {

/// Why a call of the stream has failed.
std::string fault_of(const char* call) {
  return errno == EBADMSG ? "what has come was changed on its way" : base::failed_call(call, errno);
}

}  // namespace

FrameLink::FrameLink(sockets::Greeted connection, std::size_t longest_frame)
    : socket_(std::move(connection.socket)), longest_(longest_frame) {
  stream_.protect(connection.keys);
}

void FrameLink::end(std::string why) {
  if (has_ended()) return;
  why_ended_ = std::move(why);
  outgoing_.clear();
  waiting_ = 0;
}

int FrameLink::look_after() {
  constexpr int kShortestLook = 100;
  if (has_ended() || peer_timeout_ == 0 || sockets::unacknowledged(socket_.get()) == 0) return -1;
  const std::uint32_t silence = sockets::silence_of(socket_.get());
  if (silence > peer_timeout_ * 1000) {
    end("it has not answered for " + std::to_string(silence / 1000) + " s (WEFT_PEER_TIMEOUT)");
    return -1;
  }
  return std::max(kShortestLook, static_cast<int>(peer_timeout_ * 1000 / 8));
}

void FrameLink::send(FrameHeader header, std::span<const std::byte> first,
                     std::span<const std::byte> second) {
  if (has_ended()) return;
  header.length = static_cast<std::uint32_t>(first.size() + second.size());
  std::vector<std::byte> frame(sizeof header + header.length);
  std::memcpy(frame.data(), &header, sizeof header);
  if (!first.empty()) std::memcpy(frame.data() + sizeof header, first.data(), first.size());
  if (!second.empty()) std::memcpy(frame.data() + sizeof header + first.size(), second.data(), second.size());
  waiting_ += frame.size();
  outgoing_.push_back(std::move(frame));
  if (outgoing_.size() == 1) flush();
}

void FrameLink::flush() {
  if (has_ended()) return;
  flush_frames();
  if (!has_ended() && !stream_.flush(socket_.get())) end(fault_of("send"));
}

void FrameLink::flush_frames() {
  while (!outgoing_.empty()) {
    std::vector<std::byte>& next = outgoing_.front();
    iovec part{next.data() + sent_, next.size() - sent_};
    const ssize_t sent = stream_.send(socket_.get(), {&part, 1});
    if (sent < 0 && errno == EINTR) continue;
    if (sent < 0 && errno == EAGAIN) return;
    if (sent < 0) return end(fault_of("send"));
    sent_ += static_cast<std::size_t>(sent);
    waiting_ -= static_cast<std::size_t>(sent);
    if (sent_ != next.size()) continue;
    outgoing_.pop_front();
    sent_ = 0;
  }
}

void FrameLink::receive(const Use& use) {
  while (!has_ended()) {
    std::span<std::byte> room = std::as_writable_bytes(std::span(&header_, 1)).subspan(received_);
    if (room.empty()) room = payload_.room();
    if (!room.empty()) {
      const iovec part{room.data(), room.size()};
      const ssize_t got = stream_.receive(socket_.get(), {&part, 1});
      if (got < 0 && errno == EINTR) continue;
      if (got < 0 && errno == EAGAIN) return;
      if (got < 0) return end(fault_of("recv"));
      if (got == 0) return end("the connection was closed");
      if (received_ == sizeof header_) {
        payload_.came(static_cast<std::size_t>(got));
      } else if ((received_ += static_cast<std::size_t>(got)) == sizeof header_) {
        if (header_.length > longest_)
          return end("a frame of " + std::to_string(header_.length) + " bytes was announced");
        payload_.expect(header_.length);
      }
    }
    if (received_ < sizeof header_ || !payload_.is_complete()) continue;
    received_ = 0;
    std::vector<std::byte> payload = payload_.take();
    if (!use(header_, payload)) return;
  }
}

}  // namespace weft::bootstrap::relay
