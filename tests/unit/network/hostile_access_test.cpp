// Puts, gets and answers that a hostile peer writes into its lane: nothing outside a region is touched, and
// no operation of this rank ends by them.
#include "core/protocol/wire.hpp"
#include "support/ranks.hpp"

#include <gtest/gtest.h>

namespace weft::network::shm {
namespace {

using core::AccessEnded;
using core::AccessPiece;
using core::AtomicEnded;
using core::AtomicRequest;
using core::Channel;
using core::GetData;
using detail::SendLane;
using detail::Slot;
using detail::slot_header;
using detail::SlotKind;

class HostileAccess : public testing::Test {
 protected:
  HostileAccess() {
    remote_ = ranks_.runtime(1).expose(arrived_, {.id = 1});
    static_cast<void>(ranks_.post(0, 1, remote_, {}));
    EXPECT_TRUE(ranks_.progress_until([&] { return arrived_.value() == 1; }));
    test::fill(memory_, 1);
  }
  SendLane& lane() { return *detail::path_of(ranks_.endpoint(0).state()).lane(1, 0); }
  /// Writes a message as a sender would, into as many slots as it takes.
  void write(Channel channel, std::uint64_t word, Bytes payload) {
    SendLane& to = lane();
    Slot& slot = to.at(to.tail());
    if (!payload.empty()) std::memcpy(slot.payload, payload.data(), payload.size());
    slot.word = word;
    slot.header.store(
        slot_header(to.lap, payload.size(), static_cast<std::uint8_t>(channel), SlotKind::message),
        std::memory_order_release);
    to.move_to(to.tail() + detail::slots_for(payload.size()), to.limit);
    for (int round = 0; round < 50; ++round) ranks_.endpoint(1).progress();
  }
  std::uint64_t refused() { return ranks_.runtime(1).counters().refused_messages; }
  void expect_alive() {
    const std::uint64_t before = arrived_.value();
    EXPECT_TRUE(ranks_.post(0, 1, remote_, {}).has_value());
    EXPECT_TRUE(ranks_.progress_until([&] { return arrived_.value() == before + 1; }));
  }

