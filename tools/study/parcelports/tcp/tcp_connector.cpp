#include "study/parcelports/tcp/tcp_connector.hpp"

#include <sodium.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <utility>

#include "base/descriptor.hpp"
#include "base/system_call.hpp"
#include "sockets/tcp_socket.hpp"
#include "study/parcelports/tcp/tcp_sockets.hpp"

namespace weft::parcel::ports::tcp {

namespace {

// An address that does not answer is left for the next one, and tried again for longer in the next round.
constexpr std::chrono::milliseconds kFirstPatience(250);
constexpr std::chrono::milliseconds kLongestPatience(5000);
constexpr std::chrono::milliseconds kBetweenRounds(50);
constexpr std::chrono::seconds kMost(20);

}  // namespace

Connector::Connector(asio::io_context& context, std::shared_ptr<Outgoing> connection,
                     std::vector<sockets::Address> addresses, std::uint16_t port, int own_rank,
                     const Secret& secret, Done done)
    : timer_(context),
      connection_(std::move(connection)),
      addresses_(std::move(addresses)),
      port_(port),
      own_rank_(own_rank),
      secret_(secret),
      done_(std::move(done)),
      patience_(addresses_.size() > 1 ? kFirstPatience : kLongestPatience) {}

void Connector::try_next() {
  if (next_ == addresses_.size()) return end_round();
  const sockets::Address& address = addresses_[next_++];
  const std::uint64_t attempt = ++attempt_;
  asio::error_code error;
  connection_->socket.close(error);
  base::Descriptor descriptor = sockets::begin_connect(address, port_);
  if (!descriptor) return give_up(base::failed_call("connect", errno), true);
  connection_->socket.assign(address.family == 6 ? asio::ip::tcp::v6() : asio::ip::tcp::v4(),
                             descriptor.get(), error);
  if (error) return give_up(error.message(), false);
  static_cast<void>(descriptor.release());
  wait_for_answer(patience_);
  connection_->socket.async_wait(asio::ip::tcp::socket::wait_write, [self = shared_from_this(), attempt](
                                                                        const asio::error_code& broken) {
    if (attempt != self->attempt_) return;
    if (broken) return self->give_up(broken.message(), false);
    int fault = 0;
    socklen_t size = sizeof fault;
    const int socket = self->connection_->socket.native_handle();
    static_cast<void>(::getsockopt(socket, SOL_SOCKET, SO_ERROR, &fault, &size));
    if (fault != 0) return self->give_up(base::failed_call("connect", fault), true);
    self->greet();
  });
}

void Connector::wait_for_answer(std::chrono::milliseconds time) {
  timer_.expires_after(time);
  timer_.async_wait([self = shared_from_this(), attempt = attempt_](const asio::error_code& stopped) {
    if (!stopped && attempt == self->attempt_) self->give_up("it does not answer", false);
  });
}

/// Answers the challenge, and believes the peer when it has proved itself as well.
void Connector::greet() {
  wait_for_answer(kLongestPatience);  // somebody is there, who may be busy
  asio::error_code ignored;
  connection_->socket.set_option(asio::ip::tcp::no_delay(true), ignored);
  asio::async_read(
      connection_->socket, asio::buffer(&connection_->challenge, sizeof connection_->challenge),
      [self = shared_from_this(), attempt = attempt_](const asio::error_code& broken, std::size_t) {
        if (attempt != self->attempt_) return;
        Outgoing& connection = *self->connection_;
        // Where strangers have used up the connections that the peer accepts without a proof, it may close
        // this one before it is proved.
        if (broken) return self->give_up("closed during the greeting", false);
        if (connection.challenge.magic != kMagic) return self->give_up("another program listens there", true);
        Greeting& greeting = connection.greeting;
        greeting.rank = self->own_rank_;
        greeting.to = connection.peer;
        ::randombytes_buf(greeting.nonce.data(), greeting.nonce.size());
        greeting.proof = proof_of('c', self->secret_, connection.challenge, greeting);
        asio::async_write(connection.socket, asio::buffer(&greeting, sizeof greeting),
                          [self](const asio::error_code&, std::size_t) {});  // read fails as well
        self->check_answer();
      });
}

void Connector::check_answer() {
  asio::async_read(
      connection_->socket, asio::buffer(connection_->answer),
      [self = shared_from_this(), attempt = attempt_](const asio::error_code& broken, std::size_t) {
        if (attempt != self->attempt_) return;
        const Outgoing& connection = *self->connection_;
        if (broken) return self->give_up("closed during the greeting", false);
        if (!are_equal(connection.answer,
                       proof_of('l', self->secret_, connection.challenge, connection.greeting)))
          return self->give_up("another job listens there", true);
        ++self->attempt_;
        self->timer_.cancel();
        self->done_({});
      });
}

void Connector::give_up(const std::string& fault, bool is_final) {
  ++attempt_;
  timer_.cancel();
  may_try_again_ = may_try_again_ || !is_final;
  faults_[sockets::to_text(addresses_[next_ - 1], port_)] = fault;
  try_next();
}

void Connector::end_round() {
  asio::error_code ignored;
  connection_->socket.close(ignored);
  if (!may_try_again_ || Clock::now() - begin_ > kMost) return done_(text_of_faults());
  next_ = 0;
  may_try_again_ = false;
  patience_ = std::min(2 * patience_, kLongestPatience);
  timer_.expires_after(kBetweenRounds);
  timer_.async_wait([self = shared_from_this()](const asio::error_code& stopped) {
    if (!stopped) self->try_next();
  });
}

std::string Connector::text_of_faults() const {
  if (faults_.empty()) return "it has no address that this host could try";
  std::string text;
  for (const auto& [address, fault] : faults_)
    text.append(text.empty() ? "" : ", ").append(address).append(" (").append(fault).append(")");
  return text;
}

}  // namespace weft::parcel::ports::tcp
