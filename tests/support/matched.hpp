// Sends between the ranks of a test.
#pragma once

#include "support/ranks.hpp"

#include <optional>

namespace weft::test {

/// Posts a send until it is accepted; nothing: the hang guard ran out.
template <class EndpointType>
std::optional<Status> post_send(Ranks<EndpointType>& ranks, int from, int to, std::uint64_t tag, Bytes bytes,
                                const SendOptions& options = {}) {
  Status status = Status::retry(Reason::none);
  const bool ended = ranks.progress_until([&] {
    status = ranks.endpoint(from).post_send(to, tag, bytes, options);
    return status.is_accepted();
  });
  return ended ? std::optional(status) : std::nullopt;
}

}  // namespace weft::test
