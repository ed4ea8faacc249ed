#include "perf/libraries/weft/weft_resources.hpp"

#include <weft/detail/message_access.hpp>

#include <sched.h>

#include <array>
#include <barrier>
#include <charconv>
#include <exception>
#include <thread>
#include <vector>

#include "common/pinning.hpp"
#include "common/stopwatch.hpp"
#include "perf/libraries/weft/weft_rounds.hpp"
#include "perf/workloads/rank_threads.hpp"

namespace weft::tools::perf {

template <class Queue>
std::uint64_t QueueResource<Queue>::User::round(bool verify) {
  std::uint64_t torn = 0;
  for (std::uint64_t i = 0; i < kOperations; ++i) {
    const std::uint64_t word = ++number_;
    detail::MessageAccess::set_view(pushed_, Operation::active_message, 0, static_cast<std::uint32_t>(word),
                                    reinterpret_cast<const std::byte*>(&word), sizeof word, nullptr, 0);
    queue_.signal(pushed_);
    while (!queue_.pop(popped_)) ::sched_yield();  // another thread is about to finish its push
    if (verify) [[unlikely]]
      torn += popped_.size() != sizeof word || popped_.as<std::uint64_t>() != popped_.tag();
  }
  return torn;
}

template <bool kIsSerial>
std::uint64_t MatchingResource<kIsSerial>::User::round(bool verify) {
  using Table = core::MatchingEngine::Table;
  std::uint64_t wrong = 0;
  const auto key = [&](std::uint64_t i) { return core::MatchKey{first_tag_ + i, 1, 0}; };
  for (std::uint64_t i = 0; i < kOperations; ++i) {
    for (;;) {
      const auto posted = engine_.table().pair(core::MatchSide::posted, key(i), [&]() -> core::MatchRecord* {
        core::MatchRecord* record = engine_.storage().records().take();
        if (record != nullptr) record->user_data = this;
        return record;
      });
      if (posted.answer == Table::Answer::kept) break;
    }
  }
  for (std::uint64_t i = 0; i < kOperations; ++i) {
    for (;;) {
      const auto met = engine_.table().pair(core::MatchSide::unexpected, key(i),
                                            []() -> core::MatchRecord* { return nullptr; });
      if (met.answer != Table::Answer::matched) continue;
      if (verify) [[unlikely]]
        wrong += met.record->user_data != this || met.record->key().tag != key(i).tag;
      engine_.storage().records().release(*met.record);
      break;
    }
  }
  return wrong;
}

std::uint64_t PacketResource::User::round(bool) {
  std::uint64_t missing = 0;
  for (std::uint64_t i = 0; i < kOperations; ++i) {
    const Packet packet = device_.get_packet();
    if (!packet) [[unlikely]]
      ++missing;
  }
  return missing;
}

namespace {

/// The number of threads of a transport: 2 for "2-threads".
int threads_of(std::string_view transport) {
  int threads = 1;
  std::from_chars(transport.data(), transport.data() + transport.size(), threads);
  return threads;
}

template <class Resource>
Outcome run_user(Resource& resource, const Task& task, std::uint32_t thread, std::barrier<>& start) {
  pin_thread(task.processors, thread % std::max<std::size_t>(1, task.processors.size()));
  typename Resource::User user(resource, thread);
  Outcome outcome{.role = "both", .value = 0};
  start.arrive_and_wait();
  for (const Stopwatch warming; warming.seconds() < task.warm_up;) outcome.torn += user.round(task.verify);
  start.arrive_and_wait();
  std::uint64_t rounds = 0;
  const Stopwatch timed;
  do {
    for (int i = 0; i < 64; ++i) outcome.torn += user.round(task.verify);
    rounds += 64;
  } while (timed.seconds() < task.seconds);
  outcome.messages = rounds * Resource::kOperations;
  outcome.value = static_cast<double>(outcome.messages) / timed.seconds();
  outcome.core_share = timed.core_share();
  return outcome;
}

template <class Resource>
Outcome run_users(const Task& task) {
  const auto count = static_cast<std::size_t>(threads_of(task.transport()));
  Resource resource;
  std::vector<Outcome> outcomes(count);
  std::vector<std::exception_ptr> failures(count);
  std::barrier<> start{static_cast<std::ptrdiff_t>(count)};
  {
    std::vector<std::jthread> threads;
    for (std::size_t thread = 0; thread < count; ++thread) {
      threads.emplace_back([&, thread] {
        try {
          outcomes[thread] = run_user(resource, task, static_cast<std::uint32_t>(thread), start);
        } catch (...) {
          failures[thread] = std::current_exception();
          start.arrive_and_drop();
        }
      });
    }
  }
  for (const std::exception_ptr& failure : failures)
    if (failure) std::rethrow_exception(failure);
  Outcome sum = joined(outcomes);
  // When there are more threads than cores, the threads share the cores: no other program took them.
  sum.core_share = 1;
  return sum;
}

}  // namespace

int run_resource(const Task& given, Workload workload) {
  Task task = given;
  task.processors = choose_processors(static_cast<std::size_t>(threads_of(task.transport())));
  const bool serial = task.transport() == "1-thread-serial";
  if (workload == Workload::resource_queue) {
    print(serial ? run_users<QueueResource<SerialCompletionQueue>>(task)
                 : run_users<QueueResource<CompletionQueue>>(task));
  } else if (workload == Workload::resource_matching) {
    print(serial ? run_users<MatchingResource<true>>(task) : run_users<MatchingResource<false>>(task));
  } else {
    print(run_users<PacketResource>(task));
  }
  return 0;
}

}  // namespace weft::tools::perf
