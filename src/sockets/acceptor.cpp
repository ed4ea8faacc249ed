#include "sockets/acceptor.hpp"

#include "base/clock.hpp"
#include "base/system_call.hpp"

#include <weft/error.hpp>

#include <sys/eventfd.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <new>

namespace weft::sockets {

namespace {

// Between two lines about connections that are refused, in nanoseconds.
constexpr std::int64_t kFirstPause = 1'000'000'000;
constexpr std::int64_t kLongestPause = 60'000'000'000;

std::string text_of_peer(int socket) {
  sockaddr_storage there{};
  socklen_t size = sizeof there;
  if (::getpeername(socket, reinterpret_cast<sockaddr*>(&there), &size) != 0) return "a peer that has gone";
  Address address;
  if (there.ss_family == AF_INET) {
    const auto& v4 = reinterpret_cast<const sockaddr_in&>(there);
    address.family = 4;
    std::memcpy(address.bytes.data(), &v4.sin_addr, 4);
    return to_text(address, ntohs(v4.sin_port));
  }
  const auto& v6 = reinterpret_cast<const sockaddr_in6&>(there);
  address.family = IN6_IS_ADDR_V4MAPPED(&v6.sin6_addr) ? 4 : 6;
  const auto* bytes = reinterpret_cast<const std::uint8_t*>(&v6.sin6_addr);
  std::copy_n(bytes + (address.family == 4 ? 12 : 0), address.family == 4 ? 4 : 16, address.bytes.begin());
  return to_text(address, ntohs(v6.sin6_port));
}

/// Connections inherit the options of the listener.
Listener with_options(Listener listener, double peer_timeout) noexcept {
  for (const base::Descriptor& each : listener.sockets) set_options(each.get(), peer_timeout);
  return listener;
}

}  // namespace

Inbox::Inbox() : event_(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) {
  if (!event_)
    throw Error(ErrorClass::network, "a device cannot be opened: " + base::failed_call("eventfd", errno));
}

Inbox::~Inbox() {
  for (Accepted* each = take_all(); each != nullptr;) {
    const std::unique_ptr<Accepted> owner(each);
    each = each->next;
  }
}

void Inbox::put(std::unique_ptr<Accepted> accepted) noexcept {
  list_.put(*accepted.release());
  const std::uint64_t one = 1;
  static_cast<void>(!::write(event_.get(), &one, sizeof one));
}

Accepted* Inbox::take_all() noexcept {
  std::uint64_t count = 0;
  static_cast<void>(!::read(event_.get(), &count, sizeof count));
  return list_.take_all();
}

Acceptor::Acceptor(const Membership& membership, Listener listener, const base::Log& log)
    : membership_(membership),
      log_(log),
      connections_(with_options(std::move(listener), membership.peer_timeout),
                   UnprovedConnections::slots_for(static_cast<std::size_t>(membership.ranks)), log),
      greetings_(connections_.slots()),
      between_words_(kFirstPause) {}

void Acceptor::serve() noexcept {
  const std::unique_lock lock(mutex_, std::try_to_lock);
  if (lock.owns_lock()) connections_.serve(*this);
}

bool Acceptor::begin(std::size_t slot) noexcept {
  greetings_[slot] = Greeting{};
  return true;
}

void Acceptor::lose(std::size_t slot, UnprovedConnections::Loss loss) noexcept {
  const bool is_late = loss == UnprovedConnections::Loss::late;
  refuse(slot, is_late ? "it did not greet in time" : "it did not greet while others waited");
}

Acceptor::Progress Acceptor::read(std::size_t slot) noexcept {
  Greeting& greeting = greetings_[slot];
  for (;;) {
    auto* const target = greeting.is_challenged ? reinterpret_cast<std::byte*>(&greeting.proof)
                                                : reinterpret_cast<std::byte*>(&greeting.introduction);
    const std::size_t whole = greeting.is_challenged ? sizeof greeting.proof : sizeof greeting.introduction;
    const ssize_t got =
        ::recv(connections_.socket(slot), target + greeting.filled, whole - greeting.filled, MSG_DONTWAIT);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0 && errno == EAGAIN) return Progress::waits;
    if (got <= 0) {
      // A peer of the job gives up one of two connections, when both sides connect at a time.
      if (greeting.filled != 0 && !greeting.is_challenged)
        refuse(slot, "it closed in the middle of its greeting");
      return Progress::ended;
    }
    greeting.filled += static_cast<std::size_t>(got);
    if (greeting.filled != whole) continue;
    greeting.filled = 0;
    if (greeting.is_challenged) return finish(slot) ? Progress::proved : Progress::ended;
    greeting.is_challenged = true;
    return challenge(slot) ? Progress::passed : Progress::ended;
  }
}

/// Returns false when the connection is refused.
bool Acceptor::challenge(std::size_t slot) noexcept {
  Greeting& greeting = greetings_[slot];
  const std::string_view fault = fault_of(greeting.introduction, membership_.job_id, membership_.rank,
                                          membership_.ranks, membership_.purpose);
  if (!fault.empty()) return refuse(slot, fault);
  if (greeting.introduction.to_device >= inboxes_.size() ||
      inboxes_[greeting.introduction.to_device].load(std::memory_order_acquire) == nullptr)
    return refuse(slot, "it is for a device that is not open");
  greeting.challenge = make_challenge(membership_.secret_of(greeting.introduction.from_rank),
                                      greeting.introduction, membership_.protection);
  return ::send(connections_.socket(slot), &greeting.challenge, sizeof greeting.challenge,
                MSG_NOSIGNAL | MSG_DONTWAIT) == static_cast<ssize_t>(sizeof greeting.challenge);
}

/// Returns false when the connection is refused; takes the socket out of the slot otherwise.
bool Acceptor::finish(std::size_t slot) noexcept try {
  const Greeting& greeting = greetings_[slot];
  const Secret secret = membership_.secret_of(greeting.introduction.from_rank);
  if (!are_equal(greeting.proof, proof_of_connector(secret, greeting.introduction, greeting.challenge)))
    return refuse(slot, "it does not know the secret of the job");
  if (const std::string difference = difference_of(greeting.introduction.protection, membership_.protection);
      !difference.empty())
    return refuse(slot, "rank " + std::to_string(greeting.introduction.from_rank) + ": " + difference);
  auto accepted = std::make_unique<Accepted>();
  accepted->introduction = greeting.introduction;
  accepted->keys = keys_of_listener(secret, greeting.introduction, greeting.challenge);
  accepted->socket = connections_.take(slot);
  inboxes_[accepted->introduction.to_device].load(std::memory_order_acquire)->put(std::move(accepted));
  return true;
} catch (const std::bad_alloc&) {
  return refuse(slot, "there is no memory");
}

bool Acceptor::refuse(std::size_t slot, std::string_view why) noexcept {
  const std::uint64_t count = refused_.fetch_add(1, std::memory_order_relaxed) + 1;
  const std::int64_t now = base::now_ns();
  if (now < next_word_) return false;
  next_word_ = now + between_words_;
  between_words_ = std::min(2 * between_words_, kLongestPause);
  log_.warn("a connection from " + text_of_peer(connections_.socket(slot)) +
            " is refused: " + std::string(why) + " (" + std::to_string(count) + " so far)");
  return false;
}

}  // namespace weft::sockets
