// The bytes behind a greeting: they come as they were sent, or the stream is broken.
#include "sockets/sealed_stream.hpp"

#include "base/descriptor.hpp"
#include "support/ranks.hpp"

#include <gtest/gtest.h>

#include <sys/mman.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <functional>
#include <random>
#include <vector>

namespace weft::sockets {
namespace {

using Bytes = std::vector<std::byte>;

struct Pair {
  Pair() {
    int ends[2];
    EXPECT_EQ(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, ends), 0);
    first = base::Descriptor(ends[0]);
    second = base::Descriptor(ends[1]);
  }
  base::Descriptor first;
  base::Descriptor second;
};

struct Way {
  Protection protection;
  bool uses_aes;
};

/// A sends to B through a wire of which every byte can be held.
class SealedStreamTest : public testing::TestWithParam<Way> {
 protected:
  SealedStreamTest() {
    prepare_greetings();
    SessionKeys keys{.send = {std::byte{1}},
                     .receive = {std::byte{2}},
                     .protection = GetParam().protection,
                     .uses_aes = GetParam().uses_aes};
    a_.protect(keys);
    std::swap(keys.send, keys.receive);
    b_.protect(keys);
  }

  void send(const Bytes& bytes) {
    iovec part{const_cast<std::byte*>(bytes.data()), bytes.size()};
    ASSERT_EQ(a_.send(up_.first.get(), {&part, 1}), static_cast<ssize_t>(bytes.size()));
  }
  /// What is on the wire.
  Bytes take_wire() {
    Bytes all(1 << 20);
    const ssize_t got = ::recv(up_.second.get(), all.data(), all.size(), 0);
    all.resize(got > 0 ? static_cast<std::size_t>(got) : 0);
    return all;
  }
  void put_wire(const Bytes& bytes) {
    ASSERT_EQ(::send(down_.first.get(), bytes.data(), bytes.size(), 0), static_cast<ssize_t>(bytes.size()));
  }
  /// What B receives in all until there is nothing more; `reason` is 0 for that.
  Bytes receive(int& reason, std::size_t room = 1 << 16) {
    Bytes all;
    Bytes part(room);
    for (;;) {
      const iovec to{part.data(), part.size()};
      const ssize_t got = b_.receive(down_.second.get(), {&to, 1});
      reason = got < 0 && errno != EAGAIN ? errno : 0;
      if (got <= 0) return all;
      all.insert(all.end(), part.begin(), part.begin() + got);
    }
  }

