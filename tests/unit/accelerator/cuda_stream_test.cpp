// What only a CudaStream has, over a driver that the CPU imitates.
#include "support/errors.hpp"
#include "support/fake_cuda/fake_driver.hpp"

#include <weft/accelerator/cuda_stream.hpp>
#include <weft/error.hpp>

#include <gtest/gtest.h>

#include <array>
#include <atomic>
#include <chrono>
#include <memory>
#include <thread>

namespace weft {
namespace {

using test::error_of;
using test::expect_names;
using test::FakeDriver;
using test::OfCuda;
using Kind = WordOperation::Kind;

std::uint64_t device_value(std::uint64_t* word) {
  return std::atomic_ref(*word).load(std::memory_order_acquire);
}

TEST(CudaStreamTest, names_the_function_of_the_driver_that_fails) {
  OfCuda<true> of;
  std::uint64_t* const words = of.stream.allocate_words(1);
  const WordOperation write{Kind::write, words, 1};
  of.driver.fail("cuStreamBatchMemOp", 1);
  expect_names(error_of([&] {
                 of.stream.enqueue({&write, 1});
               }),
               {"cuStreamBatchMemOp", "CUDA_ERROR_INVALID_VALUE", "(1)", "invalid argument"});
  of.driver.fail("cuStreamSynchronize", 719);
  expect_names(error_of([&] { of.stream.synchronize(); }), {"cuStreamSynchronize", "(719)"});
  of.driver.fail("cuStreamIsCapturing", 1);
  expect_names(error_of([&] { static_cast<void>(of.stream.is_capturing()); }), {"cuStreamIsCapturing"});
  of.driver.fail("cuMemHostAlloc", 2);
  expect_names(error_of([&] { static_cast<void>(of.stream.allocate_pinned(999)); }),
               {"cuMemHostAlloc", "(2)"});
  of.driver.fail("cuStreamCreate", 1);
  expect_names(error_of([&] { static_cast<void>(of.stream.make_copies()); }), {"cuStreamCreate"});
  for (const char* const name : {"cuCtxGetDevice", "cuModuleLoadData", "cuModuleGetFunction"}) {
    of.driver.fail(name, 1);
    expect_names(error_of([&] { CudaStream(of.driver.stream(), {.driver = WEFT_FAKE_CUDA}); }), {name});
  }
  EXPECT_EQ(error_of([&] { of.stream.enqueue({&write, 1}); }), "no error");
  of.stream.synchronize();
  EXPECT_EQ(device_value(words), 1U);
  of.stream.free_words(words);
}

TEST(CudaStreamTest, goes_on_after_a_copy_that_failed) {
  OfCuda<true> of;
  std::byte* const pinned = of.stream.allocate_pinned(64);
  const std::unique_ptr<AcceleratorCopies> copies = of.stream.make_copies();
  for (const char* const name : {"cuEventCreate", "cuMemcpyAsync", "cuEventRecord"}) {
    of.driver.fail(name, 1);
    expect_names(error_of([&] { copies->begin(pinned, pinned + 32, 32); }), {name});
  }
  EXPECT_EQ(copies->begin(pinned, pinned + 32, 32), 1U);
  of.driver.fail("cuEventQuery", 719);
  expect_names(error_of([&] { static_cast<void>(copies->has_ended(1)); }), {"cuEventQuery", "(719)"});
  while (!copies->has_ended(1)) std::this_thread::yield();
  of.stream.free_pinned(pinned);
}

TEST(CudaStreamTest, captures_kernels) {
  OfCuda<true> of;
  EXPECT_TRUE(of.stream.uses_memory_operations());
  EXPECT_FALSE(OfCuda<false>().stream.uses_memory_operations());
  EXPECT_FALSE(of.stream.is_capturing());
  of.driver.begin_capture();
  EXPECT_TRUE(of.stream.is_capturing());
  std::uint64_t* const words = of.stream.allocate_words(2);  // while capturing
  const std::array<WordOperation, 3> steps{
      {{Kind::write, &words[0], 1}, {Kind::wait, &words[1], 1}, {Kind::write, &words[1], 0}}};
  of.stream.enqueue(steps);
  of.driver.end_capture();
  EXPECT_EQ(device_value(&words[0]), 0U) << "nothing has been carried out";
  for (int round = 0; round < 3; ++round) {
    of.driver.replay();
    while (device_value(&words[0]) != 1) std::this_thread::yield();
    std::atomic_ref(words[0]).store(0, std::memory_order_release);
    std::atomic_ref(words[1]).store(1, std::memory_order_release);
    of.stream.synchronize();
    EXPECT_EQ(device_value(&words[1]), 0U);
  }
  of.stream.free_words(words);
}

TEST(CudaStreamTest, keeps_what_belongs_to_a_graph_until_its_launches_have_ended) {
  OfCuda<true> of;
  std::uint64_t* const words = of.stream.allocate_words(1);
  auto token = std::make_shared<int>(1);
  const std::weak_ptr<int> watched = token;
  EXPECT_FALSE(of.stream.keep_with_graph(token)) << "nothing is captured";
  of.driver.begin_capture();
  for (const char* const name : {"cuStreamGetCaptureInfo", "cuUserObjectCreate", "cuGraphRetainUserObject"}) {
    of.driver.fail(name, 1);
    EXPECT_FALSE(of.stream.keep_with_graph(token)) << name;
    EXPECT_EQ(token.use_count(), 1) << name;
  }
  EXPECT_TRUE(of.stream.keep_with_graph(token));
  const WordOperation wait{Kind::wait, words, 1};
  of.stream.enqueue({&wait, 1});
  of.driver.end_capture();
  token.reset();
  of.driver.replay();
  of.driver.destroy_graph();
  EXPECT_FALSE(watched.expired()) << "a launch is under way";
  std::atomic_ref(*words).store(1, std::memory_order_release);
  of.stream.synchronize();
  while (!watched.expired()) std::this_thread::yield();
  of.stream.free_words(words);
}

TEST(CudaStreamTest, copies_while_a_thread_of_the_program_captures) {
  OfCuda<true> of;
  of.driver.begin_capture();
  std::thread([&] {
    std::byte* const pinned = of.stream.allocate_pinned(64);
    const std::unique_ptr<AcceleratorCopies> copies = of.stream.make_copies();
    const std::uint64_t number = copies->begin(pinned, pinned + 32, 32);
    while (!copies->has_ended(number)) std::this_thread::yield();
    of.stream.free_pinned(pinned);
  }).join();
  of.driver.end_capture();
}

TEST(CudaStreamTest, leaves_threads_their_context) {
  OfCuda<false> of;
  std::thread([&] {
    std::uint64_t* const words = of.stream.allocate_words(1);
    const WordOperation write{Kind::write, words, 4};
    of.stream.enqueue({&write, 1});
    of.stream.synchronize();
    EXPECT_EQ(device_value(words), 4U);
    of.stream.free_words(words);
    of.stream.make_copies().reset();
    EXPECT_EQ(of.driver.current_context(), nullptr);
  }).join();
  EXPECT_EQ(of.driver.current_context(), of.driver.context());
}

TEST(CudaStreamTest, waits_for_its_kernels_before_it_ends) {
  const FakeDriver driver;
  std::array<std::uint64_t, 2> words{};
  std::thread other;
  {
    CudaStream stream(driver.stream(), {.driver = WEFT_FAKE_CUDA, .may_use_memory_operations = false});
    const std::array<WordOperation, 2> steps{{{Kind::wait, &words[0], 1}, {Kind::write, &words[1], 1}}};
    stream.enqueue(steps);
    other = std::thread([&] {
      std::this_thread::sleep_for(std::chrono::milliseconds(2));
      std::atomic_ref(words[0]).store(1, std::memory_order_release);
    });
  }
  EXPECT_EQ(device_value(&words[1]), 1U);
  other.join();
}

TEST(CudaStreamTest, needs_a_context) {
  const FakeDriver driver;
  std::thread([&] {
    expect_names(error_of([&] { CudaStream(driver.stream(), {.driver = WEFT_FAKE_CUDA}); }),
                 {"context", "cudaSetDevice"});
  }).join();
}

TEST(CudaStreamTest, needs_a_driver) {
  expect_names(error_of([] { CudaStream(nullptr, {.driver = "libno-such-driver.so.1"}); }),
               {"no CUDA driver: libno-such-driver.so.1 cannot be loaded (", "No such file"});
  expect_names(error_of([] { CudaStream(nullptr, {.driver = "libc.so.6"}); }), {"no function cuInit"});
}

}  // namespace
}  // namespace weft
