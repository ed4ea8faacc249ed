// Puts and gets of peers' regions, carried out by the provider.
//
// A region may end while an access is under way. The provider of its owner then finds no such key, and ends
// the connection that has brought the access: all accesses on it that have not been answered come back, and
// nothing tells which of them was refused. They are posted again one by one, on a new connection. One that
// breaks this one, too, while its owner answers a question afterwards, is refused. Messages have endpoints of
// their own and go on.
#pragma once

#include "network/memory_of_ranks.hpp"
#include "network/network.hpp"
#include "network/ofi/access_domain.hpp"
#include "network/ofi/access_endpoints.hpp"
#include "network/ofi/put_signals.hpp"
#include "network/ofi/reachability.hpp"
#include "network/ofi/receive_buffers.hpp"
#include "network/session/device/access_ends.hpp"
#include "network/session/link/link.hpp"

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <unordered_map>
#include <vector>

namespace weft::network::session {
class SessionDevice;
}

namespace weft::network::ofi {

struct EndpointContext;

struct RegionAccess {
  enum class Direction : std::uint8_t { put, get };
  Direction direction = Direction::put;
  std::span<std::byte> memory;  // of this rank
  std::uint64_t token = 0;
  std::uint64_t offset = 0;  // in the memory of the peer
  std::uint64_t key = 0;
  bool has_signal = false;      // a put
  std::uint32_t value = 0;      // of the signal
  std::uint32_t signal_id = 0;  // counts those of this device to the peer's
};

/// Those of a device. Under its lock, unless they say otherwise. Sources: provider_accesses.cpp,
/// access_completions.cpp, access_recovery.cpp.
class ProviderAccesses {
 public:
  /// Those of the device of this index. Throws weft::Error.
  ProviderAccesses(AccessDomain& domain, const EndpointContext& context, std::uint32_t index);
  ~ProviderAccesses() { close(); }

  /// Where peers' accesses come to.
  [[nodiscard]] std::vector<std::byte> address() const { return endpoints_.address(); }
  /// Accesses over this link go to the address; if that is empty, by messages. Throws std::bad_alloc.
  void connect(const session::Link& link, std::span<const std::byte> address);
  /// Begins an access, which has its direction, memory and token, and its signal.
  AccessResult begin(const session::Link& link, const RemoteMemory& where, RegionAccess wanted) noexcept;
  /// Carries on this rank's accesses and those of its peers.
  void drive(session::SessionDevice& device) noexcept;
  /// The rank has failed or has left: its accesses end, and touch no memory of this rank any more.
  void end_with(int rank, session::SessionDevice& device) noexcept;
  [[nodiscard]] bool are_under_way() const noexcept { return free_.size() != records_.size(); }
  /// Ends everything; nothing else may be called afterwards.
  void close() noexcept { endpoints_.close(); }
  /// Any thread.
  [[nodiscard]] int wait_descriptor() const noexcept { return endpoints_.wait_descriptor(); }
  /// Returns false when something has come that drive() has not read. Any thread.
  [[nodiscard]] bool may_sleep() noexcept;

 private:
  struct Target;
  struct Record : Transfer {
    Target* target = nullptr;
    Record* next = nullptr;  // that has come back, too
    RegionAccess access;
    Owned<fid_mr> registration;  // of this rank's memory, where the provider needs it
  };
  /// A device of a peer.
  struct Target {
    int rank = -1;
    fi_addr_t address = FI_ADDR_UNSPEC;  // FI_ADDR_UNSPEC: its accesses go by messages
    std::uint32_t under_way = 0;
    Reachability reach;
    std::uint32_t signals = 0;        // that puts have brought along
    std::uint32_t signals_known = 0;  // so many have come, or will not
    // Once accesses have come back, until the last of them has ended:
    bool is_recovering = false;
    Record* again = nullptr;
    Record* alone = nullptr;  // posted by itself
    bool is_asked = false;    // whether it is there, because `alone` has come back
    std::uint32_t unanswered = 0;
    Record question;
    std::byte answer[8] = {};
  };

  [[nodiscard]] static Record& record_of(void* context) noexcept {
    return *static_cast<Record*>(static_cast<Transfer*>(context));
  }
  /// Returns what libfabric does. Throws weft::Error when the memory cannot be registered.
  [[nodiscard]] ssize_t post(Record& record);
  /// The accesses of the target go by messages for a while; those under way end as they will.
  void give_up(Target& target, std::int64_t now, ssize_t result) noexcept;
  void report(Record& record, Outcome outcome, session::SessionDevice& device) noexcept;
  void on_end(Record& record, bool is_carried_out, session::SessionDevice& device) noexcept;
  void on_error(session::SessionDevice& device) noexcept;
  /// A peer has put, and brings this along.
  void on_signal(std::uint64_t word, session::SessionDevice& device) noexcept;
  // access_recovery.cpp
  void come_back(Record& record) noexcept;
  [[nodiscard]] ssize_t post_again(Record& record) noexcept;
  void on_answer(Target& target, bool is_there, session::SessionDevice& device) noexcept;
  void recover(Target& target, session::SessionDevice& device) noexcept;
  void end_all(Target& target, session::SessionDevice& device) noexcept;

  AccessDomain& domain_;
  const EndpointContext& context_;
  const std::uint32_t index_;
  std::array<Record, session::AccessEnds::kMost> records_;
  std::vector<Record*> free_;
  std::unordered_map<const session::Link*, std::unique_ptr<Target>> targets_;
  std::vector<Target*> recovering_;                                   // has room for all
  std::unordered_map<std::uint32_t, KnownSignals> signals_of_peers_;  // by rank and device
  std::vector<bool> has_ended_;  // by rank: nothing of it is told any more
  AccessEndpoints endpoints_;
  bool has_begun_ = false;  // an access of this rank
};

}  // namespace weft::network::ofi
