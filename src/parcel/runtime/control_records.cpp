#include "parcel/runtime/control_records.hpp"

#include <weft/parcel/detail/parcel_header.hpp>

#include <array>
#include <cstddef>
#include <cstring>

namespace weft::parcel {

void ControlRecords::send(int rank, const JobBarrier::Record& record) {
  const std::lock_guard lock(mutex_);
  waiting_.emplace_back(rank, record);
  has_waiting_.store(true, std::memory_order_release);
  pool_.wake();
}

bool ControlRecords::flush(unsigned worker) {
  const std::unique_lock lock(mutex_, std::try_to_lock);
  if (!lock.owns_lock()) return false;
  bool has_sent = false;
  while (!waiting_.empty()) {
    const auto& [rank, record] = waiting_.front();
    std::array<std::byte, sizeof(detail::ParcelHeader) + sizeof record> message;
    const detail::ParcelHeader header{message.size(), detail::kControl};
    std::memcpy(message.data(), &header, sizeof header);
    std::memcpy(message.data() + sizeof header, &record, sizeof record);
    if (!port_.has_failed(rank) && !port_.try_send_small(rank, message, worker)) return has_sent;
    waiting_.pop_front();
    has_sent = true;
  }
  has_waiting_.store(false, std::memory_order_relaxed);
  return has_sent;
}

std::optional<JobBarrier::Record> ControlRecords::read(Bytes message) noexcept {
  detail::ParcelHeader header;
  if (message.size() != sizeof header + sizeof(JobBarrier::Record)) return {};
  std::memcpy(&header, message.data(), sizeof header);
  if (header.action != detail::kControl || header.size != message.size()) return {};
  std::optional<JobBarrier::Record> record(std::in_place);
  std::memcpy(&*record, message.data() + sizeof header, sizeof *record);
  return record;
}

}  // namespace weft::parcel
