// The slots of connections that have proved nothing yet. Anybody can open connections, so that they have few
// slots, end in time, and cost little while they are silent; those of the job go on all the same.
#pragma once

#include "base/descriptor.hpp"
#include "base/log.hpp"
#include "sockets/tcp_socket.hpp"

#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <string_view>
#include <utility>
#include <vector>

namespace weft::sockets {

/// Accepts connections into slots, of which there is a fixed number. When all are taken the next one takes
/// the slot of the oldest that has said nothing of use, of the source with most of them; connections that
/// have passed a stage of their greeting are given a second first, during which others wait in the kernel.
/// One thread at a time calls it.
class UnprovedConnections {
 public:
  /// What has become of a connection whose socket was read.
  enum class Progress : std::uint8_t {
    waits,   // nothing whole has come
    passed,  // a stage: its time begins anew
    proved,  // its socket has been taken
    ended,   // is refused, or has been closed by the peer
  };
  /// Why a connection loses its slot.
  enum class Loss : std::uint8_t { late, displaced };

  /// Whose connections they are. Called by serve(), with the number of a slot.
  class Owner {
   public:
    /// A connection has got the slot. Returns false when it cannot be used.
    virtual bool begin(std::size_t slot) noexcept = 0;
    /// Something has come, or the connection has got its slot just now, or its time is over.
    virtual Progress read(std::size_t slot) noexcept = 0;
    virtual void lose(std::size_t slot, Loss loss) noexcept = 0;

   protected:
    ~Owner() = default;
  };

  static constexpr std::size_t kLeastSlots = 64;
  static constexpr std::size_t kMostSlots = 1024;
  /// The number of slots in a job of so many members: all may call at a time.
  [[nodiscard]] static std::size_t slots_for(std::size_t members) noexcept;

  /// Seconds that a connection has: before anything whole has come, and for each later stage. Who waits for a
  /// slot takes it from others long before; a peer of the job may be one of many processes of a busy machine.
  struct Patience {
    std::uint32_t at_first;
    std::uint32_t later;
  };
  /// Throws weft::Error.
  UnprovedConnections(Listener listener, std::size_t slots, const base::Log& log,
                      Patience patience = {20, 60});

  [[nodiscard]] std::uint16_t port() const noexcept { return listener_.port; }
  /// Readable when serve() has something to do.
  [[nodiscard]] int descriptor() const noexcept { return epoll_.get(); }
  [[nodiscard]] std::size_t slots() const noexcept { return slots_.size(); }
  [[nodiscard]] int socket(std::size_t slot) const noexcept { return slots_[slot].socket.get(); }
  /// Does what is due, but so much of it only, that a thread which has other work is not kept from it.
  void serve(Owner& owner) noexcept;
  /// Takes the socket of a connection that has proved itself out of its slot.
  [[nodiscard]] base::Descriptor take(std::size_t slot) noexcept;

 private:
  /// An address, as far as one owner of addresses has it; and whether a stage has been passed.
  using Source = std::pair<bool, std::array<std::uint8_t, 16>>;
  struct Slot {
    base::Descriptor socket;
    std::map<Source, std::size_t>::iterator source;
    std::uint64_t number = 0;  // of the connection: older ones have lower ones
    std::uint32_t age = 0;     // seconds of its stage in which it was served
  };

  void step(Owner& owner, std::size_t slot) noexcept;
  void accept_some(Owner& owner, std::int64_t now) noexcept;
  bool admit(Owner& owner, base::Descriptor socket, const std::array<std::uint8_t, 16>& from) noexcept;
  [[nodiscard]] std::size_t find_free() const noexcept;
  [[nodiscard]] std::size_t choose_displaced() const noexcept;
  void count(Slot& slot, const Source& source);
  void discount(Slot& slot) noexcept;
  void release(std::size_t slot) noexcept;
  void displace(Owner& owner, std::size_t slot) noexcept;
  void grow_older(Owner& owner) noexcept;
  void listen(bool on) noexcept;
  void set_timer() noexcept;

  const Listener listener_;
  const base::Log log_;
  const Patience patience_;
  base::Descriptor epoll_;
  base::Descriptor timer_;
  std::vector<Slot> slots_;
  std::map<Source, std::size_t> sources_;  // connections of each
  std::size_t used_ = 0;
  std::uint64_t next_number_ = 0;
  double allowance_ = 0;  // connections that may be accepted; those that prove themselves cost nothing
  std::int64_t allowed_at_ = 0;
  bool is_listening_ = true;
  bool lacks_descriptors_ = false;
  std::int64_t next_second_ = 0;  // of base::now_ns(); 0: nobody has to grow older
  std::int64_t resume_at_ = 0;    // 0: is listening
  std::int64_t timer_at_ = 0;
};

}  // namespace weft::sockets
