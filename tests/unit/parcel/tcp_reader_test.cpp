// Whose end the port tcp takes for the end of a rank: not that of a connection over which nothing has come.
#include "study/parcelports/tcp/tcp_reader.hpp"

#include <gtest/gtest.h>

#include <weft/parcel/detail/message_limits.hpp>

#include <chrono>
#include <cstddef>
#include <string>
#include <vector>

#include "study/parcelports/tcp/tcp_frame.hpp"
#include "study/parcelports/tcp/tcp_proof.hpp"

namespace weft::parcel::ports::tcp {
namespace {

class FakePort final : public PortParts, public Receiver {
 public:
  FakePort() {
    for (std::size_t place = 0; place < secret.size(); ++place) secret[place] = static_cast<std::byte>(place);
    receiver = this;
  }
  int rank() const noexcept override { return 0; }
  int size() const noexcept override { return 2; }
  bool has_failed(int) const noexcept override { return false; }
  bool is_known_failed(int) const noexcept override { return false; }
  bool is_stopping() const noexcept override { return false; }
  void fail(int peer) override { failures.push_back(peer); }

  void on_small(int, Bytes parcels) override { received.push_back(parcels.size()); }
  bool place(IncomingMessage&) override { return false; }
  void arrived(std::unique_ptr<IncomingMessage>) override {}
  void dropped(int, const char*) override {}
  void lost(std::unique_ptr<IncomingMessage>) override {}
  void sent(std::unique_ptr<OutgoingMessage>, bool) override {}
  void failed(int) override {}

  std::vector<int> failures;
  std::vector<std::size_t> received;
};

class TcpReaderTest : public testing::Test {
 protected:
  TcpReaderTest() { reader_.start(); }
  ~TcpReaderTest() override {
    reader_.close_all();
    port_.context.restart();
    port_.context.poll();
  }

  /// Runs the port until `is_done()`.
  template <class Done>
  void run_until(const Done& is_done) {
    for (int step = 0; step < 10'000 && !is_done(); ++step) {
      port_.context.restart();
      port_.context.run_one_for(std::chrono::milliseconds(1));
    }
    ASSERT_TRUE(is_done());
  }
  /// Whatever the port can do now, and some milliseconds later.
  void settle() {
    for (int step = 0; step < 20; ++step) {
      port_.context.restart();
      port_.context.run_for(std::chrono::milliseconds(1));
    }
  }
  void read(asio::ip::tcp::socket& socket, void* room, std::size_t size) {
    run_until([&] { return socket.available() >= size; });
    asio::read(socket, asio::buffer(room, size));
  }
  /// A connection of rank 1, which has proved itself.
  asio::ip::tcp::socket connect() {
    asio::ip::tcp::socket socket(callers_);
    const sockets::Endpoints there = contact_.endpoints();
    socket.connect({asio::ip::make_address(sockets::to_text(there.addresses.at(0))), there.port});
    Challenge challenge;
    read(socket, &challenge, sizeof challenge);
    Greeting greeting;
    greeting.rank = 1;
    greeting.to = 0;
    greeting.proof = proof_of('c', port_.secret, challenge, greeting);
    asio::write(socket, asio::buffer(&greeting, sizeof greeting));
    Proof answer{};
    read(socket, &answer, sizeof answer);
    EXPECT_TRUE(are_equal(answer, proof_of('l', port_.secret, challenge, greeting)));
    return socket;
  }
  static void send_frame(asio::ip::tcp::socket& socket, const std::string& head) {
    const FrameHeader header{.head_size = head.size()};
    asio::write(socket, asio::buffer(&header, sizeof header));
    asio::write(socket, asio::buffer(head));
  }

  FakePort port_;
  Contact contact_ = open_contact(false, "auto", "auto");
  FrameReader reader_{port_, contact_};
  asio::io_context callers_;
};

TEST_F(TcpReaderTest, APeerThatConnectsAnewHasNotFailed) {
  connect().close();  // as one does whose patience was over
  settle();
  EXPECT_TRUE(port_.failures.empty());
  asio::ip::tcp::socket second = connect();
  send_frame(second, "parcels");
  run_until([this] { return !port_.received.empty(); });
  EXPECT_EQ(port_.received, std::vector<std::size_t>{7});
  EXPECT_TRUE(port_.failures.empty());
}

TEST_F(TcpReaderTest, APeerThatEndsWithoutAWordBehindItsFramesHasFailed) {
  asio::ip::tcp::socket socket = connect();
  send_frame(socket, "parcels");
  run_until([this] { return !port_.received.empty(); });
  socket.close();
  run_until([this] { return !port_.failures.empty(); });
  EXPECT_EQ(port_.failures, std::vector<int>{1});
}

TEST_F(TcpReaderTest, APeerThatSaysThatItLeavesHasNotFailed) {
  asio::ip::tcp::socket socket = connect();
  send_frame(socket, "parcels");
  send_frame(socket, "");
  run_until([this] { return !port_.received.empty(); });
  socket.close();
  settle();
  EXPECT_TRUE(port_.failures.empty());
}

}  // namespace
}  // namespace weft::parcel::ports::tcp
