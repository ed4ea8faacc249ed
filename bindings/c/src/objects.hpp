// What the opaque handles of the C interface stand for.
#pragma once

#include "call.hpp"

#include <weft_c/completion.h>
#include <weft_c/endpoint.h>

#include <weft/completion/completion.hpp>
#include <weft/device.hpp>
#include <weft/endpoint.hpp>
#include <weft/matching.hpp>
#include <weft/matching/context.hpp>
#include <weft/memory.hpp>
#include <weft/message.hpp>
#include <weft/runtime.hpp>
#include <weft/stream/stream.hpp>

#include <memory>
#include <string>
#include <variant>

struct weft_runtime {
  explicit weft_runtime(const weft::RuntimeOptions& options) : runtime(options) {}
  weft::Runtime runtime;
};

struct weft_device {
  weft_device(weft::Runtime& runtime, const weft::DeviceOptions& options) : device(runtime, options) {}
  weft::Device device;
};

struct weft_engine {
  weft_engine(weft::Runtime& runtime, const weft::MatchingEngineOptions& options)
      : engine(runtime, options) {}
  weft::MatchingEngine engine;
};

struct weft_region {
  weft::MemoryRegion region;
};

struct weft_context {
  explicit weft_context(weft::MatchingContext its_context) : context(std::move(its_context)) {}
  weft::MatchingContext context;
};

struct weft_endpoint {
  /// That of a stream, which owns it.
  weft_endpoint(weft::Runtime& its_runtime, weft::Stream& stream) : runtime(its_runtime), endpoint(&stream) {}
  template <class Bound>
  weft_endpoint(weft::Runtime& its_runtime, Bound& bound, bool is_serial) : runtime(its_runtime) {
    if (is_serial)
      endpoint.emplace<weft::SerialEndpoint>(bound);
    else
      endpoint.emplace<weft::Endpoint>(bound);
  }
  weft::Runtime& runtime;
  std::variant<std::monostate, weft::Endpoint, weft::SerialEndpoint, weft::Stream*> endpoint;
};

/// A completion object of any kind.
struct weft_completion {
  enum class Kind { queue, counter, synchronizer, handler, graph };

  template <class Object>
  weft_completion(Kind its_kind, std::unique_ptr<Object> its_object)
      : kind(its_kind), object(std::move(its_object)) {}
  const Kind kind;
  const std::unique_ptr<weft::Completion> object;
};

namespace weft::c {

/// Calls with the endpoint, of whichever kind it is; that of a stream is entered for the call.
template <class Call>
decltype(auto) with(weft_endpoint* handle, const Call& call) {
  auto& endpoint = present(handle, "endpoint").endpoint;
  if (auto* const serial = std::get_if<SerialEndpoint>(&endpoint)) return call(*serial);
  if (auto* const stream = std::get_if<Stream*>(&endpoint)) return (*stream)->with(call);
  return call(std::get<Endpoint>(endpoint));
}
/// with(), for waits: those of a stream attend to other streams as well.
template <class Call>
decltype(auto) waiting_with(weft_endpoint* handle, const Call& call) {
  auto& endpoint = present(handle, "endpoint").endpoint;
  if (auto* const stream = std::get_if<Stream*>(&endpoint)) return call(**stream);
  if (auto* const serial = std::get_if<SerialEndpoint>(&endpoint)) return call(*serial);
  return call(std::get<Endpoint>(endpoint));
}
/// with(), for `what` keeps the endpoint. Throws BadArgument for that of a stream.
template <class Call>
decltype(auto) with_own(weft_endpoint* handle, const char* what, const Call& call) {
  if (std::holds_alternative<Stream*>(present(handle, "endpoint").endpoint))
    throw BadArgument(std::string("endpoint is that of a stream, which ") + what +
                      " cannot have: streams in groups have collectives");
  return with(handle, call);
}

[[nodiscard]] inline weft_completion::Kind kind_of(const CompletionQueue*) noexcept {
  return weft_completion::Kind::queue;
}
[[nodiscard]] inline weft_completion::Kind kind_of(const Counter*) noexcept {
  return weft_completion::Kind::counter;
}
[[nodiscard]] inline weft_completion::Kind kind_of(const Synchronizer*) noexcept {
  return weft_completion::Kind::synchronizer;
}

/// The object, which must be of this kind.
template <class Object>
Object& of_kind(const weft_completion* handle, const char* name) {
  if (present(handle, name).kind != kind_of(static_cast<const Object*>(nullptr)))
    throw BadArgument(std::string(name) + " is a completion object of another kind");
  return static_cast<Object&>(*handle->object);
}

/// The object that a message's memory is.
[[nodiscard]] inline const Message& message_of(const weft_message* message) noexcept {
  return *reinterpret_cast<const Message*>(message);
}
[[nodiscard]] inline Message& message_of(weft_message* message) noexcept {
  return *reinterpret_cast<Message*>(message);
}
static_assert(sizeof(Message) <= sizeof(weft_message) && alignof(Message) <= alignof(weft_message));
/// Makes a message in memory of the program.
inline void store(weft_message& memory, Message&& message) noexcept {
  new (&memory) Message(std::move(message));
}

/// Of handles: id and generation above, the device below.
[[nodiscard]] inline RemoteCompletion remote_of(weft_remote bits) noexcept {
  return {static_cast<std::uint16_t>(bits >> 48), static_cast<std::uint16_t>(bits >> 32),
          static_cast<std::uint8_t>(bits)};
}

/// Makes an object and hands it over.
template <class Handle, class Make>
weft_result create(const char* function, Handle** handle, const char* name, const Make& make) noexcept {
  return guarded(function, [&] {
    present(handle, name);
    *handle = nullptr;
    *handle = make().release();
    return WEFT_OK;
  });
}

}  // namespace weft::c
