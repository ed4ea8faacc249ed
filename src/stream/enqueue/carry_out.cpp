// How the proxy carries an operation out.
#include <weft/error.hpp>

#include <algorithm>
#include <chrono>
#include <exception>
#include <utility>

#include "core/device/device_state.hpp"
#include "core/runtime/runtime_state.hpp"
#include "stream/enqueue/proxy.hpp"

namespace weft::stream {

namespace {

// How often a wait looks whether it has been given up.
constexpr auto kLook = std::chrono::milliseconds(100);

/// A buffer that goes back at the end of its scope.
class Staged {
 public:
  explicit Staged(PinnedBuffers& buffers) noexcept : buffers_(buffers) {}
  ~Staged() { buffers_.give_back(buffer_); }
  Staged(const Staged&) = delete;
  Staged& operator=(const Staged&) = delete;
  std::byte* take(std::size_t size) {
    buffer_ = buffers_.take(size);
    return buffer_.memory;
  }
  [[nodiscard]] std::byte* memory() const noexcept { return buffer_.memory; }

 private:
  PinnedBuffers& buffers_;
  PinnedBuffers::Buffer buffer_;
};

}  // namespace

void EnqueueProxy::Ended::signal(Message& message) noexcept {
  status.outcome = message.outcome();
  const bool has_arrived = message.operation() == Operation::receive &&
                           (status.outcome == Outcome::ok || status.outcome == Outcome::truncated);
  size = has_arrived ? message.size() : 0;
  if (has_arrived) {
    status.source = static_cast<const GroupStream*>(message.user_data())->sender_of(message);
    status.tag = message.tag_in_context();
    status.length = message.length();
  }
  is_ready.store(true, std::memory_order_release);
  notify_waiters();
}

std::uint32_t EnqueueProxy::carry_out(const EnqueuedOperation& operation) noexcept {
  turn_.set_settled(false);
  {
    const std::lock_guard lock(current_mutex_);
    current_ =
        operation.kind == EnqueuedKind::wait ? &requests_.at(operation.request)->operation : &operation;
  }
  std::uint32_t ended = 1;
  try {
    switch (operation.kind) {
      case EnqueuedKind::barrier:
      case EnqueuedKind::broadcast:
      case EnqueuedKind::allreduce:
        collective(operation);
        break;
      case EnqueuedKind::wait:
        ended = 2;
        --started_;
        finish(*requests_.at(operation.request), operation);
        break;
      default:
        if (operation.is_started) {
          ended = 0;
          ++started_;
          while (requests_.size() <= operation.request) requests_.push_back(std::make_unique<Posted>());
          begin(*requests_[operation.request], operation);
        } else {
          begin(blocking_, operation);
          finish(blocking_, operation);
        }
    }
  } catch (const std::exception& error) {
    fail(operation, Outcome::refused, error.what());
    if (operation.status != nullptr) *operation.status = {.outcome = Outcome::refused};
  }
  {
    const std::lock_guard lock(current_mutex_);
    current_ = nullptr;
  }
  if (ended != 0) ended_.fetch_add(1, std::memory_order_release);
  return ended;
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
    case EnqueuedKind::receive: {
      const std::span<std::byte> buffer(static_cast<std::byte*>(data), operation.size);
      const ReceiveOptions options{
          .completion = &posted.ended, .user_data = &mine_, .handle = &posted.handle};
      return operation.has_any_tag ? mine_.post_receive(operation.address, any_tag, buffer, options)
                                   : mine_.post_receive(operation.address, operation.tag, buffer, options);
    }
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
  posted.handle = {};
  posted.has_begun = false;
  posted.ended.status = {};
  posted.ended.status.length = operation.kind == EnqueuedKind::receive ? 0 : operation.size;
  posted.ended.size = 0;
  try {
    void* const data = host_buffer(posted);
    posted.ended.is_ready.store(false, std::memory_order_relaxed);
    while (post(posted, data).is_retry())
      if (mine_.progress() == 0) std::this_thread::yield();
    posted.has_begun = true;
  } catch (...) {
    posted.ended.status = {.outcome = Outcome::refused};
    posted.ended.is_ready.store(true, std::memory_order_relaxed);
    buffers_.give_back(std::exchange(posted.staged, {}));
    throw;
  }
}

void EnqueueProxy::await(Posted& posted) {
  bool has_cancelled = posted.operation.kind != EnqueuedKind::receive;
  while (!posted.ended.ready()) {
    if (!has_cancelled && is_given_up_.load(std::memory_order_acquire)) {
      has_cancelled = true;
      if (mine_.cancel(posted.handle))
        group_.runtime().state().log().error(
            "the StreamQueue of stream " + std::to_string(mine_.stream().index()) +
            " is destroyed: operation " + std::to_string(posted.operation.number) + ", " +
            describe(posted.operation) + ", is cancelled, which no message has matched");
      continue;
    }
    static_cast<void>(mine_.stream().wait_for(posted.ended, kLook));
  }
}

void EnqueueProxy::finish(Posted& posted, const EnqueuedOperation& by) {
  await(posted);
  const EnqueuedOperation& operation = posted.operation;
  StreamStatus& status = posted.ended.status;
  if (posted.staged.memory != nullptr) {
    const PinnedBuffers::Buffer staged = std::exchange(posted.staged, {});
    try {
      // What has arrived and no more: behind it lie bytes of earlier messages.
      if (operation.kind == EnqueuedKind::receive)
        buffers_.copy(operation.to, staged.memory, std::min(posted.ended.size, operation.size),
                      [] { std::this_thread::yield(); });
    } catch (...) {
      buffers_.give_back(staged);
      status.outcome = Outcome::refused;
      throw;
    }
    buffers_.give_back(staged);
  }
  if (status.outcome != Outcome::ok && posted.has_begun) fail(operation, status.outcome, "");
  if (by.status != nullptr) *by.status = status;
}

void EnqueueProxy::collective(const EnqueuedOperation& operation) {
  const auto meanwhile = [] { std::this_thread::yield(); };
  weft::detail::CollectiveCall call;
  Staged from(buffers_);
  Staged to(buffers_);
  if (operation.kind != EnqueuedKind::barrier) {
    const bool is_broadcast = operation.kind == EnqueuedKind::broadcast;
    call.kind =
        is_broadcast ? weft::detail::CollectiveKind::broadcast : weft::detail::CollectiveKind::allreduce;
    call.root = operation.root;
    call.reduction = operation.reduction;
    call.count = call.to_count = operation.size / operation.reduction.element;
    call.from = static_cast<const std::byte*>(operation.from);
    call.to = static_cast<std::byte*>(operation.to);
    const bool gives = !is_broadcast || operation.root == group_.rank();
    const bool is_same = operation.from == operation.to;
    if (operation.size != 0 && accelerator_.is_device_memory(operation.to)) call.to = to.take(operation.size);
    if (operation.size != 0 && accelerator_.is_device_memory(operation.from)) {
      std::byte* const staged = is_same ? to.memory() : from.take(operation.size);
      if (gives) buffers_.copy(staged, operation.from, operation.size, meanwhile);
      call.from = staged;
    }
  }
  const Outcome outcome = group_.collective().run(call);
  const bool takes = operation.kind != EnqueuedKind::broadcast || operation.root != group_.rank();
  // Of a collective that has failed nothing arrives: the buffer may hold bytes of earlier messages.
  if (outcome == Outcome::ok && takes && to.memory() != nullptr)
    buffers_.copy(operation.to, to.memory(), operation.size, meanwhile);
  if (outcome != Outcome::ok) fail(operation, outcome, "");
  if (operation.status != nullptr) *operation.status = {.outcome = outcome, .length = operation.size};
}

void EnqueueProxy::fail(const EnqueuedOperation& operation, Outcome outcome, const std::string& why) {
  failures_.add({.operation = operation.number,
                 .is_captured = operation.is_captured,
                 .outcome = outcome,
                 .text = "stream queue: operation " + std::to_string(operation.number) + ", " +
                         describe(operation) +
                         (why.empty() ? std::string(" ended as ") + weft::name_of(outcome)
                                      : " could not be carried out: " + why)});
}

}  // namespace weft::stream
