// Trace events of posts and waits of a device; its port adds those of the network (traced_port.hpp).
#pragma once

#include "core/diagnosis/trace.hpp"

#include <weft/detail/wait_condition.hpp>
#include <weft/message.hpp>
#include <weft/status.hpp>

#include <cstddef>
#include <cstdint>

namespace weft::core {

/// The result of an attempt to post.
void trace_post(Tracer& tracer, std::uint32_t device, Operation operation, int peer, std::uint64_t tag,
                std::size_t size, Status status) noexcept;
/// A wait that ends now.
void trace_wait(Tracer& tracer, std::uint32_t device, const detail::WaitDescription& description,
                std::int64_t begin_ns) noexcept;
/// The number of queued posts that a progress call has retried with success.
void trace_retries(Tracer& tracer, std::uint32_t device, std::size_t accepted) noexcept;

}  // namespace weft::core
