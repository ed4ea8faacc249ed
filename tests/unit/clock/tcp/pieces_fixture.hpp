// One connection of a device, whose other end a test plays by hand, with the parts that move pieces over it.
#pragma once

#include "base/descriptor.hpp"
#include "network/tcp/connection/piece_receiver.hpp"
#include "network/tcp/connection/piece_sender.hpp"
#include "support/ranks.hpp"
#include "unit/clock/session/scripted_peer.hpp"

#include <sys/socket.h>

#include <string>
#include <vector>

namespace weft::network::tcp::test {

class OwnerDouble final : public ConnectionOwner {
 public:
  void lose(Connection& connection, const std::string& why) noexcept override {
    lost.push_back(why);
    connection.is_lost = true;
    connection.socket = base::Descriptor();
  }
  bool note(Connection& connection, Output::Result result) noexcept override {
    if (result == Output::Result::failed) connection.is_broken = true;
    return result == Output::Result::taken;
  }
  void write_later(Connection&) noexcept override { ++later; }
  Connection& connection_of(int, std::uint8_t) override { throw std::bad_alloc(); }

  std::vector<std::string> lost;
  int later = 0;
};

class Pieces : public session::test::ScriptedPeer {
 protected:
  struct Taken {
    Record record;
    std::vector<std::byte> bytes;
    template <class Object>
    [[nodiscard]] Object as() const {
      Object object{};
      if (bytes.size() >= sizeof object) std::memcpy(&object, bytes.data(), sizeof object);
      return object;
    }
  };

  Pieces() {
    int ends[2];
    EXPECT_EQ(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, ends), 0);
    connection_.socket = base::Descriptor(ends[0]);
    peer_ = base::Descriptor(ends[1]);
    const int small = 4096;
    EXPECT_EQ(::setsockopt(ends[0], SOL_SOCKET, SO_SNDBUF, &small, sizeof small), 0);
    connection_.output.open();
    connection_.servings.reserve(2 * TransferTable::kMost);
    chunks_.grow(8, 0);
    connection_.chunk = chunks_.take_chunk();
  }

  /// The next record that has come to the peer; writes and reads on until there is one.
  Taken take() {
    Taken taken{};
    const auto is_whole = [&] {
      if (received_.size() < sizeof taken.record) return false;
      std::memcpy(&taken.record, received_.data(), sizeof taken.record);
      return received_.size() >= sizeof taken.record + padded(taken.record.bytes);
    };
    const bool has_come = weft::test::until(is_whole, [&] { move(); });
    EXPECT_TRUE(has_come);
    if (!has_come) return taken;
    const auto begin = received_.begin() + sizeof taken.record;
    taken.bytes.assign(begin, begin + taken.record.bytes);
    received_.erase(received_.begin(), begin + static_cast<std::ptrdiff_t>(padded(taken.record.bytes)));
    return taken;
  }
  /// The peer reads a little, and the connection writes on.
  void move() {
    std::array<std::byte, 8192> some;
    const ssize_t got = ::recv(peer_.get(), some.data(), some.size(), MSG_DONTWAIT);
    if (got > 0) received_.insert(received_.end(), some.begin(), some.begin() + got);
    if (connection_.is_open() && !connection_.is_broken) static_cast<void>(sender_.flush(connection_));
  }
  /// Nothing has come to the peer that it has not taken.
  bool is_silent() {
    for (int count = 0; count < 10; ++count) move();
    return received_.empty();
  }
  /// Fills the queues of the connection, and what its socket takes.
  void fill_output() {
    for (const std::uint32_t size : {4000U, 0U}) {
      const std::vector<std::byte> bytes(size);
      const Record record{size, RecordKind::message, {}, 0};
      while (connection_.output.write(connection_.socket.get(), Queue::bulk, record, {}, bytes) ==
             Output::Result::taken) {
      }
    }
  }
  /// What has been read into the chunk and not been taken: these bytes.
  void have_read(std::span<const std::byte> bytes) {
    connection_.begin = 0;
    connection_.end = bytes.size();
    std::memcpy(connection_.chunk->bytes.get(), bytes.data(), bytes.size());
  }
  std::vector<std::pair<std::uint64_t, Outcome>> take_ended() {
    poll();
    return std::exchange(sink_.ended, {});
  }

  OwnerDouble owner_;
  TransferTable transfers_;
  NamedMemory regions_{8};
  NamedMemory offers_{8};
  PieceSender sender_{owner_, transfers_, regions_, offers_};
  PieceReceiver receiver_{owner_, transfers_, regions_, sender_};
  Chunks chunks_{transport_.memory};
  Connection connection_;
  base::Descriptor peer_;
  std::vector<std::byte> received_;
};

/// A key of NamedMemory.
[[nodiscard]] constexpr std::uint64_t named(std::uint32_t index, std::uint32_t generation = 1) {
  return std::uint64_t{generation} << 32 | index;
}

}  // namespace weft::network::tcp::test
