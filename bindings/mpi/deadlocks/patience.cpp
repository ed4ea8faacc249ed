// Waits that look at the time, and what is done where they last.
#include "bindings/mpi/deadlocks/stuck.hpp"
#include "bindings/mpi/explanations/waiting.hpp"

#include <weft/progress_thread.hpp>

#include <chrono>
#include <condition_variable>
#include <mutex>
#include <optional>
#include <thread>

namespace weft::mpi {

std::int64_t patience_ns = 0;

namespace {

/// Looks while all ranks are waited for. Meanwhile the waiting thread takes no messages.
class Attendant {
 public:
  Attendant()
      : thread_([this, call = current_call, caller = current_caller] {
          enter(call, caller);
          run();
        }) {}
  Attendant(const Attendant&) = delete;
  Attendant& operator=(const Attendant&) = delete;
  ~Attendant() {
    {
      const std::lock_guard lock(mutex_);
      ends_ = true;
    }
    changed_.notify_one();
    thread_.join();
  }

 private:
  static constexpr int kOwnThreads = 2;  // this one, and what polls
  static constexpr auto kBetweenLooks = std::chrono::milliseconds(50);

  void run() {
    std::unique_lock lock(mutex_);
    if (changed_.wait_for(lock, std::chrono::nanoseconds(patience_ns), [this] { return ends_; })) return;
    StuckWait stuck({}, true, kOwnThreads);
    current_caller = nullptr;  // from here on this thread is in no call of the program
    while (!changed_.wait_for(lock, kBetweenLooks, [this] { return ends_; })) stuck.look();
  }

  std::mutex mutex_;
  std::condition_variable changed_;
  bool ends_ = false;
  std::thread thread_;
};

}  // namespace

bool wait_patiently(bool (*holds)(const void*) noexcept, const void* context,
                    Completion* completion) noexcept {
  return world->endpoint.wait_condition({.holds = holds,
                                         .context = context,
                                         .completion = completion,
                                         .description = {current_call, {}, -1, false, false},
                                         .patience_ns = patience_ns});
}

void wait_stuck(bool (*holds)(const void*) noexcept, const void* context, Completion* completion,
                const WaitPurpose& purpose) noexcept {
  struct Attentive {
    bool (*holds)(const void*) noexcept;
    const void* context;
    StuckWait& stuck;
    static bool holds_meanwhile(const void* object) noexcept {
      const auto& own = *static_cast<const Attentive*>(object);
      if (own.holds(own.context)) return true;
      own.stuck.look();
      return false;
    }
  };
  StuckWait stuck(purpose, false, 0);
  const Attentive attentive{holds, context, stuck};
  world->endpoint.wait_condition(
      {Attentive::holds_meanwhile, &attentive, completion, {current_call, {}, -1, false, false}});
}

void wait_for_all_ranks_attentively() {
  // The barrier does not poll, and others may wait until this rank takes what they have sent.
  const ProgressThread polls(world->runtime);
  std::optional<Attendant> attends;
  if (!waits_are_explained && patience_ns != 0 && communicator_world->size > 1) attends.emplace();
  wait_for_all_ranks();
}

}  // namespace weft::mpi
