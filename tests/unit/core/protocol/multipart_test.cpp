// What a peer may write into announcements of parts, and what a receiver does about it.
#include "core/protocol/multipart/multipart.hpp"

#include "support/fake_network.hpp"

#include <weft/detail/lane.hpp>
#include <weft/detail/message_access.hpp>

#include <gtest/gtest.h>

#include <cstring>

namespace weft::core {
namespace {

class Recorder final : public Completion {
 public:
  ~Recorder() override { withdraw(); }
  void signal(Message& message) noexcept override { messages.push_back(message.take()); }
  [[nodiscard]] bool ready() const noexcept override { return true; }
  std::vector<Message> messages;
};

/// The receiver's half of a device, and bytes of a peer.
class MultipartRts : public testing::Test {
 protected:
  static constexpr int kPeer = 1;
  using Announcement = core::MultipartRts;

  /// Delivers an announcement with what stands behind it.
  void arrive(const Announcement& rts, const std::vector<PartEntry>& entries, std::size_t more) {
    std::vector<std::byte> bytes;
    const auto add = [&](Bytes what) { bytes.insert(bytes.end(), what.begin(), what.end()); };
    add(bytes_of(rts));
    for (const PartEntry& entry : entries) add(bytes_of(entry));
    bytes.resize(bytes.size() + more);
    arrive(bytes);
  }
  void arrive(Bytes bytes) {
    Message arrival;
    detail::MessageAccess::set_view(arrival, Operation::active_message, kPeer, 0, bytes.data(), bytes.size(),
                                    nullptr, 0);
    EXPECT_TRUE(messages_.on_rts(detail::handle_word(remote_, 4), arrival, sink_));
  }
  void fragment(RequestName transfer, std::size_t offset, Bytes data) {
    std::vector<std::byte> bytes(sizeof(DataHeader) + data.size());
    const DataHeader fragment{offset, data.size()};
    std::memcpy(bytes.data(), &fragment, sizeof fragment);
    std::memcpy(bytes.data() + sizeof fragment, data.data(), data.size());
    Message arrival;
    detail::MessageAccess::set_view(arrival, Operation::active_message, kPeer, 0, bytes.data(), bytes.size(),
                                    nullptr, 0);
    large_.receiver().on_data(word_of(transfer), arrival, sink_);
  }
  void step() {
    messages_.step();
    large_.step({.exclusive = true});
  }
  /// Requests of the peer that it was told have ended.
  [[nodiscard]] std::vector<std::uint32_t> finished() const {
    std::vector<std::uint32_t> indices;
    for (const auto& each : port_.sent)
      if (each.outgoing.channel == static_cast<std::uint8_t>(Channel::fin)) {
        RequestName name{};
        std::memcpy(&name, each.payload.data(), sizeof name);
        indices.push_back(name.index);
      }
    return indices;
  }
  [[nodiscard]] Cts last_clear() const {
    Cts clear{};
    for (const auto& each : port_.sent)
      if (each.outgoing.channel == static_cast<std::uint8_t>(Channel::cts))
        std::memcpy(&clear, each.payload.data(), sizeof clear);
    return clear;
  }
  [[nodiscard]] static Announcement good(std::uint64_t count, std::uint64_t head_size) {
    return {.parts = {7, 1},
            .front = {8, 1},
            .front_address = 0,
            .count = count,
            .head_size = head_size,
            .device = 0,
            .has_front = 1};
  }

