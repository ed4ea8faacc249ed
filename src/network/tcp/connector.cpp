#include "network/tcp/connector.hpp"

#include "base/clock.hpp"
#include "base/system_call.hpp"
#include "network/session/session_device.hpp"
#include "network/tcp/connection/transfer_table.hpp"
#include "network/tcp/greeting_steps.hpp"

#include <weft/error.hpp>

#include <sys/epoll.h>
#include <sys/timerfd.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <new>
#include <string>
#include <utility>

namespace weft::network::tcp {

void watch_for_input(int epoll, int descriptor, void* what) {
  epoll_event event{};
  event.events = EPOLLIN;
  event.data.ptr = what;
  if (::epoll_ctl(epoll, EPOLL_CTL_ADD, descriptor, &event) != 0)
    throw Error(ErrorClass::network,
                "tcp: connections cannot be waited for: " + base::failed_call("epoll_ctl", errno));
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
    throw Error(ErrorClass::network,
                "tcp: a device cannot be opened: " + base::failed_call("timerfd_create", errno));
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
    throw Error(ErrorClass::network, base::failed_call("socketpair", errno));
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
    throw Error(ErrorClass::network, base::failed_call("epoll_ctl", errno));
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

}  // namespace weft::network::tcp
