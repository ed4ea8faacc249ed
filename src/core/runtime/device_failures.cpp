// What a device does when a peer has left, by failure or in order.
//
// 1. The port stops sending to the peer and delivers what had arrived from it (Port::reclaim).
// 2. Large messages and one-sided accesses in progress end once that is done, as do posts in the backlog with
//    their next retry.
// 3. When no open device can still deliver anything from the peer, receives end: those that only the peer can
//    match; those of any source when no other peer is left; and after a failure whatever waits in engines for
//    which all ranks are needed. A rank that has left in order may have done its part in operations that the
//    other ranks have not ended.
//
// A receive that is posted meanwhile by a thread that has not noticed yet is found by one of the checks that
// are repeated from time to time.
#include "concurrent/thread_number.hpp"
#include "core/runtime/device_state.hpp"
#include "core/runtime/runtime_state.hpp"

#include "base/clock.hpp"

#include <string>

namespace weft::detail {

namespace {

// Progress calls of a thread between checks while peers are awaited; prime, so that each of several devices
// gets its turn.
constexpr std::uint32_t kLookForLostEvery = 251;
constexpr std::int64_t kLookAgainEvery = 10'000'000;  // nanoseconds, once a peer has left

}  // namespace

void DeviceState::look_for_lost(bool exclusive) noexcept {
  if (deadlines_.count() != 0) look_at_deadlines(exclusive);
  thread_local std::uint32_t calls = 0;
  const bool is_time = ++calls % kLookForLostEvery == 0;
  const std::uint32_t failures = failures_->load(std::memory_order_relaxed);
  if (failures != 0 && (is_time || failures != handled_failures_.load(std::memory_order_relaxed)))
    handle_failures(failures, exclusive);
  if (is_time) end_lost_operations(exclusive);
}

void DeviceState::end_lost_operations(bool exclusive) noexcept {
  // Also called by waits, outside of progress.
  const core::SignalScope scope(ends_);
  if (const std::uint32_t failures = failures_->load(std::memory_order_relaxed); failures != 0)
    handle_failures(failures, exclusive);
  if (port_->is_cut_off()) expect_nothing_of_peers();
  rendezvous_.end_lost_operations(buried_.get());
  one_sided_.end_lost_operations(buried_.get());
}

/// The departure of a peer will not be reported any more, or nothing is delivered any more: has_left() is
/// final.
void DeviceState::expect_nothing_of_peers() noexcept {
  for (int peer = 0; peer < runtime_.size(); ++peer) buried_[peer].store(true, std::memory_order_release);
}

void DeviceState::handle_failures(std::uint32_t failures, bool exclusive) noexcept {
  if (!reclaiming_.enter(concurrent::thread_number())) return;
  core::PeerFailures& peers = runtime_.failures();
  bool is_complete = true;
  if (failures != handled_failures_.load(std::memory_order_relaxed)) {
    if (!peers.update()) {
      reclaiming_.leave();
      return;
    }
    for (std::size_t place = 0; place < peers.left_count(); ++place) {
      const int peer = peers.left_at(place);
      std::atomic<bool>& is_buried = buried_[peer];
      if (is_buried.load(std::memory_order_relaxed)) continue;
      const bool is_over = port_->reclaim(peer, exclusive);
      if (is_over)
        // Pairs with the acquire in has_buried().
        is_buried.store(true, std::memory_order_release);
      else
        is_complete = false;
      if (is_over)
        runtime_.log().in(base::LogModule::failure).info([&] {
          return "device " + std::to_string(index_) + " has given up what it kept for rank " +
                 std::to_string(peer) + (peers.knows(peer) ? ", which has failed" : ", which has left");
        });
    }
    rendezvous_.end_lost_operations(buried_.get());
    one_sided_.end_lost_operations(buried_.get());
    if (is_complete) handled_failures_.store(failures, std::memory_order_relaxed);
    runtime_.find_silent_peers();
  }
  const std::int64_t now = base::now_ns();
  if (const std::uint32_t silent = peers.silent(); silent != ended_silent_ || now >= next_look_) {
    next_look_ = now + kLookAgainEvery;
    ended_silent_ = silent;
    runtime_.find_silent_peers();
    runtime_.end_receives_from_silent_peers(index_);
    if (peers.count() != 0) end_what_needs_all_ranks(exclusive);
  }
  reclaiming_.leave();
}

/// Ends queued posts and announced sends that need all ranks. Posted receives belong to no single device;
/// they end elsewhere.
void DeviceState::end_what_needs_all_ranks(bool exclusive) noexcept {
  core::MatchingEngines& engines = runtime_.matching_engines();
  bool is_used = false;
  engines.for_each(
      [&](const core::MatchingEngine& engine) { is_used = is_used || engine.needs_all_ranks(); });
  if (!is_used || !working_.enter(concurrent::thread_number())) return;
  const auto needs_all_ranks = [&](const core::PendingPost& post) {
    const core::MatchingEngine* engine = nullptr;
    if (const auto* send = std::get_if<core::PendingSend>(&post.other);
        send != nullptr && post.operation == Operation::send)
      engine = engines.find(send->options.engine);
    else if (const auto* receive = std::get_if<core::PendingReceive>(&post.other);
             receive != nullptr && post.operation == Operation::receive)
      engine = engines.find(receive->options.engine);
    return engine != nullptr && engine->needs_all_ranks();
  };
  if (!backlog_.empty())
    backlog_.take_out(needs_all_ranks,
                      [&](core::PendingPost& post) { queued_posts_.end(post, Outcome::peer_failed); });
  rendezvous_.cancel(deadlines_, true, exclusive);
  working_.leave();
}

}  // namespace weft::detail
