#include "parcel/tasks/task_sources.hpp"

#include "parcel/tasks/stepper.hpp"

namespace weft::parcel {

TaskSources::TaskSources(WorkerPool& pool, unsigned workers, const StandIns& stand_ins)
    : stand_ins_(stand_ins) {
  for (unsigned number = 0; number < workers; ++number) {
    workers_.push_back(std::make_unique<Worker>());
    workers_.back()->pool = &pool;
    workers_.back()->number = number;
    workers_.back()->slot = number;
    workers_.back()->random = number * 2654435761U + 1;
  }
}

void TaskSources::push(Task& task, const SpawnOptions& options, Worker* own) noexcept {
  if (own != nullptr)
    add_alone(own->made);
  else
    made_outside_.fetch_add(1, std::memory_order_release);
  if (options.worker >= 0)
    workers_[static_cast<unsigned>(options.worker) % workers_.size()]->given.push(task);
  else
    (options.priority == Priority::high ? urgent : low).push(task);
}

Task* TaskSources::find_old(Worker& worker) noexcept {
  constexpr unsigned kSources = 6;
  for (unsigned step = 0; step < kSources; ++step) {
    Task* task = nullptr;
    switch (++worker.old_source % kSources) {
      case 0:
        task = worker.deque.steal();
        break;
      case 1:
        task = worker.given.take();
        break;
      case 2:
        task = injected.take();
        break;
      case 3:
        task = held_back.take();
        break;
      case 4:
        task = steal_for(worker);  // others may block for as long as these tasks do not run
        break;
      default:
        task = low.take();
        break;
    }
    if (task != nullptr) return task;
  }
  return nullptr;
}

Task* TaskSources::steal_for(Worker& worker) noexcept {
  const std::size_t count = workers_.size();
  worker.random = worker.random * 1664525 + 1013904223;
  const std::size_t first = worker.random >> 8;
  const auto steal_from = [&](Worker& victim) -> Task* {
    if (&victim == &worker) return nullptr;
    Task* stolen = victim.deque.steal();
    if (stolen == nullptr) stolen = victim.given.take();
    if (stolen != nullptr) add_alone(worker.stolen);
    return stolen;
  };
  for (std::size_t step = 0; step < count; ++step)
    if (Task* const stolen = steal_from(*workers_[(first + step) % count]); stolen != nullptr) return stolen;
  for (std::size_t number = stand_ins_.count(); number != 0; --number)
    if (Task* const stolen = steal_from(stand_ins_.at(number - 1)); stolen != nullptr) return stolen;
  return nullptr;
}

Task* TaskSources::find_shared(Worker& worker) noexcept {
  if (Task* const given = worker.given.take(); given != nullptr) return given;
  if (Task* const task = injected.take(); task != nullptr) return task;
  if (Task* const stolen = steal_for(worker); stolen != nullptr) return stolen;
  if (Task* const task = held_back.take(); task != nullptr) return task;
  return low.take();
}

Task* TaskSources::find_any(Worker& worker, Stepper& stepper) noexcept {
  constexpr std::uint32_t kSources = 6;
  const std::uint32_t first = stepper.choose(kSources);
  for (std::uint32_t step = 0; step < kSources; ++step) {
    Task* task = nullptr;
    switch ((first + step) % kSources) {
      case 0:
        task = worker.deque.pop();
        break;
      case 1:
        task = worker.deque.steal();
        break;
      case 2:
        task = worker.given.take();
        break;
      case 3:
        task = injected.take();
        break;
      case 4:
        task = stepper.choose(2) == 0 ? urgent.take() : low.take();
        break;
      default: {
        Worker& victim = *workers_[stepper.choose(workers())];
        task = victim.deque.steal();
        break;
      }
    }
    if (task != nullptr) return task;
  }
  return nullptr;
}

bool TaskSources::has_task() const noexcept {
  if (!injected.is_empty() || !urgent.is_empty() || !low.is_empty() || !held_back.is_empty()) return true;
  return have_workers_a_task();
}

bool TaskSources::have_workers_a_task() const noexcept {
  bool has_any = false;
  for_each_worker(
      [&](const Worker& worker) { has_any |= worker.deque.size_guess() != 0 || !worker.given.is_empty(); });
  return has_any;
}

TaskCounts TaskSources::counts() const noexcept {
  TaskCounts counts;
  for_each_worker([&](const Worker& worker) {
    counts.finished += worker.finished.load(std::memory_order_acquire);
    counts.stolen += worker.stolen.load(std::memory_order_relaxed);
    counts.parks += worker.parks.load(std::memory_order_relaxed);
  });
  for_each_worker([&](const Worker& worker) { counts.made += worker.made.load(std::memory_order_acquire); });
  counts.made += made_outside_.load(std::memory_order_acquire);
  return counts;
}

}  // namespace weft::parcel
