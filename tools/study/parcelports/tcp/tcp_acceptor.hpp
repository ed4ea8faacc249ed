// The listening side of the port tcp: accepts connections, and keeps those that have proved nothing few.
#pragma once

#include <sys/socket.h>

#include <cerrno>
#include <chrono>
#include <cstring>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "base/descriptor.hpp"
#include "study/parcelports/tcp/asio.hpp"
#include "study/parcelports/tcp/tcp_sockets.hpp"
#include "study/parcelports/tcp/unproved.hpp"

namespace weft::parcel::ports::tcp {

/// Used by those that run the io_context, one at a time.
class Acceptor {
 public:
  using Socket = Unproved::Socket;
  /// Takes a socket that was accepted, and calls add() with it.
  using Use = std::function<void(Socket&&)>;

  /// Takes over the listening sockets. `most`: unproved connections.
  Acceptor(asio::io_context& context, sockets::Listener& listener, std::size_t most)
      : context_(context), pause_(context), sweep_(context), unproved_(most) {
    for (base::Descriptor& socket : listener.sockets) {
      const auto protocol = protocol_of(socket.get());
      listening_.emplace_back(context, protocol, socket.release());
    }
  }

  /// `tell`: says why connections have to wait, once.
  void start(Use use, std::function<void(const std::string&)> report) {
    use_ = std::move(use);
    report_ = std::move(report);
    for (auto& each : listening_) accept_at(each);
  }
  void add(std::shared_ptr<Socket> socket) {
    if (unproved_.is_empty()) sweep();
    unproved_.add(std::move(socket), Unproved::Clock::now());
  }
  void remove(const Socket& socket, bool is_proved) { unproved_.remove(socket, is_proved); }
  void stop() {
    is_stopping_ = true;
    asio::error_code ignored;
    for (auto& each : listening_) each.close(ignored);
    pause_.cancel();
    sweep_.cancel();
    unproved_.end_all();
  }

 private:
  using Listening = asio::ip::tcp::acceptor;
  static constexpr auto kBeforeNextTry = std::chrono::milliseconds(250);

  void accept_at(Listening& listening) {
    if (!unproved_.may_accept(Unproved::Clock::now())) return accept_later(Unproved::kPause);
    listening.async_wait(Listening::wait_read, [this, &listening](const asio::error_code& error) {
      if (is_stopping_ || error == asio::error::operation_aborted) return;
      if (!error && !take_one(listening)) return accept_later(kBeforeNextTry);
      accept_at(listening);
    });
  }
  /// False: there is no room for a descriptor.
  bool take_one(Listening& listening) {
    // Programs that are executed meanwhile do not inherit it.
    base::Descriptor socket(
        ::accept4(listening.native_handle(), nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC));
    if (!socket) {
      const int error = errno;
      const bool is_full = error == EMFILE || error == ENFILE || error == ENOBUFS || error == ENOMEM;
      if (is_full && !std::exchange(has_reported_, true)) report_(std::strerror(error));
      return !is_full;
    }
    has_reported_ = false;
    const auto protocol = protocol_of(socket.get());
    use_(Socket(context_, protocol, socket.release()));
    return true;
  }
  /// All of them wait: who is under way in accept_at() goes on when its event comes.
  void accept_later(std::chrono::milliseconds time) {
    pause_.expires_after(time);
    pause_.async_wait([this](const asio::error_code& error) {
      if (error || is_stopping_) return;
      for (auto& each : listening_) {
        each.cancel();
        accept_at(each);
      }
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

  asio::io_context& context_;
  std::vector<Listening> listening_;
  asio::steady_timer pause_;  // in accepting
  asio::steady_timer sweep_;  // of those that are late
  Unproved unproved_;
  Use use_;
  std::function<void(const std::string&)> report_;
  bool has_reported_ = false;
  bool is_stopping_ = false;
};

}  // namespace weft::parcel::ports::tcp
