// The 8-byte path of a SerialEndpoint executes no locked instruction and no system call.
#include "budget/traced.hpp"
#include "support/ranks.hpp"

#include <gtest/gtest.h>

#include <atomic>

namespace weft {
namespace {

#if defined(__SANITIZE_THREAD__) || defined(__SANITIZE_ADDRESS__) || !defined(NDEBUG)
constexpr bool kCountsLocks = false;
#else
constexpr bool kCountsLocks = true;
#endif
constexpr int kMessages = 100;

template <class EndpointType, class Drain>
test::Trace trace_messages(Completion& target, std::uint64_t& arrived, const Drain& drain) {
  return test::trace([&] {
    test::Ranks<EndpointType> ranks(2);
    const RemoteCompletion remote = ranks.runtime(1).expose(target, {.id = 1});
    EndpointType& sender = ranks.endpoint(0);
    EndpointType& receiver = ranks.endpoint(1);
    const auto exchange = [&] {
      for (std::uint64_t next = 0; next < kMessages; ++next) {
        if (!sender.post_am(1, remote, bytes_of(next)).is_done()) ::_exit(3);
        while (receiver.progress() == 0) {
        }
        drain();
      }
    };
    while (sender.post_am(1, remote, {}).is_retry()) {
    }
    while (receiver.progress() == 0) {
    }
    drain();
    for (int warm_up = 0; warm_up < 100; ++warm_up) exchange();
    const std::uint64_t before = arrived;
    test::trace_mark();
    exchange();
    test::trace_mark();
    ::_exit(arrived == before + kMessages ? 0 : 4);
  });
}

void expect_none(const test::Trace& trace) {
  if (trace.problem.find("not permitted") != std::string::npos) GTEST_SKIP() << trace.problem;
  ASSERT_EQ(trace.problem, "");
  EXPECT_GT(trace.instructions, 50U * kMessages) << "this cannot have been the path";
  EXPECT_EQ(trace.locked, 0U) << "in " << kMessages << " messages, the first at address " << std::hex
                              << trace.first_locked;
  EXPECT_EQ(trace.syscalls, 0U);
}

TEST(LockedInstructions, are_seen_by_this_method) {
  static std::atomic<int> number{0};
  static std::atomic<int> other{0};
  const test::Trace trace = test::trace([] {
    test::trace_mark();
    number.fetch_add(1);
    other.store(number.exchange(3));
    test::trace_mark();
  });
  if (trace.problem.find("not permitted") != std::string::npos) GTEST_SKIP() << trace.problem;
  ASSERT_EQ(trace.problem, "");
  EXPECT_GE(trace.locked, 3U);
}

TEST(LockedInstructions, from_a_serial_endpoint_to_a_handler_there_are_none) {
  if (!kCountsLocks) GTEST_SKIP() << "sanitizers and assertions add locked instructions";
  std::uint64_t arrived = 0;
  Handler handler([&](Message& message) { arrived += message.size() / 8; });
  expect_none(trace_messages<SerialEndpoint>(handler, arrived, [] {}));
}

template <class Queue>
void expect_none_through() {
  if (!kCountsLocks) GTEST_SKIP() << "sanitizers and assertions add locked instructions";
  std::uint64_t arrived = 0;
  Queue queue;
  expect_none(trace_messages<SerialEndpoint>(queue, arrived, [&] {
    Message message;
    while (queue.pop(message)) arrived += message.size() / 8;
  }));
}

TEST(LockedInstructions, from_a_serial_endpoint_to_a_serial_queue_there_are_none) {
  expect_none_through<SerialCompletionQueue>();
}

TEST(LockedInstructions, from_a_serial_endpoint_to_a_queue_of_one_thread_there_are_none) {
  expect_none_through<SingleConsumerQueue>();
  expect_none_through<CompletionQueue>();
}

}  // namespace
}  // namespace weft
