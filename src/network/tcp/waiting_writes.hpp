// The connections that have something to write which their sockets have not taken.
#pragma once

#include "network/session/courier/courier.hpp"
#include "network/tcp/connection/connection.hpp"
#include "network/tcp/connection/piece_sender.hpp"

#include <atomic>
#include <cstddef>
#include <vector>

namespace weft::network::tcp {

/// Under the lock of its device, as all of an endpoint, but for what says otherwise.
class WaitingWrites {
 public:
  /// `epoll` waits for the connections of the device. All must outlive the object.
  WaitingWrites(int epoll, PieceSender& pieces, session::Courier& courier) noexcept
      : epoll_(epoll), pieces_(pieces), courier_(courier) {}

  /// What the connection has to write is written as soon as its socket takes it.
  void add(Connection& connection) noexcept;
  /// Writes what the sockets take.
  void write() noexcept;
  [[nodiscard]] bool are_none() const noexcept { return writing_.empty(); }
  /// Returns true when something waits. Any thread.
  [[nodiscard]] bool is_laden() const noexcept { return is_laden_.load(std::memory_order_relaxed); }
  /// Makes room for so many connections.
  void reserve(std::size_t connections) { writing_.reserve(connections); }

 private:
  /// `for_room`: the connection is also waited for until its socket takes more.
  void watch(Connection& connection, bool for_room) noexcept;

  const int epoll_;
  PieceSender& pieces_;
  session::Courier& courier_;
  std::vector<Connection*> writing_;
  std::atomic<bool> is_laden_{false};  // writing_ has connections
};

}  // namespace weft::network::tcp
