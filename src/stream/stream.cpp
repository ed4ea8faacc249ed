#include <weft/stream/stream.hpp>

#include <weft/error.hpp>

#include <algorithm>
#include <string>
#include <utility>

#include "base/fork_watch.hpp"
#include "concurrent/thread_name.hpp"
#include "core/device/device_state.hpp"
#include "core/wait/core_share.hpp"
#include "stream/pending_text.hpp"
#include "stream/stream_registry.hpp"

namespace weft {

namespace {

// A thread that waits looks after other streams as often as this, in nanoseconds, and less and less often
// while they need nobody.
constexpr std::int64_t kFirstSlice = 100'000;
constexpr std::int64_t kLongestSlice = 1'000'000;
// Where there are no other streams.
constexpr std::int64_t kSliceAlone = 20'000'000;

}  // namespace

Stream::Stream(Runtime& runtime, const StreamOptions& options)
    : Stream(stream::StreamRegistry::of(runtime.state()).open(runtime, options.device)) {}

Stream::Stream(std::shared_ptr<stream::StreamState> state) noexcept
    : state_(std::move(state)),
      serial_(state_->serial ? &*state_->serial : nullptr),
      shared_(state_->shared ? &*state_->shared : nullptr),
      gate_(state_->serial ? &state_->gate : nullptr),
      index_(state_->index) {}

Stream Stream::null(Runtime& runtime) {
  return Stream(stream::StreamRegistry::of(runtime.state()).null_stream(runtime));
}

// Without ownership: it is a part of the state, or of what does not outlive it.
Stream::Stream(stream::StreamState& state, bool has_gate) noexcept
    : Stream(std::shared_ptr<stream::StreamState>(std::shared_ptr<void>(), &state)) {
  is_view_ = true;
  if (!has_gate) gate_ = nullptr;
}

Stream::Stream(Stream&& other) noexcept
    : state_(std::move(other.state_)),
      serial_(std::exchange(other.serial_, nullptr)),
      shared_(std::exchange(other.shared_, nullptr)),
      gate_(std::exchange(other.gate_, nullptr)),
      index_(other.index_),
      is_view_(other.is_view_) {}

Stream::~Stream() {
  if (state_ == nullptr || is_null() || is_view_ || base::is_forked_copy()) return;
  if (const std::string user = state_->runtime_state.users().last(static_cast<int>(index_)); !user.empty())
    detail::refuse_early_end(state_->device->state().endpoints().name("Stream"), user);
}

void Stream::close() {
  if (state_ == nullptr) return;
  if (is_view_)
    throw Error("stream " + std::to_string(index_) +
                " cannot be freed through its group: close the Stream that the program has made");
  if (!is_null()) {
    const StreamAccess access(*this);
    if (const std::string pending = stream::pending_of(*state_); !pending.empty())
      throw Error("stream " + std::to_string(index_) +
                  " cannot be freed: operations are pending: " + pending);
    if (const std::string user = state_->runtime_state.users().last(static_cast<int>(index_)); !user.empty())
      throw Error("stream " + std::to_string(index_) +
                  " cannot be freed while another object still uses it: destroy the " + user + " first");
  }
  state_.reset();
  serial_ = nullptr;
  shared_ = nullptr;
  gate_ = nullptr;
}

void Stream::note_poll() {
  if (state_ == nullptr) [[unlikely]]
    static_cast<void>(refuse());
  state_->polls.store(state_->polls.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);
}

SerialEndpoint& Stream::refuse() const {
  throw Error(state_ == nullptr ? "the stream has been freed, or moved into another object"
                                : "the null stream has no endpoint without locks: use Stream::with()");
}

detail::StreamGate* StreamAccess::enter_slow(Stream& stream, detail::GateEntry found) {
  detail::StreamGate& gate = *stream.gate_;
  for (;; found = gate.enter()) {
    if (found == detail::GateEntry::entered) return &gate;
    if (found == detail::GateEntry::nested) return nullptr;
    if (found == detail::GateEntry::contended) {
      stream::QueueTurn& turn = stream.state_->turn;
      if (turn.is_owned() && turn.release(gate) == stream::QueueTurn::Released::busy)
        throw Error(
            "stream " + std::to_string(stream.index()) + ": thread " +
            concurrent::name_of_thread(detail::ProcessThreads::mark()) + " uses it while " +
            std::to_string(turn.busy()) +
            " operations of its StreamQueue have not ended: it belongs to the queue's thread until they "
            "have (StreamQueue::wait_ended)");
      detail::ProcessThreads::yield();
      continue;
    }
    const std::uintptr_t other = gate.inside();
    throw Error("stream " + std::to_string(stream.index()) + ": thread " +
                concurrent::name_of_thread(detail::ProcessThreads::mark()) + " enters while thread " +
                (other != 0 ? concurrent::name_of_thread(other) : "another one") +
                " is inside: one thread at a time uses a stream");
  }
}

bool Stream::wait_condition(const detail::WaitCondition& condition, Timeout timeout) {
  return timeout.count() != 0 ? wait_condition_for(condition, timeout)
                              : wait_condition_until(condition, condition.until);
}

/// 0: as wait_for() of endpoints, looks and returns.
bool Stream::wait_condition_for(const detail::WaitCondition& condition, Timeout timeout) {
  return wait_condition_until(condition, detail::time_after(timeout));
}

bool Stream::wait_condition_until(const detail::WaitCondition& condition, std::int64_t end) {
  if (state_ == nullptr) static_cast<void>(refuse());
  stream::StreamRegistry& registry = state_->registry;
  // As in DeviceState::wait(), the condition is not evaluated again once it has held.
  return with([&](auto& endpoint) {
    std::int64_t slice = kFirstSlice;
    while (!condition.holds(condition.context)) {
      note_poll();
      const std::int64_t now = detail::time_after(Timeout{});
      if (now >= end) return false;
      detail::WaitCondition limited = condition;
      const bool has_others = registry.has_others(state_.get());
      limited.until = std::min(end, now + (has_others ? slice : kSliceAlone));
      if (endpoint.state().waits().wait(limited)) return true;
      slice = registry.attend(state_.get()) != 0 ? kFirstSlice : std::min(2 * slice, kLongestSlice);
    }
    return true;
  });
}

}  // namespace weft
