#include <weft/completion/arrivals.hpp>
#include <weft/completion/completion.hpp>

#include "core/completion/exposures.hpp"

namespace weft {

void Completion::signal_all(Arrivals& arrivals) noexcept {
  arrivals.for_each([this](Message& message) { signal(message); });
}

void Completion::signal_all_wide(WideArrivals& arrivals) noexcept {
  arrivals.for_each([this](Message& message) { signal(message); });
}

void Completion::signal_count(std::uint64_t count) noexcept {
  for (; count != 0; --count) {
    Message message;
    signal(message);
  }
}

void Completion::withdraw() noexcept {
  if (detail::Exposures* exposures = exposures_.load(std::memory_order_relaxed)) exposures->withdraw(*this);
}

bool Completion::stop_senders(bool stop) noexcept {
  detail::Exposures* exposures = exposures_.load(std::memory_order_relaxed);
  return exposures == nullptr || exposures->stop_senders(*this, stop);
}

}  // namespace weft
