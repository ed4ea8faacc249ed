// Bare sockets: a connection for each thread, one system call a message, readers that spin. What
// a network over sockets can be measured against.
#include <arpa/inet.h>
#include <ifaddrs.h>
#include <net/if.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>
#include <sys/uio.h>

#include <fmt/core.h>
#include <weft/error.hpp>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <deque>
#include <memory>
#include <string>
#include <vector>

#include "base/descriptor.hpp"
#include "perf/plugins/plugin_entry.hpp"

namespace weft::tools::perf {
namespace {

constexpr std::size_t kRoom = std::size_t{64} << 10;

struct Header {
  std::uint64_t tag;
  std::uint64_t bytes;
};

[[noreturn]] void fail(const char* call) {
  throw Error(fmt::format("sockets: {}: {}", call, std::strerror(errno)));
}

/// The address of this host at which another one may reach it, else the one of loopback.
in_addr address_of_host() {
  in_addr found{htonl(INADDR_LOOPBACK)};
  ifaddrs* all = nullptr;
  if (::getifaddrs(&all) != 0) fail("getifaddrs");
  for (const ifaddrs* each = all; each != nullptr; each = each->ifa_next) {
    if (each->ifa_addr == nullptr || each->ifa_addr->sa_family != AF_INET) continue;
    if ((each->ifa_flags & IFF_LOOPBACK) != 0 || (each->ifa_flags & IFF_UP) == 0) continue;
    found = reinterpret_cast<const sockaddr_in*>(each->ifa_addr)->sin_addr;
    break;
  }
  ::freeifaddrs(all);
  return found;
}

/// Rank 0 listens, rank 1 connects: by loopback unless the ranks are on two hosts.
base::Descriptor connect_ranks(int rank, bool apart, Meeting& meeting) {
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr = apart ? address_of_host() : in_addr{htonl(INADDR_LOOPBACK)};
  base::Descriptor socket(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  if (!socket) fail("socket");
  socklen_t size = sizeof address;
  if (rank == 0) {
    if (::bind(socket.get(), reinterpret_cast<sockaddr*>(&address), size) != 0 ||
        ::listen(socket.get(), 1) != 0 ||
        ::getsockname(socket.get(), reinterpret_cast<sockaddr*>(&address), &size) != 0)
      fail("bind");
    meeting.swap(std::as_bytes(std::span(&address, 1)));
    socket = base::Descriptor(::accept(socket.get(), nullptr, nullptr));
  } else {
    const std::vector<std::byte> there = meeting.swap({});
    std::memcpy(&address, there.data(), sizeof address);
    if (::connect(socket.get(), reinterpret_cast<sockaddr*>(&address), size) != 0) fail("connect");
  }
  const int one = 1;
  ::setsockopt(socket.get(), IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
  return socket;
}

class SocketTransport {
 public:
  static constexpr bool kHasMatching = true;
  static constexpr bool kHasAccess = false;
  static constexpr bool kHasActiveMessages = true;

  SocketTransport(int rank, bool apart, Meeting& meeting)
      : rank_(rank), meeting_(meeting), socket_(connect_ranks(rank, apart, meeting)), room_(kRoom) {}
  ~SocketTransport() { meeting_.swap({}); }
  SocketTransport(const SocketTransport&) = delete;
  SocketTransport& operator=(const SocketTransport&) = delete;

  [[nodiscard]] int rank() const { return rank_; }

  void post_receive(std::uint64_t tag, ByteSpan buffer) {
    const auto early =
        std::find_if(early_.begin(), early_.end(), [tag](const Early& each) { return each.tag == tag; });
    if (early == early_.end()) return static_cast<void>(posted_.push_back({tag, buffer}));
    std::memcpy(buffer.data(), early->bytes.data(), std::min(buffer.size(), early->bytes.size()));
    early_.erase(early);
  }
  void wait_receives() {
    while (receives_pending()) progress();
  }
  [[nodiscard]] bool receives_pending() const { return !posted_.empty(); }
  void post_send(std::uint64_t tag, ByteView bytes) { send(tag, bytes); }
  void wait_sends() {}
  void expect_am(AmSink& sink) { sink_ = &sink; }
  void post_am(ByteView bytes) { send(kActiveMessage, bytes); }

  /// Reads what has come, straight into the buffer of a message that is under way.
  void progress() {
    std::array<iovec, 2> parts{iovec{landing_.data(), landing_.size()},
                               iovec{room_.data() + end_, kRoom - end_}};
    msghdr message{};
    message.msg_iov = landing_.empty() ? &parts[1] : parts.data();
    message.msg_iovlen = landing_.empty() ? 1 : 2;
    const ssize_t got = ::recvmsg(socket_.get(), &message, MSG_DONTWAIT);
    if (got < 0 && (errno == EAGAIN || errno == EINTR)) return;
    if (got <= 0) throw Error("sockets: the peer has closed the connection");
    const std::size_t landed = std::min(static_cast<std::size_t>(got), landing_.size());
    landing_ = landing_.subspan(landed);
    end_ += static_cast<std::size_t>(got) - landed;
    if (landed != 0 && landing_.empty()) end_message();
    if (landing_.empty()) take_messages();
  }

 private:
  static constexpr std::uint64_t kActiveMessage = ~std::uint64_t{0};
  struct Posted {
    std::uint64_t tag;
    ByteSpan buffer;
  };
  struct Early {
    std::uint64_t tag;
    std::vector<std::byte> bytes;
  };

  void send(std::uint64_t tag, ByteView bytes) {
    Header header{tag, bytes.size()};
    std::array<iovec, 2> parts{iovec{&header, sizeof header},
                               iovec{const_cast<std::byte*>(bytes.data()), bytes.size()}};
    msghdr message{};
    message.msg_iov = parts.data();
    message.msg_iovlen = 2;
    for (std::size_t left = sizeof header + bytes.size(); left != 0;) {
      const ssize_t sent = ::sendmsg(socket_.get(), &message, MSG_DONTWAIT | MSG_NOSIGNAL);
      if (sent < 0 && errno != EAGAIN && errno != EINTR) fail("sendmsg");
      if (sent <= 0) {
        progress();  // the peer may wait likewise
        continue;
      }
      left -= static_cast<std::size_t>(sent);
      auto taken = static_cast<std::size_t>(sent);
      for (iovec& part : parts) {
        const std::size_t here = std::min(taken, part.iov_len);
        part.iov_base = static_cast<std::byte*>(part.iov_base) + here;
        part.iov_len -= here;
        taken -= here;
      }
    }
  }

  void take_messages() {
    for (;;) {
      Header header{};
      if (end_ - begin_ < sizeof header) break;
      std::memcpy(&header, room_.data() + begin_, sizeof header);
      begin_ += sizeof header;
      ByteSpan target = target_of(header);
      const std::size_t here = std::min(target.size(), end_ - begin_);
      std::memcpy(target.data(), room_.data() + begin_, here);
      begin_ += here;
      landing_ = target.subspan(here);
      if (!landing_.empty()) break;
      end_message();
    }
    if (begin_ != 0) std::memmove(room_.data(), room_.data() + begin_, end_ - begin_);
    end_ -= begin_;
    begin_ = 0;
  }

  /// Where the payload of a message goes.
  ByteSpan target_of(const Header& header) {
    is_active_ = header.tag == kActiveMessage;
    const auto posted = std::find_if(posted_.begin(), posted_.end(),
                                     [&](const Posted& each) { return each.tag == header.tag; });
    current_ = posted;
    if (!is_active_ && posted != posted_.end()) return posted->buffer.first(header.bytes);
    if (is_active_) {
      active_.resize(header.bytes);
      return active_;
    }
    early_.push_back({header.tag, std::vector<std::byte>(header.bytes)});
    return early_.back().bytes;
  }

  void end_message() {
    if (is_active_)
      sink_->take(active_.data(), active_.size());
    else if (current_ != posted_.end())
      posted_.erase(current_);
    current_ = posted_.end();
  }

  const int rank_;
  Meeting& meeting_;
  const base::Descriptor socket_;
  std::vector<std::byte> room_;  // what has been read and not been taken
  std::size_t begin_ = 0;
  std::size_t end_ = 0;
  ByteSpan landing_{};
  bool is_active_ = false;
  std::deque<Posted> posted_;
  std::deque<Posted>::iterator current_ = posted_.end();
  std::deque<Early> early_;
  std::vector<std::byte> active_;
  AmSink* sink_ = nullptr;
};

class SocketLibrary {
 public:
  using Transport = SocketTransport;
  explicit SocketLibrary(PluginCall& call)
      : rank_(call.rank), apart_(call.task->apart), meeting_(*call.meeting) {}
  [[nodiscard]] std::unique_ptr<Transport> open(int) {
    return std::make_unique<Transport>(rank_, apart_, meeting_);
  }
  [[nodiscard]] std::string description() const { return "sockets of the kernel, TCP_NODELAY"; }

 private:
  const int rank_;
  const bool apart_;
  Meeting& meeting_;
};

}  // namespace
}  // namespace weft::tools::perf

WEFT_PERF_PLUGIN(weft::tools::perf::SocketLibrary)
