#include "network/tcp/waiting_writes.hpp"

#include "base/clock.hpp"

#include <sys/epoll.h>

namespace weft::network::tcp {

void WaitingWrites::add(Connection& connection) noexcept {
  if (connection.is_writing) return;
  connection.is_writing = true;
  connection.writing_since = base::now_ns();
  writing_.push_back(&connection);
  is_laden_.store(true, std::memory_order_relaxed);
  courier_.call();
}

void WaitingWrites::write() noexcept {
  std::erase_if(writing_, [this](Connection* each) {
    if (each->is_open() && !each->is_broken && pieces_.flush(*each) == Output::Result::full) {
      watch(*each, true);
      return false;
    }
    if (each->is_open()) watch(*each, false);
    each->is_writing = false;
    return true;
  });
  if (writing_.empty()) is_laden_.store(false, std::memory_order_relaxed);
}

void WaitingWrites::watch(Connection& connection, bool for_room) noexcept {
  if (connection.waits_for_room == for_room) return;
  connection.waits_for_room = for_room;
  epoll_event event{};
  event.events = for_room ? EPOLLIN | EPOLLOUT : EPOLLIN;
  event.data.ptr = &connection;
  static_cast<void>(::epoll_ctl(epoll_, EPOLL_CTL_MOD, connection.socket.get(), &event));
}

}  // namespace weft::network::tcp
