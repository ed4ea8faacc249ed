// One suite over every AcceleratorStream: of the CPU, and of CUDA over a driver that the CPU imitates.
#include "support/errors.hpp"

#include <weft/accelerator/cuda_stream.hpp>
#include <weft/accelerator/fake_stream.hpp>
#include <weft/error.hpp>

#include <dlfcn.h>
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

using test::error_of;
using test::expect_names;
using Kind = WordOperation::Kind;

/// A stream of the fake driver, and what the tests call of it.
class FakeDriver {
 public:
  FakeDriver() : library_(::dlopen(WEFT_FAKE_CUDA, RTLD_NOW | RTLD_LOCAL)) {
    if (library_ == nullptr) throw Error(::dlerror());
    call<int(void*)>("cuCtxSetCurrent")(call<void*()>("fake_cuda_context")());
    call<int(void**, unsigned)>("cuStreamCreate")(&stream_, 0);
  }
  ~FakeDriver() { call<int(void*)>("cuStreamDestroy_v2")(stream_); }
  template <class Signature>
  [[nodiscard]] Signature* call(const char* name) const {
    return reinterpret_cast<Signature*>(::dlsym(library_, name));
  }
  void* library_;
  void* stream_ = nullptr;
};

struct OfCpu {
  FakeStream stream;
  static void* allocate(std::size_t size) { return FakeStream::allocate_device(size); }
  static void release(void* memory) { FakeStream::free_device(memory); }
};
template <bool kMemoryOperations>
struct OfCuda {
  FakeDriver driver;
  CudaStream stream{driver.stream_,
                    {.library = WEFT_FAKE_CUDA, .may_use_memory_operations = kMemoryOperations}};
  void* allocate(std::size_t size) const {
    unsigned long long address = 0;
    driver.call<int(unsigned long long*, std::size_t)>("cuMemAlloc_v2")(&address, size);
    return reinterpret_cast<void*>(address);
  }
  void release(void* memory) const {
    driver.call<int(unsigned long long)>("cuMemFree_v2")(reinterpret_cast<unsigned long long>(memory));
  }
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
    const std::array<WordOperation, 3> steps{{{Kind::write, &words[0], round},
                                              {Kind::wait, &words[8], round},
                                              {Kind::write, &words[16], round}}};
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

TEST(CudaStreamTest, names_the_function_of_the_driver_that_fails) {
  OfCuda<true> of;
  std::uint64_t* const words = of.stream.allocate_words(1);
  const auto fail = of.driver.call<void(const char*, int)>("fake_cuda_fail");
  const WordOperation write{Kind::write, words, 1};
  fail("cuStreamBatchMemOp", 1);
  expect_names(error_of([&] { of.stream.enqueue({&write, 1}); }),
               {"cuStreamBatchMemOp", "CUDA_ERROR_INVALID_VALUE", "(1)"});
  fail("cuStreamSynchronize", 719);
  expect_names(error_of([&] { of.stream.synchronize(); }), {"cuStreamSynchronize", "(719)"});
  EXPECT_EQ(error_of([&] { of.stream.enqueue({&write, 1}); }), "no error");
  of.stream.synchronize();
  EXPECT_EQ(value_of(words), 1U);
  of.stream.free_words(words);
}

TEST(CudaStreamTest, uses_kernels_while_a_graph_is_captured) {
  OfCuda<true> of;
  EXPECT_TRUE(of.stream.uses_memory_operations());
  EXPECT_FALSE(OfCuda<false>().stream.uses_memory_operations());
  EXPECT_FALSE(of.stream.is_capturing());
  of.driver.call<void(void*, bool)>("fake_cuda_capture")(of.driver.stream_, true);
  EXPECT_TRUE(of.stream.is_capturing());
  std::uint64_t* const words = of.stream.allocate_words(1);
  const WordOperation write{Kind::write, words, 4};
  // Operations on memory would fail now.
  of.driver.call<void(const char*, int)>("fake_cuda_fail")("cuStreamBatchMemOp", 1);
  EXPECT_EQ(error_of([&] { of.stream.enqueue({&write, 1}); }), "no error");
  of.stream.synchronize();
  EXPECT_EQ(value_of(words), 4U);
  of.driver.call<void(const char*, int)>("fake_cuda_fail")("", 0);
  of.stream.free_words(words);
}

TEST(CudaStreamTest, needs_a_context) {
  const FakeDriver driver;
  std::thread([&] {
    expect_names(error_of([&] { CudaStream(driver.stream_, {.library = WEFT_FAKE_CUDA}); }),
                 {"context", "cudaSetDevice"});
  }).join();
}

}  // namespace
}  // namespace weft
