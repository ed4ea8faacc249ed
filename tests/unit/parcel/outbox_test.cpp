// The outbox over a parcelport that takes everything and tells the end of a message when it is asked to.
#include "parcel/send/outbox.hpp"

#include <weft/parcel/detail/parcel_header.hpp>

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <cstddef>
#include <deque>
#include <memory>
#include <mutex>
#include <thread>
#include <utility>
#include <vector>

namespace weft::parcel {
namespace {

class SlowPort final : public Parcelport {
 public:
  explicit SlowPort(PortLimits limits = {.small_bytes = 64, .message_bytes = 4096}) : port_limits(limits) {}
  [[nodiscard]] int rank() const noexcept override { return 0; }
  [[nodiscard]] int size() const noexcept override { return 2; }
  void allgather(Bytes, std::span<std::byte>) override {}
  [[nodiscard]] PortLimits limits() const noexcept override { return port_limits; }
  void start(Receiver&, unsigned) override {}
  void stop() override {}
  [[nodiscard]] bool try_send_small(int, Bytes, unsigned) override { return !refuses; }
  [[nodiscard]] bool try_send(std::unique_ptr<OutgoingMessage>& message, unsigned) override {
    if (refuses) return false;
    const std::lock_guard lock(mutex);
    under_way.push_back(std::move(message));
    return true;
  }
  /// The oldest message; null: there is none.
  [[nodiscard]] std::unique_ptr<OutgoingMessage> take() {
    const std::lock_guard lock(mutex);
    if (under_way.empty()) return nullptr;
    auto message = std::move(under_way.front());
    under_way.pop_front();
    return message;
  }
  bool poll(unsigned) override { return false; }
  [[nodiscard]] std::uint64_t wakes() const noexcept override { return 0; }
  void park(unsigned, Timeout, std::uint64_t) override {}
  void wake() noexcept override {}
  [[nodiscard]] bool has_failed(int) const noexcept override { return fails; }

  const PortLimits port_limits;
  std::mutex mutex;  // of under_way: whoever waits for room polls, too
  std::deque<std::unique_ptr<OutgoingMessage>> under_way;
  std::atomic<bool> refuses{false};
  std::atomic<bool> fails{false};
};

class ChunksUnderWay : public testing::TestWithParam<Aggregation> {
 protected:
  static constexpr std::size_t kArray = std::size_t{64} << 10;
  static constexpr std::size_t kLimit = 2000 * kArray;

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
    options.pending_limit = kLimit;
    return options;
  }
  /// The transport tells the end of one message.
  static bool end_one(void* context) {
    auto& self = *static_cast<ChunksUnderWay*>(context);
    ++self.polls;
    if (self.takes_none) return false;
    self.port.refuses = false;
    if (self.polls == self.fails_at) self.port.fails = true;
    if (self.fails_at != 0) return false;
    auto message = self.port.take();
    if (!message) return false;
    self.outbox.sent(std::move(message), true);
    return true;
  }

