#include "sockets/acceptor.hpp"

#include "base/clock.hpp"
#include "base/system_call.hpp"

#include <weft/error.hpp>

#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <new>

namespace weft::sockets {

namespace {

constexpr std::int64_t kGreetingTime = 5'000'000'000;  // nanoseconds
constexpr std::int64_t kWordEvery = 1'000'000'000;
constexpr std::uint64_t kListener = ~std::uint64_t{0};

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

}  // namespace

Inbox::Inbox() : event_(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) {
  if (!event_) throw Error("a device cannot be opened: " + base::failed_call("eventfd", errno));
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
      listener_(std::move(listener)),
      log_(log),
      epoll_(::epoll_create1(EPOLL_CLOEXEC)) {
  epoll_event event{};
  event.events = EPOLLIN;
  event.data.u64 = kListener;
  if (!epoll_ || ::epoll_ctl(epoll_.get(), EPOLL_CTL_ADD, listener_.socket.get(), &event) != 0)
    throw Error("connections cannot be waited for: " + base::failed_call("epoll_ctl", errno));
}

void Acceptor::serve() noexcept {
  const std::unique_lock lock(mutex_, std::try_to_lock);
  if (!lock.owns_lock()) return;
  std::array<epoll_event, 16> events;
  const int count = ::epoll_wait(epoll_.get(), events.data(), static_cast<int>(events.size()), 0);
  for (int index = 0; index < count; ++index) {
    const std::uint64_t which = events[static_cast<std::size_t>(index)].data.u64;
    if (which == kListener)
      accept_all();
    else if (Place& place = places_[which]; place.socket)
      read(place);
  }
}

void Acceptor::accept_all() noexcept {
  for (;;) {
    Place* const place = find_place();
    // All places are taken by peers that have not greeted in time: the others wait in the kernel.
    if (place == nullptr) return;
    base::Descriptor socket(
        ::accept4(listener_.socket.get(), nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC));
    if (!socket) return;
    set_options(socket.get(), membership_.peer_timeout);
    epoll_event event{};
    event.events = EPOLLIN;
    event.data.u64 = static_cast<std::uint64_t>(place - places_.data());
    if (::epoll_ctl(epoll_.get(), EPOLL_CTL_ADD, socket.get(), &event) != 0) continue;
    *place = Place{};
    place->socket = std::move(socket);
    place->deadline = base::now_ns() + kGreetingTime;
  }
}

Acceptor::Place* Acceptor::find_place() noexcept {
  const auto is_free = [](const Place& place) { return !place.socket; };
  auto free = std::find_if(places_.begin(), places_.end(), is_free);
  if (free == places_.end()) {
    end_late();
    free = std::find_if(places_.begin(), places_.end(), is_free);
  }
  return free == places_.end() ? nullptr : &*free;
}

void Acceptor::end_late() noexcept {
  const std::int64_t now = base::now_ns();
  for (Place& place : places_) {
    if (!place.socket || now < place.deadline) continue;
    refuse(place, "it did not greet within 5 s");
    place.socket.close();
  }
}

void Acceptor::read(Place& place) noexcept {
  const auto end = [&place] { place.socket = base::Descriptor(); };
  for (;;) {
    auto* const target = place.is_challenged ? reinterpret_cast<std::byte*>(&place.proof)
                                             : reinterpret_cast<std::byte*>(&place.introduction);
    const std::size_t whole = place.is_challenged ? sizeof place.proof : sizeof place.introduction;
    const ssize_t got = ::recv(place.socket.get(), target + place.filled, whole - place.filled, MSG_DONTWAIT);
    if (got < 0 && (errno == EAGAIN || errno == EINTR)) {
      if (base::now_ns() < place.deadline) return;
      refuse(place, "it did not greet within 5 s");
      return end();
    }
    if (got <= 0) {
      // A peer of the job gives up one of two connections, when both sides connect at a time.
      if (place.filled != 0 && !place.is_challenged) refuse(place, "it closed in the middle of its greeting");
      return end();
    }
    place.filled += static_cast<std::size_t>(got);
    if (place.filled != whole) continue;
    place.filled = 0;
    if (!(place.is_challenged ? finish(place) : challenge(place))) return end();
    if (!place.socket) return;
    place.is_challenged = true;
  }
}

/// Returns false when the connection is refused.
bool Acceptor::challenge(Place& place) noexcept {
  const std::string_view fault = fault_of(place.introduction, membership_.job_id, membership_.rank,
                                          membership_.ranks, membership_.purpose);
  if (!fault.empty()) return refuse(place, fault);
  if (place.introduction.to_device >= inboxes_.size() ||
      inboxes_[place.introduction.to_device].load(std::memory_order_acquire) == nullptr)
    return refuse(place, "it is for a device that is not open");
  place.challenge = make_challenge(membership_.secret_of(place.introduction.from_rank), place.introduction,
                                   membership_.protection);
  return ::send(place.socket.get(), &place.challenge, sizeof place.challenge, MSG_NOSIGNAL | MSG_DONTWAIT) ==
         static_cast<ssize_t>(sizeof place.challenge);
}

/// Returns false when the connection is refused; takes the socket out of the place otherwise.
bool Acceptor::finish(Place& place) noexcept try {
  const Secret secret = membership_.secret_of(place.introduction.from_rank);
  if (!are_equal(place.proof, proof_of_connector(secret, place.introduction, place.challenge)))
    return refuse(place, "it does not know the secret of the job");
  if (const std::string difference = difference_of(place.introduction.protection, membership_.protection);
      !difference.empty())
    return refuse(place, "rank " + std::to_string(place.introduction.from_rank) + ": " + difference);
  auto accepted = std::make_unique<Accepted>();
  static_cast<void>(::epoll_ctl(epoll_.get(), EPOLL_CTL_DEL, place.socket.get(), nullptr));
  accepted->socket = std::move(place.socket);
  accepted->introduction = place.introduction;
  accepted->keys = keys_of_listener(secret, place.introduction, place.challenge);
  place.socket = base::Descriptor();
  inboxes_[accepted->introduction.to_device].load(std::memory_order_acquire)->put(std::move(accepted));
  return true;
} catch (const std::bad_alloc&) {
  return refuse(place, "there is no memory");
}

bool Acceptor::refuse(const Place& place, std::string_view why) noexcept {
  const std::uint64_t count = refused_.fetch_add(1, std::memory_order_relaxed) + 1;
  const std::int64_t now = base::now_ns();
  if (now < next_word_) return false;
  next_word_ = now + kWordEvery;
  log_.warn("a connection from " + text_of_peer(place.socket.get()) + " is refused: " + std::string(why) +
            " (" + std::to_string(count) + " so far)");
  return false;
}

}  // namespace weft::sockets
