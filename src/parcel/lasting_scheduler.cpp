#include "parcel/lasting_scheduler.hpp"

#include <memory>
#include <vector>

namespace weft::parcel {

namespace {

std::mutex spare_mutex;

std::vector<LastingScheduler*>& spare() {
  static auto* const all = new std::vector<LastingScheduler*>;
  return *all;
}

}  // namespace

LastingScheduler& LastingScheduler::take(WorkerPool& pool) {
  const std::lock_guard lock(spare_mutex);
  LastingScheduler* taken = nullptr;
  if (spare().empty()) {
    taken = new LastingScheduler;
  } else {
    taken = spare().back();
    spare().pop_back();
  }
  taken->pool_.store(&pool, std::memory_order_release);
  pool.set_lasting(*taken);
  return *taken;
}

void LastingScheduler::detach() noexcept {
  const std::lock_guard lock(mutex_);
  pool_.store(nullptr, std::memory_order_release);
}

void LastingScheduler::give_back() noexcept {
  detach();
  const std::lock_guard lock(spare_mutex);
  spare().push_back(this);
}

TaskStack* LastingScheduler::own_stack() const noexcept {
  TaskStack* const own = TaskStack::current();
  return own != nullptr && own->pool().lasting() == this ? own : nullptr;
}

void LastingScheduler::schedule(Task& task) noexcept {
  if (TaskStack* const own = own_stack(); own != nullptr) [[likely]] {
    own->pool().schedule(*own, task);
    return;
  }
  {
    const std::lock_guard lock(mutex_);
    if (WorkerPool* const pool = pool_.load(std::memory_order_acquire); pool != nullptr) {
      pool->schedule(task);
      return;
    }
  }
  task.execute(task);
}

void LastingScheduler::schedule(Task& task, const SpawnOptions& options) noexcept {
  if (is_plain(options)) [[likely]] {
    LastingScheduler::schedule(task);
    return;
  }
  if (TaskStack* const own = own_stack(); own != nullptr) [[likely]] {
    own->pool().schedule(task, options);
    return;
  }
  {
    const std::lock_guard lock(mutex_);
    if (WorkerPool* const pool = pool_.load(std::memory_order_acquire); pool != nullptr) {
      pool->schedule(task, options);
      return;
    }
  }
  task.execute(task);
}

bool LastingScheduler::run_here(Task& task) noexcept {
  TaskStack* const own = own_stack();
  return own != nullptr && own->pool().run_here(*own, task);
}

}  // namespace weft::parcel
