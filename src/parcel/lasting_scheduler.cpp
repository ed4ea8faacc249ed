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

WorkerPool* LastingScheduler::own_pool() const noexcept {
  WorkerPool* const own = WorkerPool::current();
  return own != nullptr && own->lasting() == this ? own : nullptr;
}

void LastingScheduler::schedule(Task& task) noexcept {
  if (WorkerPool* const own = own_pool(); own != nullptr) [[likely]] {
    own->schedule(task);
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
  if (WorkerPool* const own = own_pool(); own != nullptr) [[likely]] {
    own->schedule(task, options);
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
  WorkerPool* const own = own_pool();
  return own != nullptr && own->run_here(task);
}

}  // namespace weft::parcel
