// What follows from the failure of a peer, on one device.
//
// 1. The port stops sending to the peer and delivers what had arrived of it (Port::bury).
// 2. Large messages and one-sided accesses under way end, as do posts in the backlog with their next try.
// 3. When no open device can still deliver anything of the peer, the receives end that only it could match,
//    and whatever waits in engines for which all ranks are needed.
//
// A receive that is posted meanwhile by a thread which has not noticed yet is found by one of the looks that
// go on from time to time.
#include "concurrent/thread_number.hpp"
#include "core/runtime/device_state.hpp"
#include "core/runtime/runtime_state.hpp"

#include "base/clock.hpp"

#include <string>

namespace weft::detail {

namespace {

// Progress calls of a thread while peers are awaited; prime, so that each of several devices gets its turn.
constexpr std::uint32_t kLookForLostEvery = 251;
constexpr std::int64_t kLookAgainEvery = 10'000'000;  // nanoseconds, once a peer has failed

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
  if (const std::uint32_t failures = failures_->load(std::memory_order_relaxed); failures != 0)
    handle_failures(failures, exclusive);
  large_messages_.end_lost_operations();
  one_sided_.end_lost_operations();
}

void DeviceState::handle_failures(std::uint32_t failures, bool exclusive) noexcept {
  if (!burying_.enter(concurrent::thread_number())) return;
  PeerFailures& peers = runtime_.failures();
  bool is_complete = true;
  if (failures != handled_failures_.load(std::memory_order_relaxed)) {
    if (!peers.update()) {
      burying_.leave();
      return;
    }
    for (std::size_t place = 0; place < peers.count(); ++place) {
      const int peer = peers.at(place);
      std::atomic<bool>& is_buried = buried_[peer];
      if (is_buried.load(std::memory_order_relaxed)) continue;
      const bool is_over = port_->bury(peer, exclusive);
      if (is_over)
        // Pairs with the acquire in has_buried().
        is_buried.store(true, std::memory_order_release);
      else
        is_complete = false;
      if (is_over)
        runtime_.log().in(base::LogModule::failure).info([&] {
          return "device " + std::to_string(index_) + " has given up what it kept for rank " +
                 std::to_string(peer) + ", which has failed";
        });
    }
    large_messages_.end_lost_operations();
    one_sided_.end_lost_operations();
    if (is_complete) handled_failures_.store(failures, std::memory_order_relaxed);
    runtime_.find_silent_peers();
  }
  const std::int64_t now = base::now_ns();
  if (const std::uint32_t silent = peers.silent(); silent != ended_silent_ || now >= next_look_) {
    next_look_ = now + kLookAgainEvery;
    ended_silent_ = silent;
    runtime_.find_silent_peers();
    runtime_.end_receives_from_silent_peers(index_);
    end_what_needs_all_ranks(exclusive);
  }
  burying_.leave();
}

/// Receives that are posted are not of this device alone; here end posts that are kept, and sends.
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
                      [&](core::PendingPost& post) { end_kept(post, Outcome::peer_failed); });
  large_messages_.withdraw(deadlines_, true, exclusive);
  working_.leave();
}

Status DeviceState::attempt_receive(core::MatchingEngine& engine, int source, std::uint64_t tag,
                                    std::span<std::byte> buffer, const ReceiveOptions& options,
                                    bool again) noexcept {
  const bool can_be_alone =
      options.policy == MatchingPolicy::rank_and_tag || options.policy == MatchingPolicy::rank_only;
  const bool is_lost = runtime_.failures().silent() != 0 &&
                       (engine.needs_all_ranks() ||
                        (can_be_alone && source != any_source && runtime_.failures().is_silent(source)));
  ReceiveHandle handle;
  ReceiveOptions named = options;
  if (is_lost) named.handle = &handle;
  const Status status = engine.order() != nullptr
                            ? send_receive_.attempt_ordered_receive(engine, source, tag, buffer, named, again)
                            : send_receive_.attempt_receive(engine, source, tag, buffer, named);
  if (!is_lost) return status;
  if (options.handle != nullptr) *options.handle = handle;
  // It is posted all the same, because the peer may have sent the message before it failed.
  core::MatchRecord* record = handle.generation != 0 ? engine.cancel(handle) : nullptr;
  if (record != nullptr) core::end_unmatched(engine, *record, Outcome::peer_failed);
  return status;
}

}  // namespace weft::detail
