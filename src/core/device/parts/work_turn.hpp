// The turn of the thread that works in a device, and what other threads want to be done in it.
//
// A handler may run inside of work() and want something of another device, where a thread is that wants
// something of this one. So who waits for a turn does meanwhile what others want of the devices that it is
// inside of.
#pragma once

#include "concurrent/mpsc_list.hpp"
#include "concurrent/owned_try_lock.hpp"
#include "concurrent/thread_number.hpp"
#include "concurrent/while_waiting.hpp"

#include <sched.h>
#include <atomic>
#include <cstdint>
#include <utility>

namespace weft::core {

class WorkTurn {
 public:
  /// Returns false when another thread is inside.
  [[nodiscard]] bool enter(std::uint32_t thread) noexcept {
    if (!lock_.enter(thread)) return false;
    outer_ = std::exchange(innermost_, this);
    return true;
  }
  void leave() noexcept {
    innermost_ = outer_;
    lock_.leave();
  }
  /// OwnedTryLock::await_exit(); grants meanwhile what others want of the devices that this thread is inside
  /// of.
  void await_exit(std::uint32_t own) const noexcept {
    const concurrent::WhileWaiting granting(&grant_wishes_of_others);
    lock_.await_exit(own);
  }
  /// Calls call(may_remove) inside of the turn, and returns when it has returned. may_remove: false where the
  /// thread that is inside goes on with the lists of the device afterwards. That may be another thread than
  /// this one.
  template <class Call>
  void call_inside(const Call& call) noexcept {
    const std::uint32_t thread = concurrent::thread_number();
    if (lock_.is_inside(thread)) return call(false);
    if (enter(thread)) {
      call(true);
      return leave();
    }
    Wish wish{&call, [](const void* of, bool may_remove) { (*static_cast<const Call*>(of))(may_remove); }};
    wishes_.put(wish);
    while (!wish.is_granted.load(std::memory_order_acquire)) {
      grant_wishes_of_others();
      if (enter(thread)) {
        grant_wishes(true);
        leave();
      } else {
        ::sched_yield();
      }
    }
  }

  /// Does what others want of the devices that this thread is inside of.
  static void grant_wishes_of_others() noexcept {
    for (WorkTurn* turn = innermost_; turn != nullptr; turn = turn->outer_) turn->grant_wishes(false);
  }

 private:
  struct Wish {
    const void* call;
    void (*run)(const void* call, bool may_remove);
    Wish* next = nullptr;
    std::atomic<bool> is_granted{false};
  };

  /// By the thread that is inside.
  void grant_wishes(bool may_remove) noexcept {
    for (Wish* wish = wishes_.take_all(); wish != nullptr;) {
      Wish* const next = wish->next;
      wish->run(wish->call, may_remove);
      // Pairs with the acquire in call_inside(). From here on the wish is gone.
      wish->is_granted.store(true, std::memory_order_release);
      wish = next;
    }
  }

  static inline thread_local WorkTurn* innermost_ = nullptr;  // that this thread is inside of

  concurrent::OwnedTryLock<> lock_;
  WorkTurn* outer_ = nullptr;  // the next one of the thread that is inside
  concurrent::MpscList<Wish> wishes_;
};

}  // namespace weft::core
