#include "core/diagnosis/tracing.hpp"

#include "base/clock.hpp"

namespace weft::core {

namespace {

const char* name_of_post(Operation operation) noexcept {
  switch (operation) {
    case Operation::active_message_sent:
      return "post_am";
    case Operation::multipart_message:
      return "post_am with parts";
    case Operation::send:
      return "post_send";
    case Operation::receive:
      return "post_receive";
    case Operation::put:
      return "post_put";
    case Operation::get:
      return "post_get";
    case Operation::atomic:
      return "post_atomic";
    default:
      return "post";
  }
}

TraceEvent event_of(std::uint32_t device, const char* category, const char* name) noexcept {
  TraceEvent event;
  event.device = static_cast<std::uint8_t>(device);
  event.category = category;
  event.name = name;
  event.begin_ns = base::now_ns();
  return event;
}

}  // namespace

void trace_post(Tracer& tracer, std::uint32_t device, Operation operation, int peer, std::uint64_t tag,
                std::size_t size, Status status) noexcept {
  TraceEvent event = event_of(device, "post", name_of_post(operation));
  event.peer = peer;
  event.has_tag = event.has_size = true;
  event.tag = tag;
  event.size = size;
  event.detail = status.is_done() ? "done" : status.is_posted() ? "posted" : name_of(status.reason());
  if (status.is_retry())
    tracer.add_repeating(event);
  else
    tracer.add(event);
}

void trace_wait(Tracer& tracer, std::uint32_t device, const detail::WaitDescription& description,
                std::int64_t begin_ns) noexcept {
  TraceEvent event = event_of(device, "wait", description.what);
  event.phase = TraceEvent::Phase::slice;
  event.peer = description.peer;
  event.duration_ns = event.begin_ns - begin_ns;
  event.begin_ns = begin_ns;
  if (description.where.line() != 0) {
    event.detail = description.where.file_name();
    event.line = description.where.line();
  }
  tracer.add(event);
}

void trace_retries(Tracer& tracer, std::uint32_t device, std::size_t accepted) noexcept {
  TraceEvent event = event_of(device, "protocol", "posts of the backlog accepted");
  event.has_size = true;
  event.size = accepted;
  tracer.add(event);
}

}  // namespace weft::core
