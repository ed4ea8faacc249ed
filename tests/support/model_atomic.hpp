// An atomic and a plain cell whose accesses are scheduled and checked by a model of the C++ memory model.
//
// A schedule runs a few fibers in one OS thread. Before every atomic access the scheduler chooses who goes
// on, by a seed, so that a failure can be replayed. Each atomic keeps its modification order: a load may see
// any store that coherence and happens-before leave visible, not only the newest. Release stores carry the
// storing thread's view, acquire loads join it; a Cell reports a race when two accesses, one of them a write,
// are not ordered by that. Loads of an atomic never see stores that have not been executed yet (no load
// buffering). A seq_cst load sees no store that is older than the last seq_cst store that was executed: the
// order of execution is the single order of these accesses. Fences are not modelled.
#pragma once

#include <setjmp.h>
#include <ucontext.h>
#include <algorithm>
#include <array>
#include <atomic>
#include <cstdint>
#include <cstdlib>
#include <functional>
#include <memory>
#include <random>
#include <string>
#include <vector>

namespace weft::test::model {

inline constexpr std::size_t kThreads = 6;  // number 0 sets up and looks at the result

/// What a thread knows: how far it has seen each thread, and each atomic's modification order.
struct View {
  std::array<std::uint32_t, kThreads> clock{};
  std::vector<std::uint32_t> seen;

  void join(const View& other) {
    for (std::size_t thread = 0; thread < kThreads; ++thread)
      if (clock[thread] < other.clock[thread]) clock[thread] = other.clock[thread];
    if (seen.size() < other.seen.size()) seen.resize(other.seen.size());
    for (std::size_t location = 0; location < other.seen.size(); ++location)
      if (seen[location] < other.seen[location]) seen[location] = other.seen[location];
  }
  std::uint32_t& seen_of(std::size_t location) {
    if (seen.size() <= location) seen.resize(location + 1);
    return seen[location];
  }
};

/// Orders that a negative test takes away.
enum class Weaken : std::uint8_t { nothing, releases, acquires, sequential, barriers };

class Schedule {
 public:
  Schedule(std::uint64_t seed, Weaken weaken) : random_(seed), weaken_(weaken) { current() = this; }
  ~Schedule() { current() = nullptr; }
  Schedule(const Schedule&) = delete;
  Schedule& operator=(const Schedule&) = delete;
  static Schedule*& current() {
    static Schedule* schedule = nullptr;
    return schedule;
  }

  /// Runs the threads to their end, or until `max_steps` accesses were made.
  void run(std::vector<std::function<void()>> threads, std::size_t max_steps = 20'000) {
    fibers_.clear();
    for (std::size_t index = 0; index < threads.size(); ++index) {
      auto fiber = std::make_unique<Fiber>();
      fiber->body = std::move(threads[index]);
      fiber->stack.resize(64 * 1024);
      ::getcontext(&fiber->context);
      fiber->context.uc_stack.ss_sp = fiber->stack.data();
      fiber->context.uc_stack.ss_size = fiber->stack.size();
      fiber->context.uc_link = nullptr;  // enter() returns nowhere
      ::makecontext(&fiber->context, reinterpret_cast<void (*)()>(&Schedule::enter), 0);
      fibers_.push_back(std::move(fiber));
      views_[index + 1] = views_[0];
    }
    std::vector<std::size_t> alive;
    for (std::size_t step = 0;; ++step) {
      alive.clear();
      for (std::size_t index = 0; index < fibers_.size(); ++index)
        if (!fibers_[index]->ended) alive.push_back(index);
      if (alive.empty()) break;
      if (step == max_steps) {
        report("threads have not ended within " + std::to_string(max_steps) + " steps");
        break;
      }
      running_ = alive[random_() % alive.size()] + 1;
      resume(*fibers_[running_ - 1]);
      running_ = 0;
    }
    for (std::size_t index = 0; index < fibers_.size(); ++index) views_[0].join(views_[index + 1]);
  }

  /// The first thing that went wrong, or nothing.
  [[nodiscard]] const std::string& violation() const { return violation_; }
  void report(const std::string& what) {
    if (violation_.empty()) violation_ = what;
  }

  /// What a barrier in all threads does, as membarrier(2): each sees every store that was executed before. It
  /// orders no plain accesses.
  void barrier() {
    preempt();
    if (weaken_ == Weaken::barriers) return;
    View all;
    for (const View& view : views_) {
      if (all.seen.size() < view.seen.size()) all.seen.resize(view.seen.size());
      for (std::size_t location = 0; location < view.seen.size(); ++location)
        if (all.seen[location] < view.seen[location]) all.seen[location] = view.seen[location];
    }
    for (View& view : views_) view.join(all);
  }

