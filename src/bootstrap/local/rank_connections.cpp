#include "bootstrap/local/rank_connections.hpp"

#include <weft/error.hpp>

#include <fcntl.h>
#include <sys/epoll.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <utility>

#include "base/system_call.hpp"
#include "bootstrap/arriving_bytes.hpp"

namespace weft::bootstrap::local {
namespace {

constexpr int kPiecesAtATime = 16;  // so that one busy rank does not keep the others waiting

void watch(int epoll, int operation, int descriptor, std::uint32_t events) {
  epoll_event event{};
  event.events = events;
  event.data.fd = descriptor;
  if (::epoll_ctl(epoll, operation, descriptor, &event) != 0) {
    throw Error(ErrorClass::job,
                "a socket of the launcher cannot be watched: " + base::failed_call("epoll_ctl", errno));
  }
}

}  // namespace

struct RankConnections::Connection {
  explicit Connection(Descriptor descriptor) : socket(std::move(descriptor)) {}

  struct Outgoing {
    Header header;
    std::shared_ptr<const Bytes> payload;
    std::shared_ptr<const Descriptor> descriptor;
    std::size_t sent = 0;  // of header and payload together
  };

  Descriptor socket;
  Request request;
  std::size_t received = 0;  // of its header
  ArrivingBytes payload;
  std::deque<Outgoing> outgoing;
  bool waits_for_room = false;  // registered for EPOLLOUT
  bool doomed = false;          // see doom()
};

RankConnections::RankConnections(const std::string& name, User& user)
    : user_(user), epoll_(::epoll_create1(EPOLL_CLOEXEC)), listener_(listen_abstract(name)) {
  if (!epoll_)
    throw Error(ErrorClass::job,
                "the launcher cannot wait for its ranks: " + base::failed_call("epoll_create1", errno));
  watch(epoll_.get(), EPOLL_CTL_ADD, listener_.get(), EPOLLIN);
}

RankConnections::~RankConnections() = default;

std::size_t RankConnections::most_lent() {
  rlimit limit{};
  if (::getrlimit(RLIMIT_NOFILE, &limit) != 0) return 0;
  return static_cast<std::size_t>(std::min<rlim_t>(limit.rlim_cur / 2, rlim_t{1} << 20));
}

void RankConnections::serve() {
  std::array<epoll_event, 64> events{};
  const int count = ::epoll_wait(epoll_.get(), events.data(), static_cast<int>(events.size()), 0);
  for (int i = 0; i < count; ++i) {
    const int descriptor = events[static_cast<std::size_t>(i)].data.fd;
    const std::uint32_t what = events[static_cast<std::size_t>(i)].events;
    if (descriptor == listener_.get()) {
      accept_all();
    } else if (rank_sockets_.contains(descriptor)) {
      accept_passed(descriptor);
    } else if (const auto found = connections_.find(descriptor); found != connections_.end()) {
      if ((what & EPOLLOUT) != 0) flush(*found->second);
      if ((what & ~static_cast<unsigned>(EPOLLOUT)) != 0) receive(*found->second);
    }
  }
  for (const int descriptor : std::exchange(doomed_, {})) {
    connections_.erase(descriptor);
    user_.closed(descriptor);
  }
}

void RankConnections::accept_all() {
  for (;;) {
    Descriptor socket{::accept4(listener_.get(), nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK)};
    if (!socket) return;
    if (peer_is_same_user(socket.get())) admit(std::move(socket));
  }
}

void RankConnections::admit(Descriptor socket) {
  const int descriptor = socket.get();
  watch(epoll_.get(), EPOLL_CTL_ADD, descriptor, EPOLLIN);
  connections_.emplace(descriptor, std::make_unique<Connection>(std::move(socket)));
}

RankConnections::RankEnd RankConnections::open_for_rank() {
  int ends[2] = {-1, -1};
  if (::socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, ends) != 0)
    throw Error(ErrorClass::job,
                "a socket for a rank cannot be opened: " + base::failed_call("socketpair", errno));
  Descriptor own{ends[0]};
  Descriptor theirs{ends[1]};
  struct stat status {};
  if (::fstat(theirs.get(), &status) != 0)
    throw Error(ErrorClass::job,
                "a socket for a rank cannot be opened: " + base::failed_call("fstat", errno));
  watch(epoll_.get(), EPOLL_CTL_ADD, own.get(), EPOLLIN);
  const int descriptor = own.get();
  rank_sockets_.emplace(descriptor, std::move(own));
  std::string name = std::to_string(theirs.get()) + ":" + std::to_string(status.st_ino);
  return {std::move(theirs), std::move(name)};
}

