#include "stream/enqueue/proxy.hpp"

#include <weft/error.hpp>

#include <chrono>
#include <exception>
#include <utility>

#include "core/runtime/device_state.hpp"

namespace weft::stream {

namespace {

// Empty looks at the trigger before the thread gives way, and before it sleeps between looks.
constexpr std::uint32_t kSpins = 200;
constexpr std::uint32_t kYields = 2000;
constexpr auto kNap = std::chrono::microseconds(20);

[[nodiscard]] std::uint64_t load(std::uint64_t* word) noexcept {
  // Pairs with the write of the accelerator's stream: what it did before is visible.
  return std::atomic_ref(*word).load(std::memory_order_acquire);
}
void store(std::uint64_t* word, std::uint64_t value) noexcept {
  std::atomic_ref(*word).store(value, std::memory_order_release);
}

}  // namespace

EnqueueProxy::EnqueueProxy(StreamGroup& group, GroupStream mine, AcceleratorStream& accelerator,
                           TurnWords words, std::size_t staging)
    : group_(group),
      mine_(mine),
      accelerator_(accelerator),
      words_(words),
      buffers_(accelerator, staging),
      thread_([this] { run(); }) {}

EnqueueProxy::~EnqueueProxy() {
  is_stopping_.store(true, std::memory_order_release);
  pushed_.fetch_add(1, std::memory_order_seq_cst);
  pushed_.notify_all();
  thread_.join();
}

void EnqueueProxy::push(EnqueuedItem item) {
  queue_.push(std::move(item));
  pushed_.fetch_add(1, std::memory_order_seq_cst);
  pushed_.notify_one();
}

std::string EnqueueProxy::error() const {
  const std::lock_guard lock(error_mutex_);
  return error_;
}

void EnqueueProxy::run() {
  std::uint32_t idle = 0;
  for (;;) {
    if (step() || step_captured()) {
      idle = 0;
      continue;
    }
    if (settle()) {
      idle = 0;
      continue;
    }
    if (is_stopping_.load(std::memory_order_acquire) && queue_.front() == nullptr) break;
    if (started_ != 0 && mine_.progress() != 0) idle = 0;
    rest(idle++);
  }
  // Operations that were started and never waited for still borrow their buffers.
  for (const auto& request : requests_)
    if (!request->ended.ready()) finish(*request);
}

bool EnqueueProxy::settle() {
  if (is_settled_.load(std::memory_order_relaxed)) return false;
  const bool has_work = mine_.stream().with([](auto& endpoint) {
    if (!endpoint.state().has_refused_work()) return false;
    endpoint.progress();
    return true;
  });
  if (!has_work) is_settled_.store(true, std::memory_order_release);
  return has_work;
}

void EnqueueProxy::wait_settled() const noexcept {
  while (!is_settled_.load(std::memory_order_acquire)) std::this_thread::yield();
}

void EnqueueProxy::rest(std::uint32_t idle) {
  if (idle < kSpins) return;
  if (idle < kSpins + kYields) return std::this_thread::yield();
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
  carry_out(operation);
  if (!operation.is_started) store(words_.done, number);
  return true;
}

bool EnqueueProxy::step_captured() {
  for (std::size_t count = 0; count < captured_.size(); ++count) {
    const std::size_t place = (next_captured_ + count) % captured_.size();
    const EnqueuedItem& item = captured_[place];
    if (load(item.words.trigger) == 0) continue;
    next_captured_ = (place + 1) % captured_.size();
    store(item.words.trigger, 0);
    carry_out(item.operation);
    store(item.words.done, 1);
    return true;
  }
  return false;
}

void EnqueueProxy::carry_out(const EnqueuedOperation& operation) noexcept {
  is_settled_.store(false, std::memory_order_relaxed);
  try {
    switch (operation.kind) {
      case EnqueuedKind::barrier:
      case EnqueuedKind::broadcast:
      case EnqueuedKind::allreduce:
        collective(operation);
        break;
      case EnqueuedKind::wait:
        finish(*requests_.at(operation.request));
        --started_;
        break;
      default:
        if (operation.is_started) {
          while (requests_.size() <= operation.request) requests_.push_back(std::make_unique<Posted>());
          begin(*requests_[operation.request], operation);
          ++started_;
          return;
        }
        begin(blocking_, operation);
        finish(blocking_);
    }
  } catch (const std::exception& error) {
    fail(operation, Outcome::refused, error.what());
  }
  ended_.fetch_add(1, std::memory_order_release);
}

void* EnqueueProxy::host_buffer(Posted& posted) {
  const EnqueuedOperation& operation = posted.operation;
  const bool is_receive = operation.kind == EnqueuedKind::receive;
  void* const own = is_receive ? operation.to : const_cast<void*>(operation.from);
  if (operation.size == 0 || !accelerator_.is_device_memory(own)) return own;
  posted.staged = buffers_.take(operation.size);
  if (!is_receive)
    buffers_.copy(posted.staged.memory, own, operation.size, [this] {
      if (mine_.progress() == 0) std::this_thread::yield();
    });
  return posted.staged.memory;
}

Status EnqueueProxy::post(Posted& posted, void* data) {
  const EnqueuedOperation& operation = posted.operation;
  const Bytes bytes(static_cast<const std::byte*>(data), operation.size);
  switch (operation.kind) {
    case EnqueuedKind::send:
      return mine_.post_send(operation.address, operation.tag, bytes, {.completion = &posted.ended});
    case EnqueuedKind::receive:
      return mine_.post_receive(operation.address, operation.tag,
                                {static_cast<std::byte*>(data), operation.size},
                                {.completion = &posted.ended});
    case EnqueuedKind::put:
      return mine_.stream().with([&](auto& endpoint) {
        return endpoint.post_put(operation.address.rank, operation.region, bytes,
                                 {.completion = &posted.ended, .signal = operation.remote});
      });
    default:
      return mine_.stream().with([&](auto& endpoint) {
        return endpoint.post_am(operation.address.rank, operation.remote, bytes,
                                {.completion = &posted.ended, .tag = operation.tag});
      });
  }
}

void EnqueueProxy::begin(Posted& posted, const EnqueuedOperation& operation) {
  posted.operation = operation;
  posted.staged = {};
  void* const data = host_buffer(posted);
  posted.ended.outcome = Outcome::ok;
  posted.ended.is_ready.store(false, std::memory_order_relaxed);
  try {
    while (post(posted, data).is_retry())
      if (mine_.progress() == 0) std::this_thread::yield();
  } catch (...) {
    posted.ended.is_ready.store(true, std::memory_order_relaxed);
    buffers_.give_back(std::exchange(posted.staged, {}));
    throw;
  }
}

void EnqueueProxy::finish(Posted& posted) {
  if (!posted.ended.ready()) mine_.stream().wait_ready(posted.ended);
  const EnqueuedOperation& operation = posted.operation;
  if (posted.staged.memory != nullptr) {
    if (operation.kind == EnqueuedKind::receive)
      buffers_.copy(operation.to, posted.staged.memory, operation.size, [] { std::this_thread::yield(); });
    buffers_.give_back(std::exchange(posted.staged, {}));
  }
  if (posted.ended.outcome != Outcome::ok) fail(operation, posted.ended.outcome, "");
}

void EnqueueProxy::collective(const EnqueuedOperation& operation) {
  const auto meanwhile = [] { std::this_thread::yield(); };
  weft::detail::CollectiveCall call;
  PinnedBuffers::Buffer from;
  PinnedBuffers::Buffer to;
  if (operation.kind != EnqueuedKind::barrier) {
    const std::size_t element = operation.reduction.element;
    call.kind = operation.kind == EnqueuedKind::broadcast ? weft::detail::CollectiveKind::broadcast
                                                          : weft::detail::CollectiveKind::allreduce;
    call.root = operation.root;
    call.reduction = operation.reduction;
    call.count = call.to_count = operation.size / element;
    call.from = static_cast<const std::byte*>(operation.from);
    call.to = static_cast<std::byte*>(operation.to);
    const bool is_same = operation.from == operation.to;
    if (operation.size != 0 && accelerator_.is_device_memory(operation.to)) {
      to = buffers_.take(operation.size);
      call.to = to.memory;
    }
    if (operation.size != 0 && accelerator_.is_device_memory(operation.from)) {
      if (!is_same) from = buffers_.take(operation.size);
      std::byte* const staged = is_same ? to.memory : from.memory;
      buffers_.copy(staged, operation.from, operation.size, meanwhile);
      call.from = staged;
    }
  }
  const Outcome outcome = group_.collective().run(call);
  if (to.memory != nullptr) buffers_.copy(operation.to, to.memory, operation.size, meanwhile);
  buffers_.give_back(from);
  buffers_.give_back(to);
  if (outcome != Outcome::ok) fail(operation, outcome, "");
}

void EnqueueProxy::fail(const EnqueuedOperation& operation, Outcome outcome, const std::string& why) {
  const std::lock_guard lock(error_mutex_);
  if (!error_.empty()) return;
  error_ = "stream queue: operation " + std::to_string(operation.number) + ", " + describe(operation) +
           (why.empty() ? std::string(" ended as ") + weft::name_of(outcome)
                        : " could not be carried out: " + why);
  outcome_.store(outcome, std::memory_order_release);
}

}  // namespace weft::stream
