// Immediate completion: operations that end during their post, and the signal of their completion object.
#pragma once

#include <weft/detail/export.hpp>
#include <weft/message.hpp>
#include <weft/status.hpp>
#include <weft/types.hpp>

#include <cstdint>

namespace weft {

class Completion;

namespace detail {

class DeviceState;

/// Signals the completion object of an operation that has ended during its post; answers posted. The
/// operation ends as peer_failed when the peer has left or failed.
WEFT_API Status signal_completion(DeviceState& device, Operation operation, int peer, std::uint64_t tag,
                                  Bytes bytes, Completion& completion, void* user_data) noexcept;

/// Returns true when a completion object is to be signalled even if the operation ends during its post.
template <class Options>
[[nodiscard]] constexpr bool needs_signal(const Options& options) noexcept {
  return options.completion != nullptr && !options.may_complete_now;
}
/// Returns the answer of a post whose operation has ended: done, if no completion object needs a signal; else
/// signals it and returns posted.
template <class Options>
[[gnu::always_inline]] inline Status complete_immediately(DeviceState& device, Operation operation, int peer,
                                                          std::uint64_t tag, Bytes bytes,
                                                          const Options& options) noexcept {
  if (!needs_signal(options)) return Status::done();
  return signal_completion(device, operation, peer, tag, bytes, *options.completion, options.user_data);
}

}  // namespace detail
}  // namespace weft
