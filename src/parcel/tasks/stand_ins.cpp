#include "parcel/tasks/stand_ins.hpp"

#include <algorithm>
#include <chrono>
#include <new>
#include <utility>

#include "parcel/tasks/thread_state.hpp"
#include "parcel/tasks/worker_pool.hpp"

namespace weft::parcel {

namespace {

// Nanoseconds. The time between two looks grows while nothing is suspicious.
constexpr std::int64_t kShortest = 5'000'000;
constexpr std::int64_t kLongest = 64'000'000;
// A worker that computes for so long, without a task that ends or waits, does not get on either.
constexpr std::int64_t kLong = 100'000'000;
// So long after they were last needed stand-ins leave.
constexpr std::int64_t kWanted = 200'000'000;

std::int64_t now_ns() noexcept { return Timers::of(Waiter::Clock::now()); }

}  // namespace

void StandIns::start() {
  seen_.assign(pool_.slots(), {});
  for (Seen& seen : seen_) seen.since = now_ns();
  is_ending_ = false;
  thread_ = std::thread([this] { run(); });
}

void StandIns::stop() noexcept {
  if (!thread_.joinable()) return;
  {
    const std::lock_guard lock(mutex_);
    is_ending_ = true;
    changed_.notify_all();
  }
  thread_.join();
}

StandIns::Report StandIns::report() const noexcept {
  return {blocked_.load(std::memory_order_relaxed), lent_.load(std::memory_order_relaxed),
          is_exhausted_.load(std::memory_order_relaxed)};
}

void StandIns::run() noexcept {
  std::int64_t pause = kLongest;
  std::unique_lock lock(mutex_);
  while (!changed_.wait_for(lock, std::chrono::nanoseconds(pause), [this] { return is_ending_; })) {
    lock.unlock();
    const std::int64_t now = now_ns();
    const Sum sum = look(now);
    judge(sum, now);
    const bool is_needed = sum.is_suspicious || are_wanted_.load(std::memory_order_relaxed);
    const bool has_rest = !is_needed && pause == kLongest && begin_rest();
    pause = is_needed ? kShortest : std::min(2 * pause, kLongest);
    lock.lock();
    if (!has_rest) continue;
    changed_.wait(lock, [this] { return is_ending_ || !is_at_rest(); });
    // Nobody has got on meanwhile, and nobody was to.
    for (Seen& seen : seen_) seen.since = now_ns();
    pause = kShortest;
  }
}

bool StandIns::begin_rest() noexcept {
  is_at_rest_.store(true, std::memory_order_seq_cst);
  bool do_all_sleep = true;
  {
    const std::lock_guard lock(pool_.threads().mutex());
    pool_.sources().for_each_worker([&](const Worker& worker) {
      if (worker.thread != nullptr || !worker.is_stand_in())
        do_all_sleep &= worker.is_parked.load(std::memory_order_seq_cst);
    });
  }
  if (!do_all_sleep) is_at_rest_.store(false, std::memory_order_relaxed);
  return do_all_sleep;
}

void StandIns::end_rest() noexcept {
  const std::lock_guard lock(mutex_);
  if (!is_at_rest_.exchange(false, std::memory_order_relaxed)) return;
  changed_.notify_all();
}

void StandIns::look_at(Worker& worker, Seen& seen, std::int64_t now, Sum& sum) noexcept {
  sum.finished += worker.finished.load(std::memory_order_relaxed);
  seen.is_blocked = false;
  const WorkerThread* const thread = worker.thread;
  if (thread == nullptr) return;
  const std::uint64_t done =
      worker.finished.load(std::memory_order_relaxed) + worker.resumed.load(std::memory_order_relaxed) +
      worker.made.load(std::memory_order_relaxed) + worker.parks.load(std::memory_order_relaxed);
  if (worker.is_parked.load(std::memory_order_relaxed) || done != seen.done) {
    seen.done = done;
    seen.since = now;
    seen.at = 0;
  } else {
    const std::int64_t processor = processor_time_of(thread->thread);
    if (seen.at != 0) {
      // Asleep now, and for the most part since the last look.
      seen.is_blocked =
          processor >= 0 && processor - seen.processor < (now - seen.at) / 4 && is_asleep(thread->kernel_id);
    }
    sum.is_suspicious |= seen.at == 0 || seen.is_blocked;
    seen.processor = processor;
    seen.at = now;
  }
  const bool is_stuck = seen.is_blocked || now - seen.since > kLong;
  if (!worker.is_stand_in()) {
    ++sum.workers;
    sum.blocked += seen.is_blocked ? 1 : 0;
    sum.stuck += is_stuck ? 1 : 0;
    return;
  }
  if (seen.is_blocked) kinds_.add(worker.kind.load(std::memory_order_relaxed));
  if (worker.has_turn.load(std::memory_order_relaxed)) {
    ++(seen.is_blocked ? sum.begun_blocked : sum.begun);
  } else if (!seen.is_blocked) {
    ++sum.idle;
  }
}

StandIns::Sum StandIns::look(std::int64_t now) noexcept {
  Sum sum;
  looks_.store(looks() + 1, std::memory_order_relaxed);
  const std::lock_guard lock(pool_.threads().mutex());
  pool_.sources().for_each_worker([&](Worker& worker) { look_at(worker, seen_[worker.slot], now, sum); });
  return sum;
}

void StandIns::judge(const Sum& sum, std::int64_t now) noexcept {
  const bool are_needed = sum.blocked != 0 && sum.stuck == sum.workers;
  const bool has_finished = std::exchange(finished_, sum.finished) != sum.finished;
  blocked_.store(are_needed ? static_cast<std::uint32_t>(sum.blocked) : 0, std::memory_order_relaxed);
  are_needed_.store(are_needed, std::memory_order_relaxed);
  if (!are_needed) {
    turns_.store(0, std::memory_order_relaxed);
    growth_ = 1;
    is_exhausted_.store(false, std::memory_order_relaxed);
    if (are_wanted_.load(std::memory_order_relaxed) && now - needed_at_ > kWanted) {
      are_wanted_.store(false, std::memory_order_relaxed);
      kinds_.clear();
      pool_.wake();
    }
    return;
  }
  needed_at_ = now;
  are_wanted_.store(true, std::memory_order_relaxed);
  const std::size_t taken = sum.begun + sum.begun_blocked;
  std::size_t turns = std::max<std::size_t>(turns_.load(std::memory_order_relaxed), taken);
  if (has_finished) {
    growth_ = 1;
  } else if (sum.begun == 0 && sum.idle != 0 && pool_.sources().has_task()) {
    turns = taken + growth_;
    growth_ = std::min<std::uint32_t>(2 * growth_, kMost);
  }
  // One more than may begin something.
  std::size_t idle = sum.idle;
  while (idle <= turns - taken && lend()) ++idle;
  turns = std::min(turns, taken + std::max<std::size_t>(idle, 1) - 1);
  turns_.store(static_cast<std::uint32_t>(turns), std::memory_order_relaxed);
  is_exhausted_.store(idle == 0, std::memory_order_relaxed);
  pool_.wake();
}

bool StandIns::lend() noexcept {
  Worker* worker = nullptr;
  try {
    const std::lock_guard lock(pool_.threads().mutex());
    const std::size_t made = count();
    if (!free_.empty()) {
      worker = free_.back();
      free_.pop_back();
    } else {
      if (made == kMost) return false;
      free_.reserve(kMost);
      auto& made_now = workers_[made];
      made_now = std::make_unique<Worker>();
      worker = made_now.get();
      worker->pool = &pool_;
      worker->number = pool_.outside();
      worker->slot = pool_.outside() + 1 + static_cast<unsigned>(made);
      worker->random = worker->slot * 2654435761U + 1;
      count_.store(made + 1, std::memory_order_release);
    }
    count_lent();
    pool_.threads().add();
  } catch (const std::bad_alloc&) {
    return false;
  }
  if (pool_.threads().hand_to_spare(*worker, pool_.outside() + WorkerPool::kMostSpareThreads + kMost))
    return true;
  const std::lock_guard lock(pool_.threads().mutex());
  pool_.threads().forget(*worker);
  return false;
}

bool StandIns::may_leave(const Worker& worker) const noexcept {
  return !are_wanted_.load(std::memory_order_relaxed) && worker.deque.size_guess() == 0;
}

void StandIns::left(Worker& worker) noexcept {
  free_.push_back(&worker);
  count_lent();
}

void StandIns::count_lent() noexcept {
  lent_.store(static_cast<std::uint32_t>(count() - free_.size()), std::memory_order_relaxed);
}

bool StandIns::take_turn(Worker& worker) noexcept {
  std::uint32_t taken = taken_turns_.load(std::memory_order_relaxed);
  do {
    if (taken >= turns_.load(std::memory_order_relaxed)) return false;
  } while (!taken_turns_.compare_exchange_weak(taken, taken + 1, std::memory_order_relaxed));
  worker.has_turn.store(true, std::memory_order_relaxed);
  return true;
}

void StandIns::end_turn(Worker& worker) noexcept {
  if (!worker.has_turn.load(std::memory_order_relaxed)) return;
  worker.has_turn.store(false, std::memory_order_relaxed);
  taken_turns_.fetch_sub(1, std::memory_order_relaxed);
}

bool StandIns::may_run(Task& task, const void*& kind) noexcept {
  if (TaskStack::is_stack(task)) return true;
  switch (pool_.background().choose_parcel(task, kinds_, kind)) {
    case BackgroundWork::Parcels::chosen:
      return true;
    case BackgroundWork::Parcels::held_back:
      return false;
    case BackgroundWork::Parcels::none:
      break;
  }
  kind = reinterpret_cast<const void*>(task.execute);
  return !kinds_.contains(kind);
}

Task* StandIns::sort(Worker& worker, Task& task) noexcept {
  const void* kind = nullptr;
  if (!may_run(task, kind) && !take_turn(worker)) {
    pool_.sources().held_back.push(task);
    pool_.wake();  // a worker that gets on again may have looked while nobody had it
    return nullptr;
  }
  worker.kind.store(kind, std::memory_order_relaxed);
  return &task;
}

Task* StandIns::find_task(Worker& worker) noexcept {
  end_turn(worker);
  const bool are_needed = are_needed_.load(std::memory_order_relaxed);
  worker.kind.store(nullptr, std::memory_order_relaxed);
  // Also while nobody is needed for a moment: who blocked then would be missed in the next.
  while (Task* const own = worker.deque.pop())
    if (Task* const task = sort(worker, *own); task != nullptr) return task;
  if (!are_needed) return nullptr;
  // Nobody else runs what the others have.
  for (;;) {
    Task* task = pool_.sources().injected.take();
    if (task == nullptr) task = pool_.sources().urgent.take();
    if (task == nullptr) task = pool_.sources().steal_for(worker);
    if (task == nullptr) task = pool_.sources().low.take();
    if (task == nullptr) break;
    if (Task* const found = sort(worker, *task); found != nullptr) return found;
  }
  if (pool_.sources().held_back.is_empty() || !take_turn(worker)) return nullptr;
  Task* const task = pool_.sources().held_back.take();
  if (task == nullptr) {
    end_turn(worker);
    return nullptr;
  }
  const void* kind = nullptr;
  static_cast<void>(may_run(*task, kind));
  worker.kind.store(kind, std::memory_order_relaxed);
  return task;
}

bool StandIns::has_task(const Worker& worker) const noexcept {
  if (worker.deque.size_guess() != 0) return true;
  if (!are_needed_.load(std::memory_order_relaxed)) return false;
  if (!pool_.sources().injected.is_empty() || !pool_.sources().urgent.is_empty() ||
      !pool_.sources().low.is_empty())
    return true;
  if (taken_turns_.load(std::memory_order_relaxed) < turns_.load(std::memory_order_relaxed) &&
      !pool_.sources().held_back.is_empty())
    return true;
  return pool_.sources().have_workers_a_task();
}

}  // namespace weft::parcel
