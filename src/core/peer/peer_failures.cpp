#include "core/peer/peer_failures.hpp"

#include "core/completion/immediate_completions.hpp"

#include <weft/detail/message_access.hpp>

#include <algorithm>

namespace weft::core {

namespace {

constexpr std::atomic<std::uint32_t> kNobodyGone{0};

void append(std::atomic<std::size_t>& count, std::atomic<int>* order, int rank) noexcept {
  const std::size_t index = count.load(std::memory_order_relaxed);
  order[index].store(rank, std::memory_order_relaxed);
  // Pairs with the acquire of a thread that reads the count.
  count.store(index + 1, std::memory_order_release);
}

}  // namespace

PeerFailures::PeerFailures(bootstrap::Bootstrap& bootstrap, network::Network& network)
    : bootstrap_(bootstrap),
      network_(network),
      word_(network.departures() != nullptr     ? network.departures()
            : bootstrap.departures() != nullptr ? bootstrap.departures()
                                                : &kNobodyGone),
      ranks_(bootstrap.size()),
      states_(new std::atomic<State>[static_cast<std::size_t>(bootstrap.size())]()),
      order_(new std::atomic<int>[static_cast<std::size_t>(bootstrap.size())]()),
      left_order_(new std::atomic<int>[static_cast<std::size_t>(bootstrap.size())]()) {}

bool PeerFailures::are_reported() const noexcept { return word_ != &kNobodyGone; }

bool PeerFailures::knows(int rank) const noexcept {
  return network_.failures() != nullptr ? network_.has_failed(rank) : bootstrap_.has_failed(rank);
}

bool PeerFailures::has_left(int rank) const noexcept {
  return network_.departures() != nullptr ? network_.has_left(rank) : bootstrap_.has_left(rank);
}

void PeerFailures::set_silent(int rank) noexcept {
  auto failed = State::failed;
  auto left = State::left;
  if (states_[rank].compare_exchange_strong(failed, State::silent_failed, std::memory_order_acq_rel))
    silent_failed_.fetch_add(1, std::memory_order_release);
  else if (!states_[rank].compare_exchange_strong(left, State::silent_left, std::memory_order_acq_rel))
    return;
  silent_.fetch_add(1, std::memory_order_release);
}

bool PeerFailures::update() noexcept {
  const std::unique_lock lock(mutex_, std::try_to_lock);
  if (!lock.owns_lock()) return false;
  // Pairs with the release of the thread that counts: the flags behind the count are read below.
  static_cast<void>(word_->load(std::memory_order_acquire));
  for (int rank = 0; rank < ranks_; ++rank) {
    if (rank == bootstrap_.rank() || states_[rank].load(std::memory_order_relaxed) != State::sound) continue;
    const bool has_failed = knows(rank);
    if (!has_failed && !has_left(rank)) continue;
    states_[rank].store(has_failed ? State::failed : State::left, std::memory_order_release);
    append(left_count_, left_order_.get(), rank);
    if (has_failed) append(count_, order_.get(), rank);
    network_.peer_departed(rank);
    if (!has_failed) continue;
    notify_watchers();
  }
  return true;
}

/// Signals the watchers that have not been notified of every failure. Watchers that are added inside a signal
/// are notified by the running loop: a chain of them needs no stack. Called with the lock.
void PeerFailures::notify_watchers() noexcept {
  if (is_notifying_) return;
  is_notifying_ = true;
  const SignalScope scope;
  for (bool goes_on = true; goes_on;) {
    goes_on = false;
    // By index: a watcher may change the list.
    for (std::size_t index = 0; index < watchers_.size(); ++index) {
      if (watchers_[index].notified >= count()) continue;
      goes_on = true;
      Message message;
      detail::MessageAccess::set_view(message, Operation::peer_failure, at(watchers_[index].notified++), 0,
                                      nullptr, 0, nullptr, 0);
      detail::MessageAccess::set_outcome(message, Outcome::peer_failed);
      detail::MessageAccess::excuse_outcome(message);  // the operation says as much
      watchers_[index].completion->signal(message);
    }
  }
  is_notifying_ = false;
}

void PeerFailures::show_watchers() noexcept {
  for (std::size_t index = 0; index < known_.size(); ++index)
    known_[index].store(index < watchers_.size() ? watchers_[index].completion : nullptr,
                        std::memory_order_relaxed);
  watching_.store(watchers_.size(), std::memory_order_relaxed);
}

void PeerFailures::watch(Completion& completion) {
  const std::lock_guard lock(mutex_);
  watchers_.push_back({&completion, 0});
  show_watchers();
  notify_watchers();
}

void PeerFailures::unwatch(Completion& completion) noexcept {
  const std::lock_guard lock(mutex_);
  std::erase_if(watchers_, [&](const Watcher& watcher) { return watcher.completion == &completion; });
  show_watchers();
}

}  // namespace weft::core
