// The operations of a stream that have not ended, as text.
#pragma once

#include <string>

#include "stream/stream_state.hpp"

namespace weft::stream {

/// Up to four of them, and how many more there are; empty: none. By the thread inside the stream.
[[nodiscard]] std::string pending_of(StreamState& stream);

}  // namespace weft::stream
