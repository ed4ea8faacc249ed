// Posting with a timeout.
#pragma once

#include "core/deadline/timeout.hpp"
#include "core/runtime/device_state.hpp"

#include <weft/completion/completion.hpp>
#include <weft/error.hpp>
#include <weft/message.hpp>

#include <cstdint>
#include <string>
#include <type_traits>

namespace weft::detail {

/// The description of an operation that ends before it was accepted.
struct Unposted {
  Operation operation;
  int peer;
  std::uint64_t tag;
  const std::byte* data;
  std::size_t size;
};
[[nodiscard]] inline Unposted unposted_send(int peer, std::uint64_t tag, const core::SendPayload& payload,
                                            const Packet* packet) noexcept {
  // For a list of buffers, or a packet that was taken over, the end carries no data.
  const bool has_data = payload.parts.empty() && packet == nullptr;
  return {Operation::send, peer, tag, has_data ? payload.bytes.data() : nullptr, payload.size()};
}
void end_unposted(core::ImmediateEnds& ends, const Unposted& unposted, Completion& completion,
                  void* user_data, Outcome outcome, std::uint32_t device) noexcept;

/// Posts by post(options), whose options have no timeout, and name a node of the device's deadlines in place
/// of the completion object of `options`.
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
  rendezvous_.awaiting().fetch_add(1, std::memory_order_relaxed);
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
    end_unposted(ends_, unposted, *options.completion, options.user_data, Outcome::timed_out, index_);
    return Status::posted();
  }
  if constexpr (kIsReceive) {
    // A receive that is queued for retry has no handle yet: the thread that posts it fills in the node's.
    if (handle.generation != 0) {
      node->receive = handle;
      if (options.handle != nullptr) *options.handle = handle;
    }
  }
  if (!deadlines_.arm(*node)) {
    rendezvous_.awaiting().fetch_sub(1, std::memory_order_relaxed);
    return status;
  }
  // Pairs with the fetch_add of a thread that parks: either that thread sees the armed deadline, or this one
  // sees it parking.
  if (parking_.fetch_add(0, std::memory_order_seq_cst) != 0 && time < deadlines_.next_time())
    port_->wake(~std::uint32_t{0});
  return status;
}

}  // namespace weft::detail
