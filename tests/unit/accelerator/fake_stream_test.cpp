// What only a FakeStream has: capture and replay, its end, and memory that the host cannot touch.
#include "support/errors.hpp"

#include <weft/testing/fake_stream.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <thread>
#include <vector>

namespace weft {
namespace {

using test::error_of;
using test::expect_names;
using Kind = WordOperation::Kind;

std::uint64_t host_value(std::uint64_t* word) {
  return std::atomic_ref(*word).load(std::memory_order_acquire);
}

TEST(FakeStreamTest, replays_what_it_has_captured) {
  FakeStream stream({.seed = 3, .longest_delay_ns = 1000});
  int calls = 0;
  stream.begin_capture();
  expect_names(error_of([&] { stream.begin_capture(); }), {"captures already"});
  expect_names(error_of([&] { stream.synchronize(); }), {"captures", "never end"});
  stream.launch([&] { ++calls; });
  const FakeGraph graph = stream.end_capture();
  expect_names(error_of([&] { static_cast<void>(stream.end_capture()); }), {"does not capture"});
  expect_names(error_of([&] { FakeGraph().launch(stream); }), {"nothing was captured"});
  for (int launch = 0; launch < 5; ++launch) graph.launch(stream);
  stream.synchronize();
  EXPECT_EQ(calls, 5);
}

TEST(FakeStreamTest, ends_without_its_words_once_it_is_abandoned) {
  bool has_run = false;
  FakeStream other;
  std::uint64_t* const words = other.allocate_words(1);
  {
    FakeStream stream;
    const WordOperation wait{Kind::wait, words, 1};
    stream.enqueue({&wait, 1});
    stream.launch([&] { has_run = true; });
    stream.abandon();
  }
  EXPECT_FALSE(has_run);
  other.free_words(words);
}

TEST(FakeStreamDeathTest, its_device_memory_cannot_be_touched_by_the_host) {
  auto* const memory = static_cast<volatile char*>(FakeStream::allocate_device(100));
  EXPECT_DEATH(memory[5] = 1, "");
  static_cast<char*>(FakeStream::view(const_cast<char*>(memory)))[5] = 1;
  FakeStream::free_device(const_cast<char*>(memory));
}

TEST(FakeStreamTest, replays_words_and_copies_on_any_stream) {
  FakeStream stream;
  auto* const device = static_cast<std::uint64_t*>(FakeStream::allocate_device(2 * sizeof(std::uint64_t)));
  std::uint64_t* const words = stream.allocate_words(3);
  stream.begin_capture();
  EXPECT_TRUE(stream.is_capturing());
  const std::array<WordOperation, 3> steps{
      {{Kind::write, &words[0], 1}, {Kind::wait, &words[1], 1}, {Kind::write, &words[1], 0}}};
  stream.enqueue(steps);
  stream.launch([device] { ++*static_cast<std::uint64_t*>(FakeStream::view(device)); });
  stream.copy(&device[1], &device[0], sizeof(std::uint64_t));
  const FakeGraph graph = stream.end_capture();
  EXPECT_FALSE(stream.is_capturing());
  stream.synchronize();
  EXPECT_EQ(host_value(&words[0]), 0U) << "nothing has been carried out";
  FakeStream other;
  for (std::uint64_t round = 1; round <= 6; ++round) {
    FakeStream& chosen = round % 2 == 0 ? other : stream;
    graph.launch(chosen);
    while (host_value(&words[0]) != 1) std::this_thread::yield();
    std::atomic_ref(words[0]).store(0, std::memory_order_release);
    std::atomic_ref(words[1]).store(1, std::memory_order_release);
    chosen.synchronize();
    std::uint64_t copied = 0;
    chosen.copy(&copied, &device[1], sizeof copied);
    chosen.synchronize();
    EXPECT_EQ(copied, round);
  }
  stream.free_words(words);
  FakeStream::free_device(device);
}

TEST(FakeStreamTest, carries_out_everything_before_it_ends) {
  std::vector<int> order;
  {
    FakeStream stream({.seed = 5, .longest_delay_ns = 20'000});
    for (int number = 0; number < 100; ++number) stream.launch([&, number] { order.push_back(number); });
  }
  ASSERT_EQ(order.size(), 100U);
  EXPECT_TRUE(std::is_sorted(order.begin(), order.end()));
}

TEST(FakeStreamTest, makes_what_a_kernel_did_visible_with_the_word) {
  FakeStream stream({.seed = 7, .longest_delay_ns = 1000});
  std::uint64_t* const words = stream.allocate_words(16);
  std::uint64_t plain = 0;
  std::uint64_t answer = 0;
  std::uint64_t sum = 0;
  for (std::uint64_t round = 1; round <= 200; ++round) {
    stream.launch([&plain, round] { plain = round; });
    const std::array<WordOperation, 2> steps{
        {{Kind::write, &words[0], round}, {Kind::wait, &words[8], round}}};
    stream.enqueue(steps);
    stream.launch([&] { sum += answer; });
    while (host_value(&words[0]) != round) std::this_thread::yield();
    answer = plain;
    std::atomic_ref(words[8]).store(round, std::memory_order_release);
    stream.synchronize();
  }
  EXPECT_EQ(sum, 200U * 201 / 2);
  stream.free_words(words);
}

TEST(FakeStreamTest, never_waits_when_it_enqueues) {
  FakeStream stream;
  std::uint64_t* const words = stream.allocate_words(1);
  const WordOperation wait{Kind::wait, words, 1};
  std::atomic<int> calls{0};
  stream.enqueue({&wait, 1});
  for (int call = 0; call < 1000; ++call) stream.launch([&] { ++calls; });
  EXPECT_EQ(calls.load(), 0);
  std::atomic_ref(words[0]).store(1, std::memory_order_release);
  stream.synchronize();
  EXPECT_EQ(calls.load(), 1000);
  stream.free_words(words);
}

}  // namespace
}  // namespace weft
