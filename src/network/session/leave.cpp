// Closing a device, and the end of its rank: what peers have not taken yet, and the goodbye.
#include "network/session/session_device.hpp"

#include "base/clock.hpp"

#include <sched.h>
#include <algorithm>
#include <chrono>
#include <map>
#include <thread>
#include <vector>

namespace weft::network::session {

namespace {

constexpr std::int64_t kDeviceDrains = 20'000'000;  // nanoseconds
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
  void access_ended(std::uint64_t, Outcome) noexcept override {}
  void immediate_arrived(std::uint64_t) noexcept override {}
};

}  // namespace

bool SessionDevice::reclaim(int peer, bool exclusive) noexcept {
  Guard guard(*this, exclusive);
  if (!guard) return false;
  transport_->end_connections_with(peer, *this);
  for (const Link* link = links_.load(std::memory_order_relaxed); link != nullptr; link = link->next)
    for (const Lane& lane : link->lanes)
      // Pairs with the release of the thread that delivers.
      if (link->rank == peer && lane.pending.load(std::memory_order_acquire) != 0) return false;
  return true;
}

void SessionDevice::close() noexcept {
  Guard guard(*this, false);
  if (!guard) return;
  returns_all_credit_ = true;
  drive();
}

bool SessionDevice::drained() noexcept {
  Guard guard(*this, false);
  if (!guard) return false;
  if (is_stopped()) return true;  // nothing that waits could change anything
  const bool taken = is_taken({.counts_own = true, .counts_carried = true});
  if (taken || transport_->is_carrying() || staged_links_ != nullptr) return taken;
  // The transport has accepted all messages, and carries them on after the device is closed. Only the end of
  // the network must wait longer for peers that take nothing or return no credit.
  const std::int64_t now = base::now_ns();
  if (drain_asked_ == 0) drain_asked_ = now;
  return now - drain_asked_ > kDeviceDrains;
}

bool SessionDevice::is_taken(const Untaken& untaken) noexcept {
  returns_all_credit_ = true;  // peers may be draining as well
  const bool is_with_peers = !untaken.counts_carried && transport_->outlives_sender() &&
                             staged_links_ == nullptr && !transport_->is_carrying();
  bool all = true;
  for (Link* link = links_.load(std::memory_order_relaxed); link != nullptr; link = link->next) {
    if (shared_.peers.has_left(link->rank)) continue;
    if (link->rank == shared_.peers.rank() && !untaken.counts_own) continue;
    if (is_with_peers && link->rank != shared_.peers.rank() &&
        shared_.peers.taker_of(link->rank) == Network::Taker::nobody)
      continue;  // it will find them when this thread lets it progress
    bool unasked = false;
    for (const Lane& lane : link->lanes) {
      if (lane.under_way() != 0) all = false;
      unasked |= lane.under_way() != 0 && lane.asked_at != lane.sent;
    }
    if (unasked) {
      send_ask(*link);
      drain_asked_ = 0;
    }
  }
  return all;
}

std::string SessionDevice::finish(std::int64_t until) noexcept {
  Dropping dropping;
  for (std::uint32_t round = 0;; ++round) {
    static_cast<void>(poll(dropping, kDroppedAtATime, false));
    {
      Guard guard(*this, false);
      if (guard) {
        if (is_stopped()) break;
        if (is_taken({})) return {};  // nothing will take the messages that this rank sent to itself
        drive();
        // A running process will take its messages, however slow it is.
        if (base::now_ns() > until && !awaits_watched()) break;
      }
    }
    if (round < kYieldsAtTheEnd)
      ::sched_yield();
    else
      std::this_thread::sleep_for(std::chrono::microseconds(50));
  }
  return undelivered();
}

/// Returns true when a peer that has not taken everything is another process whose end will be noticed.
bool SessionDevice::awaits_watched() noexcept {
  for (Link* link = links_.load(std::memory_order_relaxed); link != nullptr; link = link->next)
    for (const Lane& lane : link->lanes)
      if (lane.under_way() != 0 && !shared_.peers.has_left(link->rank) &&
          (shared_.peers.is_watched_process(link->rank) ||
           (transport_->notices_end_of(*link) && !shared_.peers.is_in_process(link->rank))))
        return true;
  return false;
}

std::string SessionDevice::undelivered() {
  Guard guard(*this, false);
  if (!guard) return "messages that another thread is sending";
  std::map<int, std::uint64_t> by_rank;
  for (const Link* link = links_.load(std::memory_order_relaxed); link != nullptr; link = link->next)
    for (const Lane& lane : link->lanes)
      if (lane.under_way() != 0 && !shared_.peers.has_left(link->rank))
        by_rank[link->rank] += lane.messages_under_way();
  std::string text;
  for (const auto& [rank, count] : by_rank)
    text += (text.empty() ? "" : ", ") + std::string("up to ") + std::to_string(count) +
            " messages to rank " + std::to_string(rank);
  return text;
}

std::vector<Port::Unconsumed> SessionDevice::unconsumed() {
  Guard guard(*this, false);
  for (; !guard; guard.try_again()) ::sched_yield();  // other threads hold the lock for moments only
  std::vector<Port::Unconsumed> all;
  for (const Link* link = links_.load(std::memory_order_relaxed); link != nullptr; link = link->next) {
    std::uint64_t count = 0;
    for (const Lane& lane : link->lanes) count += lane.messages_under_way();
    if (count != 0 && !shared_.peers.has_left(link->rank)) all.push_back({link->rank, count, false, false});
  }
  return all;
}

void SessionDevice::say_goodbye() noexcept {
  const base::Deadline deadline(kGoodbyeSeconds);
  if (is_stopped()) return;
  std::vector<Link*> waiting;
  for (Link* link = links_.load(std::memory_order_relaxed); link != nullptr; link = link->next)
    if (link->hello_sent && link->rank != shared_.peers.rank()) waiting.push_back(link);
  while (!deadline.passed()) {
    std::erase_if(waiting, [&](Link* link) {
      return shared_.peers.has_left(link->rank) ||
             transport_->transmit(*link, header(Kind::goodbye, 0, 0), {}) != Sent::later;
    });
    drive();
    if (waiting.empty() && !transport_->is_carrying()) return;
    ::sched_yield();
  }
}

}  // namespace weft::network::session
