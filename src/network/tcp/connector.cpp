#include "network/tcp/connector.hpp"

#include "base/clock.hpp"
#include "base/system_call.hpp"
#include "network/session/session_device.hpp"
#include "network/tcp/connection/transfer_table.hpp"

#include <weft/error.hpp>

#include <sys/epoll.h>
#include <sys/timerfd.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <limits>
#include <new>
#include <string>
#include <utility>

namespace weft::network::tcp {

namespace {

constexpr std::int64_t kNextAddress = 250'000'000;  // nanoseconds until the next address is tried as well
constexpr std::int64_t kLeastSearch = 5'000'000'000;
constexpr std::int64_t kLongestPatience = 4'000'000'000;
/// An address at which somebody has accepted is most probably the right one, however long the peer takes.
constexpr std::int64_t kTimeToAnswer = 5'000'000'000;
/// So many peers are reached at a time: where all ranks contact all, most of the others come by themselves
/// before it is their turn. Who does not answer keeps the turn for a moment only.
constexpr std::size_t kReachedAtATime = 16;
constexpr std::int64_t kTurn = 250'000'000;
constexpr std::int64_t kBetweenLooks = 20'000'000;
constexpr std::int64_t kAway = 1'000'000'000;  // so long after a look was due
constexpr std::int64_t kNever = std::numeric_limits<std::int64_t>::max();
/// What the connecting side sends with its proof: a record with its hello.
constexpr std::size_t kLongestOpening = sizeof(Record) + padded(session::kLongestHello);

void note_fault(Search& search, const Address& address, const std::string& why) {
  if (search.faults.find(to_text(address, search.port)) != std::string::npos) return;
  search.faults += (search.faults.empty() ? "" : ", ") + to_text(address, search.port) + " (" + why + ")";
}

/// Reads `size` bytes in all. Returns 1 when they are there, 0 when more have to come, -1 at the end.
int receive_part(Attempt& attempt, std::size_t size) noexcept {
  const ssize_t got = ::recv(attempt.socket.get(), attempt.received.data() + attempt.filled,
                             size - attempt.filled, MSG_DONTWAIT);
  if (got < 0 && (errno == EAGAIN || errno == EINTR)) return 0;
  if (got <= 0) return -1;
  attempt.filled += static_cast<std::size_t>(got);
  if (attempt.filled != size) return 0;
  attempt.filled = 0;
  return 1;
}

template <class Object>
bool send_whole(int socket, const Object& object) noexcept {
  return ::send(socket, &object, sizeof object, MSG_NOSIGNAL | MSG_DONTWAIT) ==
         static_cast<ssize_t>(sizeof object);
}

/// Sends the proof and, with it, the hello: who accepts the connection then needs no further round trip.
bool send_proof(Attempt& attempt, const Membership& own, session::SessionDevice& device) {
  attempt.stream.protect(keys_of_connector(own.secret, attempt.introduction, attempt.challenge));
  attempt.stream.send_first(proof_of_connector(own.secret, attempt.introduction, attempt.challenge));
  std::array<std::byte, kLongestOpening> opening{};
  const std::size_t size = device.contacts().make_hello(
      std::span(opening).subspan<sizeof(Record), session::kLongestHello>(), attempt.cursor);
  const Record record{static_cast<std::uint32_t>(size), RecordKind::message, {}, 0};
  std::memcpy(opening.data(), &record, sizeof record);
  iovec whole{opening.data(), sizeof record + padded(size)};
  return attempt.stream.send(attempt.socket.get(), {&whole, 1}) == static_cast<ssize_t>(whole.iov_len);
}

}  // namespace

void watch_for_input(int epoll, int descriptor, void* what) {
  epoll_event event{};
  event.events = EPOLLIN;
  event.data.ptr = what;
  if (::epoll_ctl(epoll, EPOLL_CTL_ADD, descriptor, &event) != 0)
    throw Error("tcp: connections cannot be waited for: " + base::failed_call("epoll_ctl", errno));
}

Connector::Connector(const EndpointContext& context, std::uint8_t index, ConnectionOwner& owner, int epoll,
                     Chunks& chunks, RecordReader& reader)
    : context_(context),
      index_(index),
      owner_(owner),
      epoll_(epoll),
      chunks_(chunks),
      reader_(reader),
      search_timer_(::timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK)) {
  if (!search_timer_)
    throw Error("tcp: a device cannot be opened: " + base::failed_call("timerfd_create", errno));
  watch_for_input(epoll_, inbox_.descriptor(), &inbox_);
  watch_for_input(epoll_, search_timer_.get(), &search_timer_);
}

