#pragma once

#include <condition_variable>
#include <cstdint>
#include <map>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/clock.hpp"
#include "bootstrap/local/socket.hpp"
#include "bootstrap/local/wire.hpp"

namespace weft::bootstrap::local {

struct Answer {
  Message message{};
  std::vector<std::byte> payload;
};

/// Requests of any number of threads over one connection, without a thread of its own: among the threads that
/// wait for answers, one reads the socket for all. Thus a thread in a barrier does not delay
/// another one's try_get.
class Channel {
 public:
  explicit Channel(Descriptor socket) : socket_(std::move(socket)) {}

  /// Sends a request and waits for its answer; nothing when the deadline passes first. The payload is `first`
  /// followed by `second`. Throws weft::Error when the launcher has gone.
  std::optional<Answer> ask(Message message, std::int32_t argument, std::span<const std::byte> first,
                            std::span<const std::byte> second, const std::optional<base::Deadline>& deadline);
  /// Sends a message that is not answered; a launcher that has gone is no error.
  void tell(Message message);

 private:
  std::uint32_t send(Message message, std::int32_t argument, std::span<const std::byte> first,
                     std::span<const std::byte> second, bool expects_answer);
  void read_once(std::int64_t timeout_ms);
  void deliver();
  void fail_locked(std::string reason);

  const Descriptor socket_;
  std::mutex send_mutex_;  // taken before mutex_ where both are held

  std::mutex mutex_;
  std::condition_variable changed_;
  bool reading_ = false;  // a thread is in read_once(), which alone touches header_, payload_ and received_
  std::uint32_t next_request_ = 1;
  std::map<std::uint32_t, std::optional<Answer>> pending_;
  std::string broken_;  // why the connection is of no use any more

  Header header_;
  std::vector<std::byte> payload_;
  std::size_t received_ = 0;  // bytes of header_ and payload_ together
};

}  // namespace weft::bootstrap::local
