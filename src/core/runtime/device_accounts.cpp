#include "core/runtime/device_accounts.hpp"

#include "core/completion/object_end.hpp"

#include <mutex>
#include <utility>

namespace weft::detail {

using base::Attribute;

DeviceAccounts::DeviceAccounts(const base::Attributes& attributes, int ranks)
    : attributes_(attributes),
      ranks_(ranks),
      deadlines_(static_cast<std::size_t>(attributes.integer(Attribute::devices_max))),
      credit_ledgers_(deadlines_.size()),
      send_credits_(deadlines_.size()) {}

core::CreditLedgers& DeviceAccounts::credit_ledgers(std::uint32_t index) {
  auto& ledgers = credit_ledgers_[index];
  if (ledgers == nullptr)
    ledgers = std::make_unique<core::CreditLedgers>(
        ranks_, index, static_cast<std::uint32_t>(attributes_.integer(Attribute::unexpected_credits)));
  return *ledgers;
}

core::SendCredits& DeviceAccounts::send_credits(std::uint32_t index) {
  auto& credits = send_credits_[index];
  if (credits == nullptr)
    credits = std::make_unique<core::SendCredits>(
        ranks_, static_cast<std::uint32_t>(attributes_.integer(Attribute::unexpected_credits)));
  return *credits;
}

core::Deadlines& DeviceAccounts::deadlines(std::uint32_t index) {
  auto& deadlines = deadlines_[index];
  if (deadlines == nullptr) {
    auto made = std::make_unique<core::Deadlines>(
        static_cast<std::uint32_t>(attributes_.integer(Attribute::deadlines)));
    const std::lock_guard asking(core::OperationOwners::all().lock());
    made_deadlines_.push_back(made.get());
    deadlines = std::move(made);
  }
  return *deadlines;
}

}  // namespace weft::detail