  std::vector<std::byte> array = std::vector<std::byte>(kArray);
  SlowPort port;
  std::atomic<int> polls{0};
  std::atomic<bool> takes_none{false};
  int fails_at = 0;
  Outbox outbox{port, options(), &end_one, this};
};

TEST_P(ChunksUnderWay, StayFewWhileTheRankTakesThem) {
  for (int count = 0; count < 200; ++count) send_array();
  EXPECT_GT(polls, 0) << "whoever sends keeps pace";
}

TEST_P(ChunksUnderWay, HoldNobodyUpWhenTheRankTakesNone) {
  takes_none = true;
  send_array();
  const auto after_some = [&](int arrays) -> int {
    for (int count = 0; count < arrays; ++count) send_array();
    return polls;
  };
  const int first = after_some(40);
  EXPECT_EQ(after_some(1000), first) << "a rank that takes nothing is waited for again and again";
  EXPECT_GE(outbox.counts().pending, 1041 * kArray) << "what it does not take waits";
  takes_none = false;
  while (!outbox.is_empty()) {
    end_one(this);
    outbox.flush(0);
  }
  EXPECT_EQ(outbox.counts().pending, 0U);
}

TEST_P(ChunksUnderWay, HoldNobodyUpOnceTheirRankHasFailed) {
  fails_at = 3;
  for (int count = 0; count < 200; ++count) send_array();
  EXPECT_LE(polls, 3);
}

TEST_P(ChunksUnderWay, BeyondTheLimitWaitUntilSomeHaveLeft) {
  takes_none = true;
  while (!outbox.is_full()) send_array();
  EXPECT_GE(outbox.counts().pending, kLimit);
  std::atomic<bool> has_waited{false};
  std::thread sender([&] {
    outbox.wait_for_room();
    has_waited = true;
  });
  while (outbox.counts().waits == 0) std::this_thread::yield();
  EXPECT_FALSE(has_waited);
  takes_none = false;
  for (std::size_t count = 0; count < kLimit / kArray / 2; ++count) {
    end_one(this);
    outbox.flush(0);
  }
  sender.join();
  EXPECT_TRUE(has_waited);
  EXPECT_FALSE(outbox.is_full());
}

TEST_P(ChunksUnderWay, BeyondTheLimitWaitNoLongerWhenTheRankFails) {
  takes_none = true;
  port.refuses = true;
  while (!outbox.is_full()) send_array();
  std::thread sender([&] { outbox.wait_for_room(); });
  while (outbox.counts().waits == 0) std::this_thread::yield();
  port.fails = true;
  outbox.flush(0);
  sender.join();
  EXPECT_EQ(outbox.counts().pending, 0U);
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

/// Over a port that takes whatever it is given, and that has enough to do with two messages.
class CostlyMessages : public testing::Test {
 protected:
  void send_parcel() {
    detail::ByteBuffer head;
    const detail::ParcelHeader header{sizeof header, 1};
    head.append(bytes_of(header));
    std::vector<Bytes> none;
    outbox.send(1, head, none, nullptr, 0);
  }
  void end_one() {
    auto message = std::move(port.under_way.front());
    port.under_way.pop_front();
    outbox.sent(std::move(message), true);
  }
  [[nodiscard]] std::size_t parcels_under_way() const {
    std::size_t bytes = 0;
    for (const auto& message : port.under_way) bytes += message->head.size();
    return bytes / sizeof(detail::ParcelHeader);
  }

  SlowPort port{PortLimits{.small_bytes = 64, .message_bytes = 4096, .messages_at_once = 2}};
  Outbox outbox{port, RuntimeOptions{}, [](void*) { return false; }, nullptr};
};

TEST_F(CostlyMessages, LeaveAtOnceWhileFewAreUnderWay) {
  for (int count = 0; count < 100; ++count) {
    send_parcel();
    ASSERT_EQ(port.under_way.size(), 1U);
    ASSERT_TRUE(port.under_way.front()->chunks.empty());
    end_one();
  }
  EXPECT_TRUE(outbox.is_empty());
  EXPECT_EQ(outbox.counts().messages, 100U);
}

TEST_F(CostlyMessages, TakeAllThatHasComeMeanwhile) {
  constexpr std::size_t kParcels = 10'000;
  for (std::size_t count = 0; count < kParcels; ++count) send_parcel();
  // How many does not depend on the machine's speed but for those that come after a pause.
  EXPECT_LT(parcels_under_way(), kParcels);
  EXPECT_FALSE(outbox.is_empty());
  while (!port.under_way.empty()) {
    end_one();
    outbox.flush(0);
  }
  EXPECT_TRUE(outbox.is_empty());
  EXPECT_LT(outbox.counts().messages, kParcels);
  EXPECT_GT(outbox.counts().aggregated, 0U);
}

TEST_F(CostlyMessages, DoNotHoldUpAParcelThatComesAfterAPause) {
  for (int count = 0; count < 5; ++count) {
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
    send_parcel();
    ASSERT_EQ(parcels_under_way(), static_cast<std::size_t>(count + 1)) << "nobody ends a message meanwhile";
  }
}

TEST_F(CostlyMessages, LetArraysPassThatThePortTakesInAnyNumber) {
  const std::vector<std::byte> array(10'000);
  for (int count = 0; count < 100; ++count) send_parcel();
  const std::size_t before = port.under_way.size();
  detail::ByteBuffer head;
  head.append(Bytes(array.data(), 16));
  std::vector<Bytes> chunks{Bytes(array)};
  outbox.send(1, head, chunks, nullptr, 0);
  ASSERT_EQ(port.under_way.size(), before + 1);
  EXPECT_EQ(port.under_way.back()->chunks.size(), 1U);
}

/// Over a port whose messages cost no more than a parcel, and which refuses what it has no room for.
class CheapMessages : public testing::Test {
 protected:
  void send_parcel(std::size_t bytes) {
    detail::ByteBuffer head;
    const detail::ParcelHeader header{static_cast<std::uint32_t>(bytes), 1};
    head.append(bytes_of(header));
    const std::vector<std::byte> rest(bytes - sizeof header);
    head.append(Bytes(rest));
    std::vector<Bytes> none;
    outbox.send(1, head, none, nullptr, 0);
  }
  static bool make_room(void* context) {
    auto& self = *static_cast<CheapMessages*>(context);
    ++self.polls;
    if (!self.takes_none) self.port.refuses = false;
    return true;
  }

  SlowPort port;
  int polls = 0;
  bool takes_none = false;
  Outbox outbox{port, RuntimeOptions{}, &make_room, this};
};

TEST_F(CheapMessages, AreWaitedForRatherThanCopied) {
  for (int count = 0; count < 100; ++count) {
    port.refuses = true;
    send_parcel(48);
    outbox.flush(0);  // where this thread was put aside for longer than anybody is waited for
  }
  EXPECT_GT(polls, 0);
  EXPECT_TRUE(outbox.is_empty());
  EXPECT_EQ(outbox.counts().messages, 100U);
  EXPECT_EQ(outbox.counts().aggregated, 0U);
}

TEST_F(CheapMessages, HoldParcelsThatTheRankDoesNotTakeUpToTheirSize) {
  port.refuses = true;
  takes_none = true;
  send_parcel(48);
  const int first = polls;
  for (int count = 0; count < 999; ++count) send_parcel(300);
  EXPECT_EQ(polls, first) << "a rank that takes nothing is waited for once";
  port.refuses = false;
  outbox.flush(0);
  EXPECT_TRUE(port.under_way.size() > 70 && port.under_way.size() < 90) << port.under_way.size();
  for (const auto& message : port.under_way)
    EXPECT_LE(message->head.size(), 4096U) << "a message has become longer than the port likes it";
}

INSTANTIATE_TEST_SUITE_P(All, ChunksUnderWay,
                         testing::Values(Aggregation::queued, Aggregation::immediate, Aggregation::adaptive));

}  // namespace
}  // namespace weft::parcel
