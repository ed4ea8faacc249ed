// Bytes that leave from where they are: requests, puts, and what peers fetch and get.
#include "unit/clock/tcp/pieces_fixture.hpp"

#include <sys/mman.h>
#include <unistd.h>

namespace weft::network::tcp::test {
namespace {

class SentPieces : public Pieces {
 protected:
  /// The peer asks; false: it may not.
  bool ask(RecordKind kind, const FetchRequest& wanted, std::uint64_t token = 77) {
    const Record record{sizeof wanted, kind, {}, token};
    have_read(bytes_of_all({bytes_of_one(record), bytes_of_one(wanted)}));
    return sender_.begin_serving(connection_, record);
  }
  void expect_refused(RecordKind kind, const FetchRequest& wanted) {
    EXPECT_TRUE(ask(kind, wanted));
    const Taken taken = take();
    EXPECT_EQ(taken.record.kind, RecordKind::refused);
    EXPECT_EQ(taken.record.bytes, 0U);
    EXPECT_EQ(taken.record.token, 77U);
    EXPECT_TRUE(is_silent());
  }
  AccessResult request(std::uint64_t token = 5) {
    return sender_.request(connection_, RecordKind::get, {named(2), 30, 40}, place_.data(), token);
  }
  AccessResult put(Bytes from, std::uint64_t token = 6) {
    return sender_.put(connection_, {.region = {3, 9}, .keys = {}, .offset = 100}, from, token);
  }

