#include "sockets/unproved_connections.hpp"

#include "base/clock.hpp"
#include "base/system_call.hpp"

#include <weft/error.hpp>

#include <sys/epoll.h>
#include <sys/timerfd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <new>
#include <string>

namespace weft::sockets {

namespace {

constexpr std::uint64_t kListener = ~std::uint64_t{0};
constexpr std::uint64_t kTimer = kListener - 1;
constexpr std::size_t kNone = ~std::size_t{0};

constexpr std::int64_t kSecond = 1'000'000'000;
constexpr std::int64_t kPause = 20'000'000;                // nanoseconds until more may be accepted
constexpr std::int64_t kWithoutDescriptors = 250'000'000;  // likewise, when no descriptor was left
constexpr int kAcceptedAtATime = 64;
/// Strangers that come again and again cost this much at most; what the job has under way fits into the
/// burst.
constexpr double kAcceptedPerSecond = 1000;
constexpr double kBurstPerSlot = 4;

std::array<std::uint8_t, 16> source_of(const sockaddr_storage& from) noexcept {
  std::array<std::uint8_t, 16> source{};
  if (from.ss_family == AF_INET) {
    std::memcpy(source.data(), &reinterpret_cast<const sockaddr_in&>(from).sin_addr, 4);
    return source;
  }
  const in6_addr& there = reinterpret_cast<const sockaddr_in6&>(from).sin6_addr;
  const auto* const bytes = reinterpret_cast<const std::uint8_t*>(&there);
  if (IN6_IS_ADDR_V4MAPPED(&there))
    std::copy_n(bytes + 12, 4, source.begin());
  else
    std::copy_n(bytes, 8, source.begin());  // whoever has a subnet has all of its addresses
  return source;
}

bool is_of_one_connection(int error) noexcept {
  return error != EMFILE && error != ENFILE && error != ENOBUFS && error != ENOMEM && error != EAGAIN;
}

}  // namespace

std::size_t UnprovedConnections::slots_for(std::size_t members) noexcept {
  return std::clamp(2 * members, kLeastSlots, kMostSlots);
}

UnprovedConnections::UnprovedConnections(Listener listener, std::size_t slots, const base::Log& log,
                                         Patience patience)
    : listener_(std::move(listener)),
      log_(log),
      patience_(patience),
      epoll_(::epoll_create1(EPOLL_CLOEXEC)),
      timer_(::timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK)),
      slots_(slots),
      allowance_(kBurstPerSlot * static_cast<double>(slots)),
      allowed_at_(base::now_ns()) {
  const auto add = [this](int descriptor, std::uint64_t which) {
    epoll_event event{};
    event.events = EPOLLIN;
    event.data.u64 = which;
    return ::epoll_ctl(epoll_.get(), EPOLL_CTL_ADD, descriptor, &event) == 0;
  };
  bool is_ready = epoll_ && timer_ && add(timer_.get(), kTimer);
  for (const base::Descriptor& each : listener_.sockets) is_ready = is_ready && add(each.get(), kListener);
  if (!is_ready)
    throw Error(ErrorClass::network,
                "connections cannot be waited for: " + base::failed_call("epoll_ctl", errno));
}

void UnprovedConnections::serve(Owner& owner) noexcept {
  std::array<epoll_event, 64> events;
  const int count = ::epoll_wait(epoll_.get(), events.data(), static_cast<int>(events.size()), 0);
  bool accepts = false;
  // What has come is read before anybody's time is over, and before others need a slot.
  for (int index = 0; index < count; ++index) {
    const std::uint64_t which = events[static_cast<std::size_t>(index)].data.u64;
    if (which == kListener)
      accepts = true;
    else if (which == kTimer)
      timer_at_ = -1;  // has to be set again
    else if (slots_[which].socket)
      step(owner, which);
  }
  const std::int64_t now = base::now_ns();
  if (next_second_ != 0 && now >= next_second_) {
    // A second in which this was not served counts for nobody.
    grow_older(owner);
    next_second_ = 0;
  }
  if (resume_at_ != 0 && now >= resume_at_) {
    listen(true);
    accepts = true;
  }
  if (accepts && is_listening_) accept_some(owner, now);
  if (used_ == 0)
    next_second_ = 0;
  else if (next_second_ == 0)
    next_second_ = now + kSecond;
  set_timer();
}

void UnprovedConnections::step(Owner& owner, std::size_t slot) noexcept {
  switch (owner.read(slot)) {
    case Progress::waits:
    case Progress::proved:
      return;
    case Progress::ended:
      return release(slot);
    case Progress::passed:
      break;
  }
  Slot& passed = slots_[slot];
  passed.age = 0;
  const Source source{true, passed.source->first.second};
  discount(passed);
  try {
    count(passed, source);
  } catch (const std::bad_alloc&) {
    passed.source = sources_.end();
    displace(owner, slot);
  }
}