bool Connector::take_event(const void* what, session::SessionDevice& device) noexcept {
  if (what == &inbox_) {
    take_accepted(device);
    return true;
  }
  if (what != &search_timer_) return false;
  std::uint64_t expired = 0;
  static_cast<void>(!::read(search_timer_.get(), &expired, sizeof expired));
  searches_are_due_ = true;
  return true;
}

bool Connector::begin(Connection& connection, std::span<const std::byte> address) {
  if (connection.rank == context_.membership.rank && connection.device == index_) {
    connect_to_itself(connection);
    return true;
  }
  const auto there = decode(address);
  if (!there.has_value()) return false;
  auto search = std::make_unique<Search>();
  search->port = there->port;
  search->addresses = order_of_trial(*there, context_.interfaces, context_.network_namespace);
  if (search->addresses.empty()) {
    std::string told;
    for (const Address& each : there->addresses) told += (told.empty() ? "" : ", ") + to_text(each);
    owner_.lose(connection, "it has no address that this rank could try: it tells " +
                                (told.empty() ? "none" : told) + "; this rank has " +
                                to_text(context_.interfaces) + " (attribute interface, WEFT_INTERFACE)");
    return true;
  }
  connection.search = std::move(search);
  searching_.push_back(&connection);
  if (searching_.size() == 1) set_search_timer(true);
  searches_are_due_ = true;
  return true;
}

void Connector::connect_to_itself(Connection& connection) {
  int ends[2];
  if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, ends) != 0)
    throw Error(base::failed_call("socketpair", errno));
  base::Descriptor first(ends[0]);
  base::Descriptor second(ends[1]);
  own_end_ = std::make_unique<Connection>();
  own_end_->rank = connection.rank;
  own_end_->device = connection.device;
  own_end_->servings.reserve(TransferTable::kMost);
  // Nobody can come between them.
  open(*own_end_, std::move(second));
  open(connection, std::move(first));
}

/// The greeting is over.
void Connector::open(Connection& connection, base::Descriptor socket) noexcept try {
  connection.chunk = chunks_.take_chunk();
  if (connection.chunk == nullptr) throw std::bad_alloc();
  connection.output.open();
  epoll_event event{};
  event.events = EPOLLIN;
  event.data.ptr = &connection;
  // One that this rank has opened is there already.
  if (::epoll_ctl(epoll_, EPOLL_CTL_ADD, socket.get(), &event) != 0 &&
      (errno != EEXIST || ::epoll_ctl(epoll_, EPOLL_CTL_MOD, socket.get(), &event) != 0))
    throw Error(base::failed_call("epoll_ctl", errno));
  connection.socket = std::move(socket);
  connection.search.reset();
  has_opened_ = true;
  searches_are_due_ = true;
  context_.log.debug([&] {
    return "device " + std::to_string(index_) + " is connected with device " +
           std::to_string(connection.device) + " of rank " + std::to_string(connection.rank);
  });
} catch (const std::exception& error) {
  owner_.lose(connection, std::string("its connection cannot be used: ") + error.what());
}

void Connector::take_accepted(session::SessionDevice& device) noexcept {
  for (Accepted* each = inbox_.take_all(); each != nullptr;) {
    std::unique_ptr<Accepted> accepted(each);
    each = each->next;
    try {
      adopt(std::move(accepted), device);
    } catch (const std::exception& error) {
      context_.log.warn(std::string("a connection is dropped: ") + error.what());
    }
  }
}

/// When both sides connect at a time, the connection of the lower one stays, once it has got beyond the
/// kernel's part: it may be the only way that a firewall leaves.
void Connector::adopt(std::unique_ptr<Accepted> accepted, session::SessionDevice& device) {
  const Introduction& from = accepted->introduction;
  Connection& connection = owner_.connection_of(static_cast<int>(from.from_rank), from.from_device);
  if (connection.is_lost) return;
  const bool is_lower = std::pair{context_.membership.rank, int{index_}} <
                        std::pair{static_cast<int>(from.from_rank), int{from.from_device}};
  const bool is_greeting =
      connection.search != nullptr &&
      std::any_of(connection.search->attempts.begin(), connection.search->attempts.end(),
                  [](const Attempt& attempt) { return attempt.stage != Attempt::Stage::connecting; });
  const bool yields = connection.is_open() || (is_lower && is_greeting);
  const Answer answer = make_answer(yields ? Verdict::yield : Verdict::accepted, accepted->keys);
  if (yields) {
    static_cast<void>(send_whole(accepted->socket.get(), answer));
    // A connection that is closed with something unread would take the answer away with it.
    std::array<std::byte, kLongestOpening> dropped;
    while (::recv(accepted->socket.get(), dropped.data(), dropped.size(), MSG_DONTWAIT) > 0) {
    }
    return;
  }
  connection.stream.protect(accepted->keys);
  connection.stream.send_first(std::as_bytes(std::span(&answer, 1)));
  open(connection, std::move(accepted->socket));
  // Its hello has come with its proof, and that of this device leaves with the answer.
  static_cast<void>(reader_.read(connection, device));
  if (connection.is_open() && connection.link != nullptr) device.contacts().serve_now(*connection.link);
  if (connection.is_open() && connection.stream.has_first()) {
    if (!connection.stream.flush(connection.socket.get()))
      return owner_.lose(connection, "the connection is broken");
    if (connection.stream.has_kept()) owner_.write_later(connection);
  }
}

