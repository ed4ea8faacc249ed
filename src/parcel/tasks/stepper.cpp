#include "parcel/tasks/stepper.hpp"

#include <algorithm>
#include <atomic>

#include "parcel/tasks/worker_pool.hpp"

namespace weft::parcel {

namespace {

std::atomic<Stepper*> installed_stepper{nullptr};

}  // namespace

std::uint32_t Stepper::choose(std::uint32_t choices) noexcept {
  // SplitMix64 (Steele, Lea, Flood, OOPSLA 2014).
  std::uint64_t mixed = state_ += 0x9e3779b97f4a7c15;
  mixed = (mixed ^ (mixed >> 30)) * 0xbf58476d1ce4e5b9;
  mixed = (mixed ^ (mixed >> 27)) * 0x94d049bb133111eb;
  mixed ^= mixed >> 31;
  const auto chosen = static_cast<std::uint32_t>((mixed >> 32) * choices >> 32);
  digest_ = (digest_ ^ chosen) * 0x100000001b3 + choices;
  return chosen;
}

Stepper::~Stepper() { uninstall(); }

void Stepper::install() noexcept { installed_stepper = this; }
void Stepper::uninstall() noexcept {
  Stepper* own = this;
  installed_stepper.compare_exchange_strong(own, nullptr);
}
Stepper* Stepper::installed() noexcept { return installed_stepper; }

void Stepper::add(int position, WorkerPool& pool) {
  const std::lock_guard lock(mutex_);
  const auto behind = std::find_if(pools_.begin(), pools_.end(), [position](const Stepped& stepped) {
    return stepped.position > position;
  });
  pools_.insert(behind, {position, &pool});
}

void Stepper::remove(WorkerPool& pool) noexcept {
  const std::lock_guard lock(mutex_);
  std::erase_if(pools_, [&pool](const Stepped& stepped) { return stepped.pool == &pool; });
}

void Stepper::step() {
  const std::lock_guard lock(mutex_);
  std::uint32_t workers = 0;
  for (const Stepped& stepped : pools_) workers += stepped.pool->outside();
  if (workers == 0) return;
  std::uint32_t chosen = choose(workers);
  auto stepped = pools_.begin();
  while (chosen >= stepped->pool->outside()) chosen -= (stepped++)->pool->outside();
  run_worker(*stepped->pool, chosen);
}

bool Stepper::run_until(const std::function<bool()>& is_done, std::uint64_t most_steps) {
  for (std::uint64_t number = 0; !is_done(); ++number) {
    if (number == most_steps) return false;
    step();
  }
  return true;
}

void Stepper::run_worker(WorkerPool& pool, unsigned number) noexcept {
  Worker& worker = pool.sources().worker(number);
  WorkerThread thread(pool);
  TaskStack home(pool);
  thread.home = &home;
  worker.thread = &thread;
  home.worker = &worker;
  // Returns from pause(), in whatever loop the worker is then.
  home.switch_to(*worker.paused, {});
}

void Stepper::pause(TaskStack& own) noexcept {
  own.worker->paused = &own;
  own.switch_to(*own.worker->thread->home, {});
}

void WorkerPool::maybe_preempt(TaskStack& own) {
  if (stepper_ == nullptr || stepper_->choose(4) != 0) return;
  prepare_to_leave(own);
  leave_worker(own, {"its turn", this, std::source_location::current()},
               {[](void* stack) noexcept {
                  auto& task = *static_cast<TaskStack*>(stack);
                  task.pool().make_ready(task);
                },
                &own});
}

}  // namespace weft::parcel
