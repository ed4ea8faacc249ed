#include "core/runtime/peer_failures.hpp"

#include <weft/detail/message_access.hpp>

#include <algorithm>

namespace weft::detail {

namespace {

constexpr std::atomic<std::uint32_t> kNoFailures{0};

}  // namespace

PeerFailures::PeerFailures(bootstrap::Bootstrap& bootstrap, network::Network& network)
    : bootstrap_(bootstrap),
      network_(network),
      word_(network.failures() != nullptr     ? network.failures()
            : bootstrap.failures() != nullptr ? bootstrap.failures()
                                              : &kNoFailures),
      ranks_(bootstrap.size()),
      states_(new std::atomic<State>[static_cast<std::size_t>(bootstrap.size())]()),
      order_(new std::atomic<int>[static_cast<std::size_t>(bootstrap.size())]()) {}

bool PeerFailures::knows(int rank) const noexcept {
  return network_.failures() != nullptr ? network_.has_failed(rank) : bootstrap_.has_failed(rank);
}

bool PeerFailures::update() noexcept {
  const std::unique_lock lock(mutex_, std::try_to_lock);
  if (!lock.owns_lock()) return false;
  // Pairs with the release of whoever counts: the flags behind the count are read below.
  static_cast<void>(word_->load(std::memory_order_acquire));
  for (int rank = 0; rank < ranks_; ++rank) {
    if (rank == bootstrap_.rank() || has_failed(rank) || !knows(rank)) continue;
    const std::size_t place = count_.load(std::memory_order_relaxed);
    order_[place].store(rank, std::memory_order_relaxed);
    states_[rank].store(State::failed, std::memory_order_release);
    // Pairs with the acquire in count().
    count_.store(place + 1, std::memory_order_release);
    network_.peer_failed(rank);
    // By index: a watcher may change the list.
    for (std::size_t index = 0; index < watchers_.size(); ++index) signal(*watchers_[index], rank);
  }
  return true;
}

void PeerFailures::signal(Completion& completion, int rank) const noexcept {
  Message message;
  MessageAccess::set_view(message, Operation::peer_failure, rank, 0, nullptr, 0, nullptr, 0);
  MessageAccess::set_outcome(message, Outcome::peer_failed);
  completion.signal(message);
}

void PeerFailures::watch(Completion& completion) {
  const std::lock_guard lock(mutex_);
  watchers_.push_back(&completion);
  for (std::size_t place = 0; place < count(); ++place) signal(completion, at(place));
}

void PeerFailures::unwatch(Completion& completion) noexcept {
  const std::lock_guard lock(mutex_);
  std::erase(watchers_, &completion);
}

}  // namespace weft::detail