  // For Atomic and Cell.
  void preempt() {
    if (running_ != 0) suspend(*fibers_[running_ - 1]);
  }
  [[nodiscard]] std::size_t thread() const { return running_; }
  [[nodiscard]] View& view() { return views_[running_]; }
  void tick() { ++views_[running_].clock[running_]; }
  [[nodiscard]] std::size_t choose(std::size_t choices) { return random_() % choices; }
  [[nodiscard]] std::size_t new_location() { return locations_++; }
  [[nodiscard]] bool releases(std::memory_order order) const {
    return weaken_ != Weaken::releases &&
           (order == std::memory_order_release || order == std::memory_order_acq_rel ||
            order == std::memory_order_seq_cst);
  }
  [[nodiscard]] bool is_sequential(std::memory_order order) const {
    return weaken_ != Weaken::sequential && order == std::memory_order_seq_cst;
  }
  [[nodiscard]] bool acquires(std::memory_order order) const {
    return weaken_ != Weaken::acquires &&
           (order == std::memory_order_acquire || order == std::memory_order_acq_rel ||
            order == std::memory_order_seq_cst);
  }

 private:
  struct Fiber {
    ucontext_t context{};  // to begin with
    ::jmp_buf suspended{};
    std::vector<char> stack;
    std::function<void()> body;
    bool has_begun = false;
    bool ended = false;
  };
  static void enter() {
    Schedule& schedule = *current();
    Fiber& fiber = *schedule.fibers_[schedule.running_ - 1];
    fiber.body();
    fiber.ended = true;
    ::_longjmp(schedule.main_, 1);
  }
  // swapcontext() would make a system call for the mask of signals each time, which takes most of a step.
  [[gnu::noinline]] void resume(Fiber& fiber) {
    if (::_setjmp(main_) != 0) return;
    if (fiber.has_begun) ::_longjmp(fiber.suspended, 1);
    fiber.has_begun = true;
    ::setcontext(&fiber.context);
  }
  [[gnu::noinline]] void suspend(Fiber& fiber) {
    if (::_setjmp(fiber.suspended) == 0) ::_longjmp(main_, 1);
  }

  std::mt19937_64 random_;
  const Weaken weaken_;
  ::jmp_buf main_{};
  std::vector<std::unique_ptr<Fiber>> fibers_;
  std::size_t running_ = 0;
  std::array<View, kThreads> views_;
  std::size_t locations_ = 0;
  std::string violation_;
};

/// Stands in for the threads of the process in structures with a bias (weft/detail/bias.hpp).
struct Threads {
  [[nodiscard]] static std::uintptr_t mark() { return 64 * (Schedule::current()->thread() + 1); }
  static void barrier() { Schedule::current()->barrier(); }
  [[nodiscard]] static bool have_barrier() { return true; }
  static void yield() {}
};

/// Stands in for std::atomic<T> while a Schedule lives.
template <class T>
class Atomic {
 public:
  Atomic() : Atomic(T{}) {}
  Atomic(T value) : location_(schedule().new_location()) {
    history_.push_back({value, View{}});
  }  // NOLINT: as std::atomic
  Atomic(const Atomic&) = delete;
  Atomic& operator=(const Atomic&) = delete;

  [[nodiscard]] T load(std::memory_order order) const {
    schedule().preempt();
    View& view = schedule().view();
    std::uint32_t& seen = view.seen_of(location_);
    if (schedule().is_sequential(order)) seen = std::max(seen, last_sequential_);
    const std::size_t newest = history_.size() - 1;
    // Half of the loads see the newest store, so that loops make progress.
    std::size_t index = newest;
    if (schedule().choose(2) == 0) index = seen + schedule().choose(newest - seen + 1);
    seen = static_cast<std::uint32_t>(index);
    const T value = history_[index].value;
    if (schedule().acquires(order)) view.join(history_[index].released);
    schedule().tick();
    return value;
  }
  void store(T value, std::memory_order order) {
    schedule().preempt();
    schedule().tick();
    append(value, order, nullptr);
  }
  T exchange(T value, std::memory_order order) {
    schedule().preempt();
    return modify(order, [&](T) { return value; });
  }
  T fetch_add(T value, std::memory_order order) {
    schedule().preempt();
    return modify(order, [&](T old) { return static_cast<T>(old + value); });
  }
  T fetch_sub(T value, std::memory_order order) {
    schedule().preempt();
    return modify(order, [&](T old) { return static_cast<T>(old - value); });
  }
  T fetch_or(T value, std::memory_order order) {
    schedule().preempt();
    return modify(order, [&](T old) { return static_cast<T>(old | value); });
  }
  T fetch_and(T value, std::memory_order order) {
    schedule().preempt();
    return modify(order, [&](T old) { return static_cast<T>(old & value); });
  }
  bool compare_exchange_strong(T& expected, T desired, std::memory_order success, std::memory_order failure) {
    schedule().preempt();
    if (history_.back().value == expected) {
      modify(success, [&](T) { return desired; });
      return true;
    }
    fail(expected, failure);
    return false;
  }
  bool compare_exchange_strong(T& expected, T desired, std::memory_order order) {
    return compare_exchange_strong(expected, desired, order, order);
  }
  bool compare_exchange_weak(T& expected, T desired, std::memory_order success, std::memory_order failure) {
    schedule().preempt();
    if (history_.back().value == expected && schedule().choose(8) != 0) {
      modify(success, [&](T) { return desired; });
      return true;
    }
    fail(expected, failure);
    return false;
  }
  bool compare_exchange_weak(T& expected, T desired, std::memory_order order) {
    return compare_exchange_weak(expected, desired, order, order);
  }

