// Errors as values: their classes, that no exception leaves, and the call of the program that they name.
#include <weft/binding/call_context.hpp>
#include <weft/binding/expected.hpp>
#include <weft/weft.hpp>

#include "support/errors.hpp"

#include <gtest/gtest.h>

#include <array>
#include <functional>
#include <memory>
#include <new>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

namespace weft {
namespace {

using test::error_of;
using test::expect_names;

constexpr int kNoSuchRank = 9;  // no rank of a job of one

/// What a call that throws has for a class, by value and by exception.
ErrorClass class_of(const std::function<void()>& call) {
  const auto result = attempt(call);
  EXPECT_FALSE(result);
  try {
    call();
  } catch (const Error& error) {
    EXPECT_EQ(error.error_class(), result.failure().error_class());
    EXPECT_STREQ(error.what(), result.failure().text());
  } catch (...) {  // not weft's: the value alone has a class
  }
  return result.failure().error_class();
}

TEST(ErrorValues, have_the_class_of_what_is_wrong) {
  Runtime runtime;
  Endpoint endpoint(runtime);
  Counter counter;
  const RemoteCompletion remote = runtime.expose(counter, {.id = 1});
  std::array<std::byte, 64> memory{};
  const MemoryRegion region(runtime, memory);
  std::uint64_t word = 0;
  const Bytes bytes = bytes_of(word);
  const MutableBytes buffer = mutable_bytes_of(word);
  const int beyond = std::stoi("256");  // what the compiler knows, it refuses itself
  const auto ignore = [](const auto&) {};
  MatchingEngine ordered(runtime, {.id = 256, .order = MatchOrder::ordered});
  ProbedMessage found;
  MatchedMessage empty;
  const std::vector<std::pair<ErrorClass, std::function<void()>>> calls = {
      {ErrorClass::peer, [&] { ignore(endpoint.post_am(kNoSuchRank, remote, bytes)); }},
      {ErrorClass::peer, [&] { ignore(endpoint.send_am(kNoSuchRank, remote, bytes)); }},
      {ErrorClass::peer, [&] { ignore(endpoint.post_send(kNoSuchRank, 1, bytes)); }},
      {ErrorClass::peer, [&] { ignore(endpoint.send(kNoSuchRank, 1, bytes)); }},
      {ErrorClass::peer, [&] { ignore(endpoint.post_receive(-2, 1, buffer, {.completion = &counter})); }},
      {ErrorClass::peer, [&] { ignore(endpoint.receive(kNoSuchRank, 1, buffer)); }},
      {ErrorClass::peer, [&] { ignore(endpoint.probe(kNoSuchRank, 1, found)); }},
      {ErrorClass::peer, [&] { ignore(endpoint.post_put(kNoSuchRank, region.remote().at(0), bytes)); }},
      {ErrorClass::peer, [&] { ignore(runtime.host_of(kNoSuchRank)); }},
      {ErrorClass::tag, [&] { ignore(endpoint.post_send(0, any_tag, bytes, {.engine = 256})); }},
      {ErrorClass::tag, [&] { ignore(endpoint.receive(0, any_tag, buffer, {})); }},
      {ErrorClass::tag, [&] { ignore(endpoint.receive(0, 1, buffer, {.tag_mask = 1})); }},
      {ErrorClass::length,
       [&] {
         Packet packet = runtime.get_packet();
         ignore(endpoint.post_send(0, 1, std::move(packet), std::size_t{1} << 40));
       }},
      {ErrorClass::length, [&] { runtime.allgather(bytes, {}); }},
      {ErrorClass::engine, [&] { ignore(endpoint.post_send(0, 1, bytes, {.engine = kEngineIds})); }},
      {ErrorClass::engine,
       [&] { ignore(endpoint.post_send(0, 1, bytes, {.policy = MatchingPolicy::user})); }},
      {ErrorClass::engine, [&] { ignore(MatchingEngine(runtime, {.id = 256})); }},
      {ErrorClass::device, [&] { ignore(Device(runtime, {.index = 0})); }},
      {ErrorClass::device, [&] { ignore(SerialEndpoint(runtime)); }},
      {ErrorClass::device, [&] { ignore(SendOptions{.device = beyond}); }},
      {ErrorClass::target, [&] { ignore(endpoint.post_am(0, RemoteCompletion(), bytes)); }},
      {ErrorClass::target, [&] { ignore(endpoint.post_put(0, RemoteRegion().at(0), bytes)); }},
      {ErrorClass::target, [&] { ignore(runtime.expose(counter, {.id = 1})); }},
      {ErrorClass::option, [&] { ignore(endpoint.post_receive(0, 1, buffer, {})); }},
      {ErrorClass::option, [&] { ignore(endpoint.post_send(0, 1, bytes, {.synchronous = true})); }},
      {ErrorClass::state,
       [&] { ignore(endpoint.post_receive(std::move(empty), buffer, {.completion = &counter})); }},
      {ErrorClass::attribute, [&] { ignore(runtime.attribute("no_such")); }},
      {ErrorClass::attribute,
       [&] {
         const std::array settings{AttributeSetting{"packet_size", "many"}};
         ignore(Runtime({.attributes = settings}));
       }},
  };
  for (std::size_t number = 0; number < calls.size(); ++number) {
    const auto& [wanted, call] = calls[number];
    EXPECT_EQ(name_of(class_of(call)), std::string(name_of(wanted))) << "call " << number;
  }
}

TEST(ErrorValues, of_what_other_code_throws_have_classes_too) {
  EXPECT_EQ(class_of([] { throw std::bad_alloc(); }), ErrorClass::no_memory);
  EXPECT_EQ(class_of([] { throw std::system_error(2, std::generic_category(), "open"); }),
            ErrorClass::system);
  EXPECT_EQ(class_of([] { throw 7; }), ErrorClass::other);
  const auto other = attempt([] { throw std::runtime_error("the reason"); });
  EXPECT_EQ(other.failure().error_class(), ErrorClass::other);
  EXPECT_STREQ(other.failure().text(), "the reason");
  EXPECT_EQ(class_of([] { throw Error("without a class"); }), ErrorClass::other);
}

TEST(ErrorValues, are_none_where_there_is_a_value) {
  const auto value = attempt([] { return std::make_unique<int>(5); });
  ASSERT_TRUE(value);
  EXPECT_EQ(**value, 5);
  EXPECT_FALSE(value.failure());
  EXPECT_EQ(value.failure().error_class(), ErrorClass::none);
  EXPECT_STREQ(value.failure().text(), "");
  bool is_called = false;
  EXPECT_TRUE(attempt([&] { is_called = true; }));
  EXPECT_TRUE(is_called);
  const auto code = [](bool throws) noexcept {
    return attempt_or(
        [&] {
          if (throws) throw Error(ErrorClass::peer, "no rank");
          return 0;
        },
        [](const Failure& failure) { return static_cast<int>(failure.error_class()); });
  };
  EXPECT_EQ(code(false), 0);
  EXPECT_EQ(code(true), 3);
}

TEST(ErrorValues, of_constructors_come_in_place_of_the_object) {
  auto runtime = try_make<Runtime>();
  ASSERT_TRUE(runtime);
  auto engine = try_make<MatchingEngine>(*runtime, MatchingEngineOptions{.id = 7});  // which cannot be moved
  ASSERT_TRUE(engine);
  EXPECT_EQ(engine->id(), 7);
  const auto second = try_make<MatchingEngine>(*runtime, MatchingEngineOptions{.id = 7});
  ASSERT_FALSE(second);
  EXPECT_EQ(second.failure().error_class(), ErrorClass::engine);
  expect_names(second.failure().text(), {"matching engine 7 is open already"});
  auto device = try_make<Device>(*runtime);
  ASSERT_TRUE(device);
  EXPECT_TRUE(try_make<SerialEndpoint>(*device));
  EXPECT_EQ(try_make<Device>(*runtime, DeviceOptions{.index = 255}).failure().error_class(),
            ErrorClass::device);
}

/// Objects that the failure outlives have left their text.
TEST(ErrorValues, keep_their_text) {
  Failure failure;
  {
    Runtime runtime;
    Endpoint endpoint(runtime);
    failure = attempt([&] { return endpoint.post_send(kNoSuchRank, 1, {}); }).failure();
  }
  const Failure copy = failure;
  failure = Failure();
  expect_names(copy.text(), {"post_send: peer 9 is not a rank of this job (0 to 0)"});
}

TEST(ContextsOfCalls, are_named_by_errors_in_place_of_the_inner_call) {
  Runtime runtime;
  Endpoint endpoint(runtime);
  std::uint64_t word = 0;
  const auto send = [&] { static_cast<void>(endpoint.post_send(kNoSuchRank, 1, bytes_of(word))); };
  const auto receive = [&] { static_cast<void>(endpoint.receive(kNoSuchRank, 1, mutable_bytes_of(word))); };
  const std::string end = " is not a rank of this job (0 to 0)";
  {
    const CallContext context("MPI_Send", "MPI_COMM_WORLD");
    EXPECT_EQ(error_of(send), "MPI_Send on MPI_COMM_WORLD: peer 9" + end);
    EXPECT_EQ(attempt(send).failure().text(), "MPI_Send on MPI_COMM_WORLD: peer 9" + end);
    {
      const CallContext inner("MPI_Recv", nullptr, "halo.c", 12);
      EXPECT_EQ(error_of(receive), "MPI_Recv, at halo.c:12: source 9" + end);
    }
    EXPECT_EQ(error_of(send), "MPI_Send on MPI_COMM_WORLD: peer 9" + end);
    // What says nothing of a call has the context in front of it, once it is a value.
    EXPECT_STREQ(attempt([] { throw Error("the ring is broken"); }).failure().text(),
                 "MPI_Send on MPI_COMM_WORLD: the ring is broken");
  }
  EXPECT_EQ(error_of(send), "post_send: peer 9" + end);
  EXPECT_EQ(CallContext::current(), nullptr);
}

TEST(ContextsOfCalls, know_the_place_where_they_were_made) {
  const auto line = std::source_location::current().line() + 1;
  const CallContext context("exchange", "halo", std::source_location::current());
  EXPECT_EQ(context.line(), line);
  ASSERT_EQ(CallContext::current(), &context);
  expect_names(detail::describe(context), {"exchange on halo, at ", "error_values_test.cpp:"});
}

}  // namespace
}  // namespace weft
