// Errors of arguments begin with the name of the call that the program has made.
#include <weft/weft.hpp>

#include "support/errors.hpp"

#include <gtest/gtest.h>

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

namespace weft {
namespace {

using test::error_of;
using test::expect_names;

constexpr int kNobody = 9;  // no rank of a job of one

struct Call {
  std::string name;
  std::function<void()> make;
};

template <class EndpointType>
std::vector<Call> calls_of(EndpointType& endpoint, RemoteCompletion remote, const RemoteRegion& region,
                           std::uint64_t& word, Completion& completion) {
  const Bytes bytes = bytes_of(word);
  const MutableBytes buffer = mutable_bytes_of(word);
  static const std::vector<Bytes> parts(2);
  static const std::vector<MutableBytes> buffers(2);
  const auto ignore = [](const auto&) {};
  using enum AtomicOperation;
  return {
      {"post_am", [=, &endpoint] { ignore(endpoint.post_am(kNobody, remote, bytes)); }},
      {"send_am", [=, &endpoint] { ignore(endpoint.send_am(kNobody, remote, bytes)); }},
      {"send_am", [=, &endpoint] { ignore(endpoint.send_am(0, RemoteCompletion(), bytes)); }},
      {"post_send", [=, &endpoint] { ignore(endpoint.post_send(kNobody, 1, bytes)); }},
      {"send", [=, &endpoint] { ignore(endpoint.send(kNobody, 1, bytes)); }},
      {"send", [=, &endpoint] { ignore(endpoint.send(0, 1, bytes, {.policy = MatchingPolicy::user})); }},
      {"send", [=, &endpoint] { ignore(endpoint.send(0, 1, bytes, {.engine = kEngineIds})); }},
      {"send", [=, &endpoint] { ignore(endpoint.send(kNobody, 1, parts)); }},
      {"send", [=, &endpoint] { ignore(endpoint.send(kNobody, 1, bytes, {.engine = kMatchingEngines})); }},
      {"post_receive",
       [=, &endpoint, &completion] {
         ignore(endpoint.post_receive(kNobody, 1, buffer, {.completion = &completion}));
       }},
      {"receive", [=, &endpoint] { ignore(endpoint.receive(kNobody, 1, buffer)); }},
      {"receive", [=, &endpoint] { ignore(endpoint.receive(0, any_tag, buffer, {})); }},
      {"receive", [=, &endpoint] { ignore(endpoint.receive(kNobody, 1, buffers)); }},
      {"receive", [=, &endpoint] { ignore(endpoint.receive(0, 1, buffer, {.tag_mask = 1})); }},
      {"post_put", [=, &endpoint] { ignore(endpoint.post_put(kNobody, region.at(0), bytes)); }},
      {"put", [=, &endpoint] { ignore(endpoint.put(kNobody, region.at(0), bytes)); }},
      {"put", [=, &endpoint] { ignore(endpoint.put(0, RemoteRegion().at(0), bytes)); }},
      {"get", [=, &endpoint] { ignore(endpoint.get(kNobody, region.at(0), buffer)); }},
      {"post_atomic",
       [=, &endpoint] {
         ignore(endpoint.template post_atomic<std::uint64_t>(kNobody, region.at(0), add, 1));
       }},
      {"atomic",
       [=, &endpoint] { ignore(endpoint.template atomic<std::uint64_t>(kNobody, region.at(0), add, 1)); }},
      {"fetch_atomic",
       [=, &endpoint] {
         ignore(endpoint.template fetch_atomic<std::uint64_t>(kNobody, region.at(0), add, 1));
       }},
      {"compare_swap",
       [=, &endpoint] {
         ignore(endpoint.template compare_swap<std::uint64_t>(kNobody, region.at(0), 1, 2));
       }},
      {"fetch_compare_swap",
       [=, &endpoint] {
         ignore(endpoint.template fetch_compare_swap<std::uint64_t>(kNobody, region.at(0), 1, 2));
       }},
      {"flush", [=, &endpoint] { endpoint.flush(kNobody); }},
      {"prepare_am", [=, &endpoint] { ignore(endpoint.prepare_am(kNobody, remote, bytes)); }},
      {"prepare_send", [=, &endpoint] { ignore(endpoint.prepare_send(kNobody, 1, bytes)); }},
      {"prepare_put", [=, &endpoint] { ignore(endpoint.prepare_put(kNobody, region.at(0), bytes)); }},
      {"prepare_get", [=, &endpoint] { ignore(endpoint.prepare_get(kNobody, region.at(0), buffer)); }},
  };
}

template <class EndpointType>
void expect_names_of_calls() {
  Runtime runtime;
  EndpointType endpoint{runtime};
  Counter counter;
  const RemoteCompletion remote = runtime.expose(counter, {.id = 1});
  const MemoryRegion region = MemoryRegion::allocate(runtime, 4096);
  std::uint64_t word = 0;
  int number = 0;
  for (const Call& call : calls_of(endpoint, remote, region.remote(), word, counter)) {
    const std::string error = error_of(call.make);
    EXPECT_TRUE(error.starts_with(call.name + ": "))
        << "call " << number << ", " << call.name << ": " << error;
    ++number;
  }
}

TEST(CallNames, BeginTheErrorsOfAnEndpoint) { expect_names_of_calls<Endpoint>(); }
TEST(CallNames, BeginTheErrorsOfASerialEndpoint) { expect_names_of_calls<SerialEndpoint>(); }

TEST(CallNames, ASecondDefaultCollectiveIsToldWhatToDo) {
  Runtime runtime;
  Endpoint endpoint{runtime};
  const Collective first{runtime, endpoint};
  expect_names(error_of([&] {
                 const Collective second{runtime, endpoint};
               }),
               {"Collective: key 255 cannot be used",
                "the Collectives of a rank have different keys, and each the same on all of its members",
                "Collective(runtime, endpoint, {.key = 254})"});
  const Collective second{runtime, endpoint, {.key = 254}};
  expect_names(error_of([&] {
                 const Collective third{runtime, endpoint, {.key = kCollectiveKeys}};
               }),
               {"Collective: key 16777216 is out of range: 0 to 16777215"});
}

}  // namespace
}  // namespace weft
