#include <weft_c/stream.h>

#include "collective.hpp"
#include "objects.hpp"
#include "post_options.hpp"

#include <weft/stream/stream_group.hpp>

#include <memory>
#include <mutex>
#include <vector>

using namespace weft::c;

struct weft_stream : Handle<HandleKind::stream> {
  weft_stream(weft::Runtime& its_runtime, weft::Stream&& its_stream)
      : runtime(its_runtime),
        stream(std::move(its_stream)),
        endpoint(std::make_unique<weft_endpoint>(its_runtime, stream)) {}
  weft::Runtime& runtime;
  weft::Stream stream;
  const std::unique_ptr<weft_endpoint> endpoint;
  bool is_closed = false;
};

struct weft_stream_group : Handle<HandleKind::stream_group> {
  explicit weft_stream_group(weft::StreamGroup&& its_group) : group(std::move(its_group)) {
    const std::uint32_t own = group.streams_of(group.rank());
    for (std::uint32_t index = 0; index < own; ++index) members.push_back(group.member(index));
  }
  weft::StreamGroup group;
  std::vector<weft::GroupStream> members;
  std::mutex mutex;  // guards `collective`, for which several threads may ask
  std::unique_ptr<weft_collective> collective;
};

namespace {

weft::Stream& stream_in(weft_stream* stream) { return present(stream, "stream").stream; }

weft::GroupStream& member_of(weft_stream_group* group, std::uint32_t index) {
  auto& members = present(group, "group").members;
  if (index >= members.size())
    throw BadArgument("index is " + std::to_string(index) + ": this rank has " +
                      std::to_string(members.size()) + " streams in the group");
  return members[index];
}

weft::StreamAddress own_address(weft_stream_address address) noexcept {
  return {address.rank, address.index};
}

/// What a group supplies is not set.
void check_free(const weft_options* given) {
  const weft_options options = options_of(given, "options");
  if (options.engine != 0 || options.policy != 0 || options.device != 0 || options.context != nullptr ||
      options.ignored_tag_bits != 0)
    throw BadArgument(
        "options has an engine, policy, device, context or ignored_tag_bits: streams of a group have their "
        "own");
}

std::uint32_t checked_tag(std::uint64_t tag) {
  if (tag > UINT32_MAX)
    throw BadArgument("tag is " + std::to_string(tag) +
                      ": in a group of streams it must be below 2^32, or WEFT_ANY_TAG of a receive or probe");
  return static_cast<std::uint32_t>(tag);
}

/// Calls with the tag of a receive.
template <class Call>
decltype(auto) with_stream_tag(std::uint64_t tag, const Call& call) {
  if (tag == WEFT_ANY_TAG) return call(weft::any_tag);
  return call(checked_tag(tag));
}

}  // namespace

