#include "objects.hpp"

using namespace weft::c;

static_assert(static_cast<int>(weft::Operation::active_message) == WEFT_ACTIVE_MESSAGE);
static_assert(static_cast<int>(weft::Operation::receive) == WEFT_RECEIVE);
static_assert(static_cast<int>(weft::Operation::put_arrived) == WEFT_PUT_ARRIVED);
static_assert(static_cast<int>(weft::Operation::atomic_arrived) == WEFT_ATOMIC_ARRIVED);
static_assert(static_cast<int>(weft::Operation::graph) == WEFT_GRAPH);
static_assert(static_cast<int>(weft::Operation::peer_failure) == WEFT_PEER_FAILURE);

extern "C" {

weft_operation weft_message_operation(const weft_message* message) {
  return static_cast<weft_operation>(message_of(message).operation());
}

weft_result weft_message_outcome(const weft_message* message) {
  return result_of(message_of(message).outcome());
}

int weft_message_peer(const weft_message* message) { return message_of(message).peer(); }

uint64_t weft_message_tag(const weft_message* message) { return message_of(message).tag(); }

const void* weft_message_data(const weft_message* message) { return message_of(message).data(); }

size_t weft_message_size(const weft_message* message) { return message_of(message).size(); }

size_t weft_message_length(const weft_message* message) { return message_of(message).length(); }

void* weft_message_user_data(const weft_message* message) { return message_of(message).user_data(); }

uint32_t weft_message_device(const weft_message* message) { return message_of(message).device(); }

weft_remote weft_message_remote(const weft_message* message) { return message_of(message).remote().bits(); }

void weft_message_take(const weft_message* message, weft_message* kept) {
  store(*kept, const_cast<weft::Message&>(message_of(message)).take());
}

void weft_message_free(weft_message* message) {
  if (message == nullptr) return;
  message_of(message).~Message();
  *message = weft_message{};
}

}  // extern "C"
