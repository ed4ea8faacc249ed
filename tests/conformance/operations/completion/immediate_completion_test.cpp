// Operations that end while they are posted tell their completion object what the post named, exactly once,
// whatever way the post goes.
#include "support/matched.hpp"
#include "support/one_sided.hpp"

#include <gtest/gtest.h>

#include <functional>
#include <string>
#include <vector>

namespace weft {
namespace {

using test::access_settings;
using test::AccessSetting;
using test::payload;
using test::post_until;
using test::Ranks;
using test::Recorder;
using test::Target;

void expect_end(const Recorder& ended, Operation operation, std::uint64_t tag, Bytes bytes,
                const void* user_data) {
  ASSERT_EQ(ended.messages.size(), 1U);
  const Message& message = ended.messages.front();
  EXPECT_EQ(message.operation(), operation);
  EXPECT_EQ(message.outcome(), Outcome::ok);
  EXPECT_EQ(message.peer(), 1);
  EXPECT_EQ(message.tag(), tag);
  EXPECT_EQ(message.user_data(), user_data);
  EXPECT_EQ(message.data(), bytes.data());
  EXPECT_EQ(message.size(), bytes.size());
}

template <class EndpointType>
class EndsInPost : public testing::Test {
 protected:
  using Start = std::function<Status()>;

  /// Starts an operation again and again, more often than a lane has credits of its own.
  void run(Operation operation, std::uint64_t tag, Bytes bytes, const Start& start, Recorder& ended,
           const void* user_data) {
    for (int round = 0; round < 100; ++round) {
      ended.messages.clear();
      const Status status = post_until(start, [&] { ranks_.progress(); });
      ASSERT_TRUE(status.is_posted()) << "round " << round;
      ASSERT_TRUE(ranks_.progress_until([&] { return !ended.messages.empty(); }));
      ASSERT_NO_FATAL_FAILURE(expect_end(ended, operation, tag, bytes, user_data)) << "round " << round;
      ranks_.progress();
      EXPECT_EQ(ended.messages.size(), 1U);
    }
  }

