// Sends, receives and polls of streams that everybody keeps to themselves execute no locked instruction and
// no system call.
#include "budget/traced.hpp"
#include "support/ranks.hpp"

#include <weft/stream/stream_group.hpp>
#include <weft/testing/in_process_job.hpp>

#include <gtest/gtest.h>

#include <array>
#include <optional>
#include <thread>

namespace weft {
namespace {

#if defined(__SANITIZE_THREAD__) || defined(__SANITIZE_ADDRESS__) || !defined(NDEBUG)
constexpr bool kCountsLocksOfStreams = false;
#else
constexpr bool kCountsLocksOfStreams = true;
#endif
constexpr int kMessagesOfStreams = 100;

test::Trace trace_streams() {
  return test::trace([] {
    InProcessJob job(2);
    Runtime runtime0(job, 0);
    Runtime runtime1(job, 1);
    Stream stream0(runtime0);
    Stream stream1(runtime1);
    std::optional<StreamGroup> group1;
    std::thread other([&] { group1.emplace(runtime1, stream1); });
    const StreamGroup group0(runtime0, stream0);
    other.join();
    GroupStream sender = group0.member();
    GroupStream receiver = group1->member();
    std::uint64_t arrived = 0;
    Handler handler([&](Message& message) { arrived += message.size() / 8; });
    std::uint64_t room = 0;
    const auto exchange = [&] {
      for (std::uint64_t next = 0; next < kMessagesOfStreams; ++next) {
        const std::uint64_t wanted = arrived + 1;
        if (!receiver.post_receive({0, 0}, 5, mutable_bytes_of(room), {.completion = &handler}).is_accepted())
          ::_exit(3);
        if (!sender.post_send({1, 0}, 5, bytes_of(next), {.may_complete_now = true}).is_accepted())
          ::_exit(4);
        while (arrived != wanted) receiver.progress();
        sender.progress();
      }
    };
    while (sender.post_send({1, 0}, 5, bytes_of(room)).is_retry()) sender.progress();
    while (receiver.post_receive({0, 0}, 5, mutable_bytes_of(room), {.completion = &handler}).is_retry())
      receiver.progress();
    while (arrived != 1) receiver.progress();
    for (int warm_up = 0; warm_up < 100; ++warm_up) exchange();
    const std::uint64_t before = arrived;
    test::trace_mark();
    exchange();
    test::trace_mark();
    ::_exit(arrived == before + kMessagesOfStreams ? 0 : 5);
  });
}

TEST(LockedInstructions, between_streams_there_are_none) {
  if (!kCountsLocksOfStreams) GTEST_SKIP() << "sanitizers and assertions add locked instructions";
  const test::Trace trace = trace_streams();
  if (trace.problem.find("not permitted") != std::string::npos) GTEST_SKIP() << trace.problem;
  ASSERT_EQ(trace.problem, "");
  EXPECT_GT(trace.instructions, 50U * kMessagesOfStreams) << "this cannot have been the path";
  EXPECT_EQ(trace.locked, 0U) << "the first at address " << std::hex << trace.first_locked;
  EXPECT_EQ(trace.syscalls, 0U);
}

}  // namespace
}  // namespace weft
