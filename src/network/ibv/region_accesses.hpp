// Puts and gets of peers' regions, and atomic operations on them: RDMA writes, reads and atomics by a queue
// pair of their own.
//
// A region may end while an access is under way. The device of its owner then answers that the key is stale,
// and the queue pair that has brought the access fails at both ends. It carries nothing but accesses of one
// rank to the other: messages, and accesses the other way, go on. The access is refused; those behind it come
// back without having been carried out, and are posted again to the next queue pair, which takes the place of
// the failed one (round).
#pragma once

#include "network/ibv/connection/access_table.hpp"
#include "network/ibv/connection/introductions.hpp"
#include "network/ibv/connection/posting.hpp"
#include "network/ibv/memory/rooms.hpp"

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace weft::network::ibv {

/// Those of a device. Under its lock.
class RegionAccesses {
 public:
  RegionAccesses(const RankResources& context, Posting& posting, Introductions& introductions, Rooms& rooms)
      : context_(context), posting_(posting), introductions_(introductions), rooms_(rooms) {
    again_.reserve(AccessTable::kMost);
  }

  /// Begins an access, which has its token, opcode, memory and immediate, to a region of the peer that
  /// `messages` connects with.
  AccessResult begin(Connection& messages, const RemoteMemory& where, RegionAccess wanted) noexcept;
  /// The work request of the access at `index` has ended, on this connection.
  void on_completion(Connection& connection, std::uint64_t index, ibv_wc_status status,
                     session::SessionDevice& device) noexcept;
  /// Returns true when some have come back and wait for another queue pair.
  [[nodiscard]] bool are_waiting() const noexcept { return !again_.empty(); }
  void post_again(session::SessionDevice& device) noexcept;
  /// Ends one without telling anybody.
  void end(std::uint64_t index) noexcept;
  /// The same for those that wait.
  void end_waiting() noexcept {
    for (const std::uint32_t index : again_) end(index);
    again_.clear();
  }

 private:
  [[nodiscard]] bool make_sendable(RegionAccess& access) noexcept;
  [[nodiscard]] session::Sent post(std::uint32_t index) noexcept;
  [[nodiscard]] Connection* connection_beside(Connection& messages, std::uint8_t last) noexcept;
  void report(std::uint64_t index, Outcome outcome, session::SessionDevice& device) noexcept;

  const RankResources& context_;
  Posting& posting_;
  Introductions& introductions_;
  Rooms& rooms_;
  AccessTable accesses_;
  std::vector<std::uint32_t> again_;
};

}  // namespace weft::network::ibv
