#include "collective/mailbox.hpp"

#include "collective/calls/roll_call.hpp"
#include "collective/ring.hpp"

#include <bit>
#include <cstring>

namespace weft::collective {

namespace {

/// The largest number of steps of any algorithm: the rounds of doubling, and two to include ranks beyond the
/// largest power of two.
std::uint32_t steps_of(int ranks) noexcept {
  return static_cast<std::uint32_t>(std::bit_width(static_cast<unsigned>(ranks))) + 2;
}

}  // namespace

Mailbox::Mailbox(Runtime& runtime, int ranks, std::uint32_t id, std::uint8_t device, Ring& ring,
                 RollCall& roll_call)
    : ring_(ring),
      roll_call_(roll_call),
      steps_(steps_of(ranks)),
      slots_(std::make_unique<Slot[]>(std::size_t{2} * steps_)),
      remote_(runtime.expose(*this, {.id = id, .device = device, .drops_late = true})) {}

void Mailbox::signal(Message& message) noexcept {
  if (message.operation() == Operation::receive) {
    guard_outcome_ = message.outcome();
    guard_length_ = message.length();
    // Pairs with the acquire in guard_ended().
    guard_ended_.store(true, std::memory_order_release);
    notify_waiters_of(this);
    return;
  }
  const auto tag = static_cast<std::uint32_t>(message.tag());
  if ((tag & Ring::kTag) != 0) return ring_.arrive(message);
  if ((tag & 0xff) >= steps_ || message.size() > kBytes) [[unlikely]] {
    if (tag == kRollCall) {
      roll_call_.arrive(message);
      notify_waiters_of(this);
    }
    return;  // else no message of a Collective
  }
  Slot& target = slot(tag);
  if (message.size() == 8)
    std::memcpy(target.data, message.data(), 8);
  else if (message.size() != 0)
    std::memcpy(target.data, message.data(), message.size());
  target.size = static_cast<std::uint32_t>(message.size());
  // Pairs with the acquire in has_arrived().
  target.full.store(tag + 1, std::memory_order_release);
  notify_waiters_of(this);
}

}  // namespace weft::collective