  std::array<std::byte, 64> place_{};
};

TEST_F(SentPieces, that_are_asked_for_are_named) {
  for (const RecordKind kind : {RecordKind::get, RecordKind::fetch}) {
    ASSERT_EQ(sender_.request(connection_, kind, {named(2), 30, 40}, place_.data(), 5), AccessResult::posted);
    const Taken taken = take();
    EXPECT_EQ(taken.record.kind, kind);
    EXPECT_EQ(taken.record.bytes, sizeof(FetchRequest));
    const auto wanted = taken.as<FetchRequest>();
    EXPECT_EQ(wanted.key, named(2));
    EXPECT_EQ(wanted.offset, 30U);
    EXPECT_EQ(wanted.length, 40U);
    const Transfer* const transfer = transfers_.find(connection_, taken.record.token);
    ASSERT_NE(transfer, nullptr);
    EXPECT_EQ(transfer->token, 5U);
    EXPECT_EQ(transfer->to, place_.data());
    EXPECT_EQ(transfer->left, 40U);
    EXPECT_EQ(transfer->is_get, kind == RecordKind::get);
  }
}

TEST_F(SentPieces, are_not_asked_for_or_put_without_a_connection) {
  connection_.is_broken = true;
  EXPECT_EQ(request(), AccessResult::no_slot);
  EXPECT_EQ(put(place_), AccessResult::no_slot);
  connection_.is_broken = false;
  const base::Descriptor socket = std::move(connection_.socket);
  EXPECT_EQ(request(), AccessResult::no_slot);
  EXPECT_EQ(put(place_), AccessResult::no_slot);
  connection_.is_lost = true;
  EXPECT_EQ(request(), AccessResult::peer_left);
  EXPECT_EQ(put(place_), AccessResult::peer_left);
  connection_.is_lost = false;
  EXPECT_EQ(transfers_.find_free(), transfers_.find_free());
  EXPECT_EQ(transfers_.find(connection_, 0), nullptr);
}

TEST_F(SentPieces, are_asked_for_when_there_is_room) {
  fill_output();
  EXPECT_EQ(request(), AccessResult::no_slot);
  EXPECT_EQ(transfers_.find(connection_, transfers_.wire_token(*transfers_.find_free())), nullptr)
      << "it is free";
}

TEST_F(SentPieces, are_under_way_as_many_as_the_table_has) {
  for (std::size_t count = 0; count < TransferTable::kMost; ++count)
    ASSERT_EQ(request(), AccessResult::posted);
  EXPECT_EQ(request(), AccessResult::no_slot);
  EXPECT_EQ(put(place_), AccessResult::no_slot);
}

TEST_F(SentPieces, of_a_put_say_where_they_belong) {
  const auto bytes = weft::test::payload(2 * kLongestPiece + 1000, 3);
  ASSERT_EQ(put(bytes), AccessResult::posted);
  EXPECT_EQ(owner_.later, 1) << "the socket has not taken all";
  std::uint64_t offset = 100;
  std::uint64_t left = bytes.size();
  for (const std::size_t size : {kLongestPiece, kLongestPiece, std::size_t{1000}}) {
    left -= size;
    const Taken taken = take();
    ASSERT_EQ(taken.record.kind, RecordKind::put);
    ASSERT_EQ(taken.record.bytes, sizeof(PutHead) + size);
    const auto head = taken.as<PutHead>();
    EXPECT_EQ(head.key, key_of({3, 9}));
    EXPECT_EQ(head.offset, offset);
    EXPECT_EQ(head.left, left);
    EXPECT_EQ(head.zero, 0U);
    EXPECT_TRUE(std::equal(taken.bytes.begin() + sizeof head, taken.bytes.end(),
                           bytes.begin() + static_cast<std::ptrdiff_t>(offset - 100)));
    offset += size;
    const Transfer* const transfer = transfers_.find(connection_, taken.record.token);
    ASSERT_NE(transfer, nullptr);
    EXPECT_LE(transfer->left, left);
    EXPECT_EQ(transfer->to, nullptr);
  }
  EXPECT_TRUE(is_silent());
  EXPECT_TRUE(connection_.servings.empty());
}

TEST_F(SentPieces, that_leave_at_once_need_no_later_write) {
  ASSERT_EQ(put(place_), AccessResult::posted);
  EXPECT_EQ(owner_.later, 0);
  EXPECT_TRUE(connection_.servings.empty());
  EXPECT_EQ(take().record.kind, RecordKind::put);
}

TEST_F(SentPieces, are_those_of_the_memory_that_is_named) {
  auto bytes = weft::test::payload(kLongestPiece + 3000, 4);
  offers_.open(named(1), bytes);
  regions_.open(named(2), bytes);
  for (const bool is_get : {false, true}) {
    EXPECT_TRUE(ask(is_get ? RecordKind::get : RecordKind::fetch,
                    {named(is_get ? 2 : 1), 1000, bytes.size() - 1000}));
    std::vector<std::byte> all;
    for (const std::size_t size : {kLongestPiece, std::size_t{2000}}) {
      const Taken taken = take();
      EXPECT_EQ(taken.record.kind, RecordKind::data);
      EXPECT_EQ(taken.record.token, 77U);
      EXPECT_EQ(taken.bytes.size(), size);
      all.insert(all.end(), taken.bytes.begin(), taken.bytes.end());
    }
    EXPECT_TRUE(std::equal(all.begin(), all.end(), bytes.begin() + 1000));
    if (is_get) {
      const Taken end = take();
      EXPECT_EQ(end.record.kind, RecordKind::get_completed);
      EXPECT_EQ(end.record.token, 77U);
    }
    EXPECT_TRUE(is_silent());
  }
  EXPECT_TRUE(owner_.lost.empty());
}

TEST_F(SentPieces, of_what_may_not_be_read_are_refused) {
  std::vector<std::byte> bytes(1000);
  offers_.open(named(1), bytes);
  regions_.open(named(1), bytes);
  for (const RecordKind kind : {RecordKind::fetch, RecordKind::get}) {
    expect_refused(kind, {named(1), 1001, 1});
    expect_refused(kind, {named(1), 0, 1001});
    expect_refused(kind, {named(1), 1000, 1});
    expect_refused(kind, {named(1), 10, ~std::uint64_t{0} - 5});
    expect_refused(kind, {named(1), 10, 0});
    expect_refused(kind, {named(1, 2), 0, 1});
    expect_refused(kind, {named(2), 0, 1});
  }
  EXPECT_TRUE(ask(RecordKind::fetch, {named(1), 999, 1}));
  EXPECT_EQ(take().record.bytes, 1U);
}

TEST_F(SentPieces, are_asked_for_in_turn_and_not_more_than_may_be) {
  std::vector<std::byte> bytes(100'000);
  offers_.open(named(1), bytes);
  for (std::uint64_t count = 0; count < TransferTable::kMost; ++count)
    EXPECT_TRUE(ask(RecordKind::fetch, {named(1), 0, bytes.size()}, count));
  EXPECT_FALSE(ask(RecordKind::fetch, {named(1), 0, bytes.size()}));
  ASSERT_EQ(put(place_), AccessResult::posted) << "puts of this rank do not count";
  for (std::uint64_t count = 0; count < TransferTable::kMost; ++count) EXPECT_EQ(take().record.token, count);
  EXPECT_EQ(take().record.kind, RecordKind::put);
}

TEST_F(SentPieces, of_an_offer_that_is_withdrawn_meanwhile_end_the_connection) {
  std::vector<std::byte> bytes(100'000);
  offers_.open(named(1), bytes);
  EXPECT_TRUE(ask(RecordKind::fetch, {named(1), 0, bytes.size()}));
  EXPECT_TRUE(connection_.output.has_piece());
  offers_.close(named(1));
  EXPECT_EQ(sender_.flush(connection_), Output::Result::failed);
  EXPECT_EQ(owner_.lost, std::vector<std::string>{"memory of which it is reading has been withdrawn"});
}

TEST_F(SentPieces, of_a_region_that_is_released_meanwhile_are_ended_by_zeros_and_refused) {
  std::vector<std::byte> bytes(200'000, std::byte{5});
  regions_.open(named(1), bytes);
  EXPECT_TRUE(ask(RecordKind::get, {named(1), 0, bytes.size()}));
  EXPECT_TRUE(connection_.output.has_piece());
  regions_.close(named(1));
  const Taken taken = take();
  EXPECT_EQ(taken.record.kind, RecordKind::data);
  EXPECT_EQ(taken.bytes.front(), std::byte{5});
  EXPECT_EQ(taken.bytes.back(), std::byte{0});
  EXPECT_EQ(take().record.kind, RecordKind::refused);
  EXPECT_TRUE(owner_.lost.empty());
}

TEST_F(SentPieces, of_memory_that_the_program_has_made_unreadable_end_as_released_ones) {
  const auto page = static_cast<std::size_t>(::sysconf(_SC_PAGESIZE));
  void* const memory = ::mmap(nullptr, 2 * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  ASSERT_NE(memory, MAP_FAILED);
  const std::span<std::byte> bytes(static_cast<std::byte*>(memory), 2 * page);
  bytes[0] = std::byte{5};
  ASSERT_EQ(::mprotect(bytes.data() + page, page, PROT_NONE), 0);
  regions_.open(named(1), bytes);
  offers_.open(named(1), bytes);
  EXPECT_TRUE(ask(RecordKind::get, {named(1), 0, 2 * page}));
  const Taken taken = take();
  EXPECT_EQ(taken.bytes.size(), 2 * page);
  EXPECT_EQ(taken.bytes.back(), std::byte{0});
  EXPECT_EQ(take().record.kind, RecordKind::refused);
  EXPECT_FALSE(connection_.is_broken);
  EXPECT_TRUE(ask(RecordKind::fetch, {named(1), 0, 2 * page}));
  for (int count = 0; count < 20; ++count) move();
  EXPECT_TRUE(connection_.is_broken) << "the peer would take what comes for the payload";
  ::munmap(memory, 2 * page);
}

TEST_F(SentPieces, are_answered_as_often_as_a_peer_may_ask) {
  fill_output();
  std::size_t count = 0;
  while (connection_.is_open() && count < 10'000) {
    sender_.answer(connection_, RecordKind::put_completed, 1);
    ++count;
  }
  EXPECT_GE(count, std::size_t{128});
  EXPECT_EQ(owner_.lost, std::vector<std::string>{"it has more accesses under way than it may"});
}

TEST_F(SentPieces, to_a_peer_that_has_gone_break_the_connection) {
  ASSERT_EQ(put(std::vector<std::byte>(100'000)), AccessResult::posted);
  peer_ = base::Descriptor();
  EXPECT_EQ(sender_.flush(connection_), Output::Result::failed);
  EXPECT_TRUE(connection_.is_broken);
}

}  // namespace
}  // namespace weft::network::tcp::test
