// Which addresses of a peer are tried, and when.
#include "network/tcp/connector.hpp"

#include "base/clock.hpp"
#include "base/system_call.hpp"
#include "network/tcp/greeting_steps.hpp"

#include <sys/epoll.h>
#include <sys/timerfd.h>

#include <algorithm>
#include <cerrno>
#include <limits>
#include <string>
#include <utility>

namespace weft::network::tcp {

namespace {

constexpr std::int64_t kLeastSearch = 5'000'000'000;
/// An address at which somebody has accepted is most probably the right one, however long the peer takes.
constexpr std::int64_t kTimeToAnswer = 5'000'000'000;
/// So many peers are reached at a time: where all ranks contact all, most of the others come by themselves
/// before it is their turn. Who does not answer keeps the turn for a moment only.
constexpr std::size_t kReachedAtATime = 16;
constexpr std::int64_t kTurn = 250'000'000;
constexpr std::int64_t kBetweenLooks = 20'000'000;
constexpr std::int64_t kAway = 1'000'000'000;  // so long after a look was due
constexpr std::int64_t kNever = std::numeric_limits<std::int64_t>::max();

}  // namespace

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

/// `is_tick`: not only because something has come.
void Connector::search_on(Connection& connection, std::int64_t now, bool is_tick) noexcept {
  Search& search = *connection.search;
  const bool looks = is_tick && search.begun != 0 && now >= search.next_look;
  if (looks) search.next_look = now + kTurn;
  if (looks ? context_.peers.has_left(connection.rank)
            : context_.peers.is_known_to_have_left(connection.rank))
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

}  // namespace weft::network::tcp