  Ranks<EndpointType> ranks_{2};
  int mark_ = 0;
};
using Endpoints = testing::Types<Endpoint, SerialEndpoint>;
TYPED_TEST_SUITE(EndsInPost, Endpoints);

constexpr std::size_t kSizes[] = {0, 8, 40, 41, 48, 49, 64, 2000, 2096, 8192};

TYPED_TEST(EndsInPost, of_sends) {
  auto& sender = this->ranks_.endpoint(0);
  auto& receiver = this->ranks_.endpoint(1);
  Counter received;
  std::uint64_t expected = 0;
  std::vector<std::byte> buffer(8192);
  for (const std::uint16_t engine : {std::uint16_t{0}, static_cast<std::uint16_t>(kMatchingEngines)})
    for (const std::size_t size : kSizes) {
      SCOPED_TRACE("engine " + std::to_string(engine) + ", size " + std::to_string(size));
      Recorder ended;
      const auto bytes = payload(size, size);
      const SendOptions options{.completion = &ended, .user_data = &this->mark_, .engine = engine};
      for (int count = 0; count < 100; ++count)
        ASSERT_TRUE(
            receiver.post_receive(0, 7, buffer, {.completion = &received, .engine = engine}).is_posted());
      ASSERT_NO_FATAL_FAILURE(this->run(
          Operation::send, 7, bytes, [&] { return sender.post_send(1, 7, bytes, options); }, ended,
          &this->mark_));
      for (int count = 0; count < 100; ++count)
        ASSERT_TRUE(
            receiver.post_receive(0, 7, buffer, {.completion = &received, .engine = engine}).is_posted());
      auto prepared = sender.prepare_send(1, 7, bytes, options);
      ASSERT_NO_FATAL_FAILURE(this->run(
          Operation::send, 7, bytes, [&] { return prepared.start(); }, ended, &this->mark_));
      expected += 200;
      ASSERT_TRUE(this->ranks_.progress_until([&] { return received.value() == expected; }));
    }
}

TYPED_TEST(EndsInPost, of_active_messages) {
  auto& sender = this->ranks_.endpoint(0);
  Counter arrived;
  const RemoteCompletion remote = this->ranks_.runtime(1).expose(arrived, {.id = 1});
  std::uint64_t sent = 0;
  for (const std::size_t size : kSizes) {
    SCOPED_TRACE("size " + std::to_string(size));
    Recorder ended;
    const auto bytes = payload(size, size);
    const ActiveMessageOptions options{.completion = &ended, .user_data = &this->mark_, .tag = 9};
    ASSERT_NO_FATAL_FAILURE(this->run(
        Operation::active_message_sent, 9, bytes, [&] { return sender.post_am(1, remote, bytes, options); },
        ended, &this->mark_));
    auto prepared = sender.prepare_am(1, remote, bytes, options);
    ASSERT_NO_FATAL_FAILURE(this->run(
        Operation::active_message_sent, 9, bytes, [&] { return prepared.start(); }, ended, &this->mark_));
    sent += 200;
    ASSERT_TRUE(this->ranks_.progress_until([&] { return arrived.value() == sent; }));
  }
}

/// What only counts is counted by the same ways, and by calls that wait.
TYPED_TEST(EndsInPost, is_counted_once) {
  auto& sender = this->ranks_.endpoint(0);
  // Elsewhere the other rank would have to progress meanwhile.
  const bool may_wait = std::string(this->ranks_.runtime(0).network()) == "shm";
  Counter arrived;
  const RemoteCompletion remote = this->ranks_.runtime(1).expose(arrived, {.id = 1});
  Counter ended;
  Counter received;
  std::uint64_t expected = 0;
  std::uint64_t buffer = 0;
  for (std::uint64_t round = 0; round < 50; ++round) {
    ASSERT_TRUE(
        this->ranks_.endpoint(1)
            .post_receive(0, 4, std::as_writable_bytes(std::span(&buffer, 1)), {.completion = &received})
            .is_posted());
    ASSERT_TRUE(post_until([&] { return sender.post_am(1, remote, bytes_of(round), {.completion = &ended}); },
                           [&] { this->ranks_.progress(); })
                    .is_posted());
    ASSERT_TRUE(post_until([&] { return sender.post_send(1, 4, bytes_of(round), {.completion = &ended}); },
                           [&] { this->ranks_.progress(); })
                    .is_posted());
    expected += 2;
    if (may_wait) {
      ASSERT_TRUE(
          this->ranks_.endpoint(1)
              .post_receive(0, 4, std::as_writable_bytes(std::span(&buffer, 1)), {.completion = &received})
              .is_posted());
      EXPECT_EQ(sender.send_am(1, remote, bytes_of(round), {.completion = &ended}), Outcome::ok);
      EXPECT_EQ(sender.send(1, 4, bytes_of(round), {.completion = &ended}), Outcome::ok);
      expected += 2;
    }
    ASSERT_TRUE(this->ranks_.progress_until([&] {
      return ended.value() == expected && received.value() == expected / 2 && arrived.value() == expected / 2;
    }));
    this->ranks_.progress();
    EXPECT_EQ(ended.value(), expected);
  }
}

class AccessesEndInPost : public testing::TestWithParam<std::size_t> {
 protected:
  [[nodiscard]] const AccessSetting& setting() const { return access_settings()[GetParam()]; }
};
INSTANTIATE_TEST_SUITE_P(over, AccessesEndInPost, testing::Range<std::size_t>(0, access_settings().size()),
                         [](const auto& setting) {
                           return std::string(access_settings()[setting.param].name);
                         });

TEST_P(AccessesEndInPost, with_and_without_a_signal) {
  Ranks<Endpoint> ranks(2, setting().attributes);
  Target target(ranks.runtime(1), setting(), 10'000);
  const MappedRegion region = target.seen_by(ranks.runtime(0), setting());
  Counter signalled;
  const RemoteCompletion signal = ranks.runtime(1).expose(signalled, {.id = 4});
  auto& endpoint = ranks.endpoint(0);
  int mark = 0;
  std::uint64_t signals = 0;
  for (const bool with_signal : {false, true})
    for (const std::size_t size : {std::size_t{8}, std::size_t{100}, std::size_t{6000}}) {
      SCOPED_TRACE("size " + std::to_string(size) + (with_signal ? ", with a signal" : ""));
      Recorder ended;
      AccessOptions options{.completion = &ended, .user_data = &mark, .tag = 3};
      if (with_signal) options.signal = signal;
      const auto run = [&](Operation operation, Bytes bytes, const std::function<Status()>& start) {
        ended.messages.clear();
        ASSERT_TRUE(post_until(start, [&] { ranks.progress(); }).is_posted());
        signals += with_signal ? 1 : 0;
        ASSERT_TRUE(
            ranks.progress_until([&] { return !ended.messages.empty() && signalled.value() == signals; }));
        ranks.progress();
        expect_end(ended, operation, 3, bytes, &mark);
      };
      const auto source = payload(size, size);
      std::vector<std::byte> back(size);
      for (int round = 0; round < 3; ++round) {
        run(Operation::put, source, [&] { return endpoint.post_put(1, region.at(0), source, options); });
        run(Operation::get, back, [&] { return endpoint.post_get(1, region.at(0), back, options); });
        EXPECT_EQ(back, source);
      }
      std::uint64_t old = 0;
      run(Operation::atomic, {}, [&] {
        return endpoint.post_atomic<std::uint64_t>(1, region.at(8), AtomicOperation::add, 1, options);
      });
      run(Operation::atomic, bytes_of(old), [&] {
        return endpoint.post_fetch_atomic<std::uint64_t>(1, region.at(8), AtomicOperation::add, 1, old,
                                                         options);
      });
      if (HasFatalFailure()) return;
    }
}

}  // namespace
}  // namespace weft
