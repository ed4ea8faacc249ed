#include "objects.hpp"
#include "post_options.hpp"

using namespace weft::c;

namespace {

weft_result waited(bool has_held) { return has_held ? WEFT_OK : WEFT_TIMED_OUT; }

template <class Condition>
weft_result wait_for(weft_endpoint* endpoint, int64_t timeout_ns, const Condition& condition) {
  return with_endpoint_or_stream(endpoint, [&](auto& there) {
    if (timeout_ns == 0) {
      there.wait_until(condition);
      return WEFT_OK + 0;
    }
    return waited(there.wait_for(condition, weft::Timeout::of_nanoseconds(timeout_ns)));
  });
}

}  // namespace

extern "C" {

weft_result weft_endpoint_create(weft_runtime* runtime, const weft_endpoint_options* given,
                                 weft_endpoint** endpoint) {
  return create(__func__, endpoint, "endpoint", [&] {
    const weft_endpoint_options options = options_of(given, "options");
    if (options.flags > WEFT_SERIAL)
      throw BadArgument("options->flags is " + std::to_string(options.flags) +
                        ": it must be 0 or WEFT_SERIAL");
    const bool is_serial = options.flags == WEFT_SERIAL;
    weft::Runtime& there = present(runtime, "runtime").runtime;
    return options.device != nullptr
               ? std::make_unique<weft_endpoint>(
                     there, present_in(there, options.device, "options->device").device, is_serial)
               : std::make_unique<weft_endpoint>(there, there, is_serial);
  });
}

weft_result weft_endpoint_destroy(weft_endpoint* endpoint) {
  return destroy(__func__, endpoint, "endpoint", [](weft_endpoint& which) {
    refuse_borrowed(std::holds_alternative<weft::Stream*>(which.endpoint), "endpoint", "a stream");
    const SerialUse::Entry nobody_is_inside(which.use);
  });
}

weft_result weft_post_am(weft_endpoint* endpoint, int peer, weft_remote remote, const void* data, size_t size,
                         const weft_options* options) {
  return guarded(__func__, [&] {
    const auto own = active_message_options(options);
    return with(endpoint, [&](auto& there) {
      return result_of(there.post_am(peer, remote_of(remote), bytes_at(data, size, "data"), own));
    });
  });
}

weft_result weft_send_am(weft_endpoint* endpoint, int peer, weft_remote remote, const void* data, size_t size,
                         const weft_options* options) {
  return guarded(__func__, [&] {
    const auto own = active_message_options(options);
    return with(endpoint, [&](auto& there) {
      return result_of(there.send_am(peer, remote_of(remote), bytes_at(data, size, "data"), own));
    });
  });
}

weft_result weft_post_send(weft_endpoint* endpoint, int peer, uint64_t tag, const void* data, size_t size,
                           const weft_options* options) {
  return guarded(__func__, [&] {
    const auto own = send_options(options);
    return with(endpoint, [&](auto& there) {
      return with_tag(options, tag, [&](const auto& what) {
        return result_of(there.post_send(peer, what, bytes_at(data, size, "data"), own));
      });
    });
  });
}

weft_result weft_send(weft_endpoint* endpoint, int peer, uint64_t tag, const void* data, size_t size,
                      const weft_options* options) {
  return guarded(__func__, [&] {
    const auto own = send_options(options);
    return with(endpoint, [&](auto& there) {
      return with_tag(options, tag, [&](const auto& what) {
        return result_of(there.send(peer, what, bytes_at(data, size, "data"), own));
      });
    });
  });
}

weft_result weft_post_receive(weft_endpoint* endpoint, int source, uint64_t tag, void* buffer, size_t size,
                              const weft_options* options) {
  return guarded(__func__, [&] {
    const auto own = posted_receive_options(options);
    return with(endpoint, [&](auto& there) {
      return with_tag(options, tag, [&](const auto& what) {
        return result_of(there.post_receive(source, what, buffer_at(buffer, size, "buffer"), own));
      });
    });
  });
}

weft_result weft_receive(weft_endpoint* endpoint, int source, uint64_t tag, void* buffer, size_t size,
                         const weft_options* options, weft_message* message) {
  return guarded(__func__, [&] {
    const auto own = waiting_receive_options(options);
    return with(endpoint, [&](auto& there) {
      weft::Message received = with_tag(options, tag, [&](const auto& what) {
        return there.receive(source, what, buffer_at(buffer, size, "buffer"), own);
      });
      const weft_result result = result_of(received.outcome());
      if (message != nullptr) weft::c::store(*message, std::move(received));
      return result;
    });
  });
}

int weft_cancel(weft_endpoint* endpoint, const weft_receive_handle* handle) {
  return guarded(__func__, [&] {
    const auto own = handle_in<weft::ReceiveHandle>(handle);
    return with(endpoint, [&](auto& there) { return there.cancel(own) ? 1 : 0; });
  });
}

int weft_cancel_send(weft_endpoint* endpoint, const weft_send_handle* handle) {
  return guarded(__func__, [&] {
    const auto own = handle_in<weft::SendHandle>(handle);
    return with(endpoint, [&](auto& there) { return there.cancel(own) ? 1 : 0; });
  });
}

weft_result weft_probe(weft_endpoint* endpoint, int source, uint64_t tag, const weft_options* options,
                       weft_probed* found) {
  return guarded(__func__, [&]() -> weft_result {
    const auto own = probe_options(options);
    present(found, "found");
    weft::ProbedMessage there_is;
    const bool is_there = with(endpoint, [&](auto& there) {
      return with_tag(options, tag,
                      [&](const auto& what) { return there.probe(source, what, there_is, own); });
    });
    if (!is_there) return WEFT_NOTHING;
    *found = probed(there_is);
    return WEFT_OK;
  });
}

weft_result weft_wait_probe(weft_endpoint* endpoint, int source, uint64_t tag, const weft_options* options,
                            weft_probed* found) {
  return guarded(__func__, [&] {
    const auto own = waiting_receive_options(options);
    present(found, "found");
    weft::ProbedMessage there_is;
    const weft_result result = with(endpoint, [&](auto& there) {
      return with_tag(options, tag, [&](const auto& what) {
        return result_of(there.wait_probe(source, what, there_is, own));
      });
    });
    if (result == WEFT_OK) *found = probed(there_is);
    return result;
  });
}

size_t weft_progress(weft_endpoint* endpoint) {
  return guarded_or<size_t>(__func__, 0, [&] {
    return with_endpoint_or_stream(endpoint, [](auto& there) { return there.progress(); });
  });
}

weft_result weft_wait_queue(weft_endpoint* endpoint, weft_completion* queue, int64_t timeout_ns,
                            weft_message* message) {
  return guarded(__func__, [&] {
    auto& object = of_kind<weft::CompletionQueue>(queue, "queue");
    present(message, "message");
    weft::Message popped;
    const weft_result result = wait_for(endpoint, timeout_ns, [&] { return object.pop(popped); });
    if (result == WEFT_OK) weft::c::store(*message, std::move(popped));
    return result;
  });
}

weft_result weft_wait_counter(weft_endpoint* endpoint, weft_completion* counter, uint64_t target,
                              int64_t timeout_ns) {
  return guarded(__func__, [&] {
    auto& object = of_kind<weft::Counter>(counter, "counter");
    return with_endpoint_or_stream(endpoint, [&](auto& there) {
      if (timeout_ns == 0) {
        there.wait(object, target);
        return WEFT_OK + 0;
      }
      const auto timeout = weft::Timeout::of_nanoseconds(timeout_ns);
      if constexpr (requires { there.wait_for(object, target, timeout); })
        return waited(there.wait_for(object, target, timeout));
      else
        return waited(there.wait_for([&] { return object.value() >= target; }, timeout));
    });
  });
}

weft_result weft_wait_synchronizer(weft_endpoint* endpoint, weft_completion* synchronizer,
                                   int64_t timeout_ns) {
  return guarded(__func__, [&] {
    auto& object = of_kind<weft::Synchronizer>(synchronizer, "synchronizer");
    return with_endpoint_or_stream(endpoint, [&](auto& there) {
      if (timeout_ns != 0) return waited(there.wait_for(object, weft::Timeout::of_nanoseconds(timeout_ns)));
      there.wait_ready(object);
      return WEFT_OK + 0;
    });
  });
}

weft_result weft_wait_until(weft_endpoint* endpoint, weft_condition condition, void* context,
                            int64_t timeout_ns) {
  return guarded(__func__, [&] {
    if (condition == nullptr) throw BadArgument("condition is null");
    return wait_for(endpoint, timeout_ns, [&] { return condition(context) != 0; });
  });
}

weft_result weft_wait_drained(weft_endpoint* endpoint, int64_t timeout_ns) {
  return guarded(__func__, [&] {
    return with(endpoint, [&](auto& there) {
      if (timeout_ns != 0) return waited(there.wait_drained(weft::Timeout::of_nanoseconds(timeout_ns)));
      there.wait_drained();
      return WEFT_OK + 0;
    });
  });
}

int weft_drained(const weft_endpoint* endpoint) {
  return guarded(__func__, [&] {
    return with(const_cast<weft_endpoint*>(endpoint), [](auto& there) { return there.drained() ? 1 : 0; });
  });
}

}  // extern "C"
