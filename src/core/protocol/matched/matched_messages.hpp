// Matched messages: sends and receives of one device, which a matching engine pairs.
//
// Each step is an object: MatchedSender with LaneCredits, MatchedReceiver with CreditReturns, and
// MatchedArrivals with OrderedArrivals, which pair what arrives with what was posted.
#pragma once

#include "core/protocol/matched/credit_returns.hpp"
#include "core/protocol/matched/matched_arrivals.hpp"
#include "core/protocol/matched/matched_receiver.hpp"
#include "core/protocol/matched/matched_sender.hpp"

namespace weft::core {

class MatchedMessages {
 public:
  MatchedMessages(const Context& context, detail::DevicePath& path, MatchingEngines& engines,
                  CreditLedgers& ledgers, SendCredits& credits, Rendezvous& large_messages) noexcept
      : sender_(context, path, engines, credits, large_messages),
        returns_(context, ledgers),
        receiver_(context, engines, returns_, large_messages),
        arrivals_(context, engines, returns_, receiver_) {}
  MatchedMessages(const MatchedMessages&) = delete;
  MatchedMessages& operator=(const MatchedMessages&) = delete;

  [[nodiscard]] MatchedSender& sender() noexcept { return sender_; }
  [[nodiscard]] MatchedReceiver& receiver() noexcept { return receiver_; }
  [[nodiscard]] MatchedArrivals& arrivals() noexcept { return arrivals_; }

  /// Sets whether a single thread uses the device.
  void set_exclusive(bool exclusive) noexcept {
    sender_.credits().set_exclusive(exclusive);
    returns_.set_exclusive(exclusive);
  }
  /// Continues what could not be finished. One thread at a time. Returns the number of steps that made
  /// progress.
  std::size_t step(Caller caller) noexcept { return receiver_.step() + returns_.step(caller); }
  [[nodiscard]] bool has_work() const noexcept { return receiver_.has_work() || returns_.has_work(); }

 private:
  MatchedSender sender_;
  CreditReturns returns_;
  MatchedReceiver receiver_;
  MatchedArrivals arrivals_;
};

}  // namespace weft::core
