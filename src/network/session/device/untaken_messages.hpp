// What peers have not taken yet, as far as they have told: for devices that close, and the end of the rank.
#pragma once

#include "network/network.hpp"
#include "network/session/device/device_context.hpp"
#include "network/session/device/link_credits.hpp"
#include "network/session/device/staging.hpp"
#include "network/session/link/links.hpp"

#include <cstdint>
#include <string>
#include <vector>

namespace weft::network::session {

/// Under the device's lock.
class UntakenMessages {
 public:
  UntakenMessages(DeviceContext& context, const Links& links, LinkCredits& credits,
                  const Staging& staging) noexcept
      : context_(context), links_(links), credits_(credits), staging_(staging) {}

  struct Scope {
    bool counts_own = false;      // messages to this rank itself
    bool counts_carried = false;  // messages that reach ranks of this thread even if this rank has ended
  };
  /// Returns true when peers have taken all messages. Asks those which have not told.
  [[nodiscard]] bool are_none(const Scope& scope) noexcept;
  /// Returns true when peers have had their time to tell since they were last asked.
  [[nodiscard]] bool have_been_awaited() noexcept;
  /// Returns true when a peer that has not taken everything is another process whose end will be noticed.
  [[nodiscard]] bool awaits_watched() const noexcept;
  /// One phrase per peer: "up to 2 messages to rank 1".
  [[nodiscard]] std::string describe() const;
  [[nodiscard]] std::vector<Port::Unconsumed> by_link() const;

 private:
  DeviceContext& context_;
  const Links& links_;
  LinkCredits& credits_;
  const Staging& staging_;
  std::int64_t asked_at_ = 0;  // time at which peers were last asked for credit
};

}  // namespace weft::network::session