/// Accepts connections that a rank has made and passes on. A process that has inherited the socket belongs to
/// the job, independent of its user.
void RankConnections::accept_passed(int rank_socket) {
  for (;;) {
    char byte = 0;
    Descriptor socket;
    const ssize_t count = receive_part(rank_socket, &byte, sizeof byte, socket, MSG_DONTWAIT);
    if (count < 0 && errno == EINTR) continue;
    if (count < 0 && errno == EAGAIN) return;
    if (count <= 0) {  // the other end is closed
      rank_sockets_.erase(rank_socket);
      return;
    }
    if (!socket || ::fcntl(socket.get(), F_SETFL, O_NONBLOCK) != 0) continue;
    admit(std::move(socket));
  }
}

void RankConnections::receive(int connection) {
  if (const auto found = connections_.find(connection); found != connections_.end()) receive(*found->second);
}

void RankConnections::receive(Connection& connection) {
  Request& request = connection.request;
  for (int piece = 0; piece < kPiecesAtATime && !connection.doomed; ++piece) {
    const bool has_header = connection.received == sizeof(Header);
    const std::span<std::byte> room =
        has_header ? connection.payload.room()
                   : std::as_writable_bytes(std::span(&request.header, 1)).subspan(connection.received);
    const ssize_t count = receive_part(connection.socket.get(), room.data(), room.size(), request.passed, 0);
    if (count < 0 && errno == EINTR) continue;
    if (count < 0 && errno == EAGAIN) return;
    if (count <= 0) return doom(connection);
    if (has_header) {
      connection.payload.came(static_cast<std::size_t>(count));
    } else if ((connection.received += static_cast<std::size_t>(count)) == sizeof(Header)) {
      if (request.header.length > user_.longest_request(connection.socket.get())) return doom(connection);
      connection.payload.expect(request.header.length);
    }
    if (connection.received < sizeof(Header) || !connection.payload.is_complete()) continue;
    request.payload = connection.payload.take();
    if (!user_.received(connection.socket.get(), request)) doom(connection);
    request.payload = {};
    request.passed.close();
    connection.received = 0;
  }
}

void RankConnections::send(int connection, const Header& header, std::shared_ptr<const Bytes> payload,
                           std::shared_ptr<const Descriptor> descriptor) {
  const auto found = connections_.find(connection);
  if (found == connections_.end()) return;
  Connection& target = *found->second;
  target.outgoing.push_back(
      {.header = header, .payload = std::move(payload), .descriptor = std::move(descriptor)});
  if (!target.waits_for_room) flush(target);
}

void RankConnections::flush(Connection& connection) {
  while (!connection.outgoing.empty()) {
    Connection::Outgoing& next = connection.outgoing.front();
    const std::size_t length = next.payload == nullptr ? 0 : next.payload->size();
    std::array<iovec, 2> parts{};
    std::size_t count = 0;
    if (next.sent < sizeof(Header)) {
      parts[count++] = {reinterpret_cast<std::byte*>(&next.header) + next.sent, sizeof(Header) - next.sent};
    }
    const std::size_t offset = next.sent < sizeof(Header) ? 0 : next.sent - sizeof(Header);
    if (length > offset) {
      parts[count++] = {const_cast<std::byte*>(next.payload->data()) + offset, length - offset};
    }
    const int descriptor = next.sent == 0 && next.descriptor != nullptr ? next.descriptor->get() : -1;
    const ssize_t sent = send_parts(connection.socket.get(), parts.data(), count, descriptor, MSG_DONTWAIT);
    if (sent < 0 && errno == EINTR) continue;
    if (sent < 0 && errno != EAGAIN) return doom(connection);
    if (sent < 0) break;
    next.sent += static_cast<std::size_t>(sent);
    if (next.sent == sizeof(Header) + length) connection.outgoing.pop_front();
  }
  const bool wants_room = !connection.outgoing.empty();
  if (wants_room == connection.waits_for_room) return;
  connection.waits_for_room = wants_room;
  watch(epoll_.get(), EPOLL_CTL_MOD, connection.socket.get(), wants_room ? EPOLLIN | EPOLLOUT : EPOLLIN);
}

// Marks a connection to be closed at the end of serve(), when no code refers to it any more.
void RankConnections::doom(Connection& connection) {
  if (std::exchange(connection.doomed, true)) return;
  doomed_.push_back(connection.socket.get());
}

void RankConnections::close(int connection) {
  if (const auto found = connections_.find(connection); found != connections_.end()) doom(*found->second);
}

int RankConnections::process_of(int connection) const { return peer_process(connection); }

}  // namespace weft::bootstrap::local
