// Records that come over a connection: in whatever parts, at the edge of a chunk, and of forms that cannot
// be.
#include "network/tcp/record_reader.hpp"
#include "unit/clock/tcp/pieces_fixture.hpp"

#include "sockets/addresses.hpp"
#include "sockets/tcp_socket.hpp"

namespace weft::network::tcp::test {
namespace {

class RecordsRead : public Pieces {
 protected:
  static constexpr std::size_t kLongestMessage = 9000;

  RecordsRead() {
    greet(4096);
    connection_.rank = kPeer;
    connection_.device = 0;
  }
  void write(Bytes bytes) {
    ASSERT_EQ(::send(peer_.get(), bytes.data(), bytes.size(), MSG_NOSIGNAL),
              static_cast<ssize_t>(bytes.size()));
  }
  bool read() { return reader_.read(connection_, *device_); }
  static std::vector<std::byte> record_of(const Record& record, Bytes bytes) {
    auto all = bytes_of_all({bytes_of_one(record), bytes});
    all.resize(sizeof record + padded(bytes.size()));
    return all;
  }
  /// A message whose payload has this size.
  static std::vector<std::byte> message_of(std::uint64_t word, std::size_t size, int rank = kPeer,
                                           std::uint8_t device = 0) {
    const session::Header header{word, static_cast<std::uint32_t>(rank), device, 7, session::Kind::data, 0};
    const auto payload = weft::test::payload(size, word);
    const auto bytes = bytes_of_all({bytes_of_one(header), payload});
    return record_of({static_cast<std::uint32_t>(bytes.size()), RecordKind::message, {}, 0}, bytes);
  }
  void expect_lost(Bytes bytes, const std::string& why) {
    write(bytes);
    static_cast<void>(read());
    EXPECT_EQ(owner_.lost, std::vector<std::string>{why});
  }

