// Active messages that are handed over together.
#pragma once

#include <weft/completion/completion.hpp>
#include <weft/detail/message_access.hpp>
#include <weft/detail/slot_run.hpp>
#include <weft/detail/wide_run.hpp>
#include <weft/message.hpp>
#include <weft/types.hpp>

#include <atomic>
#include <cstdint>

namespace weft {

namespace detail {

/// What has to hold at each message of a run: the handle is still open, and what handlers post has room.
struct ArrivalGate {
  std::uint32_t handle;                      // open_handle() of the messages
  const std::atomic<std::uint32_t>* open;    // the handle's entry in the table of exposed objects
  const std::atomic<std::uint32_t>* posted;  // of handlers, kept in the device's backlog
  std::uint32_t limit;                       // of `posted`

  [[nodiscard, gnu::always_inline]] bool admits(std::uint64_t handle_word) const noexcept {
    return static_cast<std::uint32_t>(handle_word >> 32) == handle &&
           open->load(std::memory_order_relaxed) == handle &&
           posted->load(std::memory_order_relaxed) <= limit;
  }
};

}  // namespace detail

/// Active messages of one peer to one completion object, one behind the other. Run: what they lie in.
template <class Run>
class BasicArrivals {
 public:
  BasicArrivals(Run& run, const detail::ArrivalGate& gate, detail::PayloadLender* lender) noexcept
      : run_(run), gate_(gate), lender_(lender) {}
  BasicArrivals(const BasicArrivals&) = delete;
  BasicArrivals& operator=(const BasicArrivals&) = delete;

  /// The rank that has sent them.
  [[nodiscard]] int peer() const noexcept { return run_.peer(); }

  /// Calls `take(Message&)` for each, in order of arrival, as signal() would be called: the payload is a view
  /// that ends with the call. Ends early, with the rest left for later, when `take` withdraws the object
  /// (which it may destroy as well) or has filled the backlog. `take` must not throw and must not block.
  /// Inlined, so that a `take` whose body is known costs no call.
  template <class Take>
  [[gnu::always_inline]] inline void for_each(Take&& take) noexcept {
    Run run = run_;  // in registers
    const detail::ArrivalGate gate = gate_;
    detail::PayloadLender* const lender = lender_;
    std::uint64_t word = 0;
    Bytes payload;
    Message message;
    detail::MessageAccess::set_arrival(message, run.peer());
    while (run.look(word, payload) && gate.admits(word)) {
      const std::byte* data = payload.data();
      const std::size_t size = payload.size();
      do {
        detail::MessageAccess::set_arrived(message, static_cast<std::uint32_t>(word), data, size, lender);
        take(message);
        // It may have been made something else.
        if (!detail::MessageAccess::is_arrival(message, run.peer())) [[unlikely]] {
          message = Message();
          detail::MessageAccess::set_arrival(message, run.peer());
        }
        run.advance();
      } while (run.look_for_alike(word, data) && gate.admits(word));
    }
    run_.go_on_behind(run);
  }

 private:
  Run& run_;
  const detail::ArrivalGate gate_;
  detail::PayloadLender* const lender_;
};

}  // namespace weft
