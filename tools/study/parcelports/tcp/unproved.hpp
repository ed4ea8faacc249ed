// Connections to the port tcp whose peers have not said yet which rank they are.
#pragma once

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <deque>
#include <memory>

#include "study/parcelports/tcp/asio.hpp"

namespace weft::parcel::ports::tcp {

/// Anybody can open connections: few are kept, each for some seconds, and not too many are accepted in a
/// second. One thread at a time calls it.
class Unproved {
 public:
  using Clock = std::chrono::steady_clock;
  using Socket = asio::ip::tcp::socket;

  static constexpr auto kTime = std::chrono::seconds(5);
  static constexpr auto kPause = std::chrono::milliseconds(20);  // until more may be accepted

  /// `most`: of them at a time.
  explicit Unproved(std::size_t most) : most_(most), allowance_(kBurst * most) {}

  /// Returns false when so many have come lately that the next one has to wait.
  [[nodiscard]] bool may_accept(Clock::time_point now) {
    const auto refilled = std::chrono::duration_cast<std::chrono::milliseconds>(now - filled_);
    if (refilled.count() > 0) {
      filled_ = now;
      allowance_ = std::min(kBurst * most_, allowance_ + static_cast<std::size_t>(refilled.count()));
    }
    return allowance_ != 0;
  }
  /// When there are too many the oldest of the source with most of them is closed.
  void add(std::shared_ptr<Socket> socket, Clock::time_point now) {
    asio::error_code gone;
    const auto from = socket->remote_endpoint(gone).address();
    if (allowance_ != 0) --allowance_;
    if (entries_.size() == most_) end(choose());
    entries_.push_back({std::move(socket), from, now});
  }
  /// The peer has proved itself, or its connection has ended.
  void remove(const Socket& socket, bool is_proved) {
    const auto found = std::find_if(entries_.begin(), entries_.end(),
                                    [&](const Entry& each) { return each.socket.get() == &socket; });
    if (found == entries_.end()) return;
    entries_.erase(found);
    if (is_proved) ++allowance_;
  }
  void end_late(Clock::time_point now) {
    while (!entries_.empty() && now - entries_.front().since > kTime) end(entries_.begin());
  }
  void end_all() {
    while (!entries_.empty()) end(entries_.begin());
  }
  [[nodiscard]] bool is_empty() const noexcept { return entries_.empty(); }

 private:
  static constexpr std::size_t kBurst = 4;  // for each that may be there

  struct Entry {
    std::shared_ptr<Socket> socket;
    asio::ip::address from;
    Clock::time_point since;
  };
  using Position = std::deque<Entry>::iterator;

  /// The first of a source is its oldest.
  Position choose() {
    Position chosen = entries_.begin();
    std::ptrdiff_t most = 0;
    for (Position each = entries_.begin(); each != entries_.end(); ++each) {
      const auto count =
          std::count_if(each, entries_.end(), [&](const Entry& other) { return other.from == each->from; });
      if (count <= most) continue;
      most = count;
      chosen = each;
    }
    return chosen;
  }
  void end(Position position) {
    asio::error_code ignored;
    position->socket->close(ignored);
    entries_.erase(position);
  }

  const std::size_t most_;
  std::size_t allowance_;
  Clock::time_point filled_ = Clock::now();
  std::deque<Entry> entries_;  // the oldest first
};

}  // namespace weft::parcel::ports::tcp
