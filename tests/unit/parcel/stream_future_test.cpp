// Futures of what an accelerator's stream carries out.
#include <gtest/gtest.h>

#include <atomic>
#include <thread>
#include <vector>

#include <weft/parcel/accelerator.hpp>
#include <weft/parcel/parcel.hpp>
#include <weft/testing/fake_stream.hpp>
#include <weft/testing/in_process_job.hpp>

namespace weft::parcel {
namespace {

class StreamFutures : public testing::TestWithParam<unsigned> {
 protected:
  InProcessJob job_{1};
  Runtime runtime_{job_, 0, {.workers = GetParam()}};
  FakeStream stream_;
};
INSTANTIATE_TEST_SUITE_P(Workers, StreamFutures, testing::Values(1, 2),
                         [](const auto& instance) { return std::to_string(instance.param); });

TEST_P(StreamFutures, AreReadyWhenTheKernelsBeforeThemHaveEnded) {
  std::atomic<bool> may_end{false};
  int result = 0;
  stream_.launch([&] {
    while (!may_end) std::this_thread::yield();
    result = 7;
  });
  auto future = carried_out(runtime_, stream_);
  EXPECT_EQ(runtime_.run([] { return 3; }), 3) << "workers go on meanwhile";
  EXPECT_FALSE(future.ready());
  may_end = true;
  EXPECT_EQ(std::move(future).then([&] { return result; }).get(), 7);
}

TEST_P(StreamFutures, ManyOfOneStreamAreReadyInItsOrder) {
  std::vector<int> order;  // written by the stream alone
  std::vector<Future<std::size_t>> sizes;
  for (int number = 0; number < 50; ++number) {
    stream_.launch([&order, number] { order.push_back(number); });
    sizes.push_back(
        carried_out(runtime_, stream_).then([number] { return static_cast<std::size_t>(number); }));
  }
  for (std::size_t number = 0; number < 50; ++number) EXPECT_EQ(sizes[number].get(), number);
  stream_.synchronize();
  EXPECT_EQ(order.size(), 50U);
}

TEST_P(StreamFutures, AreRefusedWhileAGraphIsCaptured) {
  stream_.begin_capture();
  EXPECT_THROW(static_cast<void>(carried_out(runtime_, stream_)), Error);
  static_cast<void>(stream_.end_capture());
  carried_out(runtime_, stream_).get();
}

}  // namespace
}  // namespace weft::parcel
