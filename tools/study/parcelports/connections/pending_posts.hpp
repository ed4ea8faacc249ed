// Posts whose end has to be asked for, one after the other, under a spinlock: as the parcelports of the paper
// do with the requests of MPI and with synchronizers.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <deque>

#include "study/parcelports/connections/two_sided.hpp"

namespace weft::parcel::ports {

/// Any thread.
class PendingPosts {
 public:
  void add(Poster& poster) {
    while (is_locked_.exchange(true, std::memory_order_acquire)) {
    }
    posters_.push_back(&poster);
    count_.store(posters_.size(), std::memory_order_relaxed);
    is_locked_.store(false, std::memory_order_release);
  }
  /// Asks the next ones, round robin, at most kAtOnce; `test(poster)` says whether its post has ended, and
  /// `end(poster)` is called, without the lock, for the first that has. Returns whether one has. Another
  /// thread that is here already is not waited for.
  template <class Test, class End>
  bool poll(const Test& test, const End& end) {
    if (count_.load(std::memory_order_relaxed) == 0) return false;
    if (is_locked_.exchange(true, std::memory_order_acquire)) return false;
    Poster* ended = nullptr;
    for (std::size_t left = std::min(posters_.size(), kAtOnce); left > 0 && ended == nullptr; --left) {
      Poster* const poster = posters_.front();
      posters_.pop_front();
      if (test(*poster))
        ended = poster;
      else
        posters_.push_back(poster);
    }
    count_.store(posters_.size(), std::memory_order_relaxed);
    is_locked_.store(false, std::memory_order_release);
    if (ended == nullptr) return false;
    end(*ended);
    return true;
  }

 private:
  static constexpr std::size_t kAtOnce = 16;
  std::atomic<bool> is_locked_{false};
  std::atomic<std::size_t> count_{0};
  std::deque<Poster*> posters_;
};

}  // namespace weft::parcel::ports
