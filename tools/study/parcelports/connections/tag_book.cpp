#include "study/parcelports/connections/tag_book.hpp"

namespace weft::parcel::ports {

TagBook::TagBook(int ranks, TagPolicy policy, std::uint64_t tags) : policy_(policy), tags_(tags) {
  for (int rank = 0; rank < ranks; ++rank) {
    peers_.push_back(std::make_unique<Peer>());
    if (policy != TagPolicy::window) continue;
    peers_.back()->has_begun.resize(tags);
    peers_.back()->is_finished.resize(tags);
  }
  if (policy != TagPolicy::provider) return;
  for (std::uint64_t tag = tags; tag > 0; --tag) free_.push_back(tag);
  is_free_.resize(tags + 1, true);
}

std::optional<std::uint64_t> TagBook::take(int peer, std::uint64_t followups) {
  if (policy_ == TagPolicy::provider) {
    const std::lock_guard lock(free_mutex_);
    if (free_.empty()) return {};
    const std::uint64_t tag = free_.back();
    free_.pop_back();
    is_free_[tag] = false;
    return tag;
  }
  Peer& at = of(peer);
  if (policy_ == TagPolicy::endless) return at.next.fetch_add(followups, std::memory_order_relaxed);
  if (followups == 0) return 0;
  std::uint64_t next = at.next.load(std::memory_order_relaxed);
  do {
    if (next - at.has_finished.load(std::memory_order_acquire) >= tags_) return {};
  } while (!at.next.compare_exchange_weak(next, next + 1, std::memory_order_relaxed));
  return next;
}

bool TagBook::give_back(std::uint64_t number, std::uint64_t followups) {
  if (policy_ == TagPolicy::provider) return release(number);
  // Endless numbers are not missed. One of a window is, unless none was taken.
  return policy_ == TagPolicy::endless || followups == 0;
}

std::uint64_t TagBook::tag_of(std::uint64_t number, std::uint64_t followup) const noexcept {
  if (policy_ == TagPolicy::endless) return number + followup;
  return policy_ == TagPolicy::window ? 1 + number % tags_ : number;
}

void TagBook::peer_has_finished(int peer, std::uint64_t count) noexcept {
  Peer& at = of(peer);
  std::uint64_t known = at.has_finished.load(std::memory_order_relaxed);
  if (count > at.next.load(std::memory_order_relaxed)) return;  // no peer says so
  while (known < count && !at.has_finished.compare_exchange_weak(known, count, std::memory_order_release)) {
  }
}

bool TagBook::release(std::uint64_t tag) {
  const std::lock_guard lock(free_mutex_);
  if (tag == 0 || tag >= is_free_.size() || is_free_[tag]) return false;
  is_free_[tag] = true;
  free_.push_back(tag);
  return true;
}

bool TagBook::begin(int source, std::uint64_t number) {
  if (policy_ == TagPolicy::provider) return number >= 1 && number <= tags_;
  if (policy_ == TagPolicy::endless) return true;
  Peer& at = of(source);
  const std::lock_guard lock(at.mutex);
  const std::uint64_t finished = at.finished.load(std::memory_order_relaxed);
  if (number < finished || number - finished >= tags_ || at.has_begun[number % tags_]) return false;
  at.has_begun[number % tags_] = true;
  return true;
}

void TagBook::finish(int source, std::uint64_t number) {
  if (policy_ != TagPolicy::window) return;
  Peer& at = of(source);
  const std::lock_guard lock(at.mutex);
  std::uint64_t finished = at.finished.load(std::memory_order_relaxed);
  at.is_finished[number % tags_] = true;
  for (; at.is_finished[finished % tags_]; ++finished)
    at.is_finished[finished % tags_] = at.has_begun[finished % tags_] = false;
  at.finished.store(finished, std::memory_order_relaxed);
}

std::uint64_t TagBook::finished_of(int source) const noexcept {
  return of(source).finished.load(std::memory_order_relaxed);
}

std::optional<std::uint64_t> TagBook::updates_for(int source) noexcept {
  if (policy_ != TagPolicy::window) return {};
  Peer& at = of(source);
  std::uint64_t reported = at.reported.load(std::memory_order_relaxed);
  const std::uint64_t finished = at.finished.load(std::memory_order_relaxed);
  if (finished - reported < (tags_ + 3) / 4) return {};
  if (!at.reported.compare_exchange_strong(reported, finished, std::memory_order_relaxed)) return {};
  return finished;
}

void TagBook::set_reported(int source, std::uint64_t count) noexcept {
  Peer& at = of(source);
  std::uint64_t reported = at.reported.load(std::memory_order_relaxed);
  while (reported < count && !at.reported.compare_exchange_weak(reported, count, std::memory_order_relaxed)) {
  }
}

}  // namespace weft::parcel::ports
