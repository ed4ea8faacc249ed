// Ranks of several hosts, joined by agents: what the conformance tests of the bootstrap do not ask.
#include "bootstrap/relay/relay.hpp"
#include "bootstrap/relay/frame_link.hpp"
#include "support/errors.hpp"
#include "support/ranks.hpp"
#include "support/relayed_job.hpp"

#include <gtest/gtest.h>

#include <fcntl.h>
#include <sys/stat.h>

#include <chrono>
#include <cstring>
#include <string>
#include <vector>

namespace weft::bootstrap {
namespace {

using namespace std::chrono_literals;

template <class Condition>
bool soon(const Condition& condition) {
  const auto until = std::chrono::steady_clock::now() + 20s;
  while (!condition()) {
    if (std::chrono::steady_clock::now() > until) return false;
    std::this_thread::sleep_for(1ms);
  }
  return true;
}

TEST(Relay, tells_every_rank_the_host_of_every_rank_and_one_secret) {
  RelayedJob job(5, 3, 20);
  const auto zero = job.join(0);
  const auto four = job.join(4);
  for (const auto* each : {&zero, &four})
    for (int rank = 0; rank < 5; ++rank) EXPECT_EQ((*each)->host_of(rank), rank % 3);
  EXPECT_EQ(zero->secret(), four->secret());
  EXPECT_EQ(zero->job_id(), four->job_id());
}

TEST(Relay, tells_boards_of_all_hosts_who_has_left_and_who_has_failed) {
  RelayedJob job(6, 3, 20);
  std::vector<std::unique_ptr<Bootstrap>> ranks;
  for (int rank = 0; rank < 6; ++rank) ranks.push_back(job.join(rank));
  job.end_rank(1, "was killed by signal 9 (SIGKILL)");
  ranks[5].reset();
  for (const int observer : {0, 2, 3, 4}) {
    const Bootstrap& board = *ranks[static_cast<std::size_t>(observer)];
    EXPECT_TRUE(soon([&] { return board.has_failed(1) && board.has_left(5); })) << observer;
    EXPECT_FALSE(board.has_failed(5) || board.has_left(2));
    EXPECT_EQ(board.departures()->load(), 2U);
  }
  // Who joins later is told as well.
  const auto again = job.join(4, "later");
  EXPECT_TRUE(soon([&] { return again->has_failed(1); }));
  EXPECT_FALSE(again->has_left(5));
  const std::string error = test::error_of([&] { static_cast<void>(ranks[2]->get(1, "never")); });
  EXPECT_NE(error.find("was killed by signal 9"), std::string::npos) << error;
}

TEST(Relay, notices_a_rank_that_is_cut_off_without_leaving) {
  RelayedJob job(3, 3, 20);
  const auto zero = job.join(0);
  auto one = job.join(1);
  const auto two = job.join(2);
  job.end_rank(2, "exited with code 3");
  EXPECT_TRUE(soon([&] { return zero->has_failed(2) && one->has_failed(2); }));
  EXPECT_NE(test::error_of([&] { zero->barrier(); }).find("rank 2"), std::string::npos);
}

TEST(Relay, answers_what_ranks_wait_for_or_ask_later_when_the_root_is_lost) {
  RelayedJob job(3, 3, 20);
  const auto zero = job.join(0);
  const auto one = job.join(1);
  std::string waiting;
  std::thread thread([&] { waiting = test::error_of([&] { one->barrier(); }); });
  EXPECT_TRUE(soon(
      [&] { return job.with_agent(1, [](relay::Agent& agent) { return agent.open_requests() == 1; }); }));
  job.lose_root(1, "rank 0 is lost: the connection was closed");
  thread.join();
  EXPECT_EQ(waiting, "rank 0 is lost: the connection was closed");
  EXPECT_TRUE(one->has_failed(0));
  EXPECT_EQ(test::error_of([&] { one->put("key", {}); }), waiting);
  EXPECT_EQ(test::error_of([&] { static_cast<void>(one->try_get(2, "key")); }), waiting);
  EXPECT_EQ(test::error_of([&] { static_cast<void>(job.join(1, "later")); }), waiting);
}

TEST(Relay, keeps_short_values_on_the_host_of_a_rank_that_has_asked) {
  RelayedJob job(5, 2, 20);
  const auto zero = job.join(0);
  const auto one = job.join(1);
  const auto three = job.join(3);
  zero->put("address", std::as_bytes(std::span("here", 4)));
  zero->put("second", std::as_bytes(std::span("there", 5)));
  const auto told = [](Bootstrap& rank, std::string_view key) {
    const auto value = rank.try_get(0, key);
    return value.has_value() ? std::string(reinterpret_cast<const char*>(value->data()), value->size())
                             : std::string("(not published)");
  };
  EXPECT_EQ(told(*one, "third"), "(not published)");
  EXPECT_EQ(told(*one, "second"), "there");
  EXPECT_EQ(told(*one, "address"), "here");
  job.lose_root(1, "rank 0 is lost");
  EXPECT_EQ(told(*three, "address"), "here");
  EXPECT_EQ(told(*three, "second"), "there");
  EXPECT_EQ(test::error_of([&] { static_cast<void>(told(*three, "third")); }), "rank 0 is lost");
}

TEST(Relay, counts_all_ranks_of_a_lost_host_as_failed) {
  RelayedJob job(6, 3, 20);
  std::vector<std::unique_ptr<Bootstrap>> ranks;
  for (int rank = 0; rank < 6; ++rank) ranks.push_back(job.join(rank));
  job.lose_host(2);
  for (const int observer : {0, 1, 3, 4})
    EXPECT_TRUE(soon([&] {
      const Bootstrap& board = *ranks[static_cast<std::size_t>(observer)];
      return board.has_failed(2) && board.has_failed(5);
    })) << observer;
  EXPECT_FALSE(ranks[0]->has_failed(1));
}

TEST(Relay, lends_descriptors_within_a_host_only) {
  RelayedJob job(4, 2, 20);
  std::vector<std::unique_ptr<Bootstrap>> ranks;
  for (int rank = 0; rank < 4; ++rank) ranks.push_back(job.join(rank));
  const base::Descriptor file{::open("/dev/null", O_RDONLY | O_CLOEXEC)};
  ASSERT_TRUE(ranks[1]->lend("file", file.get()));
  const base::Descriptor lent = ranks[3]->borrow(1, "file");
  ASSERT_TRUE(lent);
  struct stat own {};
  struct stat theirs {};
  ASSERT_EQ(::fstat(file.get(), &own) + ::fstat(lent.get(), &theirs), 0);
  EXPECT_EQ(own.st_ino, theirs.st_ino);
  EXPECT_FALSE(ranks[0]->borrow(1, "file")) << "it does not leave the host";
  EXPECT_FALSE(ranks[3]->borrow(1, "another"));
  ranks[1]->take_back("file");
  EXPECT_FALSE(ranks[3]->borrow(1, "file"));
  ASSERT_TRUE(ranks[1]->lend("file", file.get()));
  ranks[1].reset();
  EXPECT_TRUE(soon([&] { return !ranks[3]->borrow(1, "file"); })) << "its owner has left";
}

TEST(Relay, has_the_server_decide_who_cannot_be_reached) {
  RelayedJob job(4, 2, 20);
  std::vector<std::unique_ptr<Bootstrap>> ranks;
  for (int rank = 0; rank < 4; ++rank) ranks.push_back(job.join(rank));
  // Two ranks of different hosts blame each other: whose report comes first counts.
  ranks[1]->report_unreachable(2, "Connection timed out");
  ranks[2]->report_unreachable(1, "Connection timed out");
  for (const auto& each : ranks)
    EXPECT_TRUE(soon([&] { return each->has_failed(1) || each->has_failed(2); }));
  std::this_thread::sleep_for(500ms);
  EXPECT_NE(ranks[0]->has_failed(1), ranks[0]->has_failed(2)) << "the other one is no judge any more";
  const auto lost =
      job.with_server([](local::Server& server) { return server.findings().take_unreachable(); });
  ASSERT_TRUE(lost.has_value());
  EXPECT_TRUE(ranks[3]->has_failed(lost->rank));
  EXPECT_EQ(lost->by, 3 - lost->rank);
  EXPECT_EQ(lost->why, "Connection timed out");
}

TEST(Relay, lets_a_host_speak_for_its_own_ranks_only) {
  local::Server server(random_job_id(), 3, {0, 1, 2});
  int ends[2];
  ASSERT_EQ(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, ends), 0);
  relay::RemoteHost host(server, 1, {base::Descriptor(ends[0]), {}});
  relay::FrameLink agent({base::Descriptor(ends[1]), {}}, relay::kLongestFrame);
  const auto joins_as = [&](std::uint32_t stream, int rank) {
    const local::Header hello{32, 1, local::Message::hello, rank};
    agent.send({1, stream, 0, 0}, std::as_bytes(std::span(&hello, 1)),
               std::as_bytes(std::span(server.job_id())));
    host.serve();
    local::Header answer{};
    agent.receive([&](const relay::FrameHeader&, std::vector<std::byte>& payload) {
      std::memcpy(&answer, payload.data(), sizeof answer);
      return true;
    });
    return answer.message == local::Message::done;
  };
  EXPECT_TRUE(joins_as(1, 1));
  for (const int rank : {0, 2, 3, -1})
    EXPECT_FALSE(joins_as(static_cast<std::uint32_t>(rank + 10), rank)) << rank;
  agent.send({3, 0, 2, 0});  // the end of a rank that is not its own
  host.serve();
  EXPECT_TRUE(host.link().has_ended());
}

TEST(Relay, carries_values_of_any_size) {
  RelayedJob job(2, 2, 20);
  const auto zero = job.join(0);
  const auto one = job.join(1);
  for (const std::size_t size :
       {std::size_t{0}, std::size_t{1}, std::size_t{100'000}, std::size_t{20'000'000}}) {
    const auto value = test::payload(size, size);
    one->put("value" + std::to_string(size), value);
    EXPECT_EQ(zero->get(1, "value" + std::to_string(size)), value);
    EXPECT_EQ(one->get(1, "value" + std::to_string(size)), value);
  }
}

class FrameLinkTest : public testing::Test {
 protected:
  FrameLinkTest() {
    int ends[2];
    EXPECT_EQ(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, ends), 0);
    link_ = std::make_unique<relay::FrameLink>(sockets::Greeted{base::Descriptor(ends[0]), {}}, 1000);
    peer_ = base::Descriptor(ends[1]);
  }
  std::unique_ptr<relay::FrameLink> link_;
  base::Descriptor peer_;
};

TEST_F(FrameLinkTest, ends_at_a_frame_that_is_too_long) {
  const relay::FrameHeader header{1, 0, 0, 1001};
  ASSERT_EQ(::send(peer_.get(), &header, sizeof header, 0), static_cast<ssize_t>(sizeof header));
  link_->receive([](const relay::FrameHeader&, std::vector<std::byte>&) { return true; });
  EXPECT_TRUE(link_->has_ended());
  EXPECT_NE(link_->why_ended().find("1001"), std::string::npos);
}

TEST_F(FrameLinkTest, takes_frames_in_any_pieces) {
  std::vector<std::byte> bytes(sizeof(relay::FrameHeader) + 10);
  const relay::FrameHeader header{7, 8, -9, 10};
  std::memcpy(bytes.data(), &header, sizeof header);
  int frames = 0;
  for (const std::byte each : bytes) {
    ASSERT_EQ(::send(peer_.get(), &each, 1, 0), 1);
    link_->receive([&](const relay::FrameHeader& came, std::vector<std::byte>& payload) {
      EXPECT_EQ(came.kind, 7U);
      EXPECT_EQ(came.argument, -9);
      EXPECT_EQ(payload.size(), 10U);
      ++frames;
      return true;
    });
  }
  EXPECT_EQ(frames, 1);
  peer_ = base::Descriptor();
  link_->receive([](const relay::FrameHeader&, std::vector<std::byte>&) { return true; });
  EXPECT_TRUE(link_->has_ended());
}

TEST_F(FrameLinkTest, keeps_what_the_socket_does_not_take) {
  const std::vector<std::byte> payload(1000);
  int sent = 0;
  while (!link_->wants_room()) {
    link_->send({1, 0, sent++, 0}, payload);
    ASSERT_LT(sent, 100'000);
  }
  link_->send({1, 0, sent++, 0}, payload);
  relay::FrameLink other({std::move(peer_), {}}, 1000);
  int received = 0;
  while (received < sent) {
    other.receive([&](const relay::FrameHeader& came, std::vector<std::byte>&) {
      EXPECT_EQ(came.argument, received++);
      return true;
    });
    link_->flush();
    ASSERT_FALSE(other.has_ended());
  }
  EXPECT_FALSE(link_->wants_room());
}

}  // namespace
}  // namespace weft::bootstrap
