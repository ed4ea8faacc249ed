// Puts and gets that have ended, and signals of those that peers have put.
#include "network/ofi/ofi_endpoint.hpp"
#include "network/ofi/provider_accesses.hpp"
#include "network/session/session_device.hpp"

#include <algorithm>
#include <array>
#include <string>

namespace weft::network::ofi {

namespace {

constexpr std::size_t kAtATime = 16;

}  // namespace

void ProviderAccesses::on_signal(std::uint64_t word, session::SessionDevice& device) noexcept {
  const PutSignal signal = PutSignal::of(word);
  if (signal.rank >= has_ended_.size() || has_ended_[signal.rank]) return;
  if (signals_of_peers_[signal.rank << 8 | signal.device].is_new(signal.number))
    device.immediate_arrived(static_cast<int>(signal.rank), signal.value);
}

void ProviderAccesses::report(Record& record, Outcome outcome, session::SessionDevice& device) noexcept {
  Target& target = *record.target;
  if (&record == target.alone) target.alone = nullptr;
  // Those that are posted again end in another order.
  if (record.access.has_signal && outcome == Outcome::ok &&
      record.access.signal_id - target.signals_known < PutSignal::kMostAhead)
    target.signals_known = record.access.signal_id + 1;
  device.fetch_completed(record.access.token, outcome);
  free_.push_back(&record);
}

void ProviderAccesses::drive(session::SessionDevice& device) noexcept {
  // A call of the provider costs a system call.
  if (!domain_.has_had_regions() && !has_begun_) return;
  std::array<fi_cq_data_entry, kAtATime> entries;
  ssize_t count = 0;
  do {
    count = ::fi_cq_read(&endpoints_.completions(), entries.data(), entries.size());
    if (count == -FI_EAVAIL) on_error(device);
    for (ssize_t next = 0; next < count; ++next) {
      const fi_cq_data_entry& entry = entries[static_cast<std::size_t>(next)];
      if ((entry.flags & (FI_REMOTE_CQ_DATA | FI_REMOTE_WRITE)) != 0)
        on_signal(entry.data, device);
      else
        on_end(record_of(entry.op_context), true, device);
    }
  } while (count == static_cast<ssize_t>(kAtATime) || count == -FI_EAVAIL);
  std::erase_if(recovering_, [&](Target* target) {
    recover(*target, device);
    return !target->is_recovering;
  });
}

void ProviderAccesses::on_error(session::SessionDevice& device) noexcept {
  fi_cq_err_entry error{};
  if (::fi_cq_readerr(&endpoints_.completions(), &error, 0) != 1 || error.op_context == nullptr) return;
  Record& record = record_of(error.op_context);
  context_.log.info([&] {
    return "a put or get of rank " + std::to_string(record.target->rank) +
           " has come back: " + error_text(error.err);
  });
  on_end(record, false, device);
}

void ProviderAccesses::on_end(Record& record, bool is_carried_out, session::SessionDevice& device) noexcept {
  record.registration.reset();
  --record.target->under_way;
  if (&record == &record.target->question)
    on_answer(*record.target, is_carried_out, device);
  else if (is_carried_out)
    report(record, Outcome::ok, device);
  else
    come_back(record);
}

}  // namespace weft::network::ofi
