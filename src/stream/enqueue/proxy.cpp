#include "stream/enqueue/proxy.hpp"

#include <weft/error.hpp>

#include <algorithm>
#include <chrono>
#include <utility>

#include "core/device/device_state.hpp"
#include "core/runtime/runtime_state.hpp"

namespace weft::stream {

namespace {

using Threads = weft::detail::ProcessThreads;

// Empty looks at the trigger before the thread gives way, and before it sleeps between looks.
constexpr std::uint32_t kSpins = 200;
constexpr std::uint32_t kYields = 2000;
constexpr auto kNap = std::chrono::microseconds(20);
// Naps between looks for graphs that have ended.
constexpr std::uint32_t kForgetEvery = 64;

[[nodiscard]] std::uint64_t load(std::uint64_t* word) noexcept {
  // Pairs with the write of the accelerator's stream: what it did before is visible.
  return std::atomic_ref(*word).load(std::memory_order_acquire);
}
void store(std::uint64_t* word, std::uint64_t value) noexcept {
  std::atomic_ref(*word).store(value, std::memory_order_release);
}

}  // namespace

EnqueueProxy::EnqueueProxy(StreamGroup& group, GroupStream mine, QueueTurn* turn,
                           weft::detail::StreamGate* gate, AcceleratorStream& accelerator, TurnWords words,
                           std::size_t staging)
    : group_(group),
      mine_(mine),
      turn_(turn != nullptr ? *turn : own_turn_),
      gate_(gate),
      accelerator_(accelerator),
      words_(words),
      buffers_(accelerator, staging),
      thread_([this] { run(); }) {
  mark_.wait(0, std::memory_order_acquire);
}

EnqueueProxy::~EnqueueProxy() {
  if (thread_.joinable()) stop(false);
}

void EnqueueProxy::stop(bool nothing_comes) {
  nothing_comes_.store(nothing_comes, std::memory_order_release);
  is_stopping_.store(true, std::memory_order_release);
  pushed_.fetch_add(1, std::memory_order_seq_cst);
  pushed_.notify_all();
  thread_.join();
  if (gate_ != nullptr) turn_.leave(*gate_);
}

void EnqueueProxy::push(EnqueuedItem item) {
  // Captured operations need the stream when they are carried out.
  if (gate_ != nullptr && !item.is_captured) {
    const QueueTurn::Begun begun = turn_.begin(*gate_, mark_.load(std::memory_order_relaxed));
    if (begun != QueueTurn::Begun::yes)
      throw Error(
          describe(item.operation) + " is enqueued while " +
          (begun == QueueTurn::Begun::inside ? "a thread is inside stream " : "a handler runs for stream ") +
          std::to_string(mine_.stream().index()) +
          ": the stream must be free for the thread of its StreamQueue");
  }
  if (item.is_captured) captured_count_.fetch_add(1, std::memory_order_relaxed);
  queue_.push(std::move(item));
  pushed_.fetch_add(1, std::memory_order_seq_cst);
  pushed_.notify_one();
}

std::optional<ForgottenItem> EnqueueProxy::take_forgotten() {
  ForgottenItem* const front = forgotten_.front();
  if (front == nullptr) return std::nullopt;
  const ForgottenItem item = *front;
  forgotten_.pop();
  return item;
}

std::string EnqueueProxy::under_way() const {
  const std::lock_guard lock(current_mutex_);
  if (current_ == nullptr) return {};
  return "operation " + std::to_string(current_->number) + ", " + describe(*current_);
}

void EnqueueProxy::run() {
  mark_.store(Threads::mark(), std::memory_order_release);
  mark_.notify_all();
  std::uint32_t idle = 0;
  for (;;) {
    if (step() || step_captured() || settle()) {
      idle = 0;
      continue;
    }
    if (is_stopping_.load(std::memory_order_acquire) &&
        (queue_.front() == nullptr || nothing_comes_.load(std::memory_order_acquire)))
      break;
    // Nobody else may progress the stream while operations wait for their triggers.
    const bool needs_progress = started_ != 0 || (idle >= kSpins && gate_ != nullptr && turn_.busy() != 0);
    if (needs_progress && mine_.progress() != 0) idle = 0;
    rest(idle++);
  }
  // Operations that were started and never waited for still borrow their buffers.
  for (const auto& request : requests_) {
    if (request->ended.ready()) continue;
    EnqueuedOperation waited;
    waited.kind = EnqueuedKind::wait;
    waited.request = request->operation.request;
    static_cast<void>(carry_out(waited));
  }
  std::size_t unreached = 0;
  for (; queue_.front() != nullptr; queue_.pop()) ++unreached;
  if (unreached != 0)
    group_.runtime().state().log().error("a StreamQueue of stream " + std::to_string(mine_.stream().index()) +
                                         " is destroyed, and its accelerator's stream has not reached " +
                                         std::to_string(unreached) + " of its operations: they are dropped");
}

bool EnqueueProxy::settle() {
  if (turn_.is_settled()) return false;
  const bool has_work = mine_.stream().with([](auto& endpoint) {
    if (!endpoint.state().protocols().has_refused_work()) return false;
    endpoint.progress();
    return true;
  });
  if (!has_work) turn_.set_settled(true);
  return has_work;
}

void EnqueueProxy::wait_settled() const noexcept {
  while (!turn_.is_settled()) std::this_thread::yield();
}

void EnqueueProxy::rest(std::uint32_t idle) {
  if (idle < kSpins) return;
  if (idle < kSpins + kYields) return std::this_thread::yield();
  if (idle % kForgetEvery == 0) forget_captured();
  if (queue_.front() == nullptr && started_ == 0 && captured_.empty()) {
    const std::uint64_t seen = pushed_.load(std::memory_order_seq_cst);
    // What was pushed before `seen` is in the queue.
    if (queue_.front() == nullptr && !is_stopping_.load(std::memory_order_acquire))
      pushed_.wait(seen, std::memory_order_seq_cst);
    return;
  }
  std::this_thread::sleep_for(kNap);
}

bool EnqueueProxy::step() {
  EnqueuedItem* const item = queue_.front();
  if (item == nullptr) return false;
  if (item->is_captured) {
    captured_.push_back(std::move(*item));
    queue_.pop();
    return true;
  }
  const std::uint64_t number = item->operation.number;
  if (static_cast<std::int64_t>(load(words_.trigger) - number) < 0) return false;
  const EnqueuedOperation operation = item->operation;
  queue_.pop();
  const std::uint32_t ended = carry_out(operation);
  // First: the program may use the stream of the group as soon as the accelerator's stream has gone on.
  if (gate_ != nullptr) turn_.end(ended);
  if (!operation.is_started) store(words_.done, number);
  return true;
}

bool EnqueueProxy::step_captured() {
  for (std::size_t count = 0; count < captured_.size(); ++count) {
    const std::size_t index = (next_captured_ + count) % captured_.size();
    const EnqueuedItem& item = captured_[index];
    if (load(item.words.trigger) == 0) continue;
    next_captured_ = (index + 1) % captured_.size();
    store(item.words.trigger, 0);
    if (gate_ != nullptr) turn_.take(*gate_, mark_.load(std::memory_order_relaxed));
    const std::uint32_t ended = carry_out(item.operation);
    if (gate_ != nullptr) turn_.end(ended);
    store(item.words.done, 1);
    return true;
  }
  return false;
}

void EnqueueProxy::forget_captured() {
  const auto gone = std::stable_partition(captured_.begin(), captured_.end(), [](const EnqueuedItem& item) {
    return !item.has_end || !item.graph.expired();
  });
  if (gone == captured_.end()) return;
  captured_count_.fetch_sub(static_cast<std::size_t>(captured_.end() - gone), std::memory_order_release);
  for (auto item = gone; item != captured_.end(); ++item) {
    ForgottenItem forgotten{item->words};
    // The request goes with its beginning, unless the graph has not waited for it.
    const std::uint32_t request = item->operation.request;
    if (item->operation.is_started && (request >= requests_.size() || requests_[request]->ended.ready()))
      forgotten.request = request;
    forgotten_.push(forgotten);
  }
  captured_.erase(gone, captured_.end());
  next_captured_ = 0;
}

}  // namespace weft::stream
