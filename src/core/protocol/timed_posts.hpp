// Posting with a timeout, or with a handle by which a send, or a receive in the backlog, can be cancelled.
#pragma once

#include "base/refuse.hpp"
#include "core/deadline/deadlines.hpp"
#include "core/deadline/timeout.hpp"
#include "core/protocol/context.hpp"

#include <weft/completion/completion.hpp>
#include <weft/error.hpp>
#include <weft/message.hpp>
#include <weft/options.hpp>
#include <weft/status.hpp>

#include <atomic>
#include <cstdint>
#include <string>
#include <type_traits>
#include <utility>

namespace weft::core {

/// The description of an operation that ends before it was accepted.
struct Unposted {
  Operation operation;
  int peer;
  std::uint64_t tag;
  const std::byte* data;
  std::size_t size;
};
/// Signals the end of such an operation.
void end_unposted(const Context& context, const Unposted& unposted, Completion& completion, void* user_data,
                  Outcome outcome) noexcept;

/// The posts of a device that have a timeout or a handle, until they are accepted; device_deadlines.hpp ends
/// them when that has passed, or they are to be cancelled.
class TimedPosts {
 public:
  /// `awaiting`: raised while operations have a deadline, so that progress looks at the time.
  TimedPosts(const Context& context, Deadlines& deadlines, std::atomic<std::uint32_t>& awaiting) noexcept
      : context_(context), deadlines_(deadlines), awaiting_(awaiting) {}

  /// Posts by post(options), whose options have no timeout, and name a node of the device's deadlines in
  /// place of the completion object of `options`.
  template <class Options, class Post>
  Status post(const char* operation, const Unposted& unposted, const Options& options, const Post& post);

  /// The send, or queued receive, is to end as soon as it can. Returns false when it has ended. Any thread.
  bool cancel(const SendHandle& handle) noexcept;

  [[nodiscard]] Deadlines& deadlines() noexcept { return deadlines_; }
  /// The number of threads that park or are about to: they are woken for deadlines before the next one.
  [[nodiscard]] std::atomic<std::uint32_t>& parking() noexcept { return parking_; }

 private:
  /// An operation that nobody can cancel: its handle names nothing.
  template <class Options, class Post>
  static Status post_unnamed(const Options& options, const Post& post) {
    Options within = options;
    if (within.handle != nullptr) *std::exchange(within.handle, nullptr) = {};
    return post(std::as_const(within));
  }
  void forget(Deadlines::Node& node) noexcept;
  void wake_for(std::int64_t time) noexcept;

  const Context& context_;
  Deadlines& deadlines_;
  std::atomic<std::uint32_t>& awaiting_;
  std::atomic<std::uint32_t> parking_{0};
};

/// Out of line, so that posts without a timeout have no stack for it: handlers that post nest.
template <class Options, class Post>
[[gnu::noinline]] Status TimedPosts::post(const char* operation, const Unposted& unposted,
                                          const Options& options, const Post& post) {
  constexpr bool kIsReceive = std::is_same_v<Options, ReceiveOptions>;
  constexpr bool kIsSend = std::is_same_v<Options, SendOptions>;
  const bool has_timeout = options.timeout.count() != 0;
  if (options.completion == nullptr)
    base::refuse(
        ErrorClass::option, operation,
        (has_timeout ? "a timeout needs a completion object, or nobody would learn that it has passed"
                     : "a handle needs a completion object, or nobody would learn of the cancellation"));
  if constexpr (kIsSend || kIsReceive)
    if (!has_timeout && deadlines_.keeps_rest()) return post_unnamed(options, post);
  const std::int64_t time = has_timeout ? detail::time_after(options.timeout) : Deadlines::kNever;
  Deadlines::Node* const node = deadlines_.take(*options.completion, time);
  if (node == nullptr) return Status::retry(Reason::no_request);
  awaiting_.fetch_add(1, std::memory_order_relaxed);
  Options within = options;
  within.completion = node;
  within.timeout = {};
  ReceiveHandle handle;
  if constexpr (kIsReceive) within.handle = &handle;
  if constexpr (kIsSend) within.handle = nullptr;
  Status status;
  try {
    status = post(std::as_const(within));
  } catch (...) {
    forget(*node);
    throw;
  }
  if (!status.is_posted()) {
    forget(*node);
    if (!status.is_retry() || options.timeout.count() >= 0) return status;
    end_unposted(context_, unposted, *options.completion, options.user_data, Outcome::timed_out);
    return Status::posted();
  }
  if constexpr (kIsReceive) {
    // A receive that is queued for retry has no handle yet: the thread that posts it fills in the node's.
    // Until it has ended the node names it.
    const bool has_record = handle.generation != 0;
    if (has_record) node->receive = handle;
    if (options.handle != nullptr)
      *options.handle = has_record ? handle : queued_receive(deadlines_.handle_of(*node, context_.device));
  }
  if constexpr (kIsSend)
    if (options.handle != nullptr) *options.handle = deadlines_.handle_of(*node, context_.device);
  if (!deadlines_.arm(*node)) {
    awaiting_.fetch_sub(1, std::memory_order_relaxed);
    return status;
  }
  wake_for(time);
  return status;
}

}  // namespace weft::core