void UnprovedConnections::accept_some(Owner& owner, std::int64_t now) noexcept {
  const double most = kBurstPerSlot * static_cast<double>(slots_.size());
  allowance_ = std::min(most, allowance_ + kAcceptedPerSecond * static_cast<double>(now - allowed_at_) /
                                               static_cast<double>(kSecond));
  allowed_at_ = now;
  const auto pause = [&](std::int64_t time) {
    listen(false);
    resume_at_ = now + time;
  };
  for (const base::Descriptor& listener : listener_.sockets) {
    for (int accepted = 0; accepted < kAcceptedAtATime;) {
      if (allowance_ < 1) return pause(kPause);
      const bool is_full = find_free() == kNone;
      const std::size_t displaced = is_full ? choose_displaced() : kNone;
      if (is_full && displaced == kNone) return pause(kPause);
      sockaddr_storage from{};
      socklen_t size = sizeof from;
      base::Descriptor socket(
          ::accept4(listener.get(), reinterpret_cast<sockaddr*>(&from), &size, SOCK_NONBLOCK | SOCK_CLOEXEC));
      if (!socket && errno == EAGAIN) break;
      if (!socket && is_of_one_connection(errno)) {
        ++accepted;
        continue;
      }
      if (!socket) {
        // The descriptor of one that has said nothing is as good as any.
        if (!std::exchange(lacks_descriptors_, true))
          log_.warn("connections have to wait at port " + std::to_string(listener_.port) + ": " +
                    base::failed_call("accept4", errno));
        const std::size_t oldest = choose_displaced();
        if (oldest == kNone) return pause(kWithoutDescriptors);
        displace(owner, oldest);
        allowance_ -= 1;
        ++accepted;
        continue;
      }
      ++accepted;
      allowance_ -= 1;
      if (is_full) displace(owner, displaced);
      admit(owner, std::move(socket), source_of(from));
    }
  }
}

bool UnprovedConnections::admit(Owner& owner, base::Descriptor socket,
                                const std::array<std::uint8_t, 16>& from) noexcept try {
  const std::size_t free = find_free();
  Slot& slot = slots_[free];
  epoll_event event{};
  event.events = EPOLLIN;
  event.data.u64 = free;
  if (::epoll_ctl(epoll_.get(), EPOLL_CTL_ADD, socket.get(), &event) != 0) return false;
  count(slot, {false, from});
  slot.socket = std::move(socket);
  slot.number = ++next_number_;
  slot.age = 0;
  ++used_;
  if (!owner.begin(free)) {
    release(free);
    return false;
  }
  step(owner, free);
  return true;
} catch (const std::bad_alloc&) {
  return false;
}

std::size_t UnprovedConnections::find_free() const noexcept {
  if (used_ == slots_.size()) return kNone;
  const auto free = std::find_if(slots_.begin(), slots_.end(), [](const Slot& each) { return !each.socket; });
  return static_cast<std::size_t>(free - slots_.begin());
}

std::size_t UnprovedConnections::choose_displaced() const noexcept {
  const auto precedes = [](const Slot& a, const Slot& b) {
    const bool a_passed = a.source->first.first;
    const bool b_passed = b.source->first.first;
    if (a_passed != b_passed) return b_passed;
    if (a.source->second != b.source->second) return a.source->second > b.source->second;
    return a.number < b.number;
  };
  std::size_t chosen = kNone;
  for (std::size_t index = 0; index < slots_.size(); ++index) {
    const Slot& each = slots_[index];
    if (!each.socket || (each.source->first.first && each.age == 0)) continue;
    if (chosen == kNone || precedes(each, slots_[chosen])) chosen = index;
  }
  return chosen;
}

void UnprovedConnections::count(Slot& slot, const Source& source) {
  slot.source = sources_.try_emplace(source, 0).first;
  ++slot.source->second;
}

void UnprovedConnections::discount(Slot& slot) noexcept {
  if (slot.source != sources_.end() && --slot.source->second == 0) sources_.erase(slot.source);
}

void UnprovedConnections::release(std::size_t slot) noexcept {
  Slot& released = slots_[slot];
  discount(released);
  released.source = sources_.end();
  released.socket.close();
  --used_;
}

void UnprovedConnections::displace(Owner& owner, std::size_t slot) noexcept {
  owner.lose(slot, Loss::displaced);
  release(slot);
}

base::Descriptor UnprovedConnections::take(std::size_t slot) noexcept {
  Slot& taken = slots_[slot];
  static_cast<void>(::epoll_ctl(epoll_.get(), EPOLL_CTL_DEL, taken.socket.get(), nullptr));
  base::Descriptor socket = std::move(taken.socket);
  release(slot);
  allowance_ += 1;
  lacks_descriptors_ = false;
  return socket;
}

void UnprovedConnections::grow_older(Owner& owner) noexcept {
  for (std::size_t index = 0; index < slots_.size(); ++index) {
    if (!slots_[index].socket) continue;
    const std::uint32_t most = slots_[index].source->first.first ? patience_.later : patience_.at_first;
    if (++slots_[index].age <= most) continue;
    step(owner, index);
    if (!slots_[index].socket || slots_[index].age <= most) continue;
    owner.lose(index, Loss::late);
    release(index);
  }
}

void UnprovedConnections::listen(bool on) noexcept {
  resume_at_ = 0;
  if (is_listening_ == on) return;
  is_listening_ = on;
  epoll_event event{};
  event.events = on ? std::uint32_t{EPOLLIN} : 0;
  event.data.u64 = kListener;
  for (const base::Descriptor& each : listener_.sockets)
    static_cast<void>(::epoll_ctl(epoll_.get(), EPOLL_CTL_MOD, each.get(), &event));
}

void UnprovedConnections::set_timer() noexcept {
  std::int64_t at = next_second_;
  if (resume_at_ != 0 && (at == 0 || resume_at_ < at)) at = resume_at_;
  if (at == timer_at_) return;
  timer_at_ = at;
  itimerspec time{};
  time.it_value.tv_sec = static_cast<time_t>(at / kSecond);
  time.it_value.tv_nsec = static_cast<long>(at % kSecond);
  static_cast<void>(::timerfd_settime(timer_.get(), TFD_TIMER_ABSTIME, &time, nullptr));
}

}  // namespace weft::sockets
