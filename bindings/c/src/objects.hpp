// What the opaque handles of the C interface stand for.
#pragma once

#include "call/call.hpp"
#include "call/serial_use.hpp"

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
#include <type_traits>
#include <variant>

struct weft_runtime : weft::c::Handle<weft::c::HandleKind::runtime> {
  explicit weft_runtime(const weft::RuntimeOptions& options) : runtime(options) {}
  weft::Runtime runtime;
};

struct weft_device : weft::c::Handle<weft::c::HandleKind::device> {
  weft_device(weft::Runtime& its_runtime, const weft::DeviceOptions& options)
      : runtime(its_runtime), device(its_runtime, options) {}
  weft::Runtime& runtime;
  weft::Device device;
};

struct weft_engine : weft::c::Handle<weft::c::HandleKind::engine> {
  weft_engine(weft::Runtime& runtime, const weft::MatchingEngineOptions& options)
      : engine(runtime, options) {}
  weft::MatchingEngine engine;
};

struct weft_region : weft::c::Handle<weft::c::HandleKind::region> {
  explicit weft_region(weft::MemoryRegion its_region) : region(std::move(its_region)) {}
  weft::MemoryRegion region;
};

struct weft_context : weft::c::Handle<weft::c::HandleKind::context> {
  explicit weft_context(weft::MatchingContext its_context) : context(std::move(its_context)) {}
  weft::MatchingContext context;
};

struct weft_endpoint : weft::c::Handle<weft::c::HandleKind::endpoint> {
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
  weft::c::SerialUse use;  // of a SerialEndpoint
};

/// A completion object of any kind.
struct weft_completion : weft::c::Handle<weft::c::HandleKind::completion> {
  enum class Kind { queue, counter, synchronizer, handler, graph };

  template <class Object>
  weft_completion(Kind its_kind, std::unique_ptr<Object> its_object)
      : kind(its_kind), object(std::move(its_object)) {}
  const Kind kind;
  const std::unique_ptr<weft::Completion> object;
};

namespace weft::c {

/// The object of a handle that is used together with a runtime. Throws BadArgument for that of another one.
template <class Object>
Object& present_in(const Runtime& runtime, Object* handle, const char* name) {
  Object& there = present(handle, name);
  if (&there.runtime != &runtime) throw BadArgument(std::string(name) + " belongs to another runtime");
  return there;
}

/// Calls with the endpoint, of whichever kind it is, or with the stream of which it is.
template <class Call>
decltype(auto) with_endpoint_or_stream(weft_endpoint* handle, const Call& call) {
  weft_endpoint& there = present(handle, "endpoint");
  if (auto* const serial = std::get_if<SerialEndpoint>(&there.endpoint)) {
    const SerialUse::Entry entry(there.use);
    return call(*serial);
  }
  if (auto* const stream = std::get_if<Stream*>(&there.endpoint)) return call(**stream);
  return call(std::get<Endpoint>(there.endpoint));
}
/// Calls with the endpoint; that of a stream is entered for the call.
template <class Call>
decltype(auto) with(weft_endpoint* handle, const Call& call) {
  return with_endpoint_or_stream(handle, [&](auto& there) -> decltype(auto) {
    if constexpr (std::is_same_v<decltype(there), Stream&>)
      return there.with(call);
    else
      return call(there);
  });
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

/// The object; null where there is none. Throws BadArgument.
[[nodiscard]] inline Completion* completion_in(weft_completion* handle, const char* name) {
  return handle != nullptr ? present(handle, name).object.get() : nullptr;
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

[[nodiscard]] inline weft_probed probed(const ProbedMessage& found) noexcept {
  return {.tag = found.tag, .length = found.length, .peer = found.peer, .reserved = 0};
}

/// Of handles: id and generation above, the device below.
[[nodiscard]] inline RemoteCompletion remote_of(weft_remote bits) noexcept {
  return {static_cast<std::uint16_t>(bits >> 48), static_cast<std::uint16_t>(bits >> 32),
          static_cast<std::uint8_t>(bits)};
}

/// Destroys the object of a handle, after `check(object)`, which may throw BadArgument; null has none.
template <class Object, class Check>
weft_result destroy(const char* function, Object* handle, const char* name, const Check& check) noexcept {
  if (handle == nullptr) return WEFT_OK;
  return guarded(function, [&] {
    check(present(handle, name));
    delete handle;
    return WEFT_OK;
  });
}
template <class Object>
weft_result destroy(const char* function, Object* handle, const char* name) noexcept {
  return destroy(function, handle, name, [](const Object&) {});
}
/// Throws BadArgument for the handle of a part, which its `owner` destroys.
inline void refuse_borrowed(bool is_borrowed, const char* name, const char* owner) {
  if (is_borrowed)
    throw BadArgument(std::string(name) + " belongs to " + owner + ", with which it is destroyed");
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
