#include "post_options.hpp"

#include <cstring>

namespace weft::c {

namespace {

void refuse(bool is_set, const char* field) {
  if (is_set) throw BadArgument(std::string("options->") + field + " is set, and this operation has none");
}

void refuse_without(bool is_set, const char* field, const char* other) {
  if (is_set) throw BadArgument(std::string("options->") + field + " is set without options->" + other);
}

void check_below(std::uint64_t value, std::uint64_t end, const char* field) {
  if (value >= end)
    throw BadArgument(std::string("options->") + field + " is " + std::to_string(value) +
                      ": it must be 0 to " + std::to_string(end - 1));
}

}  // namespace

weft_options checked(const weft_options* given, unsigned fields) {
  const weft_options options = options_of(given, "options");
  check_below(options.flags, 8, "flags");
  check_below(options.message_class, 3, "message_class");
  check_below(options.policy, 4, "policy");
  refuse((fields & kTag) == 0 && options.tag != 0, "tag");
  refuse((fields & kClass) == 0 && options.message_class != 0, "message_class");
  refuse((fields & kMatching) == 0 && (options.policy != 0 || options.engine != 0), "policy or engine");
  refuse((fields & kMatching) == 0 && options.context != nullptr, "context");
  if (options.context == nullptr) refuse_without(options.part != 0, "part", "context");
  if (options.context != nullptr && options.engine != 0)
    throw BadArgument("options->engine is " + std::to_string(options.engine) +
                      ", and options->context is set: a context has an engine of its own");
  refuse((fields & kSend) == 0 && (options.flags & WEFT_SYNCHRONOUS) != 0, "flags, WEFT_SYNCHRONOUS");
  refuse((fields & kSend) == 0 && options.send_handle != nullptr, "send_handle");
  refuse((fields & kDevice) == 0 && options.device != 0, "device");
  refuse((fields & kMask) == 0 && options.ignored_tag_bits != 0, "ignored_tag_bits");
  refuse((fields & kHandle) == 0 && options.handle != nullptr, "handle");
  refuse((fields & kSignal) == 0 && options.signal != 0, "signal");
  refuse((fields & kRegion) == 0 && options.region != nullptr, "region");
  refuse((fields & kCompletion) == 0 && (options.completion != nullptr || options.user_data != nullptr),
         "completion or user_data");
  refuse((fields & kTimeout) == 0 && options.timeout_ns != 0, "timeout_ns");
  return options;
}

ActiveMessageOptions active_message_options(const weft_options* given) {
  const weft_options options = checked(given, kCompletion | kTimeout | kTag | kClass | kRegion);
  return {.completion = completion_of(options),
          .user_data = options.user_data,
          .tag = options.tag,
          .may_retry = may_retry(options),
          .may_complete_now = may_complete_now(options),
          .message_class = static_cast<MessageClass>(options.message_class),
          .timeout = Timeout::of_nanoseconds(options.timeout_ns),
          .region = local_region_of(options)};
}

SendOptions send_options(const weft_options* given) {
  const weft_options options =
      checked(given, kCompletion | kTimeout | kClass | kMatching | kDevice | kSend | kRegion);
  return {.completion = completion_of(options),
          .user_data = options.user_data,
          .policy = static_cast<MatchingPolicy>(options.policy),
          .engine = options.engine,
          .device = options.device,
          .may_retry = may_retry(options),
          .may_complete_now = may_complete_now(options),
          .message_class = static_cast<MessageClass>(options.message_class),
          .timeout = Timeout::of_nanoseconds(options.timeout_ns),
          .synchronous = (options.flags & WEFT_SYNCHRONOUS) != 0,
          .handle = handle_at<SendHandle>(options.send_handle),
          .region = local_region_of(options)};
}

ContextTag tag_in_context(const weft_options& options, std::uint64_t tag) {
  const MatchingContext& context = present(options.context, "options->context").context;
  if (tag == WEFT_ANY_TAG && options.part == 0 && context.count() == 1) return context.any_tag();
  if (tag > UINT32_MAX)
    throw BadArgument("tag is " + std::to_string(tag) +
                      ": in a context it must be below 2^32, or WEFT_ANY_TAG where the context has one part");
  return context.tag(static_cast<std::uint32_t>(tag), options.part);
}

ReceiveOptions receive_options(const weft_options* given) {
  const weft_options options = checked(given, kCompletion | kTimeout | kMatching | kMask | kHandle);
  return {.completion = completion_of(options),
          .user_data = options.user_data,
          .policy = static_cast<MatchingPolicy>(options.policy),
          .engine = options.engine,
          .may_retry = may_retry(options),
          .may_complete_now = may_complete_now(options),
          .handle = handle_at<ReceiveHandle>(options.handle),
          .timeout = Timeout::of_nanoseconds(options.timeout_ns),
          .tag_mask = ~options.ignored_tag_bits};
}

namespace {

ReceiveOptions matching_options(const weft_options& options) {
  return {.policy = static_cast<MatchingPolicy>(options.policy),
          .engine = options.engine,
          .timeout = Timeout::of_nanoseconds(options.timeout_ns),
          .tag_mask = ~options.ignored_tag_bits};
}

}  // namespace

ReceiveOptions waiting_receive_options(const weft_options* given) {
  return matching_options(checked(given, kTimeout | kMatching | kMask));
}

ReceiveOptions probe_options(const weft_options* given) {
  return matching_options(checked(given, kMatching | kMask));
}

namespace {

AccessOptions access_options(const weft_options* given, unsigned more_fields) {
  const weft_options options =
      checked(given, kCompletion | kTimeout | kTag | kDevice | kSignal | more_fields);
  return {.completion = completion_of(options),
          .user_data = options.user_data,
          .signal = remote_of(options.signal),
          .tag = options.tag,
          .device = options.device,
          .may_retry = may_retry(options),
          .may_complete_now = may_complete_now(options),
          .timeout = Timeout::of_nanoseconds(options.timeout_ns),
          .region = local_region_of(options)};
}

}  // namespace

AccessOptions access_options(const weft_options* given) { return access_options(given, kRegion); }
AccessOptions atomic_options(const weft_options* given) { return access_options(given, 0); }

ReceiveOptions posted_receive_options(const weft_options* given) {
  const ReceiveOptions own = receive_options(given);
  if (own.completion == nullptr)
    throw BadArgument("options->completion is null: a receive that is posted needs a completion object");
  return own;
}

static_assert(sizeof(weft_remote_region) == sizeof(RemoteRegion));

RemoteRegion region_of(const weft_remote_region* key, const char* name) {
  RemoteRegion region;
  std::memcpy(static_cast<void*>(&region), &present(key, name), sizeof region);
  return region;
}

RemoteAddress address_of(const weft_remote_region* key, std::uint64_t offset, const char* name) {
  return region_of(key, name).at(offset);
}

}  // namespace weft::c
