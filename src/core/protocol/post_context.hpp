// What the posts of all protocols of a device share.
#pragma once

#include "core/backlog/backlog.hpp"
#include "core/completion/refused_nodes.hpp"
#include "core/diagnosis/tracing.hpp"
#include "core/protocol/context.hpp"

#include <weft/detail/device_path.hpp>
#include <weft/message.hpp>
#include <weft/status.hpp>

#include <cstddef>
#include <cstdint>

namespace weft::core {

class TimedPosts;

struct PostContext {
  const Context& context;
  detail::DevicePath& path;  // as inlined posts see it: empty while a trace is made
  Backlog& backlog;
  TimedPosts& timed;
  detail::NodeRefusals& refused_nodes;

  /// Called with the result of every attempt of a post that was not inlined: for counters, and for a trace.
  void observe(Operation operation, int peer, std::uint64_t tag, std::size_t size,
               Status status) const noexcept {
    if (status.is_retry()) [[unlikely]]
      note_refusal(status.reason());
    if (context.tracer != nullptr) [[unlikely]]
      trace_post(*context.tracer, context.device, operation, peer, tag, size, status);
  }
  void note_refusal(Reason reason) const noexcept;
};

}  // namespace weft::core
