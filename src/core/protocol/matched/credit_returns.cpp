#include "core/protocol/matched/credit_returns.hpp"

#include "core/protocol/wire.hpp"
#include "network/long_ways.hpp"

namespace weft::core {

using network::Outgoing;
using network::SendResult;
using network::TrafficClass;

bool CreditReturns::return_credits(CreditLedger& ledger, int peer, std::uint8_t device, std::uint32_t count,
                                   Caller caller) noexcept {
  const std::uint32_t more = grant_more(ledger, peer, device, count);
  Outgoing outgoing{peer,
                    device,
                    TrafficClass::control,
                    static_cast<std::uint8_t>(Channel::credit),
                    false,
                    static_cast<std::uint64_t>(more) << 48 |
                        static_cast<std::uint64_t>(ledger.message_class()) << 40 |
                        static_cast<std::uint64_t>(ledger.device()) << 32 | count};
  outgoing.is_notice = true;
  const SendResult result = context_.port->send(outgoing, {}, caller);
  if (result == SendResult::sent || result == SendResult::peer_left) return true;
  if (more != 0) ledger.lower(peer, device, more);
  return false;
}

/// Over a long way the peer gets as many credits again as it gets back, so that the messages under way double
/// with each round trip until the network itself limits them.
std::uint32_t CreditReturns::grant_more(CreditLedger& ledger, int peer, std::uint8_t device,
                                        std::uint32_t by) noexcept {
  if (!context_.port->capabilities().stages) return 0;  // a network of short ways
  auto* const ways = context_.port.as<network::KnowsLongWays>();
  const std::uint32_t most = ways == nullptr ? 0 : ways->most_under_way(peer, device);
  constexpr std::uint32_t kTold = 0xffff;
  return most == 0 ? 0 : ledger.raise(peer, device, by < kTold ? by : kTold, most);
}

std::size_t CreditReturns::step(Caller caller) noexcept {
  std::size_t moved = 0;
  if (ledgers_.has_kept())
    for (CreditLedger& ledger : ledgers_.all())
      moved += ledger.collect([&](int peer, std::uint8_t device, std::uint32_t count) {
        return return_credits(ledger, peer, device, count, caller);
      });
  return moved;
}

}  // namespace weft::core
