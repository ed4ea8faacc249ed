// The greeting of a peer at one of its addresses, from the connection to the answer.
#include "network/tcp/connector.hpp"

#include "base/clock.hpp"
#include "base/system_call.hpp"
#include "network/tcp/greeting_steps.hpp"

#include <sys/epoll.h>
#include <sys/uio.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <new>
#include <string>
#include <utility>

namespace weft::network::tcp {

namespace {

constexpr std::int64_t kLongestPatience = 4'000'000'000;

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
