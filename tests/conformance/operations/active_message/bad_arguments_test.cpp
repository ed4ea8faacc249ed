// Bad arguments of posts, exposures, devices, queues and attributes: each is named by one line.
#include <weft/testing/in_process_job.hpp>

#include "support/errors.hpp"
#include "support/ranks.hpp"

#include <gtest/gtest.h>

#include <string>

namespace weft {
namespace {

using test::error_of;
using test::expect_names;
using test::payload;
using test::Ranks;

TEST(BadArguments, of_posts_are_named) {
  Ranks<Endpoint> ranks(2);
  Counter counter;
  const RemoteCompletion remote = ranks.runtime(1).expose(counter, {.id = 1});
  const auto bytes = payload(300, 1);
  for (const int peer : {-1, 2, 1'000'000}) {
    expect_names(error_of([&] { static_cast<void>(ranks.endpoint(0).post_am(peer, remote, {})); }),
                 {"post_am", "peer", std::to_string(peer).c_str(), "0 to 1"});
    expect_names(error_of([&] { static_cast<void>(ranks.endpoint(0).send_am(peer, remote, bytes)); }),
                 {"peer", std::to_string(peer).c_str()});
  }
  expect_names(error_of([&] { static_cast<void>(ranks.endpoint(0).post_am(1, RemoteCompletion(), {})); }),
               {"post_am", "handle"});
  Device device(ranks.runtime(0), {.index = 7});
  expect_names(error_of([&] { static_cast<void>(ranks.endpoint(0).post_am(1, remote, Packet(), 8)); }),
               {"packet", "8"});
  expect_names(error_of([&] {
                 static_cast<void>(ranks.endpoint(0).post_am(1, remote, device.get_packet(), 1'000'000));
               }),
               {"packet", "1000000", std::to_string(device.attributes().packet_bytes).c_str()});
}

TEST(BadArguments, of_exposures_are_named) {
  Ranks<Endpoint> ranks(2);
  Counter counter;
  Counter other;
  expect_names(error_of([&] { ranks.runtime(0).expose(counter, {.id = 65536}); }), {"id", "65536", "65535"});
  expect_names(error_of([&] { ranks.runtime(0).expose(counter, {.id = 1, .device = 64}); }),
               {"device", "64", "63"});
  ranks.runtime(0).expose(counter, {.id = 1});
  expect_names(error_of([&] { ranks.runtime(0).expose(other, {.id = 1}); }), {"id 1", "use"});
  expect_names(error_of([&] { ranks.runtime(1).expose(counter, {.id = 1}); }), {"id 1", "another runtime"});
}

TEST(BadArguments, of_devices_and_endpoints_are_named) {
  InProcessJob job(1);
  Runtime runtime(job, 0);
  expect_names(error_of([&] { Device(runtime, {.index = 64}); }), {"device index 64", "0 to 63"});
  expect_names(error_of([&] { Device(runtime, {.index = -2}); }), {"-2"});
  Device device(runtime, {.index = 3});
  expect_names(error_of([&] { Device(runtime, {.index = 3}); }), {"device 3", "open already"});
  {
    SerialEndpoint serial(device);
    expect_names(error_of([&] { SerialEndpoint{device}; }), {"device 3", "SerialEndpoint"});
    expect_names(error_of([&] { Endpoint{device}; }), {"device 3", "SerialEndpoint"});
  }
  {
    Endpoint shared(device);
    Endpoint another(device);
    expect_names(error_of([&] { SerialEndpoint{device}; }), {"device 3", "SerialEndpoint"});
  }
  SerialEndpoint again(device);
}

TEST(BadArguments, of_queues_and_attributes_are_named) {
  expect_names(error_of([] { CompletionQueue({.capacity = (1U << 24) + 1}); }), {"capacity", "16777217"});
  expect_names(error_of([] { CompletionQueue({.initial = 3}); }), {"initial", "3", "power of two"});
  expect_names(error_of([] { CompletionQueue({.initial = 0}); }), {"initial", "0"});
  InProcessJob job(1);
  const AttributeSetting unknown[] = {{"packet_sizes", "4K"}};
  expect_names(error_of([&] { Runtime(job, 0, {.attributes = unknown}); }), {"packet_sizes"});
  const AttributeSetting bad[] = {{"packet_size", "3"}};
  expect_names(error_of([&] { Runtime(job, 0, {.attributes = bad}); }), {"packet_size", "3"});
}

}  // namespace
}  // namespace weft
