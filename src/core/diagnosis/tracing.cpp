// Trace events of posts and waits of a device; its port adds those of the network (traced_port.cpp).
#include "base/clock.hpp"
#include "core/runtime/device_state.hpp"

namespace weft::detail {

using core::TraceEvent;

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

void DeviceState::trace_post(Operation operation, int peer, std::uint64_t tag, std::size_t size,
                             Status status) noexcept {
  TraceEvent event = event_of(index_, "post", name_of_post(operation));
  event.peer = peer;
  event.has_tag = event.has_size = true;
  event.tag = tag;
  event.size = size;
  event.detail = status.is_done() ? "done" : status.is_posted() ? "posted" : name_of(status.reason());
  if (status.is_retry())
    context_.tracer->add_repeating(event);
  else
    context_.tracer->add(event);
}

void DeviceState::trace_wait(const WaitPlace& place, std::int64_t begin_ns) noexcept {
  TraceEvent event = event_of(index_, "wait", place.what);
  event.phase = TraceEvent::Phase::slice;
  event.peer = place.peer;
  event.duration_ns = event.begin_ns - begin_ns;
  event.begin_ns = begin_ns;
  if (place.where.line() != 0) {
    event.detail = place.where.file_name();
    event.line = place.where.line();
  }
  context_.tracer->add(event);
}

void DeviceState::trace_retries(std::size_t accepted) noexcept {
  TraceEvent event = event_of(index_, "protocol", "posts of the backlog accepted");
  event.has_size = true;
  event.size = accepted;
  context_.tracer->add(event);
}

}  // namespace weft::detail