  test::Ranks<SerialEndpoint> ranks_{
      2, {{"log", "error"}, {"drain_timeout", "0.05"}, {"one_sided", "message"}, {"network", "shm"}}};
  Counter arrived_;
  RemoteCompletion remote_;
  std::vector<std::byte> memory_ = std::vector<std::byte>(1000);
};

TEST_F(HostileAccess, that_is_malformed_is_refused) {
  const MemoryRegion region(ranks_.runtime(1), memory_);
  const core::RequestName name{region.remote().index, region.remote().generation};
  std::uint64_t before = refused();
  const std::uint32_t few = 0;
  for (const Channel channel : {Channel::put, Channel::get, Channel::get_data})
    write(channel, 0, bytes_of(few));
  write(Channel::access_completed, 0, {});
  EXPECT_EQ(refused(), before + 4);
  before = refused();
  // A length that is not there, more than a packet, a device that cannot be.
  write(Channel::put, 0, bytes_of(AccessPiece{name, 0, 8, 0, {}, 8, 0, 0}));
  write(Channel::get, 0, bytes_of(AccessPiece{name, 0, 1 << 20, 0, {}, 1 << 20, 0, 0}));
  write(Channel::put, 0, bytes_of(AccessPiece{name, 0, 0, 0, {}, 0, 256, 0}));
  write(Channel::get, 0, bytes_of(AccessPiece{name, 0, 8, 0, {}, 8, 65535, 0}));
  EXPECT_EQ(refused(), before + 4);
  EXPECT_TRUE(test::matches(memory_, 1));
  expect_alive();
}

TEST_F(HostileAccess, whose_place_wraps_round_touches_nothing) {
  const MemoryRegion region(ranks_.runtime(1), memory_);
  const core::RequestName name{region.remote().index, region.remote().generation};
  const std::uint64_t most = ~std::uint64_t{0};
  for (const AccessPiece& piece :
       {AccessPiece{name, 0, 8, 9, {}, 0, 0, 0}, AccessPiece{name, most, 8, 0, {}, 0, 0, 0},
        AccessPiece{name, 0, most, most, {}, 0, 0, 0}, AccessPiece{name, 1001, 0, 0, {}, 0, 0, 0}}) {
    write(Channel::put, 0, bytes_of(piece));
    write(Channel::get, 0, bytes_of(piece));
  }
  EXPECT_TRUE(test::matches(memory_, 1));
  // The answers go to requests that do not exist.
  for (int round = 0; round < 50; ++round) ranks_.endpoint(0).progress();
  EXPECT_EQ(ranks_.runtime(0).counters().refused_messages, 8U);
  expect_alive();
}

TEST_F(HostileAccess, whose_piece_reaches_beyond_its_access_touches_nothing) {
  const MemoryRegion region(ranks_.runtime(1), memory_);
  const core::RequestName name{region.remote().index, region.remote().generation};
  struct Put {
    AccessPiece piece;
    std::uint64_t data;
  };
  // Inside the region, so that a write shows; and behind its end.
  for (const std::uint64_t offset : {std::uint64_t{100}, std::uint64_t{992}}) {
    const AccessPiece piece{name, offset, 8, 4, {}, 8, 0, 0};
    write(Channel::put, 0, bytes_of(Put{piece, ~std::uint64_t{0}}));
    write(Channel::get, 0, bytes_of(piece));
  }
  EXPECT_TRUE(test::matches(memory_, 1));
  for (int round = 0; round < 50; ++round) ranks_.endpoint(0).progress();
  EXPECT_EQ(ranks_.runtime(0).counters().refused_messages, 4U) << "answers to requests that do not exist";
  expect_alive();
}

TEST_F(HostileAccess, answers_to_operations_that_do_not_exist_are_refused) {
  const std::uint64_t before = refused();
  int written = 0;
  for (const core::RequestName name : {core::RequestName{0, 1}, {0, 0}, {1'000'000, 1}, {~0U, ~0U}}) {
    write(Channel::access_completed, core::word_of(name), bytes_of(AccessEnded{0}));
    write(Channel::get_data, core::word_of(name), bytes_of(GetData{0, 0, 0}));
    written += 2;
  }
  EXPECT_EQ(refused(), before + static_cast<std::uint64_t>(written));
  expect_alive();
}

TEST_F(HostileAccess, answers_to_a_get_write_only_pieces_of_it) {
  const MemoryRegion region(ranks_.runtime(0), memory_);
  std::vector<std::byte> buffer(8, std::byte{0x55});
  Counter ended;
  // Rank 1 asks rank 0, which does not progress and answers by hand.
  ASSERT_TRUE(
      ranks_.endpoint(1).post_get(0, region.remote().at(0), buffer, {.completion = &ended}).is_posted());
  struct Answer {
    GetData header;
    std::uint64_t data;
  };
  const std::uint64_t request = core::word_of({0, 1});
  const std::uint64_t before = refused();
  write(Channel::get_data, request, bytes_of(Answer{{8, 0, 0}, 1}));
  write(Channel::get_data, request, bytes_of(Answer{{~std::uint64_t{0}, 0, 0}, 1}));
  write(Channel::get_data, request, bytes_of(GetData{0, 0, 0}));        // too short
  write(Channel::access_completed, request, bytes_of(AccessEnded{0}));  // it is no put
  write(Channel::get_data, core::word_of({0, 2}), bytes_of(Answer{{0, 0, 0}, 1}));
  EXPECT_EQ(refused(), before + 5);
  EXPECT_EQ(ended.value(), 0U);
  for (const std::byte value : buffer) EXPECT_EQ(value, std::byte{0x55});
  ASSERT_TRUE(ranks_.progress_until([&] { return ended.value() == 1; }));
  EXPECT_TRUE(std::equal(buffer.begin(), buffer.end(), memory_.begin()));
}

TEST_F(HostileAccess, atomic_operations_that_are_malformed_are_refused) {
  const MemoryRegion region(ranks_.runtime(1), memory_);
  const core::RequestName name{region.remote().index, region.remote().generation};
  const std::uint64_t before = refused();
  std::uint64_t written = 0;
  const auto refuse = [&](Channel channel, Bytes payload) {
    write(channel, 0, payload);
    ++written;
  };
  const AtomicRequest add{name, 0, {}, 1, 0, 0, 2, 0, 0, 0};
  refuse(Channel::atomic, {});
  refuse(Channel::atomic, bytes_of(add).first(47));
  for (const int operation : {8, 100, 255}) {
    AtomicRequest unknown = add;
    unknown.operation = static_cast<std::uint8_t>(operation);
    refuse(Channel::atomic, bytes_of(unknown));
  }
  for (const int type : {6, 255}) {
    AtomicRequest unknown = add;
    unknown.type = static_cast<std::uint8_t>(type);
    refuse(Channel::atomic, bytes_of(unknown));
  }
  AtomicRequest mask_of_a_double = add;
  mask_of_a_double.operation = 2;
  mask_of_a_double.type = 5;
  refuse(Channel::atomic, bytes_of(mask_of_a_double));
  AtomicRequest elsewhere = add;
  elsewhere.device = 256;
  refuse(Channel::atomic, bytes_of(elsewhere));
  for (const std::size_t size : {0U, 8U})
    refuse(Channel::atomic_completed, bytes_of(AtomicEnded{}).first(size));
  refuse(Channel::atomic_completed, bytes_of(AtomicEnded{7, 0, 0}));
  EXPECT_EQ(refused(), before + written);
  EXPECT_TRUE(test::matches(memory_, 1));
  expect_alive();
}

TEST_F(HostileAccess, atomic_operations_outside_their_region_touch_nothing) {
  const MemoryRegion region(ranks_.runtime(1), memory_);
  const core::RequestName name{region.remote().index, region.remote().generation};
  const core::RequestName stale{name.index, name.generation + 1};
  const std::uint64_t most = ~std::uint64_t{0};
  for (const AtomicRequest& request :
       {AtomicRequest{name, 996, {}, 1, 0, 0, 2, 0, 0, 0}, AtomicRequest{name, most, {}, 1, 0, 0, 2, 0, 0, 0},
        AtomicRequest{name, most - 7, {}, 1, 0, 0, 2, 0, 0, 0},
        AtomicRequest{name, 4, {}, 1, 0, 0, 2, 0, 0, 0}, AtomicRequest{name, 2, {}, 1, 0, 1, 4, 0, 0, 0},
        AtomicRequest{stale, 0, {}, 1, 0, 0, 2, 0, 0, 0},
        AtomicRequest{{~0U, 1}, 0, {}, 1, 0, 0, 2, 0, 0, 0}})
    write(Channel::atomic, 0, bytes_of(request));
  EXPECT_TRUE(test::matches(memory_, 1));
  for (int round = 0; round < 50; ++round) ranks_.endpoint(0).progress();
  EXPECT_EQ(ranks_.runtime(0).counters().refused_messages, 7U);
  expect_alive();
}

TEST_F(HostileAccess, ends_of_another_operation_do_not_end_an_atomic_one) {
  alignas(8) std::uint64_t value = 5;
  const MemoryRegion region(ranks_.runtime(0), std::as_writable_bytes(std::span(&value, 1)));
  std::uint64_t old = 77;
  Counter ended;
  // Rank 1 asks rank 0, which does not progress and answers by hand.
  ASSERT_TRUE(
      ranks_.endpoint(1)
          .post_fetch_atomic(0, region.remote().at(0), AtomicOperation::add, 2, old, {.completion = &ended})
          .is_posted());
  const std::uint64_t request = core::word_of({0, 1});
  const std::uint64_t before = refused();
  write(Channel::access_completed, request, bytes_of(AccessEnded{0}));
  write(Channel::get_data, request, bytes_of(GetData{0, 0, 0}));
  write(Channel::atomic_completed, core::word_of({0, 2}), bytes_of(AtomicEnded{1, 0, 0}));
  EXPECT_EQ(refused(), before + 3);
  EXPECT_EQ(ended.value(), 0U);
  EXPECT_EQ(old, 77U);
  ASSERT_TRUE(ranks_.progress_until([&] { return ended.value() == 1; }));
  EXPECT_EQ(old, 5U);
  EXPECT_EQ(value, 7U);
}

}  // namespace
}  // namespace weft::network::shm