  test::FakePort port_;
  test::FakeNetwork network_;
  test::FakeSink sink_;
  PacketPool pool_{1};
  detail::Exposures exposures_{network_, [] {}};
  Regions regions_{network_, 0, 1, 0, [] {}};
  Counters counters_;
  const base::Log log_;
  ImmediateCompletions immediate_completions_{port_};
  const Context context_{.port = &port_,
                         .pool = pool_,
                         .exposures = exposures_,
                         .counters = counters_,
                         .log = log_,
                         .limits = {64, 1024},
                         .transfer = Transfer::copy,
                         .requests = 4,
                         .device = 0,
                         .regions = regions_,
                         .access_path = AccessPath::automatic,
                         .rank = 0,
                         .ranks = 2,
                         .ends = immediate_completions_};
  Recorder recorder_;
  const RemoteCompletion remote_ = exposures_.expose(recorder_, 3, 0);
  Rendezvous large_{context_};
  MultipartMessages messages_{context_, large_};
};

TEST_F(MultipartRts, is_refused_when_something_in_it_is_impossible) {
  const std::vector<PartEntry> two = {{0, 10}, {0, 20}};
  const auto with = [](Announcement rts, const auto& change) {
    change(rts);
    return rts;
  };
  int expected = 0;
  const auto expect_refused = [&](const char* what) {
    EXPECT_EQ(sink_.rejected, ++expected) << what;
    EXPECT_TRUE(recorder_.messages.empty()) << what;
  };
  arrive(std::vector<std::byte>(47));
  expect_refused("a piece of an announcement");
  arrive(Bytes());
  expect_refused("nothing");
  arrive(good(0, 0), {}, 0);
  expect_refused("no parts");
  arrive(good(3, 0), two, 0);
  expect_refused("fewer entries than parts");
  arrive(good(2, 5), two, 4);
  expect_refused("a short head");
  arrive(good(2, 5), two, 6);
  expect_refused("a long head");
  arrive(good(kMostParts + 1, 0), two, 0);
  expect_refused("too many parts");
  arrive(good(std::uint64_t{1} << 60, 0), {}, 0);
  expect_refused("a table whose size wraps round");
  arrive(good(2, std::uint64_t{0} - 32), two, 0);
  expect_refused("a head that makes the size wrap round");
  arrive(with(good(2, 0), [](Announcement& each) { each.device = 0xffffffff; }), two, 0);
  expect_refused("a device out of range");
  arrive(with(good(2, 0), [](Announcement& each) { each.has_front = 2; }), two, 0);
  expect_refused("neither with nor without its front");
  arrive(with(good(2, 0), [](Announcement& each) { each.has_front = 0; }), two, 0);
  expect_refused("a front that was not announced");
  arrive(good(2, 0), {{0, kLargestMessage}, {0, 1}}, 0);
  expect_refused("too many bytes together");
  arrive(good(2, 0), {{0, ~std::uint64_t{0}}, {0, 2}}, 0);
  expect_refused("sizes that wrap round");
}

TEST_F(MultipartRts, tells_of_its_parts_and_is_declined_when_it_is_dropped) {
  arrive(good(2, 5), {{0, 10}, {0, 20}}, 5);
  ASSERT_EQ(recorder_.messages.size(), 1U);
  const Message& message = recorder_.messages[0];
  EXPECT_EQ(message.operation(), Operation::multipart_message);
  EXPECT_EQ(message.tag(), 4U);
  EXPECT_EQ(message.size(), 5U);
  ASSERT_EQ(message.part_sizes().size(), 2U);
  EXPECT_EQ(message.part_sizes()[1], 20U);
  step();
  EXPECT_TRUE(port_.sent.empty());
  recorder_.messages.clear();
  step();
  EXPECT_EQ(finished(), std::vector<std::uint32_t>{7});
  EXPECT_EQ(large_.outstanding(), 0U);
}

TEST_F(MultipartRts, for_a_stale_handle_is_declined) {
  recorder_.withdraw();
  arrive(good(1, 0), {{0, 10}}, 0);
  step();
  EXPECT_EQ(counters_.refused_handles, 1U);
  EXPECT_EQ(finished(), std::vector<std::uint32_t>{7});
}

TEST_F(MultipartRts, whose_front_is_impossible_is_declined) {
  Announcement rts = good(2, 0);
  rts.has_front = 0;
  arrive(rts, {}, 0);
  step();
  step();
  const Cts clear = last_clear();
  EXPECT_EQ(clear.request.index, 8U);
  ASSERT_EQ(clear.size, 2 * sizeof(PartEntry));
  const PartEntry entries[2] = {{0, kLargestMessage}, {0, kLargestMessage}};
  fragment(clear.transfer, 0, bytes_of(entries));
  step();
  EXPECT_EQ(counters_.refused_messages, 1U);
  EXPECT_TRUE(recorder_.messages.empty());
  EXPECT_EQ(finished(), std::vector<std::uint32_t>{7});
}

TEST_F(MultipartRts, takes_no_chunk_beyond_what_its_buffers_take) {
  arrive(good(3, 0), {{0, 4}, {0, 100}, {0, 100}}, 0);
  ASSERT_EQ(recorder_.messages.size(), 1U);
  std::vector<std::byte> first(4, std::byte{9});
  std::vector<std::byte> second(60, std::byte{9});
  const std::span<std::byte> buffers[3] = {first, std::span(second).first(50), {}};
  Recorder ended;
  ASSERT_TRUE(MultipartMessages::receive(recorder_.messages[0], buffers, ended, nullptr));
  step();
  step();
  const Cts clear = last_clear();
  ASSERT_EQ(clear.size, 54U);
  const std::vector<std::byte> zeros(100);
  fragment(clear.transfer, 0, zeros);
  fragment(clear.transfer, 54, Bytes(zeros).first(1));
  fragment(clear.transfer, ~std::uint64_t{0}, Bytes(zeros).first(1));
  EXPECT_EQ(sink_.rejected, 3);
  EXPECT_TRUE(ended.messages.empty());
  fragment(clear.transfer, 0, Bytes(zeros).first(54));
  ASSERT_EQ(ended.messages.size(), 1U);
  EXPECT_EQ(ended.messages[0].outcome(), Outcome::truncated);
  EXPECT_EQ(first[3], std::byte{0});
  EXPECT_EQ(second[49], std::byte{0});
  EXPECT_EQ(second[50], std::byte{9});
}

}  // namespace
}  // namespace weft::core
