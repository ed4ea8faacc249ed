// Sends 8-byte active messages from one rank of this process to another, to be counted by callgrind.
#include <weft/weft.hpp>

#include <cstdio>
#include <cstdlib>
#include <string>

namespace {

constexpr std::uint64_t kBurst = 32;

template <class EndpointType, class Drain>
void exchange(std::uint64_t messages, weft::Completion& target, const Drain& drain) {
  weft::InProcessJob job(2);
  weft::Runtime sending(job, 0);
  weft::Runtime receiving(job, 1);
  EndpointType sender(sending);
  EndpointType receiver(receiving);
  const weft::RemoteCompletion remote = receiving.expose(target, {.id = 1});
  while (!sender.post_am(1, remote, {}).is_accepted()) {
  }
  std::uint64_t next = 0;
  while (next < messages) {
    for (std::uint64_t count = 0; count < kBurst; ++count) {
      if (!sender.post_am(1, remote, weft::bytes_of(next)).is_done()) break;
      ++next;
    }
    receiver.progress();
    drain();
  }
  target.withdraw();
}

template <class Queue>
void to_queue(std::uint64_t messages) {
  Queue queue;
  std::uint64_t sum = 0;
  exchange<weft::SerialEndpoint>(messages, queue, [&] {
    weft::Message message;
    while (queue.pop(message))
      if (message.size() == sizeof sum) sum += message.as<std::uint64_t>();
  });
}

template <class EndpointType>
void to_handler(std::uint64_t messages) {
  std::uint64_t sum = 0;
  weft::Handler handler([&](weft::Message& message) {
    if (message.size() == sizeof sum) sum += message.as<std::uint64_t>();
  });
  exchange<EndpointType>(messages, handler, [] {});
}

}  // namespace

int main(int count, char** arguments) {
  const std::string path = count > 1 ? arguments[1] : "";
  if (path == "build") {
#ifdef NDEBUG
    std::puts("optimised");
#else
    std::puts("with assertions");
#endif
    return 0;
  }
  const std::uint64_t messages = count > 2 ? std::strtoull(arguments[2], nullptr, 10) : 0;
  if (path == "handler") {
    to_handler<weft::SerialEndpoint>(messages);
  } else if (path == "shared_endpoint") {
    to_handler<weft::Endpoint>(messages);
  } else if (path == "serial_queue") {
    to_queue<weft::SerialCompletionQueue>(messages);
  } else if (path == "single_consumer_queue") {
    to_queue<weft::SingleConsumerQueue>(messages);
  } else if (path == "completion_queue") {
    to_queue<weft::CompletionQueue>(messages);
  } else {
    std::fprintf(stderr, "usage: active_message_instructions PATH MESSAGES, PATH as in budgets.json\n");
    return 2;
  }
}
