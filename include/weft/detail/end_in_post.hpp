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

/// Whether a completion object is to be signalled even if the operation ends during its post.
template <class Options>
[[nodiscard]] constexpr bool tells(const Options& options) noexcept {
  return options.completion != nullptr && !options.may_complete_now;
}
/// What a post answers whose operation has ended: done, if there is nobody to tell.
template <class Options>
[[gnu::always_inline]] inline Status end_in_post(DeviceState& device, Operation operation, int peer,
                                                 std::uint64_t tag, Bytes bytes,
                                                 const Options& options) noexcept {
  if (!tells(options)) return Status::done();
  return tell_end(device, operation, peer, tag, bytes, *options.completion, options.user_data);
}

}  // namespace detail
}  // namespace weft