extern "C" {

weft_result weft_stream_create(weft_runtime* runtime, const weft_stream_options* given,
                               weft_stream** stream) {
  return create(__func__, stream, "stream", [&] {
    const weft_stream_options options = options_of(given, "options");
    weft::StreamOptions own;
    if (options.device != 0) own.device = options.device;
    weft::Runtime& there = present(runtime, "runtime").runtime;
    return std::make_unique<weft_stream>(there, weft::Stream(there, own));
  });
}

weft_result weft_stream_null(weft_runtime* runtime, weft_stream** stream) {
  return create(__func__, stream, "stream", [&] {
    weft::Runtime& there = present(runtime, "runtime").runtime;
    return std::make_unique<weft_stream>(there, weft::Stream::null(there));
  });
}

weft_result weft_stream_destroy(weft_stream* stream) {
  return destroy(__func__, stream, "stream", [](weft_stream& which) {
    // Throws where another thread is inside.
    if (!which.is_closed && !which.stream.is_null()) static_cast<void>(which.stream.enter());
  });
}

weft_result weft_stream_close(weft_stream* stream) {
  return guarded(__func__, [&] {
    stream_in(stream).close();
    stream->is_closed = true;
    return WEFT_OK;
  });
}

uint32_t weft_stream_index(const weft_stream* stream) {
  return guarded_or<uint32_t>(__func__, UINT32_MAX, [&] { return present(stream, "stream").stream.index(); });
}

weft_endpoint* weft_stream_endpoint(weft_stream* stream) {
  return guarded_or<weft_endpoint*>(__func__, nullptr,
                                    [&] { return present(stream, "stream").endpoint.get(); });
}

weft_result weft_stream_group_create(weft_runtime* runtime, weft_stream* const* streams, size_t count,
                                     const weft_stream_group_options* given, weft_stream_group** group) {
  return create(__func__, group, "group", [&] {
    const weft_stream_group_options options = options_of(given, "options");
    weft::Runtime& there = present(runtime, "runtime").runtime;
    if (count != 0) present(streams, "streams");
    std::vector<weft::Stream*> own;
    for (std::size_t index = 0; index < count; ++index)
      own.push_back(streams[index] != nullptr ? &present_in(there, streams[index], "a stream").stream
                                              : nullptr);
    return std::make_unique<weft_stream_group>(
        weft::StreamGroup(there, own, {.collective_index = options.collective_index}));
  });
}

weft_result weft_stream_group_duplicate(const weft_stream_group* group, weft_stream_group** copy) {
  return create(__func__, copy, "copy", [&] {
    return std::make_unique<weft_stream_group>(present(group, "group").group.duplicate());
  });
}

weft_result weft_stream_group_destroy(weft_stream_group* group) { return destroy(__func__, group, "group"); }

int weft_stream_group_streams(const weft_stream_group* group, int rank) {
  return guarded(__func__, [&] { return static_cast<int>(present(group, "group").group.streams_of(rank)); });
}

weft_collective* weft_stream_group_collective(weft_stream_group* group) {
  return guarded_or<weft_collective*>(__func__, nullptr, [&] {
    auto& own = present(group, "group");
    const std::lock_guard lock(own.mutex);
    if (own.collective == nullptr) own.collective = std::make_unique<weft_collective>(own.group.collective());
    return own.collective.get();
  });
}

weft_result weft_stream_post_send(weft_stream_group* group, uint32_t index, weft_stream_address to,
                                  uint64_t tag, const void* data, size_t size, const weft_options* options) {
  return guarded(__func__, [&] {
    check_free(options);
    const auto own = send_options(options);
    return result_of(member_of(group, index)
                         .post_send(own_address(to), checked_tag(tag), bytes_at(data, size, "data"), own));
  });
}

weft_result weft_stream_send(weft_stream_group* group, uint32_t index, weft_stream_address to, uint64_t tag,
                             const void* data, size_t size, const weft_options* options) {
  return guarded(__func__, [&] {
    check_free(options);
    const auto own = send_options(options);
    return result_of(
        member_of(group, index).send(own_address(to), checked_tag(tag), bytes_at(data, size, "data"), own));
  });
}

weft_result weft_stream_post_receive(weft_stream_group* group, uint32_t index, weft_stream_address from,
                                     uint64_t tag, void* buffer, size_t size, const weft_options* options) {
  return guarded(__func__, [&] {
    check_free(options);
    const auto own = posted_receive_options(options);
    weft::GroupStream& member = member_of(group, index);
    return with_stream_tag(tag, [&](auto what) {
      return result_of(member.post_receive(own_address(from), what, buffer_at(buffer, size, "buffer"), own));
    });
  });
}

weft_result weft_stream_receive(weft_stream_group* group, uint32_t index, weft_stream_address from,
                                uint64_t tag, void* buffer, size_t size, const weft_options* options,
                                weft_message* message) {
  return guarded(__func__, [&] {
    check_free(options);
    const auto own = waiting_receive_options(options);
    weft::GroupStream& member = member_of(group, index);
    weft::Message received = with_stream_tag(tag, [&](auto what) {
      return member.receive(own_address(from), what, buffer_at(buffer, size, "buffer"), own);
    });
    const weft_result result = result_of(received.outcome());
    if (message != nullptr) store(*message, std::move(received));
    return result;
  });
}

int weft_stream_cancel(weft_stream_group* group, uint32_t index, const weft_receive_handle* handle) {
  return guarded(__func__, [&] {
    return member_of(group, index).cancel(handle_in<weft::ReceiveHandle>(handle)) ? 1 : 0;
  });
}

int weft_stream_cancel_send(weft_stream_group* group, uint32_t index, const weft_send_handle* handle) {
  return guarded(__func__,
                 [&] { return member_of(group, index).cancel(handle_in<weft::SendHandle>(handle)) ? 1 : 0; });
}

weft_result weft_stream_probe(weft_stream_group* group, uint32_t index, weft_stream_address from,
                              uint64_t tag, weft_probed* found) {
  return guarded(__func__, [&]() -> weft_result {
    present(found, "found");
    weft::ProbedMessage there_is;
    weft::GroupStream& member = member_of(group, index);
    if (!with_stream_tag(tag, [&](auto what) { return member.probe(own_address(from), what, there_is); }))
      return WEFT_NOTHING;
    *found = probed(there_is);
    return WEFT_OK;
  });
}

weft_stream_address weft_stream_sender(const weft_stream_group* group, const weft_message* message) {
  constexpr weft_stream_address kNobody{WEFT_ANY_SOURCE, WEFT_ANY_INDEX};
  return guarded_or(__func__, kNobody, [&]() -> weft_stream_address {
    const auto& members = present(group, "group").members;
    const weft::Message& own = message_of(&present(message, "message"));
    if (members.empty()) throw BadArgument("group has no stream of this rank, which could have received");
    const weft::StreamAddress sender = members.front().sender_of(own);
    return {sender.rank, sender.index};
  });
}

}  // extern "C"
