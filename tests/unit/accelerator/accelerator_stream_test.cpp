// One suite over every AcceleratorStream: of the CPU, and of CUDA over a driver that the CPU imitates.
#include "support/fake_cuda/fake_driver.hpp"

#include <weft/testing/fake_stream.hpp>

#include <gtest/gtest.h>

#include <array>
#include <atomic>
#include <chrono>
#include <cstring>
#include <memory>
#include <thread>
#include <vector>

namespace weft {
namespace {

using test::OfCuda;
using Kind = WordOperation::Kind;

struct OfCpu {
  FakeStream stream;
  static void* allocate(std::size_t size) { return FakeStream::allocate_device(size); }
  static void release(void* memory) { FakeStream::free_device(memory); }
};
template <class T>
class AcceleratorStreams : public testing::Test {};
using Streams = testing::Types<OfCpu, OfCuda<true>, OfCuda<false>>;
TYPED_TEST_SUITE(AcceleratorStreams, Streams);

std::uint64_t value_of(std::uint64_t* word) { return std::atomic_ref(*word).load(std::memory_order_acquire); }

TYPED_TEST(AcceleratorStreams, hold_what_is_behind_a_wait_until_the_word_is_reached) {
  TypeParam of;
  AcceleratorStream& stream = of.stream;
  std::uint64_t* const words = stream.allocate_words(32);
  EXPECT_EQ(value_of(&words[0]), 0U);
  for (std::uint64_t round = 1; round <= 20; ++round) {
    const std::array<WordOperation, 3> steps{
        {{Kind::write, &words[0], round}, {Kind::wait, &words[8], round}, {Kind::write, &words[16], round}}};
    stream.enqueue(steps);
    while (value_of(&words[0]) != round) std::this_thread::yield();
    std::this_thread::sleep_for(std::chrono::microseconds(100));
    EXPECT_EQ(value_of(&words[16]), round - 1) << "the wait has not been passed";
    std::atomic_ref(words[8]).store(round + 3 * (round % 2), std::memory_order_release);  // at least
    stream.synchronize();
    EXPECT_EQ(value_of(&words[16]), round);
    std::atomic_ref(words[8]).store(round, std::memory_order_release);
  }
  stream.free_words(words);
}

TYPED_TEST(AcceleratorStreams, carry_out_many_operations_of_one_call_in_their_order) {
  TypeParam of;
  AcceleratorStream& stream = of.stream;
  std::uint64_t* const words = stream.allocate_words(8);
  std::vector<WordOperation> steps;
  for (std::uint64_t value = 1; value <= 50; ++value) steps.push_back({Kind::write, &words[0], value});
  stream.enqueue(steps);
  stream.enqueue({});
  stream.synchronize();
  EXPECT_EQ(value_of(&words[0]), 50U);
  stream.free_words(words);
}

TYPED_TEST(AcceleratorStreams, know_their_device_memory_and_copy_it_beside_the_stream) {
  TypeParam of;
  AcceleratorStream& stream = of.stream;
  constexpr std::size_t kSize = 100'000;
  auto* const device = static_cast<std::byte*>(of.allocate(kSize));
  EXPECT_TRUE(stream.is_device_memory(device));
  EXPECT_TRUE(stream.is_device_memory(device + kSize - 1));
  std::byte* const pinned = stream.allocate_pinned(2 * kSize);
  EXPECT_FALSE(stream.is_device_memory(pinned));
  EXPECT_FALSE(stream.is_device_memory(&of));
  for (std::size_t index = 0; index < kSize; ++index) pinned[index] = std::byte(index % 251);
  // The stream itself waits meanwhile.
  std::uint64_t* const words = stream.allocate_words(1);
  const WordOperation wait{Kind::wait, words, 1};
  stream.enqueue({&wait, 1});
  std::thread other([&] {  // a thread of the library, without a context of its own
    const std::unique_ptr<AcceleratorCopies> copies = stream.make_copies();
    const std::uint64_t in = copies->begin(device, pinned, kSize);
    const std::uint64_t out = copies->begin(pinned + kSize, device, kSize);
    EXPECT_LT(in, out);
    while (!copies->has_ended(out)) std::this_thread::yield();
    EXPECT_TRUE(copies->has_ended(in));
  });
  other.join();
  EXPECT_EQ(std::memcmp(pinned, pinned + kSize, kSize), 0);
  std::atomic_ref(words[0]).store(1, std::memory_order_release);
  stream.synchronize();
  stream.free_words(words);
  stream.free_pinned(pinned);
  of.release(device);
}

TYPED_TEST(AcceleratorStreams, reuse_words_and_pinned_memory_while_the_stream_waits) {
  TypeParam of;
  AcceleratorStream& stream = of.stream;
  std::uint64_t* const words = stream.allocate_words(1);
  const WordOperation wait{Kind::wait, words, 1};
  stream.enqueue({&wait, 1});
  std::thread([&] {
    for (std::size_t round = 0; round < 10; ++round) {
      std::uint64_t* const others = stream.allocate_words(4);
      for (std::size_t index = 0; index < 4; ++index) EXPECT_EQ(value_of(&others[index]), 0U);
      others[round % 4] = 7;
      stream.free_words(others);
      std::byte* const pinned = stream.allocate_pinned(round / 2);
      EXPECT_NE(pinned, nullptr);
      stream.free_pinned(pinned);
    }
  }).join();
  std::atomic_ref(words[0]).store(1, std::memory_order_release);
  stream.synchronize();
  stream.free_words(words);
}

TYPED_TEST(AcceleratorStreams, end_copies_in_the_order_of_their_begins) {
  TypeParam of;
  AcceleratorStream& stream = of.stream;
  constexpr std::size_t kSize = 4096;
  constexpr std::uint64_t kCopies = 50;
  auto* const device = static_cast<std::byte*>(of.allocate(kSize));
  std::byte* const pinned = stream.allocate_pinned(kSize);
  {
    const std::unique_ptr<AcceleratorCopies> copies = stream.make_copies();
    for (std::uint64_t number = 1; number <= kCopies; ++number) {
      const bool is_in = number % 2 == 1;
      EXPECT_EQ(copies->begin(is_in ? device : pinned, is_in ? pinned : device, kSize), number);
    }
    std::uint64_t first_open = 1;
    while (first_open <= kCopies) {
      for (std::uint64_t number = kCopies; number > first_open; --number) {
        if (!copies->has_ended(number)) continue;
        EXPECT_TRUE(copies->has_ended(number - 1));
      }
      if (copies->has_ended(first_open)) ++first_open;
    }
    EXPECT_FALSE(copies->has_ended(kCopies + 1));
    static_cast<void>(copies->begin(device, pinned, kSize));  // ended by the destructor
  }
  stream.free_pinned(pinned);
  of.release(device);
}

}  // namespace
}  // namespace weft