  SealedStream a_;
  SealedStream b_;
  Pair up_;
  Pair down_;
  std::array<std::byte, 16> back_{};
};

TEST_P(SealedStreamTest, carries_bytes_in_any_pieces) {
  std::mt19937 random(1);
  for (const std::size_t size : {1, 8, 48, 300, 5000, 32768, 32769, 100'000}) {
    const Bytes sent = test::payload(size, size);
    send(sent);
    Bytes wire = take_wire();
    Bytes got;
    for (std::size_t place = 0; place < wire.size();) {
      const std::size_t here = std::min<std::size_t>(1 + random() % (size / 3 + 1), wire.size() - place);
      put_wire({wire.begin() + static_cast<std::ptrdiff_t>(place),
                wire.begin() + static_cast<std::ptrdiff_t>(place + here)});
      place += here;
      int reason = 0;
      const Bytes more = receive(reason, 1 + random() % 3000);
      EXPECT_EQ(reason, 0);
      got.insert(got.end(), more.begin(), more.end());
    }
    EXPECT_EQ(got, sent);
    EXPECT_FALSE(b_.has_more());
  }
}

TEST_P(SealedStreamTest, the_last_word_of_a_greeting_leaves_with_what_follows_it) {
  const Bytes word = test::payload(24, 1);
  const Bytes sent = test::payload(500, 2);
  a_.send_first(word);
  EXPECT_TRUE(a_.has_first());
  EXPECT_TRUE(take_wire().empty());
  send(sent);
  EXPECT_FALSE(a_.has_first());
  const Bytes wire = take_wire();
  ASSERT_GT(wire.size(), word.size());
  const auto frame = wire.begin() + static_cast<std::ptrdiff_t>(word.size());
  EXPECT_EQ(Bytes(wire.begin(), frame), word);
  put_wire({frame, wire.end()});
  int reason = 0;
  EXPECT_EQ(receive(reason), sent);
  EXPECT_EQ(reason, 0);
}

TEST_P(SealedStreamTest, the_last_word_of_a_greeting_leaves_alone_when_nothing_follows) {
  const Bytes word = test::payload(32, 1);
  a_.send_first(word);
  EXPECT_TRUE(a_.flush(up_.first.get()));
  EXPECT_FALSE(a_.has_first() || a_.has_kept());
  EXPECT_EQ(take_wire(), word);
}

TEST_P(SealedStreamTest, a_stream_that_is_moved_goes_on) {
  const Bytes sent = test::payload(300, 3);
  send(sent);
  SealedStream other = std::move(a_);
  a_ = std::move(other);
  send(sent);
  put_wire(take_wire());
  int reason = 0;
  Bytes twice = sent;
  twice.insert(twice.end(), sent.begin(), sent.end());
  EXPECT_EQ(receive(reason), twice);
}

TEST_P(SealedStreamTest, hides_what_is_encrypted) {
  const Bytes sent = test::payload(4000, 3);
  send(sent);
  const Bytes wire = take_wire();
  const bool is_seen = std::search(wire.begin(), wire.end(), sent.begin(), sent.begin() + 32) != wire.end();
  EXPECT_EQ(is_seen, GetParam().protection != Protection::encrypted);
}

TEST_P(SealedStreamTest, notices_every_changed_byte_at_once) {
  const Bytes sent = test::payload(24, 5);
  send(sent);
  const Bytes wire = take_wire();
  ASSERT_EQ(wire.size(), Sealer::size_of(sent.size()));
  const SessionKeys keys{.send = {std::byte{2}},
                         .receive = {std::byte{1}},
                         .protection = GetParam().protection,
                         .uses_aes = GetParam().uses_aes};
  for (std::size_t bit = 0; bit < wire.size() * 8; ++bit) {
    SealedStream reader;
    reader.protect(keys);
    Bytes changed = wire;
    changed[bit / 8] ^= std::byte{1} << bit % 8;
    put_wire(changed);
    Bytes room(1000);
    const iovec to{room.data(), room.size()};
    errno = 0;
    EXPECT_EQ(reader.receive(down_.second.get(), {&to, 1}), -1) << bit;
    EXPECT_EQ(errno, EBADMSG) << bit;
    EXPECT_TRUE(reader.has_more());
  }
}

TEST_P(SealedStreamTest, notices_frames_that_are_repeated_left_out_moved_or_sent_back) {
  std::vector<Bytes> frames;
  for (std::uint64_t seed = 1; seed <= 3; ++seed) {
    send(test::payload(40, seed));
    frames.push_back(take_wire());
  }
  // A frame of the other direction.
  Bytes back = test::payload(40, 9);
  iovec part{back.data(), back.size()};
  Pair other;
  ASSERT_EQ(b_.send(other.first.get(), {&part, 1}), 40);
  Bytes returned(200);
  returned.resize(static_cast<std::size_t>(::recv(other.second.get(), returned.data(), returned.size(), 0)));
  const std::vector<std::vector<const Bytes*>> orders = {{&frames[0], &frames[0]},
                                                         {&frames[0], &frames[2]},
                                                         {&frames[1]},
                                                         {&frames[0], &frames[1], &frames[0]},
                                                         {&returned}};
  for (const auto& order : orders) {
    SealedStream reader;
    reader.protect({.send = {std::byte{2}},
                    .receive = {std::byte{1}},
                    .protection = GetParam().protection,
                    .uses_aes = GetParam().uses_aes});
    Pair wire;
    for (const Bytes* each : order)
      ASSERT_EQ(::send(wire.first.get(), each->data(), each->size(), 0), static_cast<ssize_t>(each->size()));
    Bytes room(1000);
    const iovec to{room.data(), room.size()};
    ssize_t got = 0;
    for (std::size_t good = 0; (got = reader.receive(wire.second.get(), {&to, 1})) > 0; ++good)
      ASSERT_LT(good, order.size());
    EXPECT_EQ(got, -1);
    EXPECT_EQ(errno, EBADMSG);
  }
}

TEST_P(SealedStreamTest, keeps_what_the_socket_does_not_take) {
  const int small = 4096;
  ASSERT_EQ(::setsockopt(up_.first.get(), SOL_SOCKET, SO_SNDBUF, &small, sizeof small), 0);
  const Bytes sent = test::payload(1'000'000, 7);
  std::size_t taken = 0;
  Bytes got;
  for (int round = 0; got.size() < sent.size(); ++round) {
    ASSERT_LT(round, 100'000);
    if (taken < sent.size()) {
      iovec part{const_cast<std::byte*>(sent.data()) + taken,
                 std::min<std::size_t>(sent.size() - taken, 70'000)};
      const ssize_t more = a_.send(up_.first.get(), {&part, 1});
      ASSERT_TRUE(more >= 0 || errno == EAGAIN);
      if (more > 0) taken += static_cast<std::size_t>(more);
    }
    ASSERT_TRUE(a_.flush(up_.first.get()));
    put_wire(take_wire());
    int reason = 0;
    const Bytes more = receive(reason);
    ASSERT_EQ(reason, 0);
    got.insert(got.end(), more.begin(), more.end());
  }
  EXPECT_EQ(got, sent);
  EXPECT_FALSE(a_.has_kept());
}

TEST_P(SealedStreamTest, reads_no_memory_that_cannot_be_read) {
  constexpr std::size_t kPage = 4096;
  auto* const memory = static_cast<std::byte*>(
      ::mmap(nullptr, 32 * kPage, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
  ASSERT_NE(static_cast<void*>(memory), MAP_FAILED);
  ASSERT_EQ(::mprotect(memory + 16 * kPage, 16 * kPage, PROT_NONE), 0);
  std::array<iovec, 2> parts{iovec{back_.data(), back_.size()}, iovec{memory, 32 * kPage}};
  const ssize_t first = a_.send(up_.first.get(), parts, 1);
  ASSERT_GT(first, 0);
  ASSERT_LE(first, static_cast<ssize_t>(16 * kPage + back_.size()));
  iovec rest{memory + first - back_.size(), 32 * kPage - static_cast<std::size_t>(first) + back_.size()};
  EXPECT_EQ(a_.send(up_.first.get(), {&rest, 1}, 0), -1);
  EXPECT_EQ(errno, EFAULT);
  // The stream is as good as before.
  send(test::payload(100, 1));
  put_wire(take_wire());
  int reason = 0;
  const Bytes got = receive(reason);
  EXPECT_EQ(reason, 0);
  EXPECT_EQ(got.size(), static_cast<std::size_t>(first) + 100);
  // Nor does it write where nothing can be written.
  send(test::payload(100, 2));
  put_wire(take_wire());
  const iovec to{memory + 16 * kPage, 100};
  EXPECT_EQ(b_.receive(down_.second.get(), {&to, 1}, 0), -1);
  EXPECT_EQ(errno, EFAULT);
  EXPECT_TRUE(b_.has_more());
  EXPECT_EQ(receive(reason), test::payload(100, 2));
  ::munmap(memory, 32 * kPage);
}

TEST_P(SealedStreamTest, tells_the_end) {
  send(test::payload(100, 1));
  put_wire(take_wire());
  ::shutdown(down_.first.get(), SHUT_WR);
  int reason = -1;
  EXPECT_EQ(receive(reason), test::payload(100, 1));
  EXPECT_EQ(reason, 0);
  std::array<std::byte, 10> room;
  const iovec to{room.data(), room.size()};
  EXPECT_EQ(b_.receive(down_.second.get(), {&to, 1}), 0);
}

std::string name_of(const testing::TestParamInfo<Way>& info) {
  return std::string(info.param.protection == Protection::encrypted ? "encrypted" : "authenticated") +
         (info.param.uses_aes ? "_aes" : "_chacha");
}

INSTANTIATE_TEST_SUITE_P(Ways, SealedStreamTest,
                         testing::Values(Way{Protection::authenticated, true},
                                         Way{Protection::authenticated, false},
                                         Way{Protection::encrypted, true}, Way{Protection::encrypted, false}),
                         name_of);

}  // namespace
}  // namespace weft::sockets