void Connector::set_search_timer(bool on) noexcept {
  const timespec time{0, on ? kBetweenLooks : 0};
  const itimerspec repeated{time, time};
  static_cast<void>(::timerfd_settime(search_timer_.get(), 0, &repeated, nullptr));
}

/// Time for which this rank itself was away, because its host is slow or its program computed, is no silence
/// of its peers.
void Connector::excuse_absence(std::int64_t away) noexcept {
  if (away <= kAway) return;
  for (const Connection* each : searching_)
    if (each->search != nullptr && each->search->begun != 0 && each->search->deadline != kNever)
      each->search->deadline += away;
}

void Connector::search_on() noexcept {
  if (!std::exchange(searches_are_due_, false)) return;
  const std::int64_t now = base::now_ns();
  const bool is_tick = now >= next_tick_;
  if (is_tick) {
    excuse_absence(now - next_tick_);
    next_tick_ = now + kBetweenLooks;
  }
  const auto has_turn = [now](const Connection* each) {
    return each->search != nullptr && each->search->begun != 0 && now - each->search->begun < kTurn;
  };
  auto turns = static_cast<std::size_t>(std::count_if(searching_.begin(), searching_.end(), has_turn));
  std::erase_if(searching_, [&](Connection* each) {
    try {
      if (each->search != nullptr && each->search->begun == 0 && turns < kReachedAtATime) {
        each->search->begun = now;
        each->search->deadline =
            now + std::max(kLeastSearch, base::seconds_to_ns(context_.membership.peer_timeout));
        ++turns;
      }
      if (each->search != nullptr) search_on(*each, now, is_tick);
    } catch (const std::exception& error) {
      owner_.lose(*each, std::string("it cannot be contacted: ") + error.what());
    }
    return each->search == nullptr;
  });
  if (searching_.empty()) set_search_timer(false);
}

void Connector::advance(Connection& connection, session::SessionDevice& device) noexcept {
  Search& search = *connection.search;
  for (std::size_t index = 0; index < search.attempts.size();) {
    const bool goes_on = resume(connection, search.attempts[index], device);
    if (connection.search == nullptr) {  // it is open, or lost
      // The peer's hello comes with its answer.
      if (connection.is_open()) static_cast<void>(reader_.read(connection, device));
      return;
    }
    if (goes_on) {
      ++index;
      continue;
    }
    search.attempts.erase(search.attempts.begin() + static_cast<std::ptrdiff_t>(index));
    searches_are_due_ = true;
  }
}

/// `is_tick`: not only because something has come.
void Connector::search_on(Connection& connection, std::int64_t now, bool is_tick) noexcept {
  Search& search = *connection.search;
  const bool looks = is_tick && search.begun != 0 && now >= search.next_look;
  if (looks) search.next_look = now + kTurn;
  if (looks ? context_.peers.has_left(connection.rank)
            : context_.peers.peer(connection.rank).has_left.load(std::memory_order_relaxed))
    return owner_.lose(connection, "it has left");
  if (search.begun == 0) return;
  // Who has accepted a connection is there; it may be stopped, or compute for long.
  const auto is_waiting =
      std::find_if(search.attempts.begin(), search.attempts.end(),
                   [](const Attempt& each) { return each.stage != Attempt::Stage::connecting; });
  if (now > search.deadline && is_waiting != search.attempts.end()) {
    search.deadline = kNever;
    context_.log.warn("rank " + std::to_string(connection.rank) + " has not answered the greeting at " +
                      to_text(is_waiting->address, search.port) + " yet");
  }
  if (now > search.deadline)
    for (const Attempt& each : search.attempts) note_fault(search, each.address, "no answer");
  if (now > search.deadline)
    return owner_.lose(connection, "none of its addresses can be reached: " +
                                       (search.faults.empty() ? "they do not answer" : search.faults));
  if (now < search.next_time && (!search.attempts.empty() || search.next == 0)) return;
  if (is_waiting != search.attempts.end() && now < is_waiting->established + kTimeToAnswer) return;
  if (search.next == search.addresses.size()) {
    if (search.attempts.empty()) {
      search.next = 0;
      search.next_time = now + kNextAddress;
    }
    return;
  }
  search.next_time = now + kNextAddress;
  begin_next(connection);
}

