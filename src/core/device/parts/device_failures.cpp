#include "core/device/parts/device_failures.hpp"

#include "base/clock.hpp"
#include "concurrent/thread_number.hpp"
#include "core/runtime/runtime_state.hpp"

#include <string>

namespace weft::core {

namespace {

// Progress calls of a thread between checks while peers are awaited; prime, so that each of several devices
// gets its turn.
constexpr std::uint32_t kCheckEvery = 251;
constexpr std::int64_t kLookAgainEvery = 10'000'000;  // nanoseconds, once a peer has left

}  // namespace

DeviceFailures::DeviceFailures(detail::RuntimeState& runtime, const Context& context,
                               const std::unique_ptr<network::Port>& port, const Operations& operations,
                               WorkTurn& working)
    : runtime_(runtime),
      context_(context),
      port_(port),
      operations_(operations),
      working_(working),
      word_(&runtime.failures().word()),
      buried_(new std::atomic<bool>[static_cast<std::size_t>(runtime.size())]()) {
  if (!runtime.failures().are_reported()) expect_nothing_of_peers();
}

void DeviceFailures::check(Caller caller) noexcept {
  thread_local std::uint32_t calls = 0;
  const bool is_time = ++calls % kCheckEvery == 0;
  const std::uint32_t failures = word_->load(std::memory_order_relaxed);
  if (failures != 0 && (is_time || failures != handled_.load(std::memory_order_relaxed)))
    handle(failures, caller);
  if (is_time) complete_lost_operations(caller);
}

void DeviceFailures::complete_lost_operations(Caller caller) noexcept {
  // Also called by waits, outside of progress.
  const SignalScope scope(context_.ends);
  if (const std::uint32_t failures = word_->load(std::memory_order_relaxed); failures != 0)
    handle(failures, caller);
  if (port_->is_cut_off()) expect_nothing_of_peers();
  operations_.rendezvous.complete_lost_operations(buried_.get());
  operations_.one_sided.requests().complete_lost(buried_.get());
}

/// The departure of a peer will not be reported any more, or nothing is delivered any more: has_left() is
/// final.
void DeviceFailures::expect_nothing_of_peers() noexcept {
  for (int peer = 0; peer < runtime_.size(); ++peer) buried_[peer].store(true, std::memory_order_release);
}

void DeviceFailures::handle(std::uint32_t failures, Caller caller) noexcept {
  if (!reclaiming_.enter(concurrent::thread_number())) return;
  PeerFailures& peers = runtime_.failures();
  if (failures != handled_.load(std::memory_order_relaxed)) {
    if (!peers.update()) {
      reclaiming_.leave();
      return;
    }
    const bool is_complete = reclaim();
    operations_.rendezvous.complete_lost_operations(buried_.get());
    operations_.one_sided.requests().complete_lost(buried_.get());
    if (is_complete) handled_.store(failures, std::memory_order_relaxed);
    runtime_.find_silent_peers();
  }
  const std::int64_t now = base::now_ns();
  if (const std::uint32_t silent = peers.silent(); silent != ended_silent_ || now >= next_look_) {
    next_look_ = now + kLookAgainEvery;
    ended_silent_ = silent;
    runtime_.find_silent_peers();
    runtime_.end_receives_from_silent_peers(context_.device);
    if (peers.count() != 0) end_what_needs_all_ranks(caller);
  }
  reclaiming_.leave();
}

/// Gives up what the port keeps for peers that have left. Returns true when that is done for all of them.
bool DeviceFailures::reclaim() noexcept {
  const PeerFailures& peers = runtime_.failures();
  bool is_complete = true;
  for (std::size_t index = 0; index < peers.left_count(); ++index) {
    const int peer = peers.left_at(index);
    std::atomic<bool>& is_buried = buried_[peer];
    if (is_buried.load(std::memory_order_relaxed)) continue;
    if (!port_->reclaim(peer)) {
      is_complete = false;
      continue;
    }
    // Pairs with the acquire in has_buried().
    is_buried.store(true, std::memory_order_release);
    runtime_.log().in(base::LogModule::failure).info([&] {
      return "device " + std::to_string(context_.device) + " has given up what it kept for rank " +
             std::to_string(peer) + (peers.knows(peer) ? ", which has failed" : ", which has left");
    });
  }
  return is_complete;
}

/// Ends queued posts and announced sends that need all ranks. Posted receives belong to no single device;
/// they end elsewhere.
void DeviceFailures::end_what_needs_all_ranks(Caller caller) noexcept {
  MatchingEngines& engines = runtime_.matching_engines();
  bool is_used = false;
  engines.for_each(
      [&](const MatchingEngine& engine) { is_used = is_used || engine.needed_ranks().may_need_ranks(); });
  if (!is_used || !working_.enter(concurrent::thread_number())) return;
  const auto needs_all_ranks = [&](const PendingPost& post) {
    if (const auto* send = std::get_if<PendingSend>(&post.other);
        send != nullptr && post.operation == Operation::send)
      return engines.find(send->options.engine)->needed_ranks().is_given_up(send->tag, true);
    const auto* receive = std::get_if<PendingReceive>(&post.other);
    return receive != nullptr && post.operation == Operation::receive &&
           engines.find(receive->options.engine)->needed_ranks().is_given_up(receive->tag, true);
  };
  Backlog& backlog = operations_.backlog;
  if (!backlog.empty())
    backlog.take_out(needs_all_ranks,
                     [&](PendingPost& post) { operations_.queued.end(post, Outcome::peer_failed); });
  operations_.rendezvous.cancel(operations_.deadlines, true, caller);
  working_.leave();
}

}  // namespace weft::core
