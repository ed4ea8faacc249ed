#include "objects.hpp"
#include "post_options.hpp"

using namespace weft::c;

static_assert(static_cast<int>(weft::Operation::active_message) == WEFT_ACTIVE_MESSAGE);
static_assert(static_cast<int>(weft::Operation::receive) == WEFT_RECEIVE);
static_assert(static_cast<int>(weft::Operation::put_arrived) == WEFT_PUT_ARRIVED);
static_assert(static_cast<int>(weft::Operation::atomic_arrived) == WEFT_ATOMIC_ARRIVED);
static_assert(static_cast<int>(weft::Operation::graph) == WEFT_GRAPH);
static_assert(static_cast<int>(weft::Operation::peer_failure) == WEFT_PEER_FAILURE);

namespace {

/// What the message says, or `otherwise` where there is none.
template <class Answer, class Say>
Answer said(const char* function, const weft_message* message, Answer otherwise, const Say& say) noexcept {
  return guarded_or(function, otherwise,
                    [&] { return static_cast<Answer>(say(message_of(&present(message, "message")))); });
}

void store(const weft::Payload& payload, weft_payload& memory) noexcept {
  memory = {.data = payload.data,
            .size = payload.size,
            .words = {reinterpret_cast<std::uintptr_t>(payload.owner), payload.cookie}};
}

weft::Payload payload_in(const weft_payload* memory) noexcept {
  return {.data = static_cast<std::byte*>(memory->data),
          .size = memory->size,
          .owner = reinterpret_cast<weft::PayloadOwner*>(static_cast<std::uintptr_t>(memory->words[0])),
          .cookie = memory->words[1]};
}

weft::MessageFields own_fields(const weft_message_fields& fields) {
  if (fields.operation > WEFT_PEER_FAILURE || fields.operation == WEFT_MULTIPART_MESSAGE ||
      fields.operation == WEFT_PARTS)
    throw BadArgument(
        "fields->operation is " + std::to_string(fields.operation) +
        ": it must be one of weft_operation, and neither WEFT_MULTIPART_MESSAGE nor WEFT_PARTS");
  if (fields.device > 255)
    throw BadArgument("fields->device is " + std::to_string(fields.device) + ": it must be 0 to 255");
  if (fields.outcome != WEFT_OK && outcome_of(fields.outcome) == weft::Outcome::refused &&
      fields.outcome != WEFT_REFUSED)
    throw BadArgument("fields->outcome is " + std::to_string(fields.outcome) +
                      ": it must be how something has ended");
  return {.operation = static_cast<weft::Operation>(fields.operation),
          .outcome = outcome_of(fields.outcome),
          .peer = fields.peer,
          .tag = fields.tag,
          .bytes = bytes_at(fields.data, fields.data_size, "fields->data"),
          .user_data = fields.user_data,
          .device = fields.device,
          .remote = remote_of(fields.remote),
          .length = fields.length};
}

}  // namespace

extern "C" {

weft_operation weft_message_operation(const weft_message* message) {
  return said(__func__, message, WEFT_NO_OPERATION, [](const auto& own) { return own.operation(); });
}

weft_result weft_message_outcome(const weft_message* message) {
  return guarded(__func__, [&] { return result_of(message_of(&present(message, "message")).outcome()); });
}

int weft_message_peer(const weft_message* message) {
  return said(__func__, message, -1, [](const auto& own) { return own.peer(); });
}

uint64_t weft_message_tag(const weft_message* message) {
  return said(__func__, message, uint64_t{0}, [](const auto& own) { return own.tag(); });
}

const void* weft_message_data(const weft_message* message) {
  return said<const void*>(__func__, message, nullptr, [](const auto& own) { return own.data(); });
}

size_t weft_message_size(const weft_message* message) {
  return said(__func__, message, size_t{0}, [](const auto& own) { return own.size(); });
}

size_t weft_message_length(const weft_message* message) {
  return said(__func__, message, size_t{0}, [](const auto& own) { return own.length(); });
}

void* weft_message_user_data(const weft_message* message) {
  return said<void*>(__func__, message, nullptr, [](const auto& own) { return own.user_data(); });
}

uint32_t weft_message_device(const weft_message* message) {
  return said(__func__, message, UINT32_MAX, [](const auto& own) { return own.device(); });
}

weft_remote weft_message_remote(const weft_message* message) {
  return said(__func__, message, weft_remote{0}, [](const auto& own) { return own.remote().bits(); });
}

weft_result weft_message_take(const weft_message* message, weft_message* kept) {
  return guarded(__func__, [&] {
    present(kept, "kept");
    store(*kept, const_cast<weft::Message&>(message_of(&present(message, "message"))).take());
    return WEFT_OK;
  });
}

void weft_message_free(weft_message* message) {
  if (message == nullptr) return;
  message_of(message).~Message();
  *message = weft_message{};
}

void* weft_message_writable(weft_message* message) {
  return guarded_or<void*>(__func__, nullptr,
                           [&] { return message_of(&present(message, "message")).mutable_data(); });
}

weft_result weft_message_release(weft_message* message, weft_payload* payload) {
  return guarded(__func__, [&] {
    present(payload, "payload");
    store(message_of(&present(message, "message")).release(), *payload);
    return WEFT_OK;
  });
}

weft_result weft_payload_free(weft_payload* payload) {
  return guarded(__func__, [&] {
    payload_in(&present(payload, "payload")).free();
    *payload = {};
    return WEFT_OK;
  });
}

weft_result weft_signal(weft_completion* completion, const weft_message_fields* given) {
  return guarded(__func__, [&] {
    weft::Completion& object = *present(completion, "completion").object;
    const weft_message_fields fields = options_of(&present(given, "fields"), "fields");
    const weft::MessageFields own = own_fields(fields);
    weft::Message message =
        fields.payload != nullptr ? weft::Message(own, payload_in(fields.payload)) : weft::Message(own);
    object.signal(message);
    return WEFT_OK;
  });
}

}  // extern "C"
