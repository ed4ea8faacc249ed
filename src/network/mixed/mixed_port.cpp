#include "network/mixed/mixed_port.hpp"

#include "base/clock.hpp"

#include <algorithm>

namespace weft::network::mixed {

namespace {

/// Longest sleep while the other network, which has no descriptor, may get messages.
constexpr std::chrono::nanoseconds kSleep = std::chrono::milliseconds(1);
constexpr std::chrono::nanoseconds kLongestSleep =
    std::chrono::seconds(1);  // the remote network looks after its peers

}  // namespace

MixedPort::MixedPort(Network& local, Network& remote, Routes& routes, const Capabilities& of_all,
                     std::uint32_t index, detail::DevicePath& path)
    : routes_(routes),
      of_all_(of_all),
      local_(local.open_port(index, path)),
      remote_(remote.open_port(index, no_path_)),
      watch_([this] { local_->wake(~std::uint32_t{0}); }) {}

SendResult MixedPort::send(const Outgoing& outgoing, Bytes payload) noexcept {
  if (!routes_.is_remote(outgoing.peer)) return local_->send(outgoing, payload);
  turns_.use();
  has_sent_.store(true, std::memory_order_relaxed);
  return remote_->send(outgoing, payload);
}

SendResult MixedPort::send_packet(const Outgoing& outgoing, std::uint32_t packet, std::size_t size) noexcept {
  if (!routes_.is_remote(outgoing.peer)) return local_->send_packet(outgoing, packet, size);
  turns_.use();
  has_sent_.store(true, std::memory_order_relaxed);
  return remote_->send_packet(outgoing, packet, size);
}

bool MixedPort::has_left(int peer) noexcept {
  switch (routes_.of(peer)) {
    case Route::local:
      return local_->has_left(peer);
    case Route::remote:
      return remote_->has_left(peer);
    case Route::unknown:
      break;
  }
  return local_->has_left(peer) || remote_->has_left(peer);
}

/// Both, whatever the route: a peer may have chosen the other network for its own messages.
bool MixedPort::reclaim(int peer) noexcept {
  const bool is_local_over = local_->reclaim(peer);
  return remote_->reclaim(peer) && is_local_over;
}

std::size_t MixedPort::poll(Sink& sink, std::size_t limit) noexcept {
  std::size_t count = local_->poll(sink, limit);
  // A second look at once costs less than the way back here, and makes up for the detour over this port.
  if (count == 0) count = local_->poll(sink, limit);
  // What is staged does not wait for the remote network's turn.
  if (has_sent_.load(std::memory_order_relaxed) && has_sent_.exchange(false, std::memory_order_relaxed) &&
      !remote_->flush()) [[unlikely]]
    has_sent_.store(true, std::memory_order_relaxed);
  thread_local Polls polls;
  polls.count(count != 0);
  if (!turns_.may_be_due(polls)) [[likely]]
    return count;
  return count + poll_remote(sink, limit, polls);
}

[[gnu::noinline]] std::size_t MixedPort::poll_remote(Sink& sink, std::size_t limit,
                                                     const Polls& polls) noexcept {
  if (!routes_.needs_remote()) {
    if (turns_.is_in_use()) turns_.end_use();
    return 0;
  }
  if (!turns_.is_due(polls, [] { return base::now_ns(); })) return 0;
  const std::size_t count = remote_->poll(sink, limit);
  // Without local peers it stays in use: then nobody waits for its turns.
  if (count != 0 || !routes_.are_all_remote()) turns_.polled(count);
  return count;
}

bool MixedPort::prepare_park() noexcept {
  return local_->prepare_park() && (!routes_.needs_remote() || remote_->prepare_park());
}

std::uint32_t MixedPort::park_token() const noexcept { return local_->park_token(); }

bool MixedPort::park(std::uint32_t token, std::uint32_t bits, std::chrono::nanoseconds limit) noexcept {
  if (!routes_.needs_remote()) return local_->park(token, bits, limit);
  if (!remote_->arm()) return true;
  const int descriptor = remote_->wait_descriptor();
  // Without a descriptor the remote network wakes nobody: then threads sleep briefly.
  if (descriptor < 0 || !watch_.arm(descriptor)) limit = std::min(limit, kSleep);
  limit = std::min(limit, kLongestSleep);
  return local_->park(token, bits, limit);
}

void MixedPort::wake(std::uint32_t bits) noexcept {
  local_->wake(bits);  // where all threads sleep
}

Port::Traffic MixedPort::traffic() noexcept {
  Traffic sum = local_->traffic();
  const Traffic remote = remote_->traffic();
  sum.delivered += remote.delivered;
  sum.delivered_bytes += remote.delivered_bytes;
  return sum;
}

void MixedPort::quiesce() noexcept {
  local_->quiesce();
  remote_->quiesce();
}

bool MixedPort::drained() noexcept {
  const bool is_local_drained = local_->drained();
  return remote_->drained() && is_local_drained;
}

std::string MixedPort::undelivered() {
  std::string text = local_->undelivered();
  const std::string remote = remote_->undelivered();
  if (!text.empty() && !remote.empty()) text += ", ";
  return text + remote;
}

void MixedPort::carry() noexcept {
  if (auto* const holds = dynamic_cast<HoldsUnsent*>(remote_.get())) holds->carry();
}

void MixedPort::describe_unsent(std::vector<std::string>& lines) {
  if (auto* const holds = dynamic_cast<HoldsUnsent*>(remote_.get())) holds->describe_unsent(lines);
}

std::vector<Port::Unconsumed> MixedPort::unconsumed() {
  std::vector<Unconsumed> all = local_->unconsumed();
  // A network that carries on what it has accepted is drained before its peers have consumed it.
  if (remote_->drained()) return all;
  const std::vector<Unconsumed> remote = remote_->unconsumed();
  all.insert(all.end(), remote.begin(), remote.end());
  return all;
}

}  // namespace weft::network::mixed
