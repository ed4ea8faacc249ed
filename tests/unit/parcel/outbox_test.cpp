// The outbox over a parcelport that takes everything and tells the end of a message when it is asked to.
#include "parcel/send/outbox.hpp"

#include <gtest/gtest.h>

#include <cstddef>
#include <deque>
#include <memory>
#include <utility>
#include <vector>

namespace weft::parcel {
namespace {

class SlowPort final : public Parcelport {
 public:
  [[nodiscard]] int rank() const noexcept override { return 0; }
  [[nodiscard]] int size() const noexcept override { return 2; }
  void allgather(Bytes, std::span<std::byte>) override {}
  [[nodiscard]] PortLimits limits() const noexcept override { return {64, 4096}; }
  void start(Receiver&, unsigned) override {}
  void stop() override {}
  [[nodiscard]] bool try_send_small(int, Bytes, unsigned) override { return true; }
  [[nodiscard]] bool try_send(std::unique_ptr<OutgoingMessage>& message, unsigned) override {
    if (refuses) return false;
    under_way.push_back(std::move(message));
    return true;
  }
  bool poll(unsigned) override { return false; }
  void park(unsigned, Timeout) override {}
  void wake() noexcept override {}
  [[nodiscard]] bool has_failed(int) const noexcept override { return fails; }

  std::deque<std::unique_ptr<OutgoingMessage>> under_way;
  bool refuses = false;
  bool fails = false;
};

class ChunksUnderWay : public testing::TestWithParam<Aggregation> {
 protected:
  static constexpr std::size_t kArray = std::size_t{64} << 10;

  /// Sends one array, whose bytes are never read.
  void send_array() {
    detail::ByteBuffer head;
    head.append(Bytes(array.data(), 16));
    std::vector<Bytes> chunks{Bytes(array)};
    outbox.send(1, head, chunks, nullptr, 0);
  }
  static RuntimeOptions options() {
    RuntimeOptions options;
    options.aggregation = GetParam();
    return options;
  }
  /// The transport tells the end of one message.
  static bool end_one(void* context) {
    auto& self = *static_cast<ChunksUnderWay*>(context);
    ++self.polls;
    self.port.refuses = false;
    if (self.polls == self.fails_at) self.port.fails = true;
    if (self.port.under_way.empty() || self.fails_at != 0) return false;
    auto message = std::move(self.port.under_way.front());
    self.port.under_way.pop_front();
    self.outbox.sent(std::move(message), true);
    return true;
  }

  std::vector<std::byte> array = std::vector<std::byte>(kArray);
  SlowPort port;
  int polls = 0;
  int fails_at = 0;
  Outbox outbox{port, options(), &end_one, this};
};

TEST_P(ChunksUnderWay, AreBoundedByTheirBytes) {
  for (int count = 0; count < 200; ++count) {
    send_array();
    std::size_t bytes = 0;
    for (const auto& message : port.under_way) bytes += message->chunks.size() * kArray;
    ASSERT_LE(bytes, (std::size_t{1} << 20) + kArray) << "after " << count + 1 << " arrays";
  }
  EXPECT_GT(polls, 0);
}

TEST_P(ChunksUnderWay, HoldNobodyUpOnceTheirRankHasFailed) {
  fails_at = 3;
  for (int count = 0; count < 200; ++count) send_array();
  EXPECT_EQ(polls, 3);
}

TEST_P(ChunksUnderWay, AreForgottenWithTheMessagesThatAreDropped) {
  port.refuses = true;
  port.fails = true;
  for (int count = 0; count < 100; ++count) send_array();
  outbox.flush(0);
  port.fails = false;
  port.refuses = false;
  polls = 0;
  send_array();
  EXPECT_EQ(polls, 0) << "arrays that were dropped still count as under way";
}

INSTANTIATE_TEST_SUITE_P(All, ChunksUnderWay,
                         testing::Values(Aggregation::queued, Aggregation::immediate, Aggregation::adaptive));

}  // namespace
}  // namespace weft::parcel
