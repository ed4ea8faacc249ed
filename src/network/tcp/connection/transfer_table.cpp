#include "network/tcp/connection/transfer_table.hpp"

#include "network/session/session_device.hpp"

#include <algorithm>

namespace weft::network::tcp {

Transfer* TransferTable::find_free() noexcept {
  const auto free = std::find_if(transfers_.begin(), transfers_.end(),
                                 [](const Transfer& each) { return each.with == nullptr; });
  return free == transfers_.end() ? nullptr : &*free;
}

std::uint64_t TransferTable::wire_token(const Transfer& transfer) const noexcept {
  return std::uint64_t{transfer.generation} << 32 | static_cast<std::uint64_t>(&transfer - transfers_.data());
}

Transfer* TransferTable::find(const Connection& connection, std::uint64_t token) noexcept {
  const auto index = static_cast<std::uint32_t>(token);
  if (index >= transfers_.size()) return nullptr;
  Transfer& transfer = transfers_[index];
  return transfer.with == &connection && transfer.generation == token >> 32 ? &transfer : nullptr;
}

void TransferTable::end(Transfer& transfer, Outcome outcome, session::SessionDevice& device) noexcept {
  const std::uint64_t token = transfer.token;
  transfer = {.generation = transfer.generation + 1};
  device.fetch_completed(token, outcome);
}

void TransferTable::complete_lost(session::SessionDevice& device) noexcept {
  for (Transfer& each : transfers_)
    if (each.with != nullptr && each.with->is_lost) end(each, Outcome::peer_failed, device);
}

}  // namespace weft::network::tcp
