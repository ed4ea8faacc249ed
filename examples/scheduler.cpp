// A scheduler of a user's own: workers run tasks, steal those of others, and poll between them. They give
// other ranks work by active messages; no call of weft waits, and none is needed to give way.
//
// A task is a node of a tree whose shape follows from hashes. It carries a weight, which it divides among its
// children; what is left of it goes back to rank 0, which knows by the sum that all tasks have ended.
#include <weft/weft.hpp>

#include <atomic>
#include <cstdint>
#include <cstdio>
#include <deque>
#include <mutex>
#include <thread>
#include <vector>

namespace {

constexpr std::size_t kWorkers = 2;
constexpr std::uint64_t kAll = std::uint64_t{1} << 28;  // the weight of the tree: a quarter for each child

struct Task {
  std::uint64_t hash;
  std::uint64_t weight;
};
struct Ended {
  std::uint64_t weight = 0;
  std::uint64_t tasks = 0;
};

std::uint64_t mix(std::uint64_t value) {
  value = (value ^ value >> 30) * 0xbf58476d1ce4e5b9;
  value = (value ^ value >> 27) * 0x94d049bb133111eb;
  return value ^ value >> 31;
}

/// The tasks of a worker, which takes the newest; others steal the oldest.
class TaskDeque {
 public:
  void push(const Task& task) {
    const std::lock_guard lock(mutex_);
    tasks_.push_back(task);
  }
  bool take(Task& task, bool steals) {
    const std::lock_guard lock(mutex_);
    if (tasks_.empty()) return false;
    task = steals ? tasks_.front() : tasks_.back();
    steals ? tasks_.pop_front() : tasks_.pop_back();
    return true;
  }

 private:
  std::mutex mutex_;
  std::deque<Task> tasks_;
};

class Scheduler {
 public:
  explicit Scheduler(weft::Runtime& runtime) : runtime_(runtime), endpoint_(runtime) {}

  /// The number of tasks of all ranks, on rank 0.
  std::uint64_t run() {
    if (runtime_.rank() == 0) deques_[0].push({1, kAll});
    {
      std::vector<std::jthread> workers;
      for (std::size_t worker = 0; worker < kWorkers; ++worker)
        workers.emplace_back([this, worker] { work(worker); });
    }
    return tasks_.load();
  }

 private:
  void work(std::size_t self) {
    Task task{};
    Ended ended;
    weft::Message message;
    for (std::uint32_t round = 1; over_.value() == 0; ++round) {
      const bool found = deques_[self].take(task, false) || deques_[(self + 1) % kWorkers].take(task, true);
      if (found) execute(task, self, ended);
      if (found && round % 16 != 0) continue;
      if (!found && ended.tasks != 0) {
        send(0, report_, ended);
        ended = {};
      }
      endpoint_.progress();
      while (inbox_.pop(message)) deques_[self].push(message.as<Task>());
      while (reports_.pop(message)) add(message.as<Ended>());
    }
  }

  void execute(const Task& task, std::size_t self, Ended& ended) {
    const std::uint64_t children = task.weight == 1 ? 0 : task.weight == kAll ? 3 : mix(task.hash) % 5;
    for (std::uint64_t child = 1; child <= children; ++child) {
      const Task next{mix(task.hash * 4 + child), task.weight / 4};
      const int rank =
          next.hash % 8 == 0 ? static_cast<int>(next.hash / 8 % runtime_.size()) : runtime_.rank();
      if (rank == runtime_.rank())
        deques_[self].push(next);
      else
        send(rank, give_, next);
    }
    ended.weight += task.weight - children * (task.weight / 4);
    ++ended.tasks;
  }

  /// On rank 0.
  void add(const Ended& ended) {
    tasks_ += ended.tasks;
    if ((weight_ += ended.weight) != kAll) return;
    for (int rank = 0; rank < runtime_.size(); ++rank) send(rank, stop_, std::uint8_t{0});
  }

  template <class Value>
  void send(int rank, weft::RemoteCompletion remote, const Value& value) {
    while (!endpoint_.post_am(rank, remote, weft::bytes_of(value)).is_accepted()) endpoint_.progress();
  }

  weft::Runtime& runtime_;
  weft::Endpoint endpoint_;
  TaskDeque deques_[kWorkers];
  std::atomic<std::uint64_t> weight_{0};
  std::atomic<std::uint64_t> tasks_{0};
  weft::CompletionQueue inbox_;
  weft::CompletionQueue reports_;
  weft::Counter over_;
  const weft::RemoteCompletion give_ = runtime_.expose(inbox_, {.id = 1});
  const weft::RemoteCompletion report_ = runtime_.expose(reports_, {.id = 2});
  const weft::RemoteCompletion stop_ = runtime_.expose(over_, {.id = 3});
};

}  // namespace

int main() try {
  weft::Runtime runtime;
  Scheduler scheduler(runtime);
  const std::uint64_t tasks = scheduler.run();
  runtime.barrier();
  if (runtime.rank() == 0) std::printf("%llu tasks\n", static_cast<unsigned long long>(tasks));
  return 0;
} catch (const weft::Error& error) {
  std::fprintf(stderr, "%s\n", error.what());
  return 1;
}
