#include "bootstrap/local/server.hpp"

#include <weft/error.hpp>

#include <sys/epoll.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <utility>

#include "base/clock.hpp"
#include "bootstrap/job_id.hpp"
#include "bootstrap/local/server_state.hpp"

namespace weft::bootstrap::local {
namespace {

constexpr double kDepartureGrace = 0.3;  // seconds; failures are promised within one

void watch(int epoll, int operation, int descriptor, std::uint32_t events) {
  epoll_event event{};
  event.events = events;
  event.data.fd = descriptor;
  if (::epoll_ctl(epoll, operation, descriptor, &event) != 0) {
    throw Error(std::string("a socket of the launcher cannot be watched: ") + std::strerror(errno));
  }
}

}  // namespace

Server::Server(std::string job_id, int size)
    : job_id_(std::move(job_id)),
      name_(socket_name(job_id_)),
      size_(size),
      epoll_(::epoll_create1(EPOLL_CLOEXEC)),
      listener_(listen_abstract(name_)),
      joins_(static_cast<std::size_t>(size), 0) {
  if (!epoll_) throw Error(std::string("epoll is not available: ") + std::strerror(errno));
  watch(epoll_.get(), EPOLL_CTL_ADD, listener_.get(), EPOLLIN);
}

Server::~Server() = default;

int Server::timeout_ms() const {
  if (departures_.empty()) return -1;
  const std::int64_t left = departures_.front().due_ns - base::now_ns();
  return left <= 0 ? 0 : static_cast<int>(left / 1'000'000) + 1;
}

void Server::serve() {
  while (!departures_.empty() && departures_.front().due_ns <= base::now_ns()) {
    const Departure departure = departures_.front();
    departures_.pop_front();
    if (auto& instance = instances_[departure.instance]) {
      leave(*instance, departure.rank, "has left the job (its runtime ended)");
    }
  }

  std::array<epoll_event, 64> events{};
  const int count = ::epoll_wait(epoll_.get(), events.data(), static_cast<int>(events.size()), 0);
  for (int i = 0; i < count; ++i) {
    const int descriptor = events[static_cast<std::size_t>(i)].data.fd;
    if (descriptor == listener_.get()) {
      accept_all();
      continue;
    }
    const auto found = connections_.find(descriptor);
    if (found == connections_.end()) continue;
    if ((events[static_cast<std::size_t>(i)].events & EPOLLOUT) != 0) flush(*found->second);
    if ((events[static_cast<std::size_t>(i)].events & ~static_cast<unsigned>(EPOLLOUT)) != 0)
      receive(*found->second);
  }
  for (const int descriptor : std::exchange(doomed_, {})) close(descriptor);
}

void Server::accept_all() {
  for (;;) {
    Descriptor socket{::accept4(listener_.get(), nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK)};
    if (!socket) return;
    if (!peer_is_same_user(socket.get())) continue;
    const int descriptor = socket.get();
    watch(epoll_.get(), EPOLL_CTL_ADD, descriptor, EPOLLIN);
    connections_.emplace(descriptor, std::make_unique<Connection>(std::move(socket)));
  }
}

void Server::receive(Connection& connection) {
  // Bounded, so that one busy rank does not keep the others waiting.
  for (int piece = 0; piece < 16 && !connection.doomed; ++piece) {
    std::byte* target = reinterpret_cast<std::byte*>(&connection.header) + connection.received;
    std::size_t wanted = sizeof(Header) - connection.received;
    if (connection.received >= sizeof(Header)) {
      const std::size_t offset = connection.received - sizeof(Header);
      target = connection.payload.data() + offset;
      wanted = connection.payload.size() - offset;
    }
    const ssize_t count = ::recv(connection.socket.get(), target, wanted, 0);
    if (count < 0 && errno == EINTR) continue;
    if (count < 0 && errno == EAGAIN) return;
    if (count <= 0) {
      doom(connection);
      return;
    }
    connection.received += static_cast<std::size_t>(count);
    if (connection.received == sizeof(Header)) {
      const std::size_t limit = connection.rank < 0 ? kMaximumHello : kMaximumRequest;
      if (connection.header.length > limit) {
        doom(connection);
        return;
      }
      connection.payload.resize(connection.header.length);
    }
    if (connection.received < sizeof(Header) + connection.payload.size() ||
        connection.received < sizeof(Header))
      continue;
    if (!handle(connection)) doom(connection);
    connection.payload = {};
    connection.received = 0;
  }
}

void Server::leave(Instance& instance, int rank, std::string how) {
  if (instance.exchange.has_left(rank)) return;
  instance.exchange.leave(rank, std::move(how));
  ++instance.left;
  settle_all(instance);
  if (instance.left < size_) return;
  stored_bytes_ -= instance.stored_bytes;
  instances_[instance.number].reset();
}

bool Server::has_said_that_it_leaves(const Instance& instance, int rank) const {
  if (instance.exchange.has_left(rank)) return true;  // or failed, and was marked then
  const auto is_of_rank = [&](const auto& entry) {
    return entry.second->rank == rank && entry.second->instance == instance.number && entry.second->has_left;
  };
  return std::any_of(connections_.begin(), connections_.end(), is_of_rank) ||
         std::any_of(departures_.begin(), departures_.end(), [&](const Departure& departure) {
           return departure.rank == rank && departure.instance == instance.number;
         });
}

void Server::rank_ended(int rank, std::string how) {
  ended_.emplace(rank, how);
  // Its last word may not have been read yet.
  for (const auto& [descriptor, connection] : connections_)
    if (connection->rank == rank) receive(*connection);
  for (std::size_t i = 0; i < instances_.size(); ++i) {
    if (instances_[i] == nullptr) continue;
    if (!has_said_that_it_leaves(*instances_[i], rank)) instances_[i]->board.mark_failed(rank);
    leave(*instances_[i], rank, how);
  }
}

void Server::answer(Connection& connection, std::uint32_t request, Message message,
                    std::shared_ptr<const Bytes> payload) {
  const std::size_t length = payload == nullptr ? 0 : payload->size();
  connection.outgoing.push_back({.header = {.length = static_cast<std::uint32_t>(length),
                                            .request = request,
                                            .message = message,
                                            .argument = 0},
                                 .payload = std::move(payload)});
  if (!connection.waits_for_room) flush(connection);
}

void Server::refuse(Connection& connection, std::uint32_t request, std::string_view text) {
  const auto bytes = std::as_bytes(std::span{text});
  answer(connection, request, Message::failed, std::make_shared<Bytes>(bytes.begin(), bytes.end()));
}

void Server::flush(Connection& connection) {
  while (!connection.outgoing.empty()) {
    Connection::Outgoing& next = connection.outgoing.front();
    const std::size_t length = next.payload == nullptr ? 0 : next.payload->size();
    std::array<iovec, 2> parts{};
    msghdr message{};
    message.msg_iov = parts.data();
    if (next.sent < sizeof(Header)) {
      parts[message.msg_iovlen++] = {reinterpret_cast<std::byte*>(&next.header) + next.sent,
                                     sizeof(Header) - next.sent};
    }
    const std::size_t offset = next.sent < sizeof(Header) ? 0 : next.sent - sizeof(Header);
    if (length > offset) {
      parts[message.msg_iovlen++] = {const_cast<std::byte*>(next.payload->data()) + offset, length - offset};
    }
    const ssize_t sent = ::sendmsg(connection.socket.get(), &message, MSG_NOSIGNAL | MSG_DONTWAIT);
    if (sent < 0 && errno == EINTR) continue;
    if (sent < 0 && errno != EAGAIN) {
      doom(connection);
      return;
    }
    if (sent < 0) break;
    next.sent += static_cast<std::size_t>(sent);
    if (next.sent == sizeof(Header) + length) connection.outgoing.pop_front();
  }
  const bool wants_room = !connection.outgoing.empty();
  if (wants_room == connection.waits_for_room) return;
  connection.waits_for_room = wants_room;
  watch(epoll_.get(), EPOLL_CTL_MOD, connection.socket.get(), wants_room ? EPOLLIN | EPOLLOUT : EPOLLIN);
}

// Closing waits until nobody refers to the connection, at the end of serve().
void Server::doom(Connection& connection) {
  if (connection.doomed) return;
  connection.doomed = true;
  doomed_.push_back(connection.socket.get());
}

void Server::close(int descriptor) {
  const auto found = connections_.find(descriptor);
  const int rank = found->second->rank;
  const std::uint32_t number = found->second->instance;
  const bool has_failed = !found->second->has_left;
  connections_.erase(found);
  if (rank < 0 || instances_[number] == nullptr) return;
  Instance& instance = *instances_[number];
  if (has_failed) instance.board.mark_failed(rank);
  const auto is_of_closed = [descriptor](const auto& entry) { return entry.second.descriptor == descriptor; };
  std::erase_if(instance.getters, is_of_closed);
  std::erase_if(instance.gatherers, is_of_closed);
  if (const auto end = ended_.find(rank); end != ended_.end()) {
    leave(instance, rank, end->second);
  } else {
    departures_.push_back({number, rank, base::now_ns() + base::seconds_to_ns(kDepartureGrace)});
  }
}

}  // namespace weft::bootstrap::local
