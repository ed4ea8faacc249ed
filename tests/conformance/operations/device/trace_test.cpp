// Operations do what they do also while a trace is made, and the trace has all of them.
#include "support/deadlines.hpp"
#include "support/ranks.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>
#include <thread>
#include <vector>

namespace weft {
namespace {

using test::Ranks;
using test::until;

class Trace : public testing::Test {
 protected:
  Trace() {
    char name[] = "/tmp/weft-trace-test-XXXXXX";
    folder_ = ::mkdtemp(name);
    attributes_ = test::with_no_surprises({{"trace", folder_.c_str()}});
  }
  ~Trace() override { std::filesystem::remove_all(folder_); }

  /// How often the rank's trace has the text; to be called when the rank has ended.
  [[nodiscard]] std::size_t count(int rank, const std::string& part) const {
    std::ifstream file(folder_ + "/weft-trace-" + std::to_string(rank) + ".json");
    std::stringstream content;
    content << file.rdbuf();
    const std::string text = content.str();
    std::size_t number = 0;
    for (std::size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) ++number;
    return number;
  }

  std::string folder_;
  std::vector<AttributeSetting> attributes_;
};

TEST_F(Trace, HasActiveMessagesOfEverySize) {
  std::size_t messages = 0;
  {
    Ranks<SerialEndpoint> ranks(2, attributes_);
    Counter arrived;
    const RemoteCompletion remote = ranks.runtime(1).expose(arrived, {.id = 7});
    for (const std::size_t size : test::border_sizes(ranks.runtime(0))) {
      Counter sent;
      const std::vector<std::byte> bytes = test::payload(size, 1);
      ASSERT_TRUE(ranks.post(0, 1, remote, bytes, {.completion = &sent}).has_value());
      ++messages;
      ASSERT_TRUE(ranks.progress_until([&] { return sent.value() == 1 && arrived.value() == messages; }));
    }
  }
  EXPECT_EQ(count(1, "\"deliver active message\"") + count(1, "\"large message delivered\""), messages);
  EXPECT_EQ(count(0, "\"name\":\"large message to a peer\""), 2 * count(1, "\"large message delivered\""));
  EXPECT_EQ(count(0, "\"dropped_events\":0"), 1U);
}

TEST_F(Trace, HasSendsReceivesAndAccesses) {
  constexpr std::uint64_t kMessages = 20;
  {
    Ranks<Endpoint> ranks(2, attributes_);
    const std::uint64_t value = 5;
    std::uint64_t got = 0;
    const auto room = std::as_writable_bytes(std::span(&got, 1));
    for (std::uint64_t number = 0; number < kMessages; ++number) {
      Counter received;
      ASSERT_TRUE(ranks.endpoint(1).post_receive(0, number, room, {.completion = &received}).is_accepted());
      ASSERT_TRUE(until([&] { return ranks.endpoint(0).post_send(1, number, bytes_of(value)).is_accepted(); },
                        [&] { ranks.progress(); }));
      ASSERT_TRUE(ranks.progress_until([&] { return received.value() == 1; }));
    }
    EXPECT_EQ(got, value);
    MemoryRegion region = MemoryRegion::allocate(ranks.runtime(1), 64);
    const MappedRegion mapped = map(ranks.runtime(0), region.remote());
    Counter ended;
    ASSERT_TRUE(until(
        [&] {
          return ranks.endpoint(0)
              .post_put(1, mapped.at(0), bytes_of(value), {.completion = &ended})
              .is_accepted();
        },
        [&] { ranks.progress(); }));
    ASSERT_TRUE(ranks.progress_until([&] { return ended.value() == 1; }));
    EXPECT_EQ(*reinterpret_cast<const std::uint64_t*>(region.bytes().data()), value);
  }
  EXPECT_EQ(count(0, R"("send matched message","cat":"sent")"), kMessages);
  EXPECT_EQ(count(1, "\"deliver matched message\""), kMessages);
  EXPECT_EQ(count(1, "\"receive ended\""), kMessages);
  EXPECT_EQ(count(1, "\"post_receive\""), kMessages);
  EXPECT_EQ(count(0, "\"access ended\""), 1U);
}

TEST_F(Trace, NamesTheStepsOfACancel) {
  {
    Ranks<Endpoint> ranks(2, attributes_);
    const std::vector<std::byte> bytes = test::payload(100'000, 1);
    Counter ended;
    ASSERT_TRUE(until(
        [&] {
          return ranks.endpoint(0)
              .post_send(1, 3, bytes, {.completion = &ended, .timeout = test::kSoon})
              .is_accepted();
        },
        [&] { ranks.progress(); }));
    ASSERT_TRUE(ranks.progress_until([&] { return ended.value() == 1; }));
  }
  EXPECT_GE(count(0, "\"send cancel\""), 1U);
  EXPECT_EQ(count(0, "\"deliver cancelled\""), 1U);
  EXPECT_EQ(count(0, "unknown") + count(1, "unknown"), 0U);
}

TEST_F(Trace, IsMadeBesideManyThreads) {
  constexpr std::uint64_t kThreads = 3;
  constexpr std::uint64_t kMessages = 200;
  {
    Ranks<Endpoint> ranks(2, attributes_);
    ASSERT_TRUE(ranks.meet());
    Counter arrived;
    const RemoteCompletion remote = ranks.runtime(1).expose(arrived, {.id = 7});
    std::atomic<bool> failed{false};
    std::vector<std::thread> threads;
    for (std::uint64_t thread = 0; thread < kThreads; ++thread)
      threads.emplace_back([&] {
        for (std::uint64_t number = 0; number < kMessages; ++number)
          if (!until([&] { return ranks.endpoint(0).post_am(1, remote, bytes_of(number)).is_accepted(); },
                     [&] { ranks.endpoint(0).progress(); }))
            failed = true;
      });
    EXPECT_TRUE(ranks.progress_until([&] { return arrived.value() == kThreads * kMessages; }));
    for (std::thread& thread : threads) thread.join();
    EXPECT_FALSE(failed);
  }
  EXPECT_GE(count(1, "\"deliver active message\""), kThreads * kMessages);
}

}  // namespace
}  // namespace weft
