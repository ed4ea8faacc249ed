// What a device leaves to the next one with its index: credits that are owed, and operations with a timeout.
#pragma once

#include "base/attributes.hpp"
#include "core/deadline/deadlines.hpp"
#include "core/matching/credits.hpp"

#include <cstdint>
#include <memory>
#include <vector>

namespace weft::detail {

class DeviceAccounts {
 public:
  DeviceAccounts(const base::Attributes& attributes, int ranks);

  // Made at the first call for a device, which is being opened: no other thread calls them meanwhile.

  /// The credits that the device `index` owes its peers.
  core::CreditLedgers& credit_ledgers(std::uint32_t index);
  /// The credits that the device `index` has taken and not got back.
  core::SendCredits& send_credits(std::uint32_t index);
  /// The operations with a timeout of the device `index`.
  core::Deadlines& deadlines(std::uint32_t index);

  /// The deadlines of all devices. For threads with the lock of core::OperationOwners, or while no device is
  /// opened.
  [[nodiscard]] const std::vector<core::Deadlines*>& made_deadlines() const noexcept {
    return made_deadlines_;
  }

 private:
  const base::Attributes& attributes_;
  const int ranks_;
  // By device.
  std::vector<std::unique_ptr<core::Deadlines>> deadlines_;
  std::vector<std::unique_ptr<core::CreditLedgers>> credit_ledgers_;
  std::vector<std::unique_ptr<core::SendCredits>> send_credits_;
  std::vector<core::Deadlines*> made_deadlines_;  // changed with the lock of core::OperationOwners
};

}  // namespace weft::detail
