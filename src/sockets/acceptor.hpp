// The listening side of a rank: takes connections, checks their greetings, and hands them to the device they
// are for.
#pragma once

#include "base/descriptor.hpp"
#include "base/log.hpp"
#include "concurrent/mpsc_list.hpp"
#include "sockets/greeting.hpp"
#include "sockets/unproved_connections.hpp"

#include <array>
#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

namespace weft::sockets {

/// A connection whose peer has proved itself. The Answer is still to be sent.
struct Accepted {
  Accepted* next = nullptr;
  base::Descriptor socket;
  Introduction introduction;
  SessionKeys keys;  // of what follows the Answer
};

/// Where connections for one device arrive: any thread puts, the device takes.
class Inbox {
 public:
  /// Throws weft::Error.
  Inbox();
  ~Inbox();
  Inbox(const Inbox&) = delete;
  Inbox& operator=(const Inbox&) = delete;

  /// Readable while there is something to take.
  [[nodiscard]] int descriptor() const noexcept { return event_.get(); }
  void put(std::unique_ptr<Accepted> accepted) noexcept;
  /// Returns all, linked by `next`; they belong to the caller.
  [[nodiscard]] Accepted* take_all() noexcept;

 private:
  base::Descriptor event_;
  concurrent::MpscList<Accepted> list_;
};

/// What connections to a rank are checked against.
struct Membership {
  std::string job_id;
  Secret secret;
  int rank;
  int ranks;
  double peer_timeout;  // seconds
  Protection protection = Protection::none;
  Purpose purpose = Purpose::ranks;
  /// By rank, where each has a secret of its own with this one; else empty.
  std::vector<Key> secrets = {};

  [[nodiscard]] Secret secret_of(std::uint32_t from) const noexcept {
    return secrets.empty() ? secret : Secret(secrets[from]);
  }
};

/// Takes connections into slots of their own until the peers have proved themselves. Any device's thread may
/// call serve(); others then return at once.
class Acceptor final : private UnprovedConnections::Owner {
 public:
  static constexpr std::size_t kInboxes = 256;

  /// Throws weft::Error.
  Acceptor(const Membership& membership, Listener listener, const base::Log& log);

  [[nodiscard]] std::uint16_t port() const noexcept { return connections_.port(); }
  /// Readable when serve() has something to do.
  [[nodiscard]] int descriptor() const noexcept { return connections_.descriptor(); }
  /// The number of connections that may be there without having proved anything.
  [[nodiscard]] std::size_t slots() const noexcept { return connections_.slots(); }
  /// Connections for the device go to the inbox, which must outlive this object.
  void open(std::uint32_t device, Inbox& inbox) noexcept {
    inboxes_[device].store(&inbox, std::memory_order_release);
  }
  void serve() noexcept;
  /// The number of connections that were refused. Any thread.
  [[nodiscard]] std::uint64_t refused() const noexcept { return refused_.load(std::memory_order_relaxed); }

 private:
  using Progress = UnprovedConnections::Progress;
  struct Greeting {
    std::size_t filled = 0;
    bool is_challenged = false;
    Introduction introduction;
    Challenge challenge;
    Proof proof{};  // of the peer
  };

  // UnprovedConnections::Owner
  bool begin(std::size_t slot) noexcept override;
  Progress read(std::size_t slot) noexcept override;
  void lose(std::size_t slot, UnprovedConnections::Loss loss) noexcept override;

  [[nodiscard]] bool challenge(std::size_t slot) noexcept;
  [[nodiscard]] bool finish(std::size_t slot) noexcept;
  bool refuse(std::size_t slot, std::string_view why) noexcept;

  const Membership membership_;
  const base::Log log_;
  std::mutex mutex_;  // only tried
  UnprovedConnections connections_;
  std::vector<Greeting> greetings_;  // by slot
  std::array<std::atomic<Inbox*>, kInboxes> inboxes_{};
  std::atomic<std::uint64_t> refused_{0};
  std::int64_t next_word_ = 0;
  std::int64_t between_words_;
};

}  // namespace weft::sockets
