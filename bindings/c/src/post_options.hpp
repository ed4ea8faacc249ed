// The options of operations as the library takes them, made of those of the C interface.
#pragma once

#include "objects.hpp"

#include <weft_c/memory.h>

#include <cstring>
#include <new>
#include <type_traits>

namespace weft::c {

/// Fields of weft_options that only some operations have.
enum Field : unsigned {
  kTag = 1,
  kClass = 2,
  kMatching = 4,  // policy, engine
  kDevice = 8,
  kMask = 16,
  kHandle = 32,
  kSignal = 64,
  kCompletion = 128,  // and user_data
  kTimeout = 256,
  kSend = 512,  // synchronous, send_handle
  kRegion = 1024,
};

/// Throws BadArgument for a value that is none, and for a field that the operation does not have.
[[nodiscard]] weft_options checked(const weft_options* given, unsigned fields);

[[nodiscard]] inline Completion* completion_of(const weft_options& options) {
  return completion_in(options.completion, "options->completion");
}
[[nodiscard]] inline bool may_complete_now(const weft_options& options) noexcept {
  return (options.flags & WEFT_MAY_COMPLETE_NOW) != 0;
}
[[nodiscard]] inline bool may_retry(const weft_options& options) noexcept {
  return (options.flags & WEFT_NO_RETRY) == 0;
}

/// The region that holds the local buffer of an operation, if the options name one.
[[nodiscard]] inline LocalRegion local_region_of(const weft_options& options) {
  return options.region == nullptr ? LocalRegion()
                                   : LocalRegion(present(options.region, "options->region").region);
}

[[nodiscard]] ActiveMessageOptions active_message_options(const weft_options* given);
[[nodiscard]] SendOptions send_options(const weft_options* given);
[[nodiscard]] ReceiveOptions receive_options(const weft_options* given);
/// With a completion object, which graphs supply themselves.
[[nodiscard]] ReceiveOptions posted_receive_options(const weft_options* given);
/// Of receives that wait, and of probes.
[[nodiscard]] ReceiveOptions waiting_receive_options(const weft_options* given);
[[nodiscard]] ReceiveOptions probe_options(const weft_options* given);
/// Of puts and gets.
[[nodiscard]] AccessOptions access_options(const weft_options* given);
[[nodiscard]] AccessOptions atomic_options(const weft_options* given);

/// Throws BadArgument for a tag that no context has.
[[nodiscard]] ContextTag tag_in_context(const weft_options& options, std::uint64_t tag);
/// Calls with the tag, or with the tag in the context that the options name. After the options were checked.
template <class Call>
decltype(auto) with_tag(const weft_options* given, std::uint64_t tag, const Call& call) {
  const weft_options options = options_of(given, "options");
  if (options.context == nullptr) return call(tag);
  return call(tag_in_context(options, tag));
}

/// Makes a handle in the memory of the program, where the library fills it before the post returns, and a
/// wait before it waits; null: none is wanted.
template <class Handle, class Memory>
[[nodiscard]] Handle* handle_at(Memory* memory) noexcept {
  static_assert(sizeof(Handle) <= sizeof(Memory) && alignof(Handle) <= alignof(Memory));
  static_assert(std::is_trivially_copyable_v<Handle>);
  if (memory == nullptr) return nullptr;
  *memory = {};
  return new (memory) Handle;
}
/// The handle in that memory, wherever the program has copied it. Throws BadArgument.
template <class Handle, class Memory>
[[nodiscard]] Handle handle_in(const Memory* memory) {
  Handle handle;
  std::memcpy(static_cast<void*>(&handle), &present(memory, "handle"), sizeof handle);
  return handle;
}

/// A region of a peer, and an offset in it.
[[nodiscard]] RemoteRegion region_of(const weft_remote_region* key, const char* name);
[[nodiscard]] RemoteAddress address_of(const weft_remote_region* key, std::uint64_t offset, const char* name);

/// Bytes of the program. Throws BadArgument for none at null.
[[nodiscard]] inline Bytes bytes_at(const void* data, std::size_t size, const char* name) {
  if (size != 0) present(static_cast<const char*>(data), name);
  return {static_cast<const std::byte*>(data), size};
}
[[nodiscard]] inline MutableBytes buffer_at(void* data, std::size_t size, const char* name) {
  if (size != 0) present(static_cast<char*>(data), name);
  return {static_cast<std::byte*>(data), size};
}

}  // namespace weft::c
