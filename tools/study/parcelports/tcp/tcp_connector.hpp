// The connecting side of the port tcp: finds the address at which a rank answers, and proves who is who.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "sockets/addresses.hpp"
#include "study/parcelports/tcp/asio.hpp"
#include "study/parcelports/tcp/tcp_connections.hpp"
#include "study/parcelports/tcp/tcp_frame.hpp"
#include "study/parcelports/tcp/tcp_proof.hpp"

namespace weft::parcel::ports::tcp {

/// Connects `connection.socket`. Used by those that run the io_context, one at a time; it lives for as long
/// as it has something to do.
class Connector : public std::enable_shared_from_this<Connector> {
 public:
  /// With an empty text when the connection is there; else with every address that was tried, and why not.
  using Done = std::function<void(const std::string& fault)>;

  Connector(asio::io_context& context, std::shared_ptr<Outgoing> connection,
            std::vector<sockets::Address> addresses, std::uint16_t port, int own_rank, const Secret& secret,
            Done done);

  void start() { try_next(); }

 private:
  using Clock = std::chrono::steady_clock;

  void try_next();
  void end_round();
  /// Gives the address up that is being tried, unless it has answered by then.
  void wait_for_answer(std::chrono::milliseconds time);
  void greet();
  void check_answer();
  /// The address that is being tried is of no use. `is_final`: nor will it be.
  void give_up(const std::string& fault, bool is_final);
  [[nodiscard]] std::string text_of_faults() const;

  asio::steady_timer timer_;
  const std::shared_ptr<Outgoing> connection_;
  const std::vector<sockets::Address> addresses_;
  const std::uint16_t port_;
  const int own_rank_;
  const Secret secret_;
  const Done done_;
  const Clock::time_point begin_ = Clock::now();
  std::size_t next_ = 0;       // address
  std::uint64_t attempt_ = 0;  // what concerns another one comes too late
  std::chrono::milliseconds patience_;
  bool may_try_again_ = false;
  std::map<std::string, std::string> faults_;  // by address
};

}  // namespace weft::parcel::ports::tcp
