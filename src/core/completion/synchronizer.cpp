#include <weft/completion/synchronizer.hpp>

#include "base/log.hpp"

#include <weft/detail/message_access.hpp>
#include <weft/error.hpp>

#include <cassert>
#include <string>

namespace weft {

namespace {

std::uint32_t checked(std::uint32_t signals) {
  if (signals < 1 || signals > Synchronizer::kMaxSignals)
    throw Error(ErrorClass::option, "a synchronizer of " + std::to_string(signals) +
                                        " signals: must be 1 to " +
                                        std::to_string(Synchronizer::kMaxSignals));
  return signals;
}

}  // namespace

Synchronizer::Synchronizer(std::uint32_t signals)
    : rounds_(checked(signals)),
      messages_(new Message[2 * std::size_t{signals}]),
      arrival_(new std::atomic<std::uint32_t>[2 * std::size_t{signals}]()) {}

Synchronizer::~Synchronizer() {
  retire();
  if (ready()) return;
  for (std::size_t index = 0; index < 2 * std::size_t{signals()}; ++index)  // of a round that nobody has seen
    detail::MessageAccess::excuse_outcome(messages_[index]);
}

void Synchronizer::signal(Message& message) noexcept {
  const std::uint64_t number = rounds_.claim();
  if (number == rounds_.kNone) [[unlikely]]
    return report_loss(message);
  const std::uint64_t index = rounds_.slot(number);
  const std::uint64_t first = index < signals() ? 0 : signals();
  const std::uintptr_t offset = reinterpret_cast<std::uintptr_t>(message.user_data()) -
                                reinterpret_cast<std::uintptr_t>(arrival_.get());
  if (const std::uintptr_t slot = offset / sizeof arrival_[0];
      slot < signals() && offset % sizeof arrival_[0] == 0)
    arrival_[first + slot].store(static_cast<std::uint32_t>(index - first + 1), std::memory_order_relaxed);
  messages_[index] = message.take();
  detail::MessageAccess::must_read(messages_[index]);
  // From here on a waiter may have destroyed this object; notify_waiters_of() does not access it.
  if (rounds_.finish(number)) notify_waiters_of(this);
}

void* Synchronizer::slot(std::uint32_t index) noexcept {
  assert(index < signals());
  return &arrival_[index];
}

std::span<Message> Synchronizer::messages() noexcept {
  assert(ready());
  return {&messages_[rounds_.first_slot()], signals()};
}

Message* Synchronizer::by_slot(std::uint32_t index) noexcept {
  assert(ready() && index < signals());
  const std::uint64_t first = rounds_.first_slot();
  const std::uint32_t arrival = arrival_[first + index].load(std::memory_order_relaxed);
  return arrival == 0 ? nullptr : &messages_[first + arrival - 1];
}

void Synchronizer::reset() noexcept {
  assert(ready());
  const std::uint64_t first = rounds_.first_slot();
  for (std::uint64_t index = first; index < first + signals(); ++index) {
    messages_[index] = Message();
    arrival_[index].store(0, std::memory_order_relaxed);
  }
  rounds_.reset();
}

void Synchronizer::report_loss(const Message& message) noexcept {
  if (lost_.fetch_add(1, std::memory_order_relaxed) != 0) return;
  base::Log().error("a synchronizer of " + std::to_string(signals()) + " signals has lost one (peer " +
                    std::to_string(message.peer()) + ", tag " + std::to_string(message.tag()) +
                    "): two rounds were complete; reset() it after each round, or make it for more signals");
}

}  // namespace weft
