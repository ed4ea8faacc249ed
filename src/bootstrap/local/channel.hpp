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
#include "bootstrap/arriving_bytes.hpp"
#include "bootstrap/local/launcher_protocol.hpp"
#include "bootstrap/local/socket.hpp"

namespace weft::bootstrap::local {

struct Answer {
  Message message{};
  std::vector<std::byte> payload;
  Descriptor descriptor;  // that came with the answer
};

/// Sends requests of any number of threads over one connection, without a thread of its own: one of the
/// threads that wait for answers reads the socket for all. Thus a thread in a barrier does not delay another
/// thread's try_get.
class Channel {
 public:
  explicit Channel(Descriptor socket);
  ~Channel();

  /// Sends a request and waits for its answer; returns nullopt when the deadline passes first. The payload is
  /// `first` followed by `second`; `descriptor`, unless negative, is sent with it. Throws weft::Error, with
  /// the reason, when the connection is broken.
  std::optional<Answer> ask(Message message, std::int32_t argument, std::span<const std::byte> first,
                            std::span<const std::byte> second, const std::optional<base::Deadline>& deadline,
                            int descriptor = -1);
  [[nodiscard]] int descriptor() const noexcept { return socket_.get(); }
  /// Closes the socket in a forked child: the launcher would take messages of the child for its parent's, and
  /// would not see the connection end while the child lives.
  void close_in_forked_child() noexcept { socket_.close(); }
  /// Sends a message that is not answered; it is no error when the launcher has ended.
  void tell(Message message, std::span<const std::byte> payload = {}, std::int32_t argument = 0);

 private:
  std::uint32_t send(Message message, std::int32_t argument, std::span<const std::byte> first,
                     std::span<const std::byte> second, int descriptor, bool expects_answer);
  void read_once(std::int64_t timeout_ms);
  void deliver();
  void fail_locked(std::string reason);
  [[nodiscard]] bool has_socket() const noexcept;

  Descriptor socket_;
  std::uint64_t inode_ =
      0;  // of the socket: the program may close the socket, and its number may then belong to another file
  std::mutex send_mutex_;  // locked before mutex_ when both are held

  std::mutex mutex_;
  std::condition_variable changed_;
  bool reading_ = false;  // a thread is in read_once(), which alone uses the members after broken_
  std::uint32_t next_request_ = 1;
  std::map<std::uint32_t, std::optional<Answer>> pending_;
  std::string broken_;  // the reason why the connection is broken; empty while it is not

  Header header_;
  Descriptor passed_;
  std::size_t received_ = 0;  // bytes of header_
  ArrivingBytes payload_;
};

}  // namespace weft::bootstrap::local
