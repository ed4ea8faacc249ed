// What an enqueued operation leaves: the bytes that arrived and no others, its status, and what has failed.
#include "conformance/operations/stream/stream_device_memory.hpp"
#include "support/errors.hpp"

#include <gtest/gtest.h>

#include <array>
#include <cstdint>
#include <cstring>
#include <functional>
#include <vector>

namespace weft {
namespace {

using test::error_of;
using test::expect_names;
using test::OnDevice;
using test::QueueRank;
using test::run_ranks;

constexpr std::size_t kBytes = 4096;
constexpr unsigned char kSecret = 0xaa;   // a message that was staged before
constexpr unsigned char kMessage = 0xbb;  // the message that arrives
constexpr unsigned char kOwn = 0xcc;      // what the buffer held

/// A buffer of the device or of the host.
class Buffer {
 public:
  Buffer(FakeStream& gpu, bool is_device)
      : gpu_(gpu), is_device_(is_device), device_(kBytes), host_(kBytes) {}
  void fill(unsigned char value) {
    gpu_.launch([data = view(), value] { std::memset(data, value, kBytes); });
  }
  [[nodiscard]] unsigned char* get() { return is_device_ ? device_.get() : host_.data(); }
  [[nodiscard]] unsigned char* view() { return is_device_ ? device_.view() : host_.data(); }
  /// After the stream has ended: that many bytes of one value, and the rest of the other.
  void expect(std::size_t count, unsigned char value, unsigned char rest, const char* what) {
    std::size_t wrong = 0;
    for (std::size_t index = 0; index < kBytes; ++index)
      wrong += view()[index] != (index < count ? value : rest);
    EXPECT_EQ(wrong, 0U) << what << (is_device_ ? ", device" : ", host");
  }

