#include "network/tcp/tcp_endpoint.hpp"

#include "base/clock.hpp"
#include "base/system_call.hpp"
#include "network/session/session_device.hpp"

#include <weft/error.hpp>

#include <sys/epoll.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <string>
#include <thread>
#include <utility>

namespace weft::network::tcp {

namespace {

constexpr std::uint32_t kLooksPerEvents = 16;  // at the hot connection, for one at all
constexpr std::uint32_t kDrivesPerClock = 32;
constexpr std::uint32_t kMostSkippedLooks = 7;
constexpr std::uint32_t kForGreetings = 8;  // messages that come before the first contact
constexpr int kReadsOfTheDeparted = 1024;
constexpr auto kFarewell = std::chrono::milliseconds(20);

base::Descriptor open_epoll() {
  base::Descriptor epoll(::epoll_create1(EPOLL_CLOEXEC));
  if (!epoll)
    throw Error(ErrorClass::network,
                "tcp: a device cannot be opened: " + base::failed_call("epoll_create1", errno));
  return epoll;
}

}  // namespace

TcpEndpoint::TcpEndpoint(const EndpointContext& context, std::uint32_t index)
    : context_(context),
      index_(static_cast<std::uint8_t>(index)),
      chunks_(context.copier),
      epoll_(open_epoll()),
      pieces_(*this, transfers_, context.regions, context.offers.memory()),
      landings_(*this, transfers_, context.regions, pieces_),
      reader_(context, *this, chunks_, pieces_, landings_),
      connector_(context, index_, *this, epoll_.get(), chunks_, reader_),
      writes_(epoll_.get(), pieces_, context.courier),
      liveness_(context.membership.peer_timeout, context.membership.rank, *this),
      frame_bytes_(std::min(kLongestFrame, context.message_bytes)),
      frame_memory_(new std::byte[kFrames * frame_bytes_]) {
  watch_for_input(epoll_.get(), context_.acceptor.descriptor(), &context_.acceptor);
  free_frames_.reserve(kFrames);
  for (std::size_t frame = 0; frame < kFrames; ++frame)
    free_frames_.push_back(frame_memory_.get() + frame * frame_bytes_);
  chunks_.grow(kForGreetings, 0);
  context_.acceptor.open(index, connector_.inbox());
  Endpoints own{context_.acceptor.port(), context_.network_namespace, {}};
  for (const Interface& each : context_.interfaces) own.addresses.push_back(each.address);
  context_.peers.publish(index, encode(own));
}

/// Peers that have not read everything would be told of a failure if a connection were closed with something
/// unread: what they send is read until they have closed as well, for a moment.
TcpEndpoint::~TcpEndpoint() {
  std::vector<Connection*> open;
  for (const auto& [peer, connection] : connections_)
    if (connection->is_open()) open.push_back(connection.get());
  for (Connection* each : open) {
    const Record record{0, RecordKind::leave, {}, 0};
    if (each->output.flush(each->socket.get()) == Output::Result::taken)
      static_cast<void>(each->output.write(each->socket.get(), Queue::bulk, record, {}, {}));
    ::shutdown(each->socket.get(), SHUT_WR);
  }
  const auto until = std::chrono::steady_clock::now() + kFarewell;
  while (!open.empty()) {
    std::erase_if(open, [](Connection* each) {
      std::array<std::byte, 4096> dropped;
      const ssize_t got = ::recv(each->socket.get(), dropped.data(), dropped.size(), MSG_DONTWAIT);
      return got == 0 || (got < 0 && errno != EAGAIN && errno != EINTR);
    });
    if (std::chrono::steady_clock::now() > until) break;
    std::this_thread::yield();
  }
}

Connection& TcpEndpoint::connection_of(int rank, std::uint8_t device) {
  const auto known = connections_.find({rank, device});
  if (known != connections_.end()) return *known->second;
  // What is noted where no memory may be needed has its room from here.
  const std::size_t most = connections_.size() + 1;
  if (broken_.capacity() < most) {
    writes_.reserve(2 * most);
    connector_.reserve(2 * most);
    reader_.reserve(2 * most);
    broken_.reserve(2 * most);
  }
  auto made = std::make_unique<Connection>();
  made->rank = rank;
  made->device = device;
  made->servings.reserve(2 * TransferTable::kMost);
  return *connections_.emplace(std::pair{rank, device}, std::move(made)).first->second;
}

bool TcpEndpoint::connect(session::Link& link, std::span<const std::byte> address) noexcept try {
  Connection& connection = connection_of(link.rank, link.device);
  connection.link = &link;
  link.address = reinterpret_cast<std::uint64_t>(&connection);
  return connection.is_open() || connector_.begin(connection, address);
} catch (const std::exception& error) {
  context_.log.warn("rank " + std::to_string(link.rank) + " cannot be contacted: " + error.what());
  return false;
}

void TcpEndpoint::drive(session::SessionDevice& device) noexcept {
  ++drives_;
  if (!writes_.are_none()) writes_.write();
  if (reader_.has_unread()) reader_.read_unread(device);
  if (looks_for_arrivals()) {
    const bool has_read = hot_ != nullptr && reader_.read(*hot_, device);
    if (hot_ == nullptr || has_found_others_ || ++looks_ % kLooksPerEvents == 0 ||
        (!has_read && !writes_.are_none()))
      poll_events(device);
    has_found_nothing_ = !has_read && !has_found_others_;
  }
  // Behind the look: what has come makes room for others that are to be reached.
  if (connector_.is_searching()) connector_.search_on();
  const bool has_slept = has_slept_.load(std::memory_order_relaxed);
  if (drives_ % kDrivesPerClock == 0 || has_slept) {
    if (has_slept) has_slept_.store(false, std::memory_order_relaxed);
    liveness_.look_after(connections_, base::now_ns());
  }
  if (!broken_.empty()) read_broken(device);
  if (std::exchange(has_lost_, false)) transfers_.complete_lost(device);
  if (connector_.take_has_opened()) device.serve_links_soon();
  // Written when it changes: threads that want to sleep read it.
  if (is_restless_.load(std::memory_order_relaxed) != reader_.has_unread())
    is_restless_.store(reader_.has_unread(), std::memory_order_relaxed);
}

/// A program that calls progress after every post would pay for two system calls where others pay for one: a
/// drive right after a message was written does not look when the last look found nothing, but a few times in
/// a row only.
bool TcpEndpoint::looks_for_arrivals() noexcept {
  const bool has_written = std::exchange(has_written_, false);
  if (has_written && has_found_nothing_ && writes_.are_none() && ++skipped_looks_ <= kMostSkippedLooks)
    return false;
  skipped_looks_ = 0;
  return true;
}

void TcpEndpoint::poll_events(session::SessionDevice& device) noexcept {
  std::array<epoll_event, 32> events;
  const int count = ::epoll_wait(epoll_.get(), events.data(), static_cast<int>(events.size()), 0);
  has_found_others_ = false;
  for (int index = 0; index < count; ++index) {
    const epoll_event& event = events[static_cast<std::size_t>(index)];
    if (event.data.ptr == &context_.acceptor) {
      context_.acceptor.serve();
    } else if (connector_.take_event(event.data.ptr, device)) {
      continue;
    } else if (auto* const connection = static_cast<Connection*>(event.data.ptr);
               connection->search != nullptr) {
      connector_.advance(*connection, device);
    } else if ((event.events & ~EPOLLOUT) != 0) {
      if (!connection->is_open() || connection == hot_ || !reader_.read(*connection, device)) continue;
      hot_ = connection;
      has_found_others_ = true;
    }
  }
}

session::Transport::Unsent TcpEndpoint::unsent(const session::Link& link) const noexcept {
  const auto found = connections_.find({link.rank, link.device});
  if (found == connections_.end() || !found->second->is_writing) return {};
  std::size_t bytes = found->second->output.size();
  for (const Serving& each : found->second->servings) bytes += each.left;
  return {bytes, found->second->writing_since};
}

void TcpEndpoint::lose(Connection& connection, const std::string& why) noexcept {
  if (connection.is_lost) return;
  connection.is_lost = true;
  connection.search.reset();
  connection.socket = base::Descriptor();
  if (hot_ == &connection) hot_ = nullptr;
  if (connection.chunk != nullptr) chunks_.release(*std::exchange(connection.chunk, nullptr));
  has_lost_ = true;
  if (context_.peers.is_known_to_have_left(connection.rank)) return;
  context_.peers.mark_left(connection.rank, why);
  if (connection.rank != context_.membership.rank)
    context_.bootstrap.report_unreachable(connection.rank, why);
}

/// A goodbye may lie before the end: a peer that has left closes its side.
void TcpEndpoint::read_broken(session::SessionDevice& device) noexcept {
  for (Connection* each : broken_) {
    while (each->is_open() && reader_.read(*each, device)) {
    }
    if (each->is_open()) lose(*each, "the connection is broken");
  }
  broken_.clear();
}

void TcpEndpoint::end_connections_with(int rank, session::SessionDevice& device) noexcept {
  context_.peers.mark_left(rank, "");
  for (auto each = connections_.lower_bound({rank, 0});
       each != connections_.end() && each->first.first == rank; ++each) {
    Connection& connection = *each->second;
    // What it had sent before has come: it has been acknowledged. A rank that goes on all the same is cut
    // off.
    for (int round = 0;
         round < kReadsOfTheDeparted && connection.is_open() && reader_.read(connection, device); ++round) {
    }
    lose(connection, "it has left");
  }
  has_lost_ = false;
  transfers_.complete_lost(device);
}

bool TcpEndpoint::is_carrying() const noexcept {
  return std::any_of(connections_.begin(), connections_.end(), [this](const auto& each) {
    const Connection& connection = *each.second;
    if (!connection.is_open() || context_.peers.has_left(connection.rank)) return false;
    return !connection.output.is_empty() || !connection.servings.empty() ||
           (connection.rank != context_.membership.rank && unacknowledged(connection.socket.get()) != 0);
  });
}

bool TcpEndpoint::notices_end_of(const session::Link& link) const noexcept {
  const auto found = connections_.find({link.rank, link.device});
  return found != connections_.end() && found->second->is_open();
}

bool TcpEndpoint::is_reaching(const session::Link& link) const noexcept {
  return connected(link).search != nullptr;
}

bool TcpEndpoint::may_sleep() noexcept {
  if (is_restless_.load(std::memory_order_relaxed)) return false;
  has_slept_.store(true, std::memory_order_relaxed);
  epoll_event event{};
  return ::epoll_wait(epoll_.get(), &event, 1, 0) == 0;
}

AccessResult TcpEndpoint::fetch(session::Link& link, const OfferedMemory& from, std::span<std::byte> to,
                                std::uint64_t token) noexcept {
  return pieces_.request(connected(link), RecordKind::fetch, {from.key, from.offset, to.size()}, to.data(),
                         token);
}

AccessResult TcpEndpoint::get(session::Link& link, const RemoteMemory& from, std::span<std::byte> to,
                              std::uint64_t token) noexcept {
  return pieces_.request(connected(link), RecordKind::get, {key_of(from.region), from.offset, to.size()},
                         to.data(), token);
}

AccessResult TcpEndpoint::put(session::Link& link, const RemoteMemory& to, Bytes from, const std::uint64_t*,
                              std::uint64_t token) noexcept {
  return pieces_.put(connected(link), to, from, token);
}

void TcpEndpoint::stop() noexcept {
  for (const auto& [peer, connection] : connections_) connection->socket = base::Descriptor();
  connector_.stop();
  hot_ = nullptr;
}

}  // namespace weft::network::tcp
