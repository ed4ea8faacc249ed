// Threads that share a device and talk to threads of other numbers: whose lanes get one shuttle.
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

/// Two dialogues between threads of rank 0, which ask, and of rank 1. The lanes by which those of a dialogue
/// send are of different stripes, of which there are two.
class Dialogues : public testing::Test {
 protected:
  static constexpr std::size_t kDialogues = 2;

  explicit Dialogues(const char* lane_slots = "256")
      : ranks_(2, {{"thread_lanes", "2"}, {"lane_slots", lane_slots}, {"park_timeout", "60"}}) {
    for (std::size_t rank = 0; rank < 2; ++rank)
      for (std::size_t dialogue = 0; dialogue < kDialogues; ++dialogue)
        remote_[dialogue] =
            ranks_.runtime(static_cast<int>(rank))
                .expose(arrived_[rank][dialogue], {.id = 1 + static_cast<std::uint32_t>(dialogue)});
    // In this order they get their numbers.
    for (const auto& [rank, dialogue] : {std::pair{0, 0}, {0, 1}, {1, 1}, {1, 0}})
      worker(rank, static_cast<std::size_t>(dialogue)).call([&, rank = rank, dialogue = dialogue] {
        static_cast<void>(concurrent::thread_number());
        columns_[static_cast<std::size_t>(rank)][static_cast<std::size_t>(dialogue)] = detail::thread_column;
      });
    for (std::size_t dialogue = 0; dialogue < kDialogues; ++dialogue)
      EXPECT_NE(columns_[0][dialogue] % 2, columns_[1][dialogue] % 2);
    // All of rank 0's lanes are there before anybody answers.
    for (std::size_t dialogue = 0; dialogue < kDialogues; ++dialogue) send(0, dialogue);
    receive(1, 0);
    for (std::size_t dialogue = 0; dialogue < kDialogues; ++dialogue) {
      receive(1, dialogue);
      send(1, dialogue);
      receive(0, dialogue);
    }
  }
  Worker& worker(int rank, std::size_t dialogue) {
    return workers_[static_cast<std::size_t>(rank)][dialogue];
  }
  SendLane& lane(int rank, std::size_t dialogue) {
    return *ranks_.endpoint(rank).path().lane(1 - rank, 0,
                                              columns_[static_cast<std::size_t>(rank)][dialogue]);
  }
  void send(int rank, std::size_t dialogue, int messages = 1) {
    worker(rank, dialogue).call([&] {
      for (int count = 0; count < messages; ++count)
        EXPECT_TRUE(test::until(
            [&] {
              return ranks_.endpoint(rank)
                  .post_am(1 - rank, remote_[dialogue], test::payload(8, 1))
                  .is_done();
            },
            [&] { ranks_.endpoint(rank).progress(); }));
    });
    sent_[static_cast<std::size_t>(rank)][dialogue] += static_cast<std::uint64_t>(messages);
  }
  void receive(int rank, std::size_t dialogue) {
    worker(rank, dialogue).call([&] {
      EXPECT_TRUE(test::until(
          [&] {
            return arrived_[static_cast<std::size_t>(rank)][dialogue].value() ==
                   sent_[1 - static_cast<std::size_t>(rank)][dialogue];
          },
          [&] { ranks_.endpoint(rank).progress(); }));
    });
  }
  void ask(std::size_t dialogue, int messages = 1) {
    send(0, dialogue, messages);
    receive(1, dialogue);
    send(1, dialogue);
    receive(0, dialogue);
  }
  bool is_shuttle_at(int rank, std::size_t dialogue) {
    return lane(rank, dialogue).shuttle.load() != nullptr;
  }

  std::array<std::array<Counter, kDialogues>, 2> arrived_;  // by rank
  std::array<std::array<std::uint64_t, kDialogues>, 2> sent_{};
  std::array<std::array<std::uint32_t, kDialogues>, 2> columns_{};
  std::array<RemoteCompletion, kDialogues> remote_;
  Ranks<Endpoint> ranks_;
  std::array<std::array<Worker, kDialogues>, 2> workers_;
};

TEST_F(Dialogues, of_other_numbers_leave_the_rings) {
  for (std::size_t dialogue = 0; dialogue < kDialogues; ++dialogue) {
    EXPECT_FALSE(is_shuttle_at(0, dialogue));
    for (int count = 0; count < 500; ++count) ask(dialogue);
    const std::uint64_t tails[] = {lane(0, dialogue).tail(), lane(1, dialogue).tail()};
    for (int count = 0; count < 100; ++count) ask(dialogue);
    EXPECT_EQ(lane(0, dialogue).tail(), tails[0]);
    EXPECT_EQ(lane(1, dialogue).tail(), tails[1]);
  }
}

/// Windows gain nothing by a shuttle: they get one of the same stripe, when it is given up to find out more.
TEST_F(Dialogues, that_are_windows_go_by_the_rings) {
  for (std::size_t dialogue = 0; dialogue < kDialogues; ++dialogue)
    for (int count = 0; count < 20; ++count) {
      ask(dialogue, 64);
      EXPECT_FALSE(is_shuttle_at(0, dialogue));
    }
}

class EvenDialogues : public Dialogues {
 protected:
  EvenDialogues() : Dialogues("64") {}
};

/// When it cannot be told which lane answers, those of one stripe go together in the end.
TEST_F(EvenDialogues, have_shuttles_in_the_end) {
  std::array<bool, kDialogues> has_come{};
  const auto ask_all = [&](int times) {
    for (int count = 0; count < times; ++count)
      for (std::size_t dialogue = 0; dialogue < kDialogues; ++dialogue) {
        ask(dialogue);
        for (std::size_t each = 0; each < kDialogues; ++each)
          has_come[each] = has_come[each] || is_shuttle_at(0, each);
      }
  };
  ask_all(500);
  EXPECT_FALSE(has_come[0] || has_come[1]);
  ask_all(800);
  EXPECT_TRUE(has_come[0] && has_come[1]);
}

}  // namespace
}  // namespace weft
