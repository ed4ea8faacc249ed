#include "bootstrap/local/server.hpp"

#include <weft/error.hpp>

#include <fcntl.h>
#include <sys/epoll.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <limits>
#include <utility>

#include "base/clock.hpp"
#include "base/system_call.hpp"
#include "bootstrap/job_id.hpp"
#include "bootstrap/local/server_state.hpp"

namespace weft::bootstrap::local {
namespace {

/// Returns half of the number of files that this process may have open: the rest is for connections and
/// output.
std::size_t most_lent() {
  rlimit limit{};
  if (::getrlimit(RLIMIT_NOFILE, &limit) != 0) return 0;
  return static_cast<std::size_t>(std::min<rlim_t>(limit.rlim_cur / 2, rlim_t{1} << 20));
}

constexpr double kDepartureGrace = 0.3;  // seconds; failures are promised within one second

void watch(int epoll, int operation, int descriptor, std::uint32_t events) {
  epoll_event event{};
  event.events = events;
  event.data.fd = descriptor;
  if (::epoll_ctl(epoll, operation, descriptor, &event) != 0) {
    throw Error("a socket of the launcher cannot be watched: " + base::failed_call("epoll_ctl", errno));
  }
}

}  // namespace

Server::Server(std::string job_id, int size)
    : job_id_(std::move(job_id)),
      name_(socket_name(job_id_)),
      size_(size),
      epoll_(::epoll_create1(EPOLL_CLOEXEC)),
      listener_(listen_abstract(name_)),
      joins_(static_cast<std::size_t>(size)),
      most_lent_(most_lent()),
      is_known_unfinished_(static_cast<std::size_t>(size), false) {
  if (!epoll_)
    throw Error("the launcher cannot wait for its ranks: " + base::failed_call("epoll_create1", errno));
  watch(epoll_.get(), EPOLL_CTL_ADD, listener_.get(), EPOLLIN);
}

Server::~Server() = default;

int Server::timeout_ms() const {
  if (departures_.empty() && reports_.empty()) return -1;
  std::int64_t due = std::numeric_limits<std::int64_t>::max();
  if (!departures_.empty()) due = departures_.front().due_ns;
  if (!reports_.empty()) due = std::min(due, reports_.front().due_ns);
  const std::int64_t left = due - base::now_ns();
  return left <= 0 ? 0 : static_cast<int>(left / 1'000'000) + 1;
}

void Server::serve() {
  decide_reports();
  while (!departures_.empty() && departures_.front().due_ns <= base::now_ns()) {
    const Departure departure = departures_.front();
    departures_.pop_front();
    if (auto& instance = instances_[departure.instance]) {
      if (instance->member(departure.rank) == Membership::lost)
        instance->member(departure.rank) = Membership::cut_off;
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
    if (rank_sockets_.contains(descriptor)) {
      accept_passed(descriptor);
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
    if (peer_is_same_user(socket.get())) admit(std::move(socket));
  }
}

void Server::admit(Descriptor socket) {
  const int descriptor = socket.get();
  watch(epoll_.get(), EPOLL_CTL_ADD, descriptor, EPOLLIN);
  connections_.emplace(descriptor, std::make_unique<Connection>(std::move(socket)));
}

Server::RankEnd Server::open_for_rank() {
  int ends[2] = {-1, -1};
  if (::socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, ends) != 0)
    throw Error("a socket for a rank cannot be opened: " + base::failed_call("socketpair", errno));
  Descriptor own{ends[0]};
  Descriptor theirs{ends[1]};
  struct stat status {};
  if (::fstat(theirs.get(), &status) != 0)
    throw Error("a socket for a rank cannot be opened: " + base::failed_call("fstat", errno));
  watch(epoll_.get(), EPOLL_CTL_ADD, own.get(), EPOLLIN);
  const int descriptor = own.get();
  rank_sockets_.emplace(descriptor, std::move(own));
  std::string name = std::to_string(theirs.get()) + ":" + std::to_string(status.st_ino);
  return {std::move(theirs), std::move(name)};
}

/// Accepts connections that a rank has made and passes on. A process that has inherited the socket belongs to
/// the job, independent of its user.
void Server::accept_passed(int rank_socket) {
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
    const ssize_t count = receive_part(connection.socket.get(), target, wanted, connection.passed, 0);
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
    connection.passed.close();
    connection.received = 0;
  }
}

void Server::leave(Instance& instance, int rank, std::string how) {
  if (instance.exchange.has_left(rank)) return;
  instance.exchange.leave(rank, std::move(how));
  ++instance.left;
  lent_ -= std::erase_if(instance.lent, [rank](const auto& entry) { return entry.first.first == rank; });
  settle_all(instance);
  if (instance.left < size_) return;
  stored_bytes_ -= instance.stored_bytes;
  instances_[instance.number].reset();
}

/// The first report counts; one by a rank that has been declared failed itself does not.
void Server::decide_reports() {
  while (!reports_.empty() && reports_.front().due_ns <= base::now_ns()) {
    const Report report = std::move(reports_.front());
    reports_.pop_front();
    const auto& instance = instances_[report.instance];
    if (instance == nullptr || instance->member(report.about.rank) != Membership::joined ||
        instance->member(report.about.by) != Membership::joined)
      continue;
    instance->member(report.about.rank) = Membership::unreachable;
    instance->board.mark_failed(report.about.rank);
    unreachable_.push_back(report.about);
    leave(*instance, report.about.rank,
          "could not be reached by rank " + std::to_string(report.about.by) + ": " + report.about.why);
  }
}

std::optional<Server::Unreachable> Server::take_unreachable() {
  if (unreachable_.empty()) return std::nullopt;
  Unreachable next = std::move(unreachable_.front());
  unreachable_.pop_front();
  return next;
}

void Server::rank_ended(int rank, std::string how) {
  ended_.emplace(rank, how);
  // The last messages of the rank may not have been read yet.
  for (const auto& [descriptor, connection] : connections_)
    if (connection->rank == rank) receive(*connection);
  bool has_stayed = false;
  bool is_cut_off = false;
  for (std::size_t i = 0; i < instances_.size(); ++i) {
    if (instances_[i] == nullptr) continue;
    Instance& instance = *instances_[i];
    const Membership member = instance.member(rank);
    has_stayed = has_stayed || member == Membership::joined || member == Membership::lost ||
                 member == Membership::cut_off;
    is_cut_off = is_cut_off || member == Membership::cut_off;
    if (member == Membership::joined || member == Membership::absent) instance.board.mark_failed(rank);
    find_absent(instance);
    leave(instance, rank, how);
  }
  if (has_stayed && !is_known_unfinished_[static_cast<std::size_t>(rank)]) {
    is_known_unfinished_[static_cast<std::size_t>(rank)] = true;
    unfinished_.push_back({rank, true, -1, is_cut_off});
  }
}

/// Finds ranks that have ended and never joined, though others have joined this instance.
void Server::find_absent(const Instance& instance) {
  const int other = instance.any_member();
  if (other < 0) return;
  for (const auto& [rank, how] : ended_) {
    const auto place = static_cast<std::size_t>(rank);
    if (!joins_[place].by_name.empty() || is_known_unfinished_[place]) continue;
    is_known_unfinished_[place] = true;
    unfinished_.push_back({rank, false, other});
  }
}

std::optional<Server::Unfinished> Server::take_unfinished() {
  if (unfinished_.empty()) return std::nullopt;
  const Unfinished next = unfinished_.front();
  unfinished_.pop_front();
  return next;
}

void Server::answer(Connection& connection, std::uint32_t request, Message message,
                    std::shared_ptr<const Bytes> payload, std::shared_ptr<const Descriptor> descriptor) {
  const std::size_t length = payload == nullptr ? 0 : payload->size();
  connection.outgoing.push_back({.header = {.length = static_cast<std::uint32_t>(length),
                                            .request = request,
                                            .message = message,
                                            .argument = 0},
                                 .payload = std::move(payload),
                                 .descriptor = std::move(descriptor)});
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

// Marks a connection to be closed at the end of serve(), when no code refers to it any more.
void Server::doom(Connection& connection) {
  if (connection.doomed) return;
  connection.doomed = true;
  doomed_.push_back(connection.socket.get());
}

void Server::close(int descriptor) {
  const auto found = connections_.find(descriptor);
  const int rank = found->second->rank;
  const std::uint32_t number = found->second->instance;
  connections_.erase(found);
  if (rank < 0 || instances_[number] == nullptr) return;
  Instance& instance = *instances_[number];
  if (instance.member(rank) == Membership::joined) {
    instance.member(rank) = Membership::lost;
    instance.board.mark_failed(rank);
  }
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
