// Closing a device, and the end of its rank: what peers have not taken yet, and the goodbye.
#include "network/session/session_device.hpp"

#include "base/clock.hpp"

#include <sched.h>
#include <algorithm>
#include <chrono>
#include <thread>
#include <utility>
#include <vector>

namespace weft::network::session {

namespace {

constexpr double kGoodbyeSeconds = 0.5;
constexpr std::size_t kDroppedAtATime = 64;
constexpr std::uint32_t kYieldsAtTheEnd = 1000;

/// Sink of a rank that is ending: takes and drops all messages, so that their senders need not wait for it.
class Dropping final : public Sink {
 public:
  void deliver(Batch& batch) noexcept override {
    batch.for_each([](std::uint8_t, std::uint64_t, Message&) { return true; });
  }
  void reject(int, const char*, std::uint64_t) noexcept override {}
  void access_completed(std::uint64_t, Outcome) noexcept override {}
  void immediate_arrived(int, std::uint64_t, std::size_t) noexcept override {}
};

}  // namespace

bool SessionDevice::reclaim(int peer) noexcept {
  Guard guard(lock_);
  if (!guard) return false;
  transport_->end_connections_with(peer, *this);
  if (!announcements_.are_reported()) return false;
  for (const Link* link = links_.first(); link != nullptr; link = link->next)
    for (const Lane& lane : link->lanes)
      // Pairs with the release of the thread that delivers.
      if (link->rank == peer && lane.pending.load(std::memory_order_acquire) != 0) return false;
  return true;
}

void SessionDevice::close() noexcept {
  Guard guard(lock_, false);
  if (!guard) return;
  credits_.return_all();
  drive();
}

void SessionDevice::stop() noexcept {
  Guard guard(lock_, false);
  for (; !guard; guard.try_again()) ::sched_yield();  // other threads hold the lock for moments only
  is_stopped_.store(true, std::memory_order_relaxed);
  transport_->stop();
}

bool SessionDevice::drained() noexcept {
  Guard guard(lock_, false);
  if (!guard) return false;
  if (is_stopped()) return true;  // nothing that waits could change anything
  const bool taken = untaken_.are_none({.counts_own = true, .counts_carried = true});
  if (taken || transport_->is_carrying() || !staging_.is_empty()) return taken;
  // The transport has accepted all messages, and carries them on after the device is closed. Only the end of
  // the network must wait longer for peers that take nothing or return no credit.
  return untaken_.have_been_awaited();
}

std::string SessionDevice::finish(std::int64_t until) noexcept {
  Dropping dropping;
  for (std::uint32_t round = 0;; ++round) {
    static_cast<void>(poll(dropping, kDroppedAtATime));
    {
      Guard guard(lock_, false);
      if (guard) {
        if (is_stopped()) break;
        if (untaken_.are_none({})) return {};  // nothing will take the messages that this rank sent to itself
        drive();
        // A running process will take its messages, however slow it is.
        if (base::now_ns() > until && !untaken_.awaits_watched()) break;
      }
    }
    if (round < kYieldsAtTheEnd)
      ::sched_yield();
    else
      std::this_thread::sleep_for(std::chrono::microseconds(50));
  }
  return undelivered();
}

std::string SessionDevice::undelivered() {
  Guard guard(lock_, false);
  if (!guard) return "messages that another thread is sending";
  return untaken_.describe();
}

std::vector<Port::Unconsumed> SessionDevice::unconsumed() {
  Guard guard(lock_, false);
  for (; !guard; guard.try_again()) ::sched_yield();  // other threads hold the lock for moments only
  return untaken_.by_link();
}

void SessionDevice::say_goodbye() noexcept {
  const base::Deadline deadline(kGoodbyeSeconds);
  std::vector<Link*> waiting;
  for (bool has_begun = false; !deadline.passed(); ::sched_yield()) {
    const Guard guard(lock_, false);  // the courier goes on until all devices have said it
    if (!guard) continue;
    if (is_stopped()) return;
    if (!std::exchange(has_begun, true))
      for (Link* link = links_.first(); link != nullptr; link = link->next)
        if (link->hello_sent && link->rank != context_.shared.peers.rank()) waiting.push_back(link);
    std::erase_if(waiting, [&](Link* link) {
      return context_.shared.peers.has_left(link->rank) ||
             transport_->transmit(*link, context_.header(Kind::goodbye, 0, 0), {}) != Sent::later;
    });
    drive();
    if (waiting.empty() && !transport_->is_carrying()) return;
  }
}

}  // namespace weft::network::session
