// Polls that find nothing: of a device, and of completion queues.
#include "instructions.hpp"

namespace weft::budget {
namespace {

template <class EndpointType>
void empty_progress(std::uint64_t polls) {
  Pair<EndpointType> ranks;
  Counter arrived;
  const RemoteCompletion remote = ranks.receiving.expose(arrived, {.id = 1});
  while (!ranks.sender.post_am(1, remote, {}).is_accepted()) {
  }
  while (arrived.value() == 0) ranks.receiver.progress();
  std::size_t found = 0;
  for (std::uint64_t poll = 0; poll < polls; ++poll) found += ranks.receiver.progress();
  if (found != 0) std::abort();
}

template <class Queue>
void empty_pop(std::uint64_t polls) {
  Queue queue;
  Message message;
  bool popped = false;
  for (std::uint64_t poll = 0; poll < polls; ++poll) popped = popped || queue.pop(message);
  if (popped) std::abort();
}

constexpr Path kPaths[] = {
    {"empty_progress", empty_progress<SerialEndpoint>},
    {"empty_progress_shared", empty_progress<Endpoint>},
    {"empty_pop", empty_pop<CompletionQueue>},
    {"empty_pop_single_consumer", empty_pop<SingleConsumerQueue>},
    {"empty_pop_serial", empty_pop<SerialCompletionQueue>},
};

}  // namespace
}  // namespace weft::budget

int main(int count, char** arguments) {
  return weft::budget::run_path(count, arguments, weft::budget::kPaths);
}
