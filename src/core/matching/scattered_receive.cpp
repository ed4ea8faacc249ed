#include "core/matching/scattered_receive.hpp"

#include <weft/detail/message_access.hpp>

#include <algorithm>
#include <cstring>
#include <new>

namespace weft::core {

bool ScatteredReceive::assign(std::span<const MutableBytes> buffers, std::size_t total,
                              const ReceiveOptions& options, Pool& pool) noexcept {
  if (buffers.size() > capacity_) {
    const std::size_t capacity = std::max<std::size_t>(buffers.size(), 8);
    parts_.reset(new (std::nothrow) ScatterPart[capacity]);
    capacity_ = parts_ != nullptr ? capacity : 0;
    if (parts_ == nullptr) return false;
  }
  count_ = buffers.size();
  std::uint64_t start = 0;
  for (std::size_t index = 0; index < count_; ++index) {
    const MutableBytes& buffer = buffers[index];
    parts_[index] = {0, start, buffer.size(), buffer.data(), buffer.size()};
    start += buffer.size();
  }
  total_ = total;
  completion_.store(options.completion, std::memory_order_relaxed);
  detail::NamedCompletion::note(options.completion);
  user_data_ = options.user_data;
  pool_ = &pool;
  return true;
}

std::span<const ScatterPart> ScatteredReceive::parts_from(std::uint64_t address) noexcept {
  for (ScatterPart& part : parts()) part.address = address != 0 ? address + part.start : 0;
  return parts();
}

void ScatteredReceive::fill(Bytes payload) noexcept {
  if (payload.size() == entry_.word.size())
    std::memcpy(entry_.word.data(), payload.data(), entry_.word.size());
  else
    scatter(parts(), 0, payload);
}

void ScatteredReceive::signal(Message& message) noexcept {
  const std::size_t length = message.length();
  const std::uint32_t device = message.device();
  const Outcome outcome = detail::MessageAccess::outcome_of(detail::MessageAccess::kind(message));
  const bool has_come = outcome == Outcome::ok || outcome == Outcome::truncated;
  if (message.data() == entry_.word.data() && message.size() == entry_.word.size())
    scatter(parts(), 0, message.bytes());
  const std::size_t received = has_come ? std::min(length, total_) : 0;
  const ScatterPart& first = parts_[0];
  detail::MessageAccess::set_view(message, Operation::receive, message.peer(), message.tag(), first.buffer,
                                  std::min(first.room, received), nullptr, length);
  detail::MessageAccess::set_device(message, device);
  detail::MessageAccess::set_user_data(message, user_data_);
  if (has_come && length > total_) detail::MessageAccess::set_outcome(message, Outcome::truncated);
  Completion* const completion = completion_.exchange(nullptr, std::memory_order_acq_rel);
  pool_->release(*this);
  completion->signal(message);
}

}  // namespace weft::core
