// A rank of the job that a test plays by hand, byte by byte: it greets as it should, and then sends what it
// likes.
#pragma once

#include <weft/testing/in_process_job.hpp>

#include "bootstrap/in_process/hub.hpp"
#include "network/session/link/message_format.hpp"
#include "network/tcp/connection/connection.hpp"
#include "network/tcp/connection/record.hpp"
#include "support/ranks.hpp"

#include <gtest/gtest.h>

#include <arpa/inet.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <memory>
#include <span>
#include <vector>

namespace weft::network::tcp::test {

using weft::test::until;

/// Connects to the loopback address; the descriptor blocks.
inline base::Descriptor connect_to(std::uint16_t port) {
  base::Descriptor socket(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  sockaddr_in there{};
  there.sin_family = AF_INET;
  there.sin_port = htons(port);
  there.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  EXPECT_EQ(::connect(socket.get(), reinterpret_cast<sockaddr*>(&there), sizeof there), 0);
  return socket;
}

template <class Object>
void send_object(const base::Descriptor& socket, const Object& object) {
  EXPECT_EQ(::send(socket.get(), &object, sizeof object, MSG_NOSIGNAL), static_cast<ssize_t>(sizeof object));
}

/// Calls `progress` until the peer has closed; returns what it has sent before.
template <class Progress>
std::vector<std::byte> read_to_the_end(const base::Descriptor& socket, const Progress& progress) {
  std::vector<std::byte> all;
  std::array<std::byte, 256> part;
  EXPECT_TRUE(until(
      [&] {
        const ssize_t got = ::recv(socket.get(), part.data(), part.size(), MSG_DONTWAIT);
        if (got > 0) all.insert(all.end(), part.begin(), part.begin() + got);
        return got == 0 || (got < 0 && errno != EAGAIN);
      },
      progress));
  return all;
}

/// A rank that has greeted as it should, and then sends something else than records of its own.
class TcpImpostor : public testing::Test {
 protected:
  TcpImpostor() : job_(3), victim_(job_, 1, {.attributes = kTcp}), endpoint_(victim_) {
    bootstrap_ = job_.hub().join(2);
    const auto record = bootstrap_->try_get(1, "tcp.device.0");
    EXPECT_TRUE(record.has_value());
    const auto address = decode(std::span(*record).subspan(sizeof(session::DeviceRecord)));
    EXPECT_TRUE(address.has_value());
    socket_ = connect_to(address->port);
    Introduction own;
    bootstrap_->job_id().copy(own.job_id.data(), own.job_id.size());
    own.from_rank = 2;
    own.to_rank = 1;
    complete(own, Protection::none);
    send_object(socket_, own);
    Challenge told;
    await(&told, sizeof told);
    send_object(socket_, proof_of_connector(bootstrap_->secret(), own, told));
    Answer answer;
    await(&answer, sizeof answer);
    EXPECT_EQ(answer.verdict, Verdict::accepted);
  }

  void await(void* to, std::size_t size) {
    EXPECT_TRUE(until(
        [&] {
          return ::recv(socket_.get(), to, size, MSG_DONTWAIT | MSG_PEEK) == static_cast<ssize_t>(size);
        },
        [&] { endpoint_.progress(); }));
    EXPECT_EQ(::recv(socket_.get(), to, size, 0), static_cast<ssize_t>(size));
  }
  void read_exactly(void* to, std::size_t size) {
    auto* place = static_cast<std::byte*>(to);
    const auto read_on = [&] {
      const ssize_t got = ::recv(socket_.get(), place, size, MSG_DONTWAIT);
      if (got > 0) place += got, size -= static_cast<std::size_t>(got);
      return size == 0;
    };
    EXPECT_TRUE(until(read_on, [&] { endpoint_.progress(); }));
  }
  void send_record(const Record& record, std::span<const std::byte> bytes) {
    send_object(socket_, record);
    std::vector<std::byte> padded_bytes(bytes.begin(), bytes.end());
    padded_bytes.resize(padded(bytes.size()));
    if (!padded_bytes.empty()) {
      EXPECT_GT(::send(socket_.get(), padded_bytes.data(), padded_bytes.size(), MSG_NOSIGNAL), 0);
    }
  }
  void send_message(session::Kind kind, std::span<const std::byte> payload) {
    session::Header header{};
    header.rank = 2;
    header.kind = kind;
    std::vector<std::byte> bytes(sizeof header + payload.size());
    std::memcpy(bytes.data(), &header, sizeof header);
    if (!payload.empty()) std::memcpy(bytes.data() + sizeof header, payload.data(), payload.size());
    send_record({static_cast<std::uint32_t>(bytes.size()), RecordKind::message, {}, 0}, bytes);
  }
  /// Says hello, with these handles behind it, and returns the hello of the victim.
  session::Hello exchange_hellos(std::span<const std::byte> handles = {}) {
    bootstrap_->put("tcp.device.0", *bootstrap_->try_get(1, "tcp.device.0"));  // any address will do
    session::Hello hello{session::kMagic, session::kWireVersion, 64, 0, {}};
    bootstrap_->job_id().copy(hello.job_id.data(), hello.job_id.size());
    std::vector<std::byte> payload(sizeof hello + handles.size());
    std::memcpy(payload.data(), &hello, sizeof hello);
    std::copy(handles.begin(), handles.end(), payload.begin() + sizeof hello);
    send_message(session::Kind::hello, payload);
    const std::vector<std::byte> answer = read_record(RecordKind::message);
    session::Header header{};
    std::memcpy(&header, answer.data(), sizeof header);
    EXPECT_EQ(header.kind, session::Kind::hello);
    std::memcpy(&hello, answer.data() + sizeof header, sizeof hello);
    return hello;
  }
  /// Reads records up to one of this kind, and returns its bytes; the record is `record_`.
  std::vector<std::byte> read_record(RecordKind kind) {
    for (;;) {
      read_exactly(&record_, sizeof record_);
      std::vector<std::byte> bytes(padded(record_.bytes));
      if (!bytes.empty()) read_exactly(bytes.data(), bytes.size());
      if (record_.kind == kind || HasFailure()) return bytes;
    }
  }
  /// Whether the victim has refused so many messages by now.
  void expect_refused(std::uint64_t count) {
    EXPECT_TRUE(
        until([&] { return victim_.counters().refused_messages >= count; }, [&] { endpoint_.progress(); }));
    EXPECT_EQ(victim_.counters().refused_messages, count);
  }
  void expect_cut_off() {
    static_cast<void>(read_to_the_end(socket_, [&] { endpoint_.progress(); }));
  }

  inline static const std::vector<AttributeSetting> kTcp = {
      {"network", "tcp"}, {"tcp_authenticate", "no"}, {"log", "error"}};

  InProcessJob job_;
  Runtime victim_;
  Endpoint endpoint_;
  std::unique_ptr<bootstrap::Bootstrap> bootstrap_;
  base::Descriptor socket_;
  Record record_{};
};

}  // namespace weft::network::tcp::test
