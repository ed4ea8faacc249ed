// The credits of peers whose messages have matched: counted, and returned in batches.
#pragma once

#include "core/backlog/caller.hpp"
#include "core/matching/credits.hpp"
#include "core/protocol/context.hpp"

#include <atomic>
#include <cstddef>
#include <cstdint>

namespace weft::core {

class CreditReturns {
 public:
  CreditReturns(const Context& context, CreditLedgers& ledgers) noexcept
      : context_(context), ledgers_(ledgers) {}

  /// Sets whether a single thread uses the device.
  void set_exclusive(bool exclusive) noexcept { exclusive_.store(exclusive, std::memory_order_relaxed); }

  [[nodiscard]] CreditLedger& ledger(MessageClass message_class) noexcept {
    return ledgers_.of(message_class);
  }
  /// Messages of the peer have matched, for the thread that delivers them.
  void consume(CreditLedger& ledger, int peer, std::uint8_t device, std::uint32_t messages) noexcept {
    const bool exclusive = exclusive_.load(std::memory_order_relaxed);
    const std::uint32_t count = ledger.consume(peer, device, messages, exclusive);
    if (count != 0) return_batch(ledger, peer, device, count, {exclusive});
  }
  /// Returns `count` credits to the peer, now or later.
  void return_batch(CreditLedger& ledger, int peer, std::uint8_t device, std::uint32_t count,
                    Caller caller) noexcept {
    if (!return_credits(ledger, peer, device, count, caller)) [[unlikely]]
      ledger.keep(peer, device, count);
  }

  /// Returns what could not be returned at once. One thread at a time. Returns how much was.
  std::size_t step(Caller caller) noexcept;
  [[nodiscard]] bool has_work() const noexcept { return ledgers_.has_kept(); }

 private:
  bool return_credits(CreditLedger& ledger, int peer, std::uint8_t device, std::uint32_t count,
                      Caller caller) noexcept;
  [[nodiscard]] std::uint32_t grant_more(CreditLedger& ledger, int peer, std::uint8_t device,
                                         std::uint32_t by) noexcept;

  const Context& context_;
  CreditLedgers& ledgers_;
  std::atomic<bool> exclusive_{false};
};

}  // namespace weft::core
