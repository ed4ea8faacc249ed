// Objects that are destroyed before those that use them: one line names both, and the program ends.
// Completion objects may be destroyed in any order.
#include <weft/progress_thread.hpp>
#include <weft/stream/stream_queue.hpp>
#include <weft/testing/fake_stream.hpp>
#include <weft/testing/in_process_job.hpp>
#include <weft/testing/simulation.hpp>
#include <weft/weft.hpp>

#include <gtest/gtest.h>

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace weft {
namespace {

/// Destroys `owner` while `user` lives. Never returns where the library notices it.
struct WrongOrder {
  const char* name;
  void (*run)();
  const char* line;  // a regular expression
};

const auto kRuntime = [] { return std::make_unique<Runtime>(); };

/// Makes a message of 500 bytes from this rank to itself, which lies in a packet.
void send_to_itself(Endpoint& endpoint, RemoteCompletion to) {
  const std::array<std::byte, 500> payload{};
  ASSERT_EQ(endpoint.send_am(0, to, payload), Outcome::ok);
}

#define WEFT_RUNTIME "weft: Runtime \\(rank 0 of 1, job [^)]+\\) is destroyed while "

const WrongOrder kWrongOrders[] = {
    {"RuntimeBeforeEndpoint",
     [] {
       auto runtime = kRuntime();
       const Endpoint endpoint{*runtime};
       runtime.reset();
     },
     WEFT_RUNTIME "an Endpoint \\(device 0\\) still uses it: destroy the Endpoint first"},
    {"RuntimeBeforeSerialEndpoint",
     [] {
       auto runtime = kRuntime();
       const SerialEndpoint endpoint{*runtime};
       runtime.reset();
     },
     WEFT_RUNTIME "a SerialEndpoint \\(device 0\\) still uses it: destroy the SerialEndpoint first"},
    {"RuntimeBeforeDevice",
     [] {
       auto runtime = kRuntime();
       const Device device{*runtime, {.index = 2}};
       runtime.reset();
     },
     WEFT_RUNTIME "a Device \\(index 2\\) still uses it: destroy the Device first"},
    {"RuntimeBeforeTheEndpointOfADevice",
     [] {
       auto runtime = kRuntime();
       Device device{*runtime, {.index = 3}};
       const Endpoint endpoint{device};
       runtime.reset();
     },
     WEFT_RUNTIME "an Endpoint \\(device 3\\) still uses it: destroy the Endpoint first"},
    {"RuntimeBeforeMemoryRegion",
     [] {
       auto runtime = kRuntime();
       const MemoryRegion region = MemoryRegion::allocate(*runtime, 4096);
       runtime.reset();
     },
     WEFT_RUNTIME "a MemoryRegion \\(index 0\\) still uses it: destroy the MemoryRegion first"},
    {"RuntimeBeforeARegionOfTheProgramsMemory",
     [] {
       std::vector<std::byte> memory(100);
       auto runtime = kRuntime();
       const MemoryRegion first(*runtime, memory);
       const MemoryRegion second(*runtime, memory);
       MemoryRegion moved(*runtime, memory);
       moved = MemoryRegion();
       runtime.reset();
     },
     WEFT_RUNTIME "a MemoryRegion \\(index 0\\) still uses it"},
    {"RuntimeBeforeMatchingEngine",
     [] {
       auto runtime = kRuntime();
       const MatchingEngine engine(*runtime, {.id = 7});
       runtime.reset();
     },
     WEFT_RUNTIME "a MatchingEngine \\(id 7\\) still uses it: destroy the MatchingEngine first"},
    {"RuntimeBeforeCollective",
     [] {
       auto runtime = kRuntime();
       Endpoint endpoint{*runtime};
       const Collective collective{*runtime, endpoint};
       runtime.reset();
     },
     WEFT_RUNTIME "a Collective \\(key 255\\) still uses it: destroy the Collective first"},
    {"RuntimeBeforeStream",
     [] {
       auto runtime = kRuntime();
       const Stream stream{*runtime};
       runtime.reset();
     },
     WEFT_RUNTIME "a Stream \\(device 1\\) still uses it: destroy the Stream first"},
    {"RuntimeBeforeStreamGroup",
     [] {
       auto runtime = kRuntime();
       Stream stream{*runtime};
       StreamGroup group{*runtime, stream};
       static_cast<void>(group.barrier());  // has made its Collective
       runtime.reset();
     },
     WEFT_RUNTIME "a StreamGroup still uses it: destroy the StreamGroup first"},
    {"RuntimeBeforeStreamQueue",
     [] {
       auto runtime = kRuntime();
       Stream stream{*runtime};
       StreamGroup group{*runtime, stream};
       FakeStream accelerator;
       const StreamQueue queue{group, 0, accelerator};
       runtime.reset();
     },
     WEFT_RUNTIME "a StreamQueue \\(device 1\\) still uses it: destroy the StreamQueue first"},
    {"RuntimeBeforeProgressThread",
     [] {
       auto runtime = kRuntime();
       const ProgressThread thread{*runtime};
       runtime.reset();
     },
     WEFT_RUNTIME "a ProgressThread \\(device 0\\) still uses it: destroy the ProgressThread first"},
    {"RuntimeBeforeStreamProgressThread",
     [] {
       auto runtime = kRuntime();
       const StreamProgressThread thread{*runtime};
       runtime.reset();
     },
     WEFT_RUNTIME "a StreamProgressThread still uses it: destroy the StreamProgressThread first"},
    {"RuntimeBeforePacket",
     [] {
       auto runtime = kRuntime();
       Packet packet;
       {
         Device device{*runtime};
         packet = device.get_packet();
       }
       runtime.reset();
     },
     "weft: a Packet is destroyed after Runtime \\(rank 0 of 1, job [^)]+\\): destroy packets before their "
     "runtime"},
    {"RuntimeBeforeMessage",
     [] {
       Message message;
       auto runtime = kRuntime();
       {
         Endpoint endpoint{*runtime};
         CompletionQueue inbox;
         send_to_itself(endpoint, runtime->expose(inbox, {.id = 1}));
         message = endpoint.wait(inbox);
       }
       runtime.reset();
     },
     WEFT_RUNTIME
     "a Message still holds one of its packets: destroy messages, and objects that hold messages, "
     "first"},
    {"RuntimeBeforeAQueueWithMessages",
     [] {
       CompletionQueue inbox;
       auto runtime = kRuntime();
       {
         Endpoint endpoint{*runtime};
         const RemoteCompletion there = runtime->expose(inbox, {.id = 17});
         for (int number = 0; number < 3; ++number) send_to_itself(endpoint, there);
         endpoint.wait_until([&] { return inbox.at_rest().messages == 3; });
       }
       runtime.reset();
     },
     WEFT_RUNTIME "3 Messages still hold its packets; 3 of its messages are in the object exposed as id 17: "
                  "destroy"},
    {"DeviceBeforeEndpoint",
     [] {
       Runtime runtime;
       auto device = std::make_unique<Device>(runtime, DeviceOptions{.index = 3});
       const Endpoint endpoint{*device};
       device.reset();
     },
     "weft: Device \\(index 3 of rank 0\\) is destroyed while an Endpoint \\(device 3\\) still uses it: "
     "destroy the "
     "Endpoint first"},
    {"DeviceBeforeProgressThread",
     [] {
       Runtime runtime;
       auto device = std::make_unique<Device>(runtime, DeviceOptions{.index = 3});
       const ProgressThread thread{*device};
       device.reset();
     },
     "weft: Device \\(index 3 of rank 0\\) is destroyed while a ProgressThread \\(device 3\\) still uses it"},
    {"DeviceBeforeMatchedMessage",
     [] {
       Runtime runtime;
       auto device = std::make_unique<Device>(runtime, DeviceOptions{.index = 3});
       MatchedMessage taken;
       {
         Endpoint endpoint{*device};
         const std::uint64_t value = 1;
         ASSERT_EQ(endpoint.send(0, 5, bytes_of(value), {.device = 3}), Outcome::ok);
         endpoint.wait_until([&] { return bool(taken = endpoint.matched_probe(0, 5)); });
       }
       device.reset();
     },
     "weft: Device \\(index 3 of rank 0\\) is destroyed while a MatchedMessage \\(device 3\\) still uses it"},
    {"EndpointBeforeCollective",
     [] {
       Runtime runtime;
       auto endpoint = std::make_unique<Endpoint>(runtime);
       const Collective collective{runtime, *endpoint};
       endpoint.reset();
     },
     "weft: Endpoint \\(device 0 of rank 0\\) is destroyed while a Collective \\(key 255\\) still uses "
     "it: destroy "
     "the Collective first"},
    {"CollectiveBeforeItsOperation",
     [] {
       Runtime runtime;
       Endpoint endpoint{runtime};
       auto collective = std::make_unique<Collective>(runtime, endpoint);
       const CollectiveOperation operation = collective->make_barrier();
       collective.reset();
     },
     "weft: Collective \\(key 255\\) is destroyed while a CollectiveOperation still uses it"},
    {"StreamBeforeStreamQueue",
     [] {
       Runtime runtime;
       auto stream = std::make_unique<Stream>(runtime);
       StreamGroup group{runtime, *stream};
       FakeStream accelerator;
       const StreamQueue queue{group, 0, accelerator};
       stream.reset();
     },
     "weft: Stream \\(device 1 of rank 0\\) is destroyed while a StreamQueue \\(device 1\\) still uses it: "
     "destroy the "
     "StreamQueue first"},
};

class DestructionOrder : public testing::TestWithParam<WrongOrder> {};

TEST_P(DestructionOrder, IsNamedWhereItIsWrong) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  EXPECT_EXIT(GetParam().run(), testing::KilledBySignal(SIGABRT), GetParam().line);
}

INSTANTIATE_TEST_SUITE_P(Pairs, DestructionOrder, testing::ValuesIn(kWrongOrders),
                         [](const auto& tested) { return std::string(tested.param.name); });

TEST(DestructionOrder, OfCompletionObjectsIsFree) {
  // Each object with a receive that nothing matches, in the order that would be wrong for other objects.
  std::uint64_t word = 0;
  Runtime runtime;
  Endpoint endpoint{runtime};
  const auto post = [&](Completion& completion) {
    ASSERT_TRUE(endpoint.post_receive(0, 1, mutable_bytes_of(word), {.completion = &completion}).is_posted());
  };
  {
    Counter counter;
    CompletionQueue queue;
    Synchronizer synchronizer;
    Handler handler{[](Message&) {}};
    for (Completion* each : {static_cast<Completion*>(&counter), static_cast<Completion*>(&queue),
                             static_cast<Completion*>(&synchronizer), static_cast<Completion*>(&handler)})
      post(*each);
  }
  // The receives are gone: a message finds none.
  ASSERT_EQ(endpoint.send(0, 1, bytes_of(std::uint64_t{9})), Outcome::ok);
  endpoint.progress();
  EXPECT_EQ(word, 0U);
  ProbedMessage found;
  endpoint.wait_until([&] { return endpoint.probe(0, 1, found); });
  EXPECT_EQ(endpoint.receive(0, 1, mutable_bytes_of(word)).outcome(), Outcome::ok);
  EXPECT_EQ(word, 9U);
}

TEST(DestructionOrder, CompletionObjectsMayOutliveTheirRuntime) {
  Counter counter;
  CompletionQueue queue;
  std::uint64_t word = 0;
  {
    Runtime runtime;
    Endpoint endpoint{runtime};
    static_cast<void>(runtime.expose(counter, {.id = 1}));
    const RemoteCompletion there = runtime.expose(queue, {.id = 2});
    ASSERT_TRUE(endpoint.post_receive(0, 1, mutable_bytes_of(word), {.completion = &counter}).is_posted());
    ASSERT_EQ(endpoint.send_am(0, there, bytes_of(word)), Outcome::ok);  // short: copied into the queue
    endpoint.wait_until([&] { return queue.at_rest().messages == 1; });
  }
  EXPECT_EQ(counter.value(), 1U) << "the receive was cancelled, and its object told";
  Message message;
  EXPECT_TRUE(queue.pop(message));
}

TEST(DestructionOrder, JobsOfOneProcessMayEndBeforeTheirRuntimes) {
  auto job = std::make_unique<InProcessJob>(1);
  Runtime runtime(*job, 0);
  job.reset();
  auto simulation = std::make_unique<sim::Simulation>(sim::Options{.ranks = 1});
  Runtime simulated(*simulation, 0);
  simulation.reset();
  Endpoint endpoint{simulated};
  Counter counter;
  ASSERT_EQ(endpoint.send_am(0, simulated.expose(counter, {.id = 1}), {}), Outcome::ok);
  endpoint.wait(counter, 1);
}

TEST(DestructionOrder, AMovedRuntimeIsTheSameOne) {
  auto runtime = kRuntime();
  Runtime moved(std::move(*runtime));
  const Endpoint endpoint{moved};
  runtime.reset();
  EXPECT_EQ(moved.size(), 1);
}

}  // namespace
}  // namespace weft
