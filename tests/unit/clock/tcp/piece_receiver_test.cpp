// Bytes that come to where they belong: payloads and gets of this rank, puts of peers.
#include "unit/clock/tcp/pieces_fixture.hpp"

namespace weft::network::tcp::test {
namespace {

class LandedPieces : public Pieces {
 protected:
  /// This rank has asked for so many bytes; returns the token by which the peer names them.
  std::uint64_t request(RecordKind kind, std::size_t size) {
    EXPECT_EQ(sender_.request(connection_, kind, {named(1), 0, size}, place_.data(), 5),
              AccessResult::posted);
    return take().record.token;
  }
  std::uint64_t put() {
    EXPECT_EQ(sender_.put(connection_, {.region = {0, 1}, .keys = {}}, place_, 6), AccessResult::posted);
    return take().record.token;
  }
  /// A record with these bytes has been read.
  bool land(std::uint64_t token, Bytes bytes) {
    const Record record{static_cast<std::uint32_t>(bytes.size()), RecordKind::data, {}, token};
    have_read(bytes_of_all({bytes_of_one(record), bytes}));
    return receiver_.land(connection_, record, *device_);
  }
  bool end(RecordKind kind, std::uint64_t token, std::uint32_t bytes = 0) {
    return receiver_.end_access(connection_, {bytes, kind, {}, token}, *device_);
  }
  bool land_put(const PutHead& head, std::size_t size, std::uint64_t token = 9) {
    const Record record{static_cast<std::uint32_t>(sizeof head + size), RecordKind::put, {}, token};
    const std::vector<std::byte> bytes(size, std::byte{7});
    have_read(bytes_of_all({bytes_of_one(record), bytes_of_one(head), bytes}));
    return receiver_.land_put(connection_, record);
  }
  void expect_answer(RecordKind kind, std::uint64_t token = 9) {
    const Taken taken = take();
    EXPECT_EQ(taken.record.kind, kind);
    EXPECT_EQ(taken.record.token, token);
    EXPECT_TRUE(is_silent());
  }
  /// What a read of the connection does while a landing is under way; returns what has landed.
  std::size_t receive(std::size_t& asked) {
    const ssize_t got = receiver_.receive_landing(connection_, asked);
    return got < 0 ? 0 : std::min(static_cast<std::size_t>(got), connection_.landing.left);
  }

