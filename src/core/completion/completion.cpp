#include <weft/completion/arrivals.hpp>
#include <weft/completion/completion.hpp>

#include "base/fork_watch.hpp"
#include "core/completion/allocator_access.hpp"
#include "core/completion/exposures.hpp"
#include "core/completion/object_end.hpp"

#include <weft/detail/completion_link.hpp>
#include <weft/error.hpp>

#include <utility>

namespace weft {

void Completion::signal_batch(Arrivals& arrivals) noexcept {
  arrivals.for_each([this](Message& message) { signal(message); });
}

void Completion::signal_count(std::uint64_t count) noexcept {
  for (; count != 0; --count) {
    Message message;
    signal(message);
  }
}

void Completion::set_allocator(PayloadOwner& allocator, AllocatorUse use) {
  std::uintptr_t word = reinterpret_cast<std::uintptr_t>(&allocator);
  if (use == AllocatorUse::every_size) {
    word |= kEverySize;
    detail::AllocatorAccess::any_every_size.store(true, std::memory_order_relaxed);
  }
  std::uintptr_t before = allocator_.load(std::memory_order_relaxed);
  do {
    if ((before & kAllocatorUsed) != 0)
      throw Error(ErrorClass::state,
                  "set_allocator: memory for a message to this completion object has been asked for already; "
                  "set the allocator before the first message comes");
  } while (!allocator_.compare_exchange_weak(before, word, std::memory_order_acq_rel));
}

void Completion::withdraw() noexcept {
  detail::Exposures* exposures = exposures_.load(std::memory_order_relaxed);
  if (exposures != nullptr && !base::is_forked_copy()) exposures->withdraw(*this);
}

bool Completion::withdraw(const RemoteCompletion& handle) noexcept {
  detail::Exposures* exposures = exposures_.load(std::memory_order_relaxed);
  return exposures != nullptr && !base::is_forked_copy() && exposures->withdraw(*this, handle);
}

void Completion::retire() noexcept {
  withdraw();
  if (std::exchange(is_retired_, true) || base::is_forked_copy()) return;
  detail::CompletionLink::cut(*this);
  core::OperationOwners::all().forget_object(*this);
}

bool Completion::stop_senders(bool stop) noexcept {
  detail::Exposures* exposures = exposures_.load(std::memory_order_relaxed);
  return exposures == nullptr || exposures->stop_senders(*this, stop);
}

}  // namespace weft
