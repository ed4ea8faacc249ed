#include <weft/completion/completion.hpp>

#include "core/completion/exposures.hpp"

namespace weft {

void Completion::withdraw() noexcept {
  if (detail::Exposures* exposures = exposures_.load(std::memory_order_relaxed)) exposures->withdraw(*this);
}

bool Completion::stop_senders(bool stop) noexcept {
  detail::Exposures* exposures = exposures_.load(std::memory_order_relaxed);
  return exposures == nullptr || exposures->stop_senders(*this, stop);
}

}  // namespace weft
