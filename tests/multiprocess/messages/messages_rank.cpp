// One rank of the tests of messages between processes: messages_rank MODE.
#include "support/rank_program.hpp"

#include <sys/resource.h>
#include <unistd.h>
#include <atomic>
#include <csignal>
#include <ctime>

namespace {

using namespace weft;
using test::matches;
using test::payload;
using test::require;

/// Every rank sends every size up to `largest` to every rank, itself included, to a handler and to a queue.
void all_sizes(Runtime& runtime, const std::string& rendezvous, std::size_t largest) {
  SerialEndpoint endpoint(runtime);
  std::vector<std::size_t> sizes = test::border_sizes(runtime);
  sizes.insert(sizes.end(), {std::size_t{1} << 20, (std::size_t{5} << 20) + 3});
  std::erase_if(sizes, [&](std::size_t size) { return size > largest; });
  const std::size_t expected = sizes.size() * static_cast<std::size_t>(runtime.size());
  std::size_t handled = 0;
  Handler handler([&](Message& message) {
    require(message.size() == sizes[message.tag()], "wrong size");
    require(matches(message.bytes(), message.size() + static_cast<std::size_t>(message.peer())),
            "torn message");
    ++handled;
  });
  CompletionQueue queue;
  const RemoteCompletion to_handler = runtime.expose(handler, {.id = 1});
  const RemoteCompletion to_queue = runtime.expose(queue, {.id = 2});
  Counter sent;
  std::vector<std::vector<std::byte>> buffers;
  std::size_t popped = 0;
  const auto pop = [&] {
    Message message;
    while (queue.pop(message)) {
      require(message.size() == sizes[message.tag()], "wrong size in the queue");
      require(matches(message.bytes(), message.size() + static_cast<std::size_t>(message.peer())),
              "torn in the queue");
      ++popped;
    }
  };
  for (std::uint32_t index = 0; index < sizes.size(); ++index) {
    buffers.push_back(payload(sizes[index], sizes[index] + static_cast<std::size_t>(runtime.rank())));
    for (int peer = 0; peer < runtime.size(); ++peer)
      for (const RemoteCompletion remote : {to_handler, to_queue})
        while (
            endpoint.post_am(peer, remote, buffers.back(), {.completion = &sent, .tag = index}).is_retry()) {
          endpoint.progress();
          pop();
        }
  }
  endpoint.wait_until([&] {
    pop();
    return handled == expected && popped == expected && sent.value() == 2 * expected;
  });
  runtime.barrier();
  require(runtime.counters().refused_messages == 0, "messages were refused as impossible");
  std::printf("%zu messages by %s\n", handled + popped, rendezvous.c_str());
}

/// `threads` threads of every rank wait almost always; a token for each goes round the ranks.
void many_threads(Runtime& runtime, int threads) {
  Endpoint endpoint(runtime);
  std::vector<std::unique_ptr<CompletionQueue>> queues;
  std::vector<RemoteCompletion> handles;
  for (int thread = 0; thread < threads; ++thread) {
    queues.push_back(std::make_unique<CompletionQueue>());
    handles.push_back(runtime.expose(*queues.back(), {.id = static_cast<std::uint32_t>(thread)}));
  }
  constexpr std::uint64_t kRounds = 500;
  std::vector<std::thread> workers;
  for (int thread = 0; thread < threads; ++thread)
    workers.emplace_back([&, thread] {
      const auto index = static_cast<std::size_t>(thread);
      const int next = (runtime.rank() + 1) % runtime.size();
      std::uint64_t hops = 0;
      if (runtime.rank() == 0) static_cast<void>(endpoint.send_am(next, handles[index], bytes_of(hops)));
      for (std::uint64_t round = 0; round < kRounds; ++round) {
        hops = endpoint.wait(*queues[index]).as<std::uint64_t>() + 1;
        if (runtime.rank() != 0 || round + 1 < kRounds)
          static_cast<void>(endpoint.send_am(next, handles[index], bytes_of(hops)));
      }
      require(runtime.rank() != 0 || hops == kRounds * static_cast<std::uint64_t>(runtime.size()),
              "a hop is missing");
    });
  for (std::thread& worker : workers) worker.join();
  // Sent is not delivered: other ranks may still need what this one has to give.
  runtime.barrier();
}

/// Every rank waits three seconds for a message that comes last; says how much processor time that took.
void idle(Runtime& runtime) {
  Endpoint endpoint(runtime);
  CompletionQueue queue;
  const RemoteCompletion remote = runtime.expose(queue, {.id = 1});
  runtime.barrier();
  // All lanes are in use before everybody falls silent.
  for (int peer = 0; peer < runtime.size(); ++peer) static_cast<void>(endpoint.send_am(peer, remote, {}));
  for (int peer = 0; peer < runtime.size(); ++peer) static_cast<void>(endpoint.wait(queue));
  runtime.barrier();
  rusage before{};
  rusage after{};
  ::getrusage(RUSAGE_SELF, &before);
  if (runtime.rank() == 0) {
    std::this_thread::sleep_for(std::chrono::seconds(3));
    for (int peer = 0; peer < runtime.size(); ++peer) static_cast<void>(endpoint.send_am(peer, remote, {}));
  }
  static_cast<void>(endpoint.wait(queue));
  ::getrusage(RUSAGE_SELF, &after);
  const auto seconds = [](const timeval& time) {
    return static_cast<double>(time.tv_sec) + 1e-6 * static_cast<double>(time.tv_usec);
  };
  const double used =
      seconds(after.ru_utime) + seconds(after.ru_stime) - seconds(before.ru_utime) - seconds(before.ru_stime);
  std::printf("idle %.3f\n", used / 3);
  runtime.barrier();
}

/// Ranks end one after the other, the last one first, while those that remain go on.
void leave_in_turn(Runtime& runtime) {
  Endpoint endpoint(runtime);
  Counter arrived;
  const RemoteCompletion remote = runtime.expose(arrived, {.id = 1});
  const auto bytes = payload(20'000, 1);
  runtime.barrier();
  for (int remaining = runtime.size(); remaining > runtime.rank(); --remaining) {
    for (int peer = 0; peer < remaining; ++peer) static_cast<void>(endpoint.send_am(peer, remote, bytes));
    const auto rounds = static_cast<std::uint64_t>(runtime.size() - remaining + 1);
    std::uint64_t expected = 0;
    for (std::uint64_t round = 0; round < rounds; ++round)
      expected += static_cast<std::uint64_t>(runtime.size()) - round;
    endpoint.wait(arrived, expected);
  }
}

/// Everybody waits for ever; rank 1 kills itself.
void killed(Runtime& runtime) {
  Endpoint endpoint(runtime);
  CompletionQueue queue;
  const RemoteCompletion remote = runtime.expose(queue, {.id = 1});
  runtime.barrier();
  for (int peer = 0; peer < runtime.size(); ++peer)
    static_cast<void>(endpoint.send_am(peer, remote, payload(3000, 1)));
  for (int peer = 0; peer < runtime.size(); ++peer) static_cast<void>(endpoint.wait(queue));
  runtime.barrier();
  if (runtime.rank() == 1) {
    std::this_thread::sleep_for(std::chrono::milliseconds(200));
    std::raise(SIGKILL);
  }
  static_cast<void>(endpoint.wait(queue));
  test::fail("a message came from nowhere");
}

/// A rank sends and ends at once; its destructor sees to it that everything arrives.
void send_and_leave(Runtime& runtime) {
  Counter arrived;
  SerialEndpoint endpoint(runtime);
  const RemoteCompletion remote = runtime.expose(arrived, {.id = 1});
  if (runtime.rank() == 0) {
    const auto expected = 300U * static_cast<std::uint64_t>(runtime.size() - 1);
    endpoint.wait(arrived, expected);
    return;
  }
  const auto bytes = payload(9000, 1);
  for (std::uint64_t count = 0; count < 300; ++count)
    static_cast<void>(endpoint.send_am(0, remote,
                                       Bytes(bytes).first(count % 3 == 0   ? 8
                                                          : count % 3 == 1 ? 400
                                                                           : 9000)));
}

}  // namespace

int main(int count, char** arguments) {
  const std::string mode = count > 1 ? arguments[1] : "";
  const std::string rendezvous = weft::test::option(count, arguments, "rendezvous", "auto");
  const weft::AttributeSetting attributes[] = {{"rendezvous", rendezvous.c_str()}};
  weft::Runtime runtime({.attributes = attributes});
  if (mode == "all-sizes") {
    all_sizes(runtime, rendezvous, std::stoul(weft::test::option(count, arguments, "largest", "8388608")));
  } else if (mode == "many-threads") {
    many_threads(runtime, std::stoi(weft::test::option(count, arguments, "threads", "8")));
  } else if (mode == "idle") {
    idle(runtime);
  } else if (mode == "leave-in-turn") {
    leave_in_turn(runtime);
  } else if (mode == "killed") {
    killed(runtime);
  } else if (mode == "send-and-leave") {
    send_and_leave(runtime);
  } else {
    weft::test::fail("messages_rank: unknown mode " + mode);
  }
}
