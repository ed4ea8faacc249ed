// The listening side of the port tcp: accepts connections, and keeps those that have proved nothing few.
#pragma once

#include <asio.hpp>

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <utility>

#include "parcel/ports/tcp/tcp_sockets.hpp"
#include "parcel/ports/tcp/unproved.hpp"

namespace weft::parcel::tcp {

/// Used by those that run the io_context, one at a time.
class Acceptor {
 public:
  using Socket = Unproved::Socket;
  /// Takes a socket that was accepted, and calls add() with it.
  using Use = std::function<void(Socket&&)>;

  /// Listens. `most`: unproved connections. Throws weft::Error.
  Acceptor(asio::io_context& context, const asio::ip::address& here, std::size_t most)
      : acceptor_(context), pause_(context), sweep_(context), unproved_(most) {
    listen_at(acceptor_, here);
  }

  [[nodiscard]] std::string host() const { return acceptor_.local_endpoint().address().to_string(); }
  [[nodiscard]] std::uint16_t port() const { return acceptor_.local_endpoint().port(); }
  /// `tell`: says why connections have to wait, once.
  void start(Use use, std::function<void(const std::string&)> tell) {
    use_ = std::move(use);
    tell_ = std::move(tell);
    accept();
  }
  void add(std::shared_ptr<Socket> socket) {
    keep_to_this_program(*socket);
    if (unproved_.is_empty()) sweep();
    unproved_.add(std::move(socket), Unproved::Clock::now());
  }
  void remove(const Socket& socket, bool is_proved) { unproved_.remove(socket, is_proved); }
  void stop() {
    is_stopping_ = true;
    acceptor_.close();
    pause_.cancel();
    sweep_.cancel();
    unproved_.end_all();
  }

 private:
  static constexpr auto kBeforeNextTry = std::chrono::milliseconds(250);

  void accept() {
    if (!unproved_.may_accept(Unproved::Clock::now())) return accept_later(Unproved::kPause);
    acceptor_.async_accept([this](const asio::error_code& error, Socket socket) {
      if (is_stopping_) return;
      if (error == asio::error::no_descriptors && !std::exchange(has_told_, true)) tell_(error.message());
      if (error) return accept_later(kBeforeNextTry);
      has_told_ = false;
      use_(std::move(socket));
      accept();
    });
  }
  void accept_later(std::chrono::milliseconds time) {
    pause_.expires_after(time);
    pause_.async_wait([this](const asio::error_code& error) {
      if (!error && !is_stopping_) accept();
    });
  }
  /// Ends those that are late, once a second while there are any.
  void sweep() {
    sweep_.expires_after(std::chrono::seconds(1));
    sweep_.async_wait([this](const asio::error_code& error) {
      if (error || is_stopping_) return;
      unproved_.end_late(Unproved::Clock::now());
      if (!unproved_.is_empty()) sweep();
    });
  }

  asio::ip::tcp::acceptor acceptor_;
  asio::steady_timer pause_;  // in accepting
  asio::steady_timer sweep_;  // of those that are late
  Unproved unproved_;
  Use use_;
  std::function<void(const std::string&)> tell_;
  bool has_told_ = false;
  bool is_stopping_ = false;
};

}  // namespace weft::parcel::tcp