void Connector::begin_next(Connection& connection) noexcept {
  Search& search = *connection.search;
  const Address& address = search.addresses[search.next++];
  Attempt attempt;
  attempt.socket = begin_connect(address, search.port);
  attempt.address = address;
  if (!attempt.socket) return note_fault(search, address, base::failed_call("connect", errno));
  search.attempts.push_back(std::move(attempt));
  watch_attempt(connection, search.attempts.back(), EPOLL_CTL_ADD, EPOLLOUT);
}

void Connector::watch_attempt(Connection& connection, const Attempt& attempt, int operation,
                              std::uint32_t for_what) noexcept {
  epoll_event event{};
  event.events = for_what;
  event.data.ptr = &connection;
  static_cast<void>(::epoll_ctl(epoll_, operation, attempt.socket.get(), &event));
}

bool Connector::resume(Connection& connection, Attempt& attempt, session::SessionDevice& device) noexcept {
  Search& search = *connection.search;
  const auto fail = [&](const std::string& why) {
    note_fault(search, attempt.address, why);
    return false;
  };
  const Membership& own = context_.membership;
  switch (attempt.stage) {
    case Attempt::Stage::connecting: {
      Introduction& introduction = attempt.introduction;
      own.job_id.copy(introduction.job_id.data(), introduction.job_id.size());
      introduction.from_rank = static_cast<std::uint32_t>(own.rank);
      introduction.to_rank = static_cast<std::uint32_t>(connection.rank);
      introduction.from_device = index_;
      introduction.to_device = connection.device;
      complete(introduction, own.protection);
      // Until it is connected the socket takes nothing; then it does, or tells why it is not.
      if (!send_whole(attempt.socket.get(), introduction))
        return errno == EAGAIN || errno == EINTR || fail(base::failed_call("connect", errno));
      attempt.stage = Attempt::Stage::introduced;
      attempt.established = base::now_ns();
      watch_attempt(connection, attempt, EPOLL_CTL_MOD, EPOLLIN);
      return true;
    }
    case Attempt::Stage::introduced: {
      const int state = receive_part(attempt, sizeof(Challenge));
      if (state == 0) return true;
      if (state < 0) return fail("closed during the greeting");
      std::memcpy(&attempt.challenge, attempt.received.data(), sizeof attempt.challenge);
      if (const std::string fault = fault_of(attempt.challenge, own.secret, attempt.introduction);
          !fault.empty())
        return fail(fault);
      attempt.stage = Attempt::Stage::proved;
      try {
        return send_proof(attempt, own, device) || fail(base::failed_call("send", errno));
      } catch (const std::bad_alloc&) {
        return fail("there is no memory");
      }
    }
    case Attempt::Stage::proved: {
      const int state = receive_part(attempt, sizeof(Answer));
      if (state == 0) return true;
      Answer answer;
      std::memcpy(&answer, attempt.received.data(), sizeof answer);
      if (state < 0) return fail("closed during the greeting");
      const SessionKeys keys = keys_of_connector(own.secret, attempt.introduction, attempt.challenge);
      if (!is_genuine(answer, keys)) return fail("the answer to the greeting was changed on its way");
      if (answer.verdict == Verdict::accepted) {
        // Moved out first: opening ends the search and its attempts.
        base::Descriptor socket = std::move(attempt.socket);
        const session::HandleCursor told = attempt.cursor;
        connection.stream = std::move(attempt.stream);
        set_options(socket.get(), own.peer_timeout);
        open(connection, std::move(socket));
        if (connection.stream.has_kept()) owner_.write_later(connection);
        if (connection.is_open()) device.contacts().hello_has_left(*connection.link, told);
        return false;
      }
      // The peer connects by itself.
      search.next = 0;
      search.patience = std::clamp(2 * search.patience, kNextAddress, kLongestPatience);
      search.next_time = base::now_ns() + search.patience;
      return false;
    }
  }
  return false;
}

}  // namespace weft::network::tcp
