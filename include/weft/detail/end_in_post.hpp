// Operations that end while they are posted, and whom that is told.
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

/// Signals the completion object of an operation that has ended during its post; answers posted. Ends as
/// peer_failed when the peer is gone.
WEFT_API Status tell_end(DeviceState& device, Operation operation, int peer, std::uint64_t tag, Bytes bytes,
                         Completion& completion, void* user_data) noexcept;

/// What such a post answers: done, unless its options want a completion object to be signalled in any case.
template <class Options>
[[gnu::always_inline]] inline Status end_in_post(DeviceState& device, Operation operation, int peer,
                                                 std::uint64_t tag, Bytes bytes,
                                                 const Options& options) noexcept {
  if (options.completion == nullptr || options.may_complete_now) return Status::done();
  return tell_end(device, operation, peer, tag, bytes, *options.completion, options.user_data);
}

}  // namespace detail
}  // namespace weft
