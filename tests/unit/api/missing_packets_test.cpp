// A runtime that ends while packets of it are missing says how many. (The listener of
// support/packet_watch.cpp, which fails every other test that loses packets, passes over tests with these
// words in their names.)
#include <weft/testing/in_process_job.hpp>

#include "core/packet/packet_pool.hpp"
#include "support/ranks.hpp"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace weft {
namespace {

using test::Ranks;

std::string line(int missing) {
  return "the runtime ends with " + std::to_string(missing) +
         " of its 64 packets missing: the program keeps them, or they are lost";
}

/// What is written to stderr while a runtime with 64 packets is used and ends.
template <class Use>
std::string said_by_runtime(const Use& use) {
  testing::internal::CaptureStderr();
  {
    InProcessJob job(1);
    const std::vector<AttributeSetting> attributes{{"packets", "64"}};
    Runtime runtime(job, 0, {.attributes = attributes});
    Endpoint endpoint(runtime);
    use(runtime, endpoint);
  }
  return testing::internal::GetCapturedStderr();
}

TEST(RuntimeWith, missing_packets_says_how_many_it_has_lost) {
  for (const int lost : {1, 3, 64}) {
    const std::uint64_t before = core::PacketPool::missing_so_far();
    const std::string said = said_by_runtime([lost](Runtime& runtime, Endpoint&) {
      for (int count = 0; count < lost; ++count) {
        Packet packet = runtime.get_packet();
        ASSERT_TRUE(static_cast<bool>(packet));
        static_cast<void>(packet.release());  // nobody knows it any more
      }
    });
    EXPECT_NE(said.find(line(lost)), std::string::npos) << said;
    EXPECT_EQ(said.find('\n', said.find(line(lost))), said.size() - 1) << "one line: " << said;
    EXPECT_EQ(core::PacketPool::missing_so_far() - before, static_cast<std::uint64_t>(lost));
  }
}

TEST(RuntimeWith, all_its_packets_says_nothing) {
  EXPECT_EQ(
      said_by_runtime([](Runtime& runtime, Endpoint& endpoint) {
        std::vector<Packet> packets;
        for (int count = 0; count < 64; ++count) packets.push_back(runtime.get_packet());
        test::Recorder recorder;
        packets.clear();
        const RemoteCompletion remote = runtime.expose(recorder, {.id = 1});
        const auto bytes = test::payload(5000, 1);
        for (int count = 0; count < 8; ++count)
          ASSERT_TRUE(test::until([&] { return endpoint.post_am(0, remote, bytes).is_accepted(); },
                                  [&] { endpoint.progress(); }));
        ASSERT_TRUE(test::until([&] { return recorder.messages.size() == 8; }, [&] { endpoint.progress(); }));
      }),
      "");
}

/// A rank may leave while its peer still holds what it has sent: these packets are not missing.
TEST(RuntimeWith, packets_that_a_peer_holds_says_nothing) {
  for (const char* network : {"shm", "sim"}) {
    testing::internal::CaptureStderr();
    {
      test::Recorder recorder;
      Ranks<Endpoint> ranks(2, test::with_no_surprises({{"network", network}, {"packets", "64"}}));
      const RemoteCompletion remote = ranks.runtime(1).expose(recorder, {.id = 1});
      ASSERT_TRUE(ranks.meet());
      const auto bytes = test::payload(5000, 1);
      for (int count = 0; count < 4; ++count) ASSERT_TRUE(ranks.post(0, 1, remote, bytes));
      ASSERT_TRUE(ranks.progress_until([&] { return recorder.messages.size() == 4; }));
      ranks.leave(0);
      for (const Message& message : recorder.messages) EXPECT_TRUE(test::matches(message.bytes(), 1));
      recorder.messages.clear();
    }
    EXPECT_EQ(testing::internal::GetCapturedStderr(), "") << network;
  }
}

}  // namespace
}  // namespace weft
