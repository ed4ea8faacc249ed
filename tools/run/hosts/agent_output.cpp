// What the ranks of a host write, on its way to the guardian.
#include <fcntl.h>
#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <span>
#include <vector>

#include "base/uninterrupted.hpp"
#include "run/hosts/agent_loop.hpp"
#include "sockets/tcp_socket.hpp"

namespace weft::tools::run {

using bootstrap::relay::FrameHeader;

namespace {

constexpr std::size_t kMostAtOnce = std::size_t{64} << 10;

}  // namespace

/// The ranks have turns, so that one that writes much does not keep the window from the others.
void AgentLoop::carry_output() {
  for (bool has_sent = true; has_sent;) {
    has_sent = false;
    for (std::size_t turn = 0; turn < ranks_.size(); ++turn) {
      const auto local_rank = static_cast<int>((first_served_ + turn) % ranks_.size());
      for (const OutputStream stream : {OutputStream::output, OutputStream::errors})
        has_sent = carry(local_rank, stream) || has_sent;
    }
    first_served_ = (first_served_ + 1) % ranks_.size();
  }
}

bool AgentLoop::carry(int local_rank, OutputStream stream) {
  const auto which = static_cast<std::size_t>(stream);
  base::Descriptor& pipe = ranks_[static_cast<std::size_t>(local_rank)].outputs[which];
  if (!pipe || window_[which] == 0) return false;
  std::array<std::byte, kMostAtOnce> piece;
  const std::size_t room = std::min(piece.size(), window_[which]);
  const ssize_t got = base::uninterrupted([&] { return ::read(pipe.get(), piece.data(), room); });
  if (got < 0 && errno == EAGAIN) return false;
  const auto size = static_cast<std::size_t>(std::max<ssize_t>(got, 0));
  window_[which] -= size;
  send(stream == OutputStream::output ? JobFrame::output : JobFrame::errors, job_.first + local_rank, 0,
       std::span(piece).first(size));
  if (size == 0) pipe.close();
  return true;
}

void AgentLoop::carry_rest(int local_rank, OutputStream stream) {
  while (carry(local_rank, stream)) {
  }
}

void AgentLoop::take_credit(const FrameHeader& frame) {
  const auto taken = static_cast<std::size_t>(std::max(frame.argument, 0));
  if (frame.stream >= kOutputStreams || taken > kOutputWindow - window_[frame.stream])
    return link_.end("the launcher has taken output that was not sent");
  window_[frame.stream] += taken;
}

void AgentLoop::hand_over_the_rest() {
  while (!link_.has_ended() && !is_abandoned_) {
    carry_output();
    link_.flush();
    const bool is_all = std::none_of(ranks_.begin(), ranks_.end(), [](const Rank& each) {
      return std::any_of(each.outputs.begin(), each.outputs.end(),
                         [](const auto& pipe) { return bool(pipe); });
    });
    // Closing a connection of which not everything was read ends it at once, also for what is on its way.
    if (is_all && !link_.wants_room() && sockets::unacknowledged(link_.descriptor()) == 0) return;
    pollfd waits[] = {{link_.descriptor(), events_of(link_), 0}, {STDIN_FILENO, POLLIN, 0}};
    ::poll(waits, 2, is_all ? 1 : 100);
    link_.look_after();
    link_.receive([this](const FrameHeader& frame, std::vector<std::byte>& payload) {
      take(frame, payload);
      return true;
    });
    std::array<char, 64> rest;
    if (waits[1].revents != 0 && ::read(STDIN_FILENO, rest.data(), rest.size()) <= 0) is_abandoned_ = true;
  }
}

}  // namespace weft::tools::run
