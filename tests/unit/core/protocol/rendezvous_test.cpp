// What threads do to the records of large messages at the same time.
#include "core/protocol/rendezvous/rendezvous.hpp"
#include "core/protocol/rendezvous/payload_device.hpp"
#include "unit/core/protocol/rendezvous_fixture.hpp"

#include <weft/detail/message_access.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <vector>

namespace weft::core {
namespace {

using test::Device;
using test::Ended;
using test::FakeNetwork;
using test::FakePort;
using test::FakeSink;

TEST(Rendezvous, whose_record_was_another_ones_when_its_peer_was_found_dead_end_well) {
  FakePort port;
  FakeNetwork network;
  FakeSink sink;
  PacketPool pool(1);
  detail::Exposures exposures(network, [] {});
  Regions regions(network, 0, 1, 0, [] {});
  Counters counters;
  const base::Log log;
  ImmediateCompletions ends(port);
  const Context context{.port = &port,
                        .pool = pool,
                        .exposures = exposures,
                        .counters = counters,
                        .log = log,
                        .limits = {64, 1024},
                        .transfer = Transfer::copy,
                        .requests = 1,
                        .device = 0,
                        .regions = regions,
                        .access_path = AccessPath::automatic,
                        .rank = 0,
                        .ranks = 3,
                        .ends = ends};
  Rendezvous messages(context);
  std::vector<std::byte> payload(5000);
  Ended first;
  Ended second;
  const auto start = [&](int peer, Ended& ended) {
    network::SendResult result{};
    EXPECT_EQ(
        messages.start({peer, 0, Channel::send_rts, 0, nullptr, payload, Operation::send, 0, &ended, nullptr},
                       {.exclusive = true}, result),
        Rendezvous::Start::started);
  };
  const auto finished = [&](int peer, std::uint32_t generation) {
    const RequestName name{0, generation};
    Message arrival;
    detail::MessageAccess::set_view(arrival, Operation::active_message, peer, 0,
                                    reinterpret_cast<const std::byte*>(&name), sizeof name, nullptr, 0);
    messages.sender().on_fin(arrival, sink);
  };
  start(1, first);
  port.on_gone = [&](int peer) {
    if (peer != 1) return false;
    // The record ends, and becomes that of a message to rank 2.
    finished(1, 1);
    start(2, second);
    return true;
  };
  messages.complete_lost_operations(test::all_is_over.data());
  EXPECT_EQ(second.count, 0) << "rank 2 is there";
  finished(2, 2);
  EXPECT_EQ(first.count, 1);
  EXPECT_EQ(first.outcome, Outcome::ok);
  EXPECT_EQ(second.count, 1);
  EXPECT_EQ(second.outcome, Outcome::ok);
  EXPECT_EQ(sink.rejected, 0);
  EXPECT_EQ(messages.outstanding(), 0U);
}

TEST(Rendezvous, of_one_peer_are_fetched_in_the_order_of_their_classes) {
  Device device;
  Ended ended;
  std::vector<std::byte> room(1 << 20);
  Rendezvous messages(device.context);
  constexpr std::uint32_t kNormal = 0;
  constexpr std::uint32_t kControl = 1;
  constexpr std::uint32_t kBulk = 2;
  // More than is ever under way, so that one after the other is asked for.
  const auto announce = [&](std::uint32_t request, std::uint32_t message_class) {
    const Rts rts{0, room.size(), {request, 1}, 0, message_class};
    ASSERT_TRUE(messages.receiver().fetch({1, rts, 0, room, &ended, nullptr}));
    messages.step({.exclusive = true});
  };
  announce(10, kBulk);
  announce(11, kNormal);
  announce(12, kBulk);
  announce(13, kControl);
  announce(14, kNormal);
  announce(15, kControl);
  // Every time that the peer may send more, the first of the list is told.
  std::vector<std::uint32_t> asked;
  std::vector<std::byte> fragment(sizeof(DataHeader) + 1024);
  std::array<std::uint64_t, 16> received{};
  for (std::size_t seen = 0; ended.count < 6;) {
    ASSERT_LT(seen, device.port.sent.size());
    Cts clear{};
    std::memcpy(&clear, device.port.sent[seen].payload.data(), sizeof clear);
    if (asked.empty() || asked.back() != clear.request.index) asked.push_back(clear.request.index);
    ++seen;
    std::uint64_t& done = received[clear.request.index];
    while (done < clear.granted) {
      const DataHeader header{done, std::min<std::uint64_t>(1024, clear.granted - done)};
      std::memcpy(fragment.data(), &header, sizeof header);
      done += header.size;
      Message arrival;
      detail::MessageAccess::set_view(arrival, Operation::active_message, 1, 0, fragment.data(),
                                      sizeof header + header.size, nullptr, 0);
      messages.receiver().on_data(word_of(clear.transfer), arrival, device.sink);
    }
    messages.step({.exclusive = true});
  }
  EXPECT_EQ(asked, (std::vector<std::uint32_t>{10, 13, 15, 11, 14, 10, 12}));
  EXPECT_EQ(device.sink.rejected, 0);
}

TEST(Rendezvous, move_on_the_payload_device_while_that_is_open) {
  Device mover;
  Rendezvous moves(mover.context);
  PayloadDevice place;
  Device posts;
  const Context context = [&] {
    Context with = posts.context;
    with.payloads = &place;
    with.device = 3;
    return with;
  }();
  Rendezvous messages(context);
  std::vector<std::byte> payload(5000);
  Ended ended;
  network::SendResult result{};
  const Rendezvous::Outbound outbound{
      1, 0, Channel::send_rts, 0, nullptr, payload, Operation::send, 0, &ended, nullptr};
  EXPECT_EQ(messages.start(outbound, {.exclusive = true}, result), Rendezvous::Start::refused);
  EXPECT_EQ(result, network::SendResult::not_ready);
  place.open(moves);
  EXPECT_EQ(messages.start(outbound, {.exclusive = true}, result), Rendezvous::Start::started);
  EXPECT_EQ(messages.outstanding(), 0U);
  EXPECT_EQ(moves.outstanding(), 1U);
  ASSERT_EQ(posts.port.sent.size(), 1U) << "announced as ever";
  Rts rts{};
  std::memcpy(&rts, posts.port.sent[0].payload.data(), sizeof rts);
  EXPECT_EQ(rts.device, mover.context.device) << "answers go to the one that moves it";
  std::vector<std::byte> room(100);
  ASSERT_TRUE(messages.fetch_payload({1, {0, 5000, {0, 1}, 0}, 0, room, &ended, nullptr}));
  EXPECT_EQ(moves.outstanding(), 2U);
  place.close();
  EXPECT_EQ(messages.start(outbound, {.exclusive = true}, result), Rendezvous::Start::refused);
  ASSERT_TRUE(messages.fetch_payload({1, {0, 5000, {0, 1}, 0}, 0, room, &ended, nullptr}));
  EXPECT_EQ(messages.outstanding(), 1U) << "received here";
}

}  // namespace
}  // namespace weft::core
