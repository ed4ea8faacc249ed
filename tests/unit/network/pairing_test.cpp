// Threads that share a device and talk to threads of other numbers: whose lanes get one reply slot.
#include "concurrent/thread_number.hpp"
#include "support/ranks.hpp"

#include <gtest/gtest.h>

#include <array>
#include <functional>
#include <semaphore>
#include <thread>

namespace weft {
namespace {

using detail::SendLane;
using test::Ranks;

/// Calls what it is given in a thread of its own, and returns when that has returned.
class Worker {
 public:
  void call(const std::function<void()>& function) {
    function_ = &function;
    begun_.release();
    ended_.acquire();
  }
  ~Worker() {
    function_ = nullptr;
    begun_.release();
  }

 private:
  const std::function<void()>* function_ = nullptr;
  std::binary_semaphore begun_{0};
  std::binary_semaphore ended_{0};
  std::jthread thread_{[this] {
    for (begun_.acquire(); function_ != nullptr; begun_.acquire()) {
      (*function_)();
      ended_.release();
    }
  }};
};

/// Two dialogues between threads of rank 0, which ask, and of rank 1. The lanes by which those of a ping-pong
/// send are of different stripes, of which there are two.
class PingPongs : public testing::Test {
 protected:
  static constexpr std::size_t kPingPongs = 2;

  explicit PingPongs(const char* lane_slots = "256")
      : ranks_(2, {{"thread_lanes", "2"}, {"lane_slots", lane_slots}, {"park_timeout", "60"}}) {
    for (std::size_t rank = 0; rank < 2; ++rank)
      for (std::size_t ping_pong = 0; ping_pong < kPingPongs; ++ping_pong)
        remote_[ping_pong] =
            ranks_.runtime(static_cast<int>(rank))
                .expose(arrived_[rank][ping_pong], {.id = 1 + static_cast<std::uint32_t>(ping_pong)});
    // In this order they get their numbers.
    for (const auto& [rank, ping_pong] : {std::pair{0, 0}, {0, 1}, {1, 1}, {1, 0}})
      worker(rank, static_cast<std::size_t>(ping_pong)).call([&, rank = rank, ping_pong = ping_pong] {
        static_cast<void>(concurrent::thread_number());
        columns_[static_cast<std::size_t>(rank)][static_cast<std::size_t>(ping_pong)] = detail::thread_column;
      });
    for (std::size_t ping_pong = 0; ping_pong < kPingPongs; ++ping_pong)
      EXPECT_NE(columns_[0][ping_pong] % 2, columns_[1][ping_pong] % 2);
    // All of rank 0's lanes are there before anybody answers.
    for (std::size_t ping_pong = 0; ping_pong < kPingPongs; ++ping_pong) send(0, ping_pong);
    receive(1, 0);
    for (std::size_t ping_pong = 0; ping_pong < kPingPongs; ++ping_pong) {
      receive(1, ping_pong);
      send(1, ping_pong);
      receive(0, ping_pong);
    }
  }
  Worker& worker(int rank, std::size_t ping_pong) {
    return workers_[static_cast<std::size_t>(rank)][ping_pong];
  }
  SendLane& lane(int rank, std::size_t ping_pong) {
    return *ranks_.endpoint(rank).path().lane(1 - rank, 0,
                                              columns_[static_cast<std::size_t>(rank)][ping_pong]);
  }
  void send(int rank, std::size_t ping_pong, int messages = 1) {
    worker(rank, ping_pong).call([&] {
      for (int count = 0; count < messages; ++count)
        EXPECT_TRUE(test::until(
            [&] {
              return ranks_.endpoint(rank)
                  .post_am(1 - rank, remote_[ping_pong], test::payload(8, 1))
                  .is_done();
            },
            [&] { ranks_.endpoint(rank).progress(); }));
    });
    sent_[static_cast<std::size_t>(rank)][ping_pong] += static_cast<std::uint64_t>(messages);
  }
  void receive(int rank, std::size_t ping_pong) {
    worker(rank, ping_pong).call([&] {
      EXPECT_TRUE(test::until(
          [&] {
            return arrived_[static_cast<std::size_t>(rank)][ping_pong].value() ==
                   sent_[1 - static_cast<std::size_t>(rank)][ping_pong];
          },
          [&] { ranks_.endpoint(rank).progress(); }));
    });
  }
  void ask(std::size_t ping_pong, int messages = 1) {
    send(0, ping_pong, messages);
    receive(1, ping_pong);
    send(1, ping_pong);
    receive(0, ping_pong);
  }
  bool is_reply_slot_at(int rank, std::size_t ping_pong) {
    return lane(rank, ping_pong).reply_slot.load() != nullptr;
  }

  std::array<std::array<Counter, kPingPongs>, 2> arrived_;  // by rank
  std::array<std::array<std::uint64_t, kPingPongs>, 2> sent_{};
  std::array<std::array<std::uint32_t, kPingPongs>, 2> columns_{};
  std::array<RemoteCompletion, kPingPongs> remote_;
  Ranks<Endpoint> ranks_;
  std::array<std::array<Worker, kPingPongs>, 2> workers_;
};

TEST_F(PingPongs, of_other_numbers_leave_the_rings) {
  for (std::size_t ping_pong = 0; ping_pong < kPingPongs; ++ping_pong) {
    EXPECT_FALSE(is_reply_slot_at(0, ping_pong));
    for (int count = 0; count < 500; ++count) ask(ping_pong);
    const std::uint64_t tails[] = {lane(0, ping_pong).tail(), lane(1, ping_pong).tail()};
    for (int count = 0; count < 100; ++count) ask(ping_pong);
    EXPECT_EQ(lane(0, ping_pong).tail(), tails[0]);
    EXPECT_EQ(lane(1, ping_pong).tail(), tails[1]);
  }
}

/// Windows gain nothing by a reply slot: they get one of the same stripe, when it is given up to find out
/// more.
TEST_F(PingPongs, that_are_windows_go_by_the_rings) {
  for (std::size_t ping_pong = 0; ping_pong < kPingPongs; ++ping_pong)
    for (int count = 0; count < 20; ++count) {
      ask(ping_pong, 64);
      EXPECT_FALSE(is_reply_slot_at(0, ping_pong));
    }
}

class EvenPingPongs : public PingPongs {
 protected:
  EvenPingPongs() : PingPongs("64") {}
};

/// When it cannot be told which lane answers, those of one stripe go together in the end.
TEST_F(EvenPingPongs, have_reply_slots_in_the_end) {
  std::array<bool, kPingPongs> has_come{};
  const auto ask_all = [&](int times) {
    for (int count = 0; count < times; ++count)
      for (std::size_t ping_pong = 0; ping_pong < kPingPongs; ++ping_pong) {
        ask(ping_pong);
        for (std::size_t each = 0; each < kPingPongs; ++each)
          has_come[each] = has_come[each] || is_reply_slot_at(0, each);
      }
  };
  ask_all(500);
  EXPECT_FALSE(has_come[0] || has_come[1]);
  ask_all(800);
  EXPECT_TRUE(has_come[0] && has_come[1]);
}

}  // namespace
}  // namespace weft
