// Posting with a timeout.
#pragma once

#include "core/runtime/device_state.hpp"
#include "core/runtime/patience.hpp"

#include <weft/completion/completion.hpp>
#include <weft/error.hpp>
#include <weft/message.hpp>

#include <cstdint>
#include <string>
#include <type_traits>

namespace weft::detail {

/// What is told of an operation that ends before it was accepted.
struct Unposted {
  Operation operation;
  int peer;
  std::uint64_t tag;
  const std::byte* data;
  std::size_t size;
};
[[nodiscard]] inline Unposted unposted_send(int peer, std::uint64_t tag, const core::SendPayload& payload,
                                            const Packet* packet) noexcept {
  // Of a list, and of a packet that was taken over, the end tells no data.
  const bool has_data = payload.parts.empty() && packet == nullptr;
  return {Operation::send, peer, tag, has_data ? payload.bytes.data() : nullptr, payload.size()};
}
void end_unposted(const Unposted& unposted, Completion& completion, void* user_data,
                  Outcome outcome) noexcept;

/// Posts by post(options), whose options have no timeout, and whose completion object is a node of the
/// device's deadlines instead of that of `options`.
template <class Options, class Post>
Status DeviceState::post_within(const char* operation, const Unposted& unposted, const Options& options,
                                const Post& post) {
  constexpr bool kIsReceive = std::is_same_v<Options, ReceiveOptions>;
  if (options.completion == nullptr)
    throw Error(std::string(operation) +
                ": a timeout needs a completion object, or nobody would learn that it has passed");
  const std::int64_t time = time_after(options.timeout);
  core::Deadlines::Node* const node = deadlines_.take(*options.completion, time);
  if (node == nullptr) return Status::retry(Reason::no_request);
  large_messages_.awaiting().fetch_add(1, std::memory_order_relaxed);
  Options within = options;
  within.completion = node;
  within.timeout = {};
  ReceiveHandle handle;
  if constexpr (kIsReceive) within.handle = &handle;
  Status status;
  try {
    status = post(std::as_const(within));
  } catch (...) {
    forget(*node);
    throw;
  }
  if (!status.is_posted()) {
    forget(*node);
    if (!status.is_retry() || options.timeout.count() > 0) return status;
    end_unposted(unposted, *options.completion, options.user_data, Outcome::timed_out);
    return Status::posted();
  }
  if constexpr (kIsReceive) {
    // One that is kept for retry has none yet: whoever posts it fills in the node's.
    if (handle.generation != 0) {
      node->receive = handle;
      if (options.handle != nullptr) *options.handle = handle;
    }
  }
  if (!deadlines_.arm(*node)) {
    large_messages_.awaiting().fetch_sub(1, std::memory_order_relaxed);
    return status;
  }
  // Pairs with the one of a thread that parks: either that sees what was armed, or this sees it parking.
  if (parking_.fetch_add(0, std::memory_order_seq_cst) != 0 && time < deadlines_.next_time())
    port_->wake(~std::uint32_t{0});
  return status;
}

}  // namespace weft::detail