 private:
  FakeStream& gpu_;
  bool is_device_;
  OnDevice<unsigned char> device_;
  std::vector<unsigned char> host_;
};

/// Both ranks stage a message that fills the staged memory of the receiver.
void stage_a_secret(QueueRank& rank, int number) {
  Buffer other(rank.gpu, true);
  other.fill(kSecret);
  if (number == 0)
    rank.queue.post_send({1, 0}, 99, other.get(), kBytes);
  else
    rank.queue.post_receive({0, 0}, 99, other.get(), kBytes);
  EXPECT_EQ(rank.queue.wait_ended(), Outcome::ok);
}

TEST(StreamQueueStatus, a_shorter_message_leaves_the_rest_of_the_buffer) {
  run_ranks(2, {}, [](Runtime& runtime, int number) {
    QueueRank rank(runtime, number);
    for (const bool is_device : {true, false})
      for (const std::size_t size : {std::size_t{0}, std::size_t{1}, std::size_t{100}, kBytes - 1, kBytes}) {
        stage_a_secret(rank, number);
        Buffer buffer(rank.gpu, is_device);
        buffer.fill(number == 0 ? kMessage : kOwn);
        StreamStatus status;
        StreamStatus of_wait;
        if (number == 0) {
          rank.queue.post_send({1, 0}, 5, buffer.get(), size, &status);
          rank.queue.wait(rank.queue.start_send({1, 0}, 6, buffer.get(), size), &of_wait);
        } else {
          rank.queue.post_receive({0, 0}, 5, buffer.get(), kBytes, &status);
          Buffer second(rank.gpu, is_device);
          second.fill(kOwn);
          const StreamRequest request =
              rank.queue.start_receive({any_source, any_index}, any_tag, second.get(), kBytes);
          rank.queue.wait(request, &of_wait);
          EXPECT_EQ(rank.queue.wait_ended(), Outcome::ok);
          second.expect(size, kMessage, kOwn, "started");
        }
        EXPECT_EQ(rank.queue.wait_ended(), Outcome::ok);
        for (const StreamStatus& each : {status, of_wait}) {
          EXPECT_EQ(each.outcome, Outcome::ok);
          EXPECT_EQ(each.length, size);
        }
        if (number == 0) continue;
        buffer.expect(size, kMessage, kOwn, "received");
        EXPECT_EQ(status.source.rank, 0);
        EXPECT_EQ(status.source.index, 0U);
        EXPECT_EQ(status.tag, 5U);
        EXPECT_EQ(of_wait.source.rank, 0);
        EXPECT_EQ(of_wait.tag, 6U);
      }
  });
}

TEST(StreamQueueStatus, a_longer_message_is_cut_and_told_by_operation) {
  run_ranks(2, {}, [](Runtime& runtime, int number) {
    QueueRank rank(runtime, number);
    for (const bool is_device : {true, false}) {
      stage_a_secret(rank, number);
      Buffer buffer(rank.gpu, is_device);
      buffer.fill(number == 0 ? kMessage : kOwn);
      std::array<StreamStatus, 3> statuses;
      if (number == 0) {
        for (std::uint32_t tag = 0; tag < 3; ++tag) rank.queue.post_send({1, 0}, tag, buffer.get(), 1000);
        EXPECT_EQ(rank.queue.wait_ended(), Outcome::ok);
        EXPECT_TRUE(rank.queue.take_failures().empty());
        continue;
      }
      std::vector<StreamRequest> requests;
      for (std::uint32_t tag = 0; tag < 3; ++tag)
        requests.push_back(
            rank.queue.start_receive({0, 0}, tag, buffer.get() + 1000 * tag, tag == 1 ? 1000 : 64));
      rank.queue.wait_all(requests, statuses);
      EXPECT_EQ(rank.queue.wait_ended(), Outcome::truncated);
      for (std::size_t tag = 0; tag < 3; ++tag) {
        EXPECT_EQ(statuses[tag].outcome, tag == 1 ? Outcome::ok : Outcome::truncated);
        EXPECT_EQ(statuses[tag].length, 1000U);
        EXPECT_EQ(statuses[tag].tag, tag);
      }
      for (std::size_t index = 0; index < 3000; ++index) {
        const bool has_arrived = index / 1000 == 1 || index % 1000 < 64;
        ASSERT_EQ(buffer.view()[index], has_arrived ? kMessage : kOwn) << index;
      }
      const std::vector<StreamFailure> failures = rank.queue.take_failures();
      ASSERT_EQ(failures.size(), 2U);
      expect_names(failures[0].text, {"receive of 64 bytes", "with tag 0", "truncated"});
      expect_names(failures[1].text, {"receive of 64 bytes", "with tag 2", "truncated"});
      EXPECT_EQ(failures[1].outcome, Outcome::truncated);
      EXPECT_GT(failures[1].operation, failures[0].operation);
      EXPECT_EQ(rank.queue.outcome(), Outcome::ok) << "they are taken";
      EXPECT_EQ(rank.queue.error(), "");
      expect_names(error_of([&] { rank.queue.wait_all({}, std::span(statuses).first(1)); }),
                   {"1 statuses for 0 requests"});
    }
  });
}

TEST(StreamQueueStatus, a_collective_that_fails_leaves_the_buffer) {
  run_ranks(2, {}, [](Runtime& runtime, int number) {
    QueueRank rank(runtime, number);
    stage_a_secret(rank, number);
    for (const bool is_device : {true, false}) {
      Buffer buffer(rank.gpu, is_device);
      buffer.fill(number == 0 ? kMessage : kOwn);
      StreamStatus status;
      // Lengths differ: rank 1, which receives, finds it.
      rank.queue.broadcast(buffer.get(), number == 0 ? 100 : 200, 0, &status);
      const Outcome outcome = rank.queue.wait_ended();
      if (number == 0) {
        // It is told of the broadcast before, if at all.
        if (outcome != Outcome::ok)
          expect_names(rank.queue.error(), {"broadcast: rank 0 sent", "where rank 1 expects"});
        static_cast<void>(rank.queue.take_failures());
        continue;
      }
      EXPECT_EQ(outcome, Outcome::refused);
      EXPECT_EQ(status.outcome, Outcome::refused);
      expect_names(rank.queue.error(), {"broadcast of 200 bytes", "rank 0 sent 100 bytes"});
      buffer.expect(is_device ? 0 : 100, kMessage, kOwn, "broadcast");
      EXPECT_EQ(rank.queue.take_failures().size(), 1U);
    }
    // It goes on.
    StreamStatus status;
    std::uint64_t word = number == 0 ? 7 : 0;
    rank.queue.broadcast(&word, sizeof word, 0, &status);
    const Outcome outcome = rank.queue.wait_ended();
    EXPECT_TRUE(outcome == Outcome::ok || number == 0);
    EXPECT_EQ(word, 7U);
    EXPECT_TRUE(outcome != Outcome::ok || status.length == 8U);
  });
}

TEST(StreamQueueStatus, must_lie_in_host_memory) {
  run_ranks(1, {}, [](Runtime& runtime, int) {
    QueueRank rank(runtime, 0);
    const OnDevice<StreamStatus> status(1);
    expect_names(error_of([&] { rank.queue.barrier(status.get()); }),
                 {"barrier", "device memory", "host memory"});
    EXPECT_EQ(rank.queue.wait_ended(), Outcome::ok);
  });
}

TEST(StreamQueueStatus, a_kernel_behind_the_operation_reads_it) {
  run_ranks(1, {}, [](Runtime& runtime, int) {
    QueueRank rank(runtime, 0);
    StreamStatus status;
    std::array<char, 8> buffer{};
    std::uint64_t wrong = 0;
    for (std::size_t size = 0; size <= 8; ++size) {
      const StreamRequest sent = rank.queue.start_send({0, 0}, std::uint32_t(size), buffer.data(), size);
      rank.queue.post_receive({0, any_index}, any_tag, buffer.data(), 8, &status);
      rank.gpu.launch([&, size] { wrong += status.length != size || status.tag != size; });
      rank.queue.wait(sent);
    }
    EXPECT_EQ(rank.queue.wait_ended(), Outcome::ok);
    EXPECT_EQ(wrong, 0U);
  });
}

TEST(StreamQueueStatus, a_copy_of_a_request_names_no_later_operation) {
  run_ranks(1, {}, [](Runtime& runtime, int) {
    QueueRank rank(runtime, 0);
    Stream other_stream(runtime);
    StreamGroup other_group(runtime, other_stream);
    FakeStream other_gpu;
    StreamQueue other(other_group, 0, other_gpu);
    std::array<char, 16> bytes{};
    const auto exchange = [&] {
      return std::array{rank.queue.start_receive({0, 0}, 1, bytes.data(), 8),
                        rank.queue.start_send({0, 0}, 1, bytes.data() + 8, 8)};
    };
    const std::array stale = exchange();
    rank.queue.wait_all(stale);
    const std::array live = exchange();
    for (const StreamRequest request : stale)
      expect_names(error_of([&] { rank.queue.wait(request); }), {"request", "waited for already"});
    expect_names(error_of([&] { other.wait(live[0]); }), {"request", "another queue"});
    expect_names(error_of([&] { rank.queue.wait({}); }), {"names no operation"});
    rank.queue.wait_all(live);
    EXPECT_EQ(rank.queue.wait_ended(), Outcome::ok);
  });
}

}  // namespace
}  // namespace weft