  sockets::Membership membership_{std::string(bootstraps_[kOwn]->job_id()), bootstraps_[kOwn]->secret(), kOwn,
                                  3, 60};
  sockets::Acceptor acceptor_{membership_, sockets::listen_in(sockets::parse_ports("auto")), log_};
  Offers offered_;
  session::PacketMemory packets_{"test", 4, 1024};
  std::vector<sockets::Interface> interfaces_;
  EndpointContext context_{membership_,        acceptor_,         offered_, regions_,    peers_,   packets_,
                           *bootstraps_[kOwn], transport_.memory, log_,     interfaces_, courier_, 0,
                           kLongestMessage};
  RecordReader reader_{context_, owner_, chunks_, sender_, receiver_};
};

TEST_F(RecordsRead, are_delivered_whole_in_whatever_parts_they_come) {
  chunks_.allow(10'000);
  std::vector<std::byte> all;
  std::uint64_t word = 0;
  for (const std::size_t size : {0U, 1U, 15U, 16U, 100U, 4000U}) {
    const auto message = message_of(++word, size);
    all.insert(all.end(), message.begin(), message.end());
  }
  // Cut anywhere: within the record, its header, its payload and its padding.
  for (const std::size_t step : {std::size_t{1}, std::size_t{7}, std::size_t{333}, all.size()}) {
    sink_.delivered.clear();
    for (std::size_t place = 0; place < all.size(); place += step) {
      write(Bytes(all).subspan(place, std::min(step, all.size() - place)));
      EXPECT_TRUE(read());
      if (place % 5 == 0) poll();
    }
    poll(1000);
    ASSERT_EQ(sink_.delivered.size(), 6U) << step;
    for (std::uint64_t number = 1; number <= 6; ++number) {
      EXPECT_EQ(sink_.delivered[number - 1].word, number);
      EXPECT_TRUE(weft::test::matches(sink_.delivered[number - 1].payload, number));
    }
  }
  EXPECT_FALSE(read()) << "nothing has come";
  EXPECT_TRUE(owner_.lost.empty());
}

TEST_F(RecordsRead, go_on_in_another_chunk_where_the_sink_has_not_taken_those_of_this_one) {
  chunks_.allow(10'000);
  sink_.room = 0;
  constexpr std::uint64_t kMany = 40;  // of 4000 bytes each: more than two chunks
  for (std::uint64_t word = 1; word <= kMany; ++word) {
    const auto message = message_of(word, 4000);
    write(Bytes(message).first(1000));
    EXPECT_TRUE(read());
    write(Bytes(message).subspan(1000));
    EXPECT_TRUE(read());
  }
  sink_.room = ~std::size_t{0};
  poll(1000);
  ASSERT_EQ(sink_.delivered.size(), kMany);
  for (std::uint64_t word = 1; word <= kMany; ++word) {
    EXPECT_EQ(sink_.delivered[word - 1].word, word);
    EXPECT_TRUE(weft::test::matches(sink_.delivered[word - 1].payload, word)) << word;
  }
}

TEST_F(RecordsRead, of_the_longest_message_are_taken_and_none_beyond) {
  const std::size_t longest = kLongestMessage - sizeof(session::Header);
  write(message_of(1, longest));
  read();
  poll();
  EXPECT_EQ(sink_.delivered.size(), 1U);
  expect_lost(message_of(2, longest + 1), "it has sent a record of kind 1 and of 9001 bytes that cannot be");
}

TEST_F(RecordsRead, of_less_than_a_header_cannot_be) {
  const std::array<std::byte, sizeof(session::Header) - 1> part{};
  expect_lost(record_of({sizeof part, RecordKind::message, {}, 0}, part),
              "it has sent a record of kind 1 and of 15 bytes that cannot be");
}

TEST_F(RecordsRead, of_another_rank_cannot_be) {
  expect_lost(message_of(1, 0, 0), "it has sent a record of kind 1 and of 16 bytes that cannot be");
}

TEST_F(RecordsRead, of_another_device_cannot_be) {
  expect_lost(message_of(1, 0, kPeer, 1), "it has sent a record of kind 1 and of 16 bytes that cannot be");
}

TEST_F(RecordsRead, of_an_unknown_kind_cannot_be) {
  expect_lost(record_of({0, static_cast<RecordKind>(99), {}, 0}, {}),
              "it has sent a record of kind 99 and of 0 bytes that cannot be");
}

TEST_F(RecordsRead, of_a_goodbye_with_bytes_cannot_be) {
  const std::array<std::byte, 1> some{};
  expect_lost(record_of({1, RecordKind::leave, {}, 0}, some),
              "it has sent a record of kind 5 and of 1 bytes that cannot be");
  EXPECT_FALSE(peers_.is_known_to_have_left(kPeer));
}

TEST_F(RecordsRead, of_a_goodbye_are_heard) {
  write(record_of({0, RecordKind::leave, {}, 0}, {}));
  read();
  EXPECT_TRUE(owner_.lost.empty());
  EXPECT_TRUE(peers_.is_known_to_have_left(kPeer));
}

TEST_F(RecordsRead, of_a_question_of_a_wrong_length_cannot_be) {
  const std::array<std::byte, sizeof(FetchRequest) + 1> wanted{};
  expect_lost(record_of({sizeof wanted, RecordKind::get, {}, 0}, wanted),
              "it has sent a record of kind 6 and of 25 bytes that cannot be");
}

TEST_F(RecordsRead, of_a_question_wait_for_all_of_it) {
  std::vector<std::byte> memory(100);
  regions_.open(named(1), memory);
  const FetchRequest wanted{named(1), 0, 100};
  const auto whole = record_of({sizeof wanted, RecordKind::get, {}, 4}, bytes_of_one(wanted));
  write(Bytes(whole).first(whole.size() - 1));
  read();
  EXPECT_TRUE(is_silent());
  write(Bytes(whole).last(1));
  read();
  EXPECT_EQ(take().record.kind, RecordKind::data);
}

TEST_F(RecordsRead, beyond_the_messages_that_may_come_cannot_be) {
  sink_.room = 0;
  for (std::uint64_t word = 0; word < 8; ++word) write(message_of(word, 0));
  read();
  EXPECT_TRUE(owner_.lost.empty());
  expect_lost(message_of(9, 0), "it has sent a record of kind 1 and of 16 bytes that cannot be");
}

TEST_F(RecordsRead, around_bytes_that_are_read_to_their_place_are_taken) {
  std::vector<std::byte> place(50'000, std::byte{1});
  ASSERT_EQ(sender_.request(connection_, RecordKind::fetch, {named(1), 0, 20'003}, place.data(), 5),
            AccessResult::posted);
  const std::uint64_t token = take().record.token;
  const auto bytes = weft::test::payload(20'003, 3);
  auto all = message_of(1, 10);
  const auto data = record_of({20'003, RecordKind::data, {}, token}, bytes);
  const auto after = message_of(2, 10);
  all.insert(all.end(), data.begin(), data.end());
  all.insert(all.end(), after.begin(), after.end());
  for (std::size_t at = 0; at < all.size(); at += 1777) {
    write(Bytes(all).subspan(at, std::min<std::size_t>(1777, all.size() - at)));
    read();
  }
  poll();
  EXPECT_EQ(sink_.words(), (std::vector<std::uint64_t>{1, 2}));
  EXPECT_EQ(sink_.ended, (std::vector{std::pair{std::uint64_t{5}, Outcome::ok}}));
  EXPECT_TRUE(weft::test::matches(Bytes(place).first(20'003), 3));
  EXPECT_EQ(place[20'003], std::byte{1});
  EXPECT_TRUE(owner_.lost.empty());
}

TEST_F(RecordsRead, before_the_end_of_a_connection_are_taken) {
  write(message_of(1, 10));
  peer_ = base::Descriptor();
  read();
  poll();
  EXPECT_EQ(sink_.words(), std::vector<std::uint64_t>{1});
  read();
  EXPECT_EQ(owner_.lost, std::vector<std::string>{"it has closed the connection"});
  EXPECT_FALSE(read());
}

}  // namespace
}  // namespace weft::network::tcp::test
