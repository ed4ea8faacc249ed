// A rank that outlives a hundred others, or a thousand, which die in the middle of all they do: memory,
// packets and records are as they were.
#include "support/ranks.hpp"

#include <weft/testing/simulation.hpp>

#include <gtest/gtest.h>

#include <malloc.h>
#include <algorithm>
#include <array>
#include <cstdlib>
#include <functional>
#include <memory>
#include <string>
#include <vector>

namespace weft {
namespace {

constexpr int kFewDeaths = 100;
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
constexpr int kManyDeaths = 150;
constexpr bool kCountsHeap = false;  // theirs is another
#else
constexpr int kManyDeaths = 1000;
constexpr bool kCountsHeap = true;
#endif

constexpr std::size_t kLarge = 100'000;
constexpr std::size_t kPackets = 48;
constexpr std::size_t kPeerState = 20'000;  // bytes that a survivor may keep of a rank that it once met

/// Lends memory for large messages, and knows what has come back.
class Books final : public PayloadOwner {
 public:
  std::byte* allocate(std::size_t size) noexcept override {
    ++lent;
    ++out;
    return static_cast<std::byte*>(std::malloc(size));
  }
  void release(std::byte* data, std::size_t, std::uint64_t) noexcept override {
    --out;
    std::free(data);
  }
  int lent = 0;
  int out = 0;
};

std::size_t heap() {
  const struct mallinfo2 info = ::mallinfo2();
  return info.uordblks + info.hblkhd;
}

/// How large messages travel, and whether they come in pieces.
struct Way {
  const char* name;
  const char* rendezvous;
  bool reads;
};
constexpr Way kWays[] = {{"by_fragments", "copy", false}, {"by_reading", "read", true}};

class Deaths : public testing::TestWithParam<Way> {
 protected:
  static std::vector<AttributeSetting> attributes() {
    return {{"packets", "48"},          {"packet_size", "4K"},
            {"requests", "16"},         {"rendezvous", GetParam().rendezvous},
            {"devices_max", "1"},       {"matching_buckets", "64"},
            {"matching_records", "64"}, {"regions_max", "1"},
            {"drain_timeout", "0.001"}, {"log", "error"}};
  }
  Deaths() {
    runtime_ = std::make_unique<Runtime>(simulation_, 0, RuntimeOptions{.attributes = settings_});
    endpoint_ = std::make_unique<Endpoint>(*runtime_);
    with_books_.set_allocator(books_);
    first_ = runtime_->expose(with_books_, {.id = 1});
    second_ = runtime_->expose(without_, {.id = 2});
  }
  ~Deaths() override {
    endpoint_.reset();
    runtime_.reset();
  }
  template <class Post>
  static bool post(const Post& post_once, const std::function<void()>& step) {
    return test::until([&] { return post_once().is_accepted(); }, step);
  }
  void live_and_die(int rank);
  void outlive(int deaths);