 private:
  struct Store {
    T value;
    View released;  // what an acquiring load of this store learns
  };
  static Schedule& schedule() { return *Schedule::current(); }

  void append(T value, std::memory_order order, const View* inherited) {
    View& view = schedule().view();
    view.seen_of(location_) = static_cast<std::uint32_t>(history_.size());
    Store store{value, View{}};
    if (inherited != nullptr)
      store.released = *inherited;  // a read-modify-write goes on with the release sequence
    if (schedule().releases(order)) store.released.join(view);
    if (schedule().is_sequential(order)) last_sequential_ = static_cast<std::uint32_t>(history_.size());
    history_.push_back(std::move(store));
  }
  template <class Change>
  T modify(std::memory_order order, const Change& change) {
    const T old = history_.back().value;
    if (schedule().acquires(order)) schedule().view().join(history_.back().released);
    schedule().tick();
    append(change(old), order, &history_.back().released);
    return old;
  }
  void fail(T& expected, std::memory_order order) {
    expected = history_.back().value;
    View& view = schedule().view();
    view.seen_of(location_) = static_cast<std::uint32_t>(history_.size() - 1);
    if (schedule().acquires(order)) view.join(history_.back().released);
    schedule().tick();
  }

  const std::size_t location_;
  std::vector<Store> history_;
  std::uint32_t last_sequential_ = 0;  // place in the history
};

/// A plain variable: reports a race when its accesses are not ordered.
template <class T>
class Cell {
 public:
  Cell() = default;
  Cell(T value) : value_(value) {}  // NOLINT: as a plain variable
  Cell(const Cell&) = delete;
  Cell& operator=(const Cell& other) { return *this = static_cast<T>(other); }
  Cell& operator=(T value) {
    Schedule& schedule = *Schedule::current();
    const View& view = schedule.view();
    for (std::size_t thread = 0; thread < kThreads; ++thread)
      if (reads_[thread] > view.clock[thread])
        schedule.report("thread " + std::to_string(schedule.thread()) + " writes what thread " +
                        std::to_string(thread) + " may still be reading");
    check_write(schedule, "writes");
    schedule.tick();
    writer_ = schedule.thread();
    written_ = schedule.view().clock[writer_];
    value_ = value;
    return *this;
  }
  operator T() const {  // NOLINT: as a plain variable
    Schedule& schedule = *Schedule::current();
    check_write(schedule, "reads");
    schedule.tick();
    reads_[schedule.thread()] = schedule.view().clock[schedule.thread()];
    return value_;
  }
  T operator->() const { return static_cast<T>(*this); }

 private:
  void check_write(Schedule& schedule, const char* access) const {
    if (written_ > schedule.view().clock[writer_])
      schedule.report("thread " + std::to_string(schedule.thread()) + " " + access + " what thread " +
                      std::to_string(writer_) + " may still be writing");
  }
  T value_{};
  std::size_t writer_ = 0;
  std::uint32_t written_ = 0;
  mutable std::array<std::uint32_t, kThreads> reads_{};
};

/// Runs `scenario(schedule)` for seeds from 1 up; the first violation with its seed, or nothing.
template <class Scenario>
[[nodiscard]] std::string explore(std::uint64_t schedules, Weaken weaken, const Scenario& scenario) {
  for (std::uint64_t seed = 1; seed <= schedules; ++seed) {
    Schedule schedule(seed, weaken);
    scenario(schedule);
    if (!schedule.violation().empty()) return "seed " + std::to_string(seed) + ": " + schedule.violation();
  }
  return {};
}

}  // namespace weft::test::model