  std::vector<std::byte> place_ = std::vector<std::byte>(1000, std::byte{1});
  const std::vector<std::byte> bytes_ = weft::test::payload(300, 8);
};

TEST_F(LandedPieces, end_a_fetch_when_all_have_come) {
  const std::uint64_t token = request(RecordKind::fetch, 300);
  EXPECT_TRUE(land(token, Bytes(bytes_).first(100)));
  EXPECT_TRUE(take_ended().empty());
  EXPECT_EQ(connection_.landing.padding, 12U);
  EXPECT_TRUE(land(token, Bytes(bytes_).subspan(100)));
  EXPECT_EQ(take_ended(), (std::vector{std::pair{std::uint64_t{5}, Outcome::ok}}));
  EXPECT_TRUE(std::equal(bytes_.begin(), bytes_.end(), place_.begin()));
  EXPECT_EQ(place_[300], std::byte{1});
  EXPECT_EQ(transfers_.find(connection_, token), nullptr);
}

TEST_F(LandedPieces, that_nobody_has_asked_for_end_the_connection) {
  const std::string why = "bytes that were not asked for";
  const std::uint64_t token = request(RecordKind::fetch, 300);
  const std::vector<std::byte> many(301);
  struct Case {
    std::uint64_t token;
    Bytes bytes;
  };
  const std::uint64_t of_put = put();
  for (const Case& each :
       {Case{token, many}, Case{token, {}}, Case{token + 1, bytes_},
        Case{token + (std::uint64_t{1} << 32), bytes_}, Case{1000, bytes_}, Case{of_put, bytes_}}) {
    EXPECT_FALSE(land(each.token, each.bytes)) << each.token;
    ASSERT_EQ(owner_.lost.size(), 1U) << each.token;
    EXPECT_EQ(owner_.lost[0], "it has sent " + std::to_string(each.bytes.size()) + " " + why);
    owner_.lost.clear();
  }
  EXPECT_EQ(place_, std::vector(1000, std::byte{1}));
}

TEST_F(LandedPieces, whose_rest_comes_later_are_read_to_their_place) {
  const std::uint64_t token = request(RecordKind::fetch, 300);
  const Record record{300, RecordKind::data, {}, token};
  have_read(bytes_of_all({bytes_of_one(record), Bytes(bytes_).first(50)}));
  EXPECT_FALSE(receiver_.land(connection_, record, *device_)) << "nothing more has come";
  EXPECT_EQ(connection_.landing.left, 250U);
  EXPECT_EQ(connection_.landing.to, place_.data() + 50);
  EXPECT_EQ(connection_.begin, connection_.end);
  EXPECT_EQ((connection_.end + connection_.landing.padding) % kAlignment, 0U);
  ASSERT_EQ(::send(peer_.get(), bytes_.data() + 50, 250, 0), 250);
  ASSERT_EQ(::send(peer_.get(), bytes_.data(), 20, 0), 20);
  std::size_t asked = 0;
  EXPECT_EQ(receive(asked), 250U);
  EXPECT_EQ(asked, 250 + kChunkBytes - connection_.end);
  EXPECT_TRUE(std::equal(bytes_.begin(), bytes_.end(), place_.begin()));
  EXPECT_TRUE(
      std::equal(bytes_.begin(), bytes_.begin() + 20, connection_.chunk->bytes.get() + connection_.end))
      << "what follows lies in the chunk";
}

TEST_F(LandedPieces, of_a_get_are_right_when_the_peer_has_said_so) {
  const std::uint64_t token = request(RecordKind::get, 300);
  EXPECT_FALSE(end(RecordKind::get_completed, token)) << "the bytes have not come";
  EXPECT_TRUE(land(token, bytes_));
  EXPECT_TRUE(take_ended().empty());
  EXPECT_FALSE(end(RecordKind::get_completed, token, 1)) << "it has no bytes";
  EXPECT_FALSE(end(RecordKind::put_completed, token));
  EXPECT_FALSE(end(RecordKind::get_completed, token + 1));
  EXPECT_TRUE(end(RecordKind::get_completed, token));
  EXPECT_EQ(take_ended(), (std::vector{std::pair{std::uint64_t{5}, Outcome::ok}}));
  EXPECT_FALSE(end(RecordKind::get_completed, token)) << "once";
}

TEST_F(LandedPieces, that_are_refused_end_with_that) {
  EXPECT_TRUE(end(RecordKind::refused, request(RecordKind::fetch, 300)));
  EXPECT_EQ(take_ended(), (std::vector{std::pair{std::uint64_t{5}, Outcome::refused}}));
  EXPECT_TRUE(end(RecordKind::refused, request(RecordKind::get, 300)));
  EXPECT_EQ(take_ended(), (std::vector{std::pair{std::uint64_t{5}, Outcome::refused}}));
  EXPECT_TRUE(end(RecordKind::refused, put()));
  EXPECT_EQ(take_ended(), (std::vector{std::pair{std::uint64_t{6}, Outcome::refused}}));
}

TEST_F(LandedPieces, of_a_fetch_are_not_answered_like_those_of_a_get_or_put) {
  const std::uint64_t token = request(RecordKind::fetch, 300);
  EXPECT_FALSE(end(RecordKind::get_completed, token));
  EXPECT_FALSE(end(RecordKind::put_completed, token));
}

TEST_F(LandedPieces, of_a_put_of_this_rank_are_answered_when_they_have_left) {
  EXPECT_TRUE(end(RecordKind::put_completed, put()));
  EXPECT_EQ(take_ended(), (std::vector{std::pair{std::uint64_t{6}, Outcome::ok}}));
  EXPECT_FALSE(end(RecordKind::get_completed, put()));
  place_.resize(100'000);
  EXPECT_EQ(sender_.put(connection_, {.region = {0, 1}, .keys = {}}, place_, 6), AccessResult::posted);
  const std::uint64_t token = connection_.servings.back().token;
  EXPECT_FALSE(end(RecordKind::put_completed, token)) << "they have not left";
  EXPECT_FALSE(end(RecordKind::refused, token)) << "they are still read";
}

TEST_F(LandedPieces, of_a_put_go_into_the_region_and_are_answered_once) {
  regions_.open(named(1), place_);
  EXPECT_TRUE(land_put({named(1), 100, 50, 0}, 20));
  EXPECT_TRUE(is_silent()) << "there are more to come";
  EXPECT_TRUE(land_put({named(1), 120, 0, 0}, 50));
  expect_answer(RecordKind::put_completed);
  EXPECT_EQ(std::count(place_.begin(), place_.end(), std::byte{7}), 70);
  EXPECT_EQ(place_[99], std::byte{1});
  EXPECT_EQ(place_[100], std::byte{7});
  EXPECT_EQ(place_[169], std::byte{7});
  EXPECT_TRUE(owner_.lost.empty());
}

TEST_F(LandedPieces, of_a_put_up_to_the_end_of_the_region_are_taken) {
  regions_.open(named(1), place_);
  EXPECT_TRUE(land_put({named(1), 990, 0, 0}, 10));
  expect_answer(RecordKind::put_completed);
  EXPECT_TRUE(land_put({named(1), 980, 10, 0}, 10));
  EXPECT_TRUE(land_put({named(1), 990, 0, 0}, 10));
  expect_answer(RecordKind::put_completed);
}

TEST_F(LandedPieces, of_a_put_beyond_the_region_are_refused_behind_the_last) {
  regions_.open(named(1), place_);
  for (const PutHead& head : {PutHead{named(1), 991, 0, 0}, PutHead{named(1), 1001, 0, 0},
                              PutHead{named(1), ~std::uint64_t{0}, 0, 0}, PutHead{named(1, 2), 0, 0, 0},
                              PutHead{named(3), 0, 0, 0}}) {
    EXPECT_TRUE(land_put(head, 10));
    expect_answer(RecordKind::refused);
  }
  EXPECT_TRUE(land_put({named(1), 980, 11, 0}, 10)) << "the next would be beyond it";
  EXPECT_TRUE(is_silent());
  EXPECT_TRUE(land_put({named(1), 0, 0, 0}, 10));
  expect_answer(RecordKind::refused);
  EXPECT_EQ(place_, std::vector(1000, std::byte{1}));
  EXPECT_TRUE(land_put({named(1), 0, 0, 0}, 10));
  expect_answer(RecordKind::put_completed);
}

TEST_F(LandedPieces, of_a_put_of_an_impossible_length_end_the_connection) {
  EXPECT_FALSE(land_put({named(1), 0, 0, 0}, 0));
  const Record record{sizeof(PutHead) + kLongestPiece + 1, RecordKind::put, {}, 9};
  EXPECT_FALSE(receiver_.land_put(connection_, record));
  ASSERT_EQ(owner_.lost.size(), 2U);
  EXPECT_EQ(owner_.lost[0], "it has sent a put of 32 bytes at a time");
}

TEST_F(LandedPieces, of_a_put_whose_head_has_not_come_wait_for_it) {
  regions_.open(named(1), place_);
  const PutHead head{named(1), 0, 0, 0};
  const Record record{sizeof head + 10, RecordKind::put, {}, 9};
  have_read(bytes_of_all({bytes_of_one(record), bytes_of_one(head).first(sizeof head - 1)}));
  EXPECT_FALSE(receiver_.land_put(connection_, record));
  EXPECT_EQ(connection_.begin, 0U);
  EXPECT_TRUE(owner_.lost.empty());
  have_read(bytes_of_all({bytes_of_one(record), bytes_of_one(head)}));
  EXPECT_FALSE(receiver_.land_put(connection_, record));
  EXPECT_EQ(connection_.landing.left, 10U) << "the bytes are read to their place";
}

TEST_F(LandedPieces, of_a_put_whose_rest_comes_later_are_read_into_the_region_or_dropped) {
  for (const bool is_released : {false, true}) {
    regions_.open(named(1), place_);
    const PutHead head{named(1), 200, 0, 0};
    const Record record{static_cast<std::uint32_t>(sizeof head + bytes_.size()), RecordKind::put, {}, 9};
    have_read(bytes_of_all({bytes_of_one(record), bytes_of_one(head), Bytes(bytes_).first(100)}));
    EXPECT_FALSE(receiver_.land_put(connection_, record));
    EXPECT_EQ(connection_.landing.left, 200U);
    regions_.close(named(1));
    if (!is_released) regions_.open(named(1), place_);
    ASSERT_EQ(::send(peer_.get(), bytes_.data() + 100, 200, 0), 200);
    std::size_t asked = 0;
    EXPECT_EQ(receive(asked), 200U);
    connection_.landing.left = 0;
    receiver_.end_piece(connection_, *device_);
    expect_answer(is_released ? RecordKind::refused : RecordKind::put_completed);
    if (!is_released) {
      EXPECT_TRUE(std::equal(bytes_.begin(), bytes_.end(), place_.begin() + 200));
    }
    regions_.close(named(1));
  }
}

TEST_F(LandedPieces, end_with_their_connection) {
  const std::uint64_t token = request(RecordKind::fetch, 300);
  transfers_.complete_lost(*device_);
  EXPECT_TRUE(take_ended().empty());
  connection_.is_lost = true;
  transfers_.complete_lost(*device_);
  EXPECT_EQ(take_ended(), (std::vector{std::pair{std::uint64_t{5}, Outcome::peer_failed}}));
  EXPECT_EQ(transfers_.find(connection_, token), nullptr);
  connection_.is_lost = false;
  EXPECT_NE(request(RecordKind::fetch, 300), token);
}

}  // namespace
}  // namespace weft::network::tcp::test