  sim::Simulation simulation_{{.ranks = kManyDeaths + 1,
                               .seed = 7,
                               .delay = 6,
                               .reorder = 20,
                               .refuse = 0,
                               .slow = 0,
                               .rma = GetParam().reads,
                               .gone = 8}};
  const std::vector<AttributeSetting> settings_ = attributes();
  const std::vector<std::byte> large_ = test::payload(kLarge, 1);
  std::unique_ptr<Runtime> runtime_;
  std::unique_ptr<Endpoint> endpoint_;
  Books books_;
  CompletionQueue with_books_;
  CompletionQueue without_;
  RemoteCompletion first_;
  RemoteCompletion second_;
  int interrupted_ = 0;  // operations that ended because their peer had died
};
INSTANTIATE_TEST_SUITE_P(of, Deaths, testing::ValuesIn(kWays),
                         [](const auto& way) { return std::string(way.param.name); });
void PrintTo(const Way& way, std::ostream* out) { *out << way.name; }

/// The rank begins everything at once, in both directions, and is killed some steps later.
void Deaths::live_and_die(int rank) {
  auto runtime = std::make_unique<Runtime>(simulation_, rank, RuntimeOptions{.attributes = settings_});
  auto endpoint = std::make_unique<Endpoint>(*runtime);
  const auto step = [&] {
    endpoint->progress();
    endpoint_->progress();
  };
  std::vector<std::byte> room(kLarge);
  test::Recorder own;                         // of the one that lives on
  test::Recorder theirs;                      // of the one that dies
  const auto small = test::payload(2000, 2);  // in a packet
  // What the other one sends: large messages, into memory of both kinds, into a receive, and unexpected; and
  // eager ones.
  ASSERT_TRUE(post([&] { return endpoint_->post_receive(rank, 1, room, {.completion = &own}); }, step));
  ASSERT_TRUE(post([&] { return endpoint->post_am(0, first_, large_, {.completion = &theirs}); }, step));
  ASSERT_TRUE(post([&] { return endpoint->post_am(0, second_, large_, {.completion = &theirs}); }, step));
  ASSERT_TRUE(post([&] { return endpoint->post_send(0, 1, large_, {.completion = &theirs}); }, step));
  ASSERT_TRUE(post([&] { return endpoint->post_send(0, 2, large_, {.completion = &theirs}); }, step));
  for (int count = 0; count < 3; ++count) {
    ASSERT_TRUE(post([&] { return endpoint->post_send(0, 3, small); }, step));
    ASSERT_TRUE(post([&] { return endpoint->post_am(0, first_, small); }, step));
  }
  // What this one sends: a large message that nobody receives, and eager ones.
  ASSERT_TRUE(post([&] { return endpoint_->post_send(rank, 4, large_, {.completion = &own}); }, step));
  for (int count = 0; count < 3; ++count)
    ASSERT_TRUE(post([&] { return endpoint_->post_send(rank, 5, small); }, step));
  for (int count = rank % 37; count > 0; --count) step();
  simulation_.kill(rank);
  ASSERT_TRUE(test::until([&] { return runtime_->has_failed(rank) && own.messages.size() == 2; },
                          [&] { endpoint_->progress(); }));
  for (const Message& message : own.messages)
    interrupted_ += message.outcome() == Outcome::peer_failed ? 1 : 0;
  endpoint.reset();
  runtime.reset();
  // What had come in time is there; the rest never comes.
  for (int quiet = 0; quiet < 50; ++quiet) endpoint_->progress();
  Message message;
  while (with_books_.pop(message) || without_.pop(message)) {
  }
  message = Message();
  ProbedMessage found;
  while (endpoint_->probe(rank, 3, found)) {
    test::Recorder received;
    static_cast<void>(endpoint_->post_receive(rank, 3, room, {.completion = &received}));
    ASSERT_TRUE(test::until([&] { return received.ready(); }, [&] { endpoint_->progress(); }));
  }
  ASSERT_EQ(books_.out, 0) << "memory of messages whose sender has died, after rank " << rank;
}

void Deaths::outlive(int deaths) {
  std::size_t at_first = 0;
  for (int rank = 1; rank <= deaths; ++rank) {
    ASSERT_NO_FATAL_FAILURE(live_and_die(rank));
    if (rank == deaths / 5) at_first = heap();
  }
  if (kCountsHeap) {
    const std::size_t growth = std::max(heap(), at_first) - at_first;
    EXPECT_LT(growth / (deaths - deaths / 5), kPeerState) << growth << " bytes for the last ranks that died";
  }
  EXPECT_GT(books_.lent, 0) << "no large message had got memory when its sender died";
  EXPECT_GT(interrupted_, deaths / 2) << "ranks died too late";
  const RuntimeCounters counters = runtime_->counters();
  EXPECT_LE(counters.records_highest, 64U);
  EXPECT_EQ(counters.unexpected_now, 0U);
  EXPECT_EQ(counters.backlog_now, 0U);
  // All packets are there.
  std::vector<Packet> packets;
  EXPECT_TRUE(test::until(
      [&] {
        for (Packet packet = runtime_->get_packet(); packet; packet = runtime_->get_packet())
          packets.push_back(std::move(packet));
        return packets.size() == kPackets;
      },
      [&] { endpoint_->progress(); }))
      << packets.size() << " of " << kPackets;
}

TEST_P(Deaths, leave_memory_packets_and_records_as_they_were) { outlive(kFewDeaths); }

TEST_P(Deaths, by_the_thousand_leave_memory_packets_and_records_as_they_were_soak) {
  const char* const nightly = std::getenv("WEFTDEV_NIGHTLY");
  if (nightly == nullptr || std::string(nightly) != "1")
    GTEST_SKIP() << "a thousand deaths with WEFTDEV_NIGHTLY=1";
  outlive(kManyDeaths);
}

}  // namespace
}  // namespace weft
