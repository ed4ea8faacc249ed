// Calls of MPI, UCX and LCI in weft: the code of docs/guide/coming-from.md, whose blocks are the parts
// between the comments "[name]" and "[end]". Each rank talks to its neighbours in a ring.
#include <weft/weft.hpp>

#include <array>
#include <cstdio>
#include <memory>
#include <thread>
#include <vector>

namespace {

constexpr std::uint64_t kTag = 7;

int wrong = 0;

void expect(bool holds, const char* part) {
  if (holds) return;
  ++wrong;
  std::printf("%s is wrong\n", part);
}

void sends_and_receives(weft::Runtime& runtime, weft::Endpoint& endpoint, int next, int previous) {
  const int me = runtime.rank();
  std::uint64_t value = static_cast<std::uint64_t>(me);
  // [send and receive]
  static_cast<void>(endpoint.send(next, kTag, weft::bytes_of(value)));
  std::uint64_t received = 0;
  weft::Message message = endpoint.receive(previous, kTag, weft::mutable_bytes_of(received));
  // message.peer(), message.tag(), message.size(), message.outcome()
  // [end]
  expect(received == static_cast<std::uint64_t>(previous) && message.peer() == previous, "send and receive");

  std::vector<double> out(10'000, me);
  std::vector<double> in(10'000);
  // [nonblocking]
  weft::Synchronizer both{2};
  while (endpoint.post_receive(previous, kTag, std::as_writable_bytes(std::span{in}), {.completion = &both})
             .is_retry())
    endpoint.progress();
  while (endpoint.post_send(next, kTag, std::as_bytes(std::span{out}), {.completion = &both}).is_retry())
    endpoint.progress();
  endpoint.wait(both);  // both buffers are the program's again
  both.reset();
  // [end]
  expect(in.back() == previous, "nonblocking");

  weft::Synchronizer one{1};
  std::uint64_t incoming = 0;
  static_cast<void>(
      endpoint.post_receive(previous, kTag, weft::mutable_bytes_of(incoming), {.completion = &one}));
  static_cast<void>(endpoint.send(next, kTag, weft::bytes_of(value)));
  // [test]
  while (!one.test()) {
    endpoint.progress();  // nothing moves without it
    // other work
  }
  // [end]
  expect(incoming == static_cast<std::uint64_t>(previous), "test");
}

void ordered_and_probed(weft::Runtime& runtime, weft::Endpoint& endpoint, int next) {
  std::uint64_t value = static_cast<std::uint64_t>(runtime.rank());
  std::uint64_t received = 0;
  // [order and wildcards]
  constexpr std::uint16_t kOrdered = weft::kMatchingEngines;  // the same id on every rank
  weft::MatchingEngine engine{runtime, {.id = kOrdered, .order = weft::MatchOrder::ordered}};
  static_cast<void>(endpoint.send(next, kTag, weft::bytes_of(value), {.engine = kOrdered}));
  const weft::Message message = endpoint.receive(weft::any_source, weft::any_tag,
                                                 weft::mutable_bytes_of(received), {.engine = kOrdered});
  // [end]
  expect(received == static_cast<std::uint64_t>(message.peer()), "order and wildcards");
  runtime.barrier();

  static_cast<void>(endpoint.send(next, kTag, weft::bytes_of(value), {.engine = kOrdered}));
  std::vector<std::byte> buffer;
  // [probe]
  weft::ProbedMessage found;
  while (!endpoint.probe(weft::any_source, weft::any_tag, found, {.engine = kOrdered})) endpoint.progress();
  buffer.resize(found.length);
  const weft::Message probed = endpoint.receive(found.peer, found.tag, buffer, {.engine = kOrdered});
  // [end]
  expect(probed.outcome() == weft::Outcome::ok && buffer.size() == sizeof value, "probe");
  runtime.barrier();

  // [a communicator]
  weft::MatchingEngine mine{runtime, {.id = 1}};  // messages of a library, apart from the program's
  static_cast<void>(endpoint.send(next, kTag, weft::bytes_of(value), {.engine = 1}));
  // [end]
  const int previous = (runtime.rank() + runtime.size() - 1) % runtime.size();
  const weft::Message mail =
      endpoint.receive(previous, kTag, weft::mutable_bytes_of(received), {.engine = 1});
  expect(mail.outcome() == weft::Outcome::ok && received == static_cast<std::uint64_t>(previous),
         "a communicator");

  weft::CompletionQueue ended;
  // [cancel]
  weft::ReceiveHandle handle;
  static_cast<void>(endpoint.post_receive(next, kTag + 1, weft::mutable_bytes_of(received),
                                          {.completion = &ended, .handle = &handle}));
  if (endpoint.cancel(handle)) {
    // `ended` gets a message of Outcome::cancelled
  }
  // [end]
  expect(endpoint.wait(ended).outcome() == weft::Outcome::cancelled, "cancel");
  runtime.barrier();
}

void repeated(weft::Runtime& runtime, weft::Endpoint& endpoint, int next, int previous) {
  std::uint64_t value = 0;
  std::uint64_t received = 0;
  weft::Synchronizer arrived{1};
  // [persistent]
  auto receive =
      endpoint.prepare_receive(previous, kTag, weft::mutable_bytes_of(received), {.completion = &arrived});
  auto send = endpoint.prepare_send(next, kTag, weft::bytes_of(value));
  for (int round = 0; round < 10; ++round) {
    while (receive.start().is_retry()) endpoint.progress();
    while (send.start().is_retry()) endpoint.progress();
    endpoint.wait(arrived);
    arrived.reset();
    value = received + 1;  // a send of so few bytes has been copied when it is accepted
  }
  // [end]
  expect(received == 9, "persistent");

  // [several buffers]
  const std::array<double, 3> head{1, 2, 3};
  const std::vector<int> body(100, runtime.rank());
  const std::array parts{weft::bytes_of(head), weft::bytes_of(body)};
  static_cast<void>(endpoint.send(next, kTag, parts));
  // [end]
  std::vector<std::byte> all(sizeof head + 100 * sizeof(int));
  expect(endpoint.receive(previous, kTag, all).size() == all.size(), "several buffers");
}

void active_messages(weft::Runtime& runtime, weft::Endpoint& endpoint, int next, int previous) {
  // [active message]
  std::uint64_t sum = 0;
  weft::Handler add{[&](weft::Message& message) { sum += message.as<std::uint64_t>(); }};
  const weft::RemoteCompletion remote_add = runtime.expose(add, {.id = 1});  // the same on every rank
  static_cast<void>(endpoint.send_am(next, remote_add, weft::bytes_of(std::uint64_t{5})));
  endpoint.wait_until([&] { return sum == 5; });  // handlers run within progress
  // [end]

  // [completion queue]
  weft::CompletionQueue inbox;
  const weft::RemoteCompletion remote_inbox = runtime.expose(inbox, {.id = 2});
  static_cast<void>(endpoint.send_am(next, remote_inbox, weft::bytes_of(runtime.rank()), {.tag = 3}));
  weft::Message message;
  while (!inbox.pop(message)) endpoint.progress();  // or endpoint.wait(inbox)
  // message.as<int>(), message.peer(), message.tag()
  // [end]
  expect(message.as<int>() == previous && message.tag() == 3, "completion queue");

  weft::Counter arrived;
  const weft::RemoteCompletion remote = runtime.expose(arrived, {.id = 3});
  const int value = 1;
  // [retry]
  weft::Status status;
  do {
    status = endpoint.post_am(next, remote, weft::bytes_of(value));
    if (status.is_retry()) endpoint.progress();  // no room at the moment; {.may_retry = false} queues instead
  } while (status.is_retry());
  // [end]
  endpoint.wait(arrived, 1);
  runtime.barrier();
}

void one_sided(weft::Runtime& runtime, weft::Endpoint& endpoint, int next, int previous) {
  // [registered memory]
  weft::MemoryRegion mine = weft::MemoryRegion::allocate(runtime, 4096);
  std::vector<weft::RemoteRegion> keys(static_cast<std::size_t>(runtime.size()));
  runtime.allgather(weft::bytes_of(mine.remote()), std::as_writable_bytes(std::span{keys}));
  const weft::MappedRegion theirs = weft::map(runtime, keys[static_cast<std::size_t>(next)]);
  // [end]
  // Some networks bring accesses as messages: this thread answers those of the others while this one waits.
  const auto progress = std::make_unique<weft::ProgressThread>(runtime);
  std::uint64_t value = 40;
  std::uint64_t old = 0;
  std::uint64_t read = 0;
  // [put and get]
  static_cast<void>(endpoint.put(next, theirs.at(0), weft::bytes_of(value)));  // has arrived by then
  static_cast<void>(endpoint.get(next, theirs.at(0), weft::mutable_bytes_of(read)));
  // [end]
  expect(read == 40, "put and get");

  // [flush]
  while (endpoint.post_put(next, theirs.at(8), weft::bytes_of(value)).is_retry()) endpoint.progress();
  endpoint.flush(next);  // this and all earlier accesses to the peer have arrived
  // [end]

  // [atomic]
  old = endpoint.fetch_atomic<std::uint64_t>(next, theirs.at(0), weft::AtomicOperation::add, 2).value;
  static_cast<void>(endpoint.compare_swap<std::uint64_t>(next, theirs.at(8), 40, 41));
  // [end]
  expect(old == 40, "atomic");

  // [put with signal]
  weft::Counter puts;
  const weft::RemoteCompletion signal = runtime.expose(puts, {.id = 4});
  static_cast<void>(endpoint.put(next, theirs.at(16), weft::bytes_of(value), {.signal = signal}));
  endpoint.wait(puts, 1);  // the previous rank's bytes are here
  // [end]
  const auto* const words = reinterpret_cast<const std::uint64_t*>(mine.bytes().data());
  expect(words[2] == 40 && previous >= 0, "put with signal");
  runtime.barrier();
  expect(words[0] == 42 && words[1] == 41, "atomic");
  runtime.barrier();
}

void collectives(weft::Runtime& runtime, weft::Endpoint& endpoint) {
  // [collectives]
  weft::Collective world{runtime, endpoint};
  static_cast<void>(world.barrier());
  std::array<double, 3> values{1, 2, 3};
  static_cast<void>(world.broadcast(values, 0));
  std::array<double, 3> sums{};
  static_cast<void>(world.allreduce(values, sums, weft::operators::Sum{}));
  // [end]
  expect(sums[2] == 3.0 * runtime.size(), "collectives");

  // [allgather]
  std::vector<int> all(static_cast<std::size_t>(runtime.size()));
  runtime.allgather(weft::bytes_of(runtime.rank()), std::as_writable_bytes(std::span{all}));
  // [end]
  expect(all.back() == runtime.size() - 1, "allgather");
}

void threads(weft::Runtime& runtime, int next, int previous) {
  std::array<int, 2> received{};
  // [threads]
  const auto work = [&](std::uint8_t device) {
    weft::Device own{runtime, {.index = device}};
    weft::SerialEndpoint endpoint{own};  // of this thread alone: no lock
    static_cast<void>(endpoint.send(next, kTag + device, weft::bytes_of(device), {.device = device}));
    std::uint8_t value = 0;
    const weft::Message message = endpoint.receive(previous, kTag + device, weft::mutable_bytes_of(value));
    if (message.outcome() == weft::Outcome::ok) received[device - 1U] = value;
  };
  std::thread first{work, std::uint8_t{1}};
  std::thread second{work, std::uint8_t{2}};
  // [end]
  first.join();
  second.join();
  expect(received[0] == 1 && received[1] == 2, "threads");
}

}  // namespace

int main() try {
  // [start]
  weft::Runtime runtime;             // joins the job; its destructor leaves it
  weft::Endpoint endpoint{runtime};  // any thread may use it
  // [end]

  // [rank and size]
  const int me = runtime.rank();
  const int ranks = runtime.size();
  const int next = (me + 1) % ranks;
  const int previous = (me + ranks - 1) % ranks;
  // [end]

  sends_and_receives(runtime, endpoint, next, previous);
  ordered_and_probed(runtime, endpoint, next);
  repeated(runtime, endpoint, next, previous);
  active_messages(runtime, endpoint, next, previous);
  one_sided(runtime, endpoint, next, previous);
  collectives(runtime, endpoint);
  threads(runtime, next, previous);

  const bool is_hopeless = wrong < 0;
  // [abort]
  if (is_hopeless) runtime.abort(3, "the input is not readable");  // ends the job on all ranks
  // [end]

  // [progress thread]
  weft::ProgressThread progress{runtime};  // progresses the default device while this thread computes
  // [end]
  runtime.barrier();
  std::printf("rank %d: %d wrong\n", me, wrong);
  return wrong == 0 ? 0 : 1;
} catch (const weft::Error& error) {
  std::fprintf(stderr, "%s\n", error.what());
  return 1;
}
