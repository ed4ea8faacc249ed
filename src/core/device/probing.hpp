// Probes that wait for a message.
#pragma once

#include "core/deadline/timeout.hpp"
#include "core/device/device_state.hpp"

#include <source_location>

namespace weft::core {

/// Progresses until `look` returns true, the timeout of the options has passed, or no rank is left that could
/// send what is looked for. `look`, which takes what it finds, throws for invalid arguments, and only then.
template <class Look>
Outcome wait_probe(detail::DeviceState& device, int source, std::uint64_t tag, const ReceiveOptions& options,
                   const std::source_location& where, const Look& look) {
  const ReceivePosts& receives = device.protocols().receives;
  bool is_found = look();
  if (is_found) return Outcome::ok;
  if (options.timeout.count() < 0) return Outcome::timed_out;
  const bool has_limit = options.timeout.count() > 0;
  const auto ends = [&] {
    // Asked first: what arrived before the last rank was lost is found by the look behind it.
    const bool cannot_succeed = receives.cannot_succeed(source, tag, options);
    is_found = look();
    return is_found || cannot_succeed;
  };
  const bool has_ended = device.waits().wait(
      {[](const void* context) noexcept { return (*static_cast<const decltype(ends)*>(context))(); },
       &ends,
       nullptr,
       {"a message to be probed", where, source},
       has_limit ? detail::time_after(options.timeout) : Deadlines::kNever});
  return is_found ? Outcome::ok : has_ended ? Outcome::peer_failed : Outcome::timed_out;
}

}  // namespace weft::core
