#include "parcel/runtime/job_barrier.hpp"

#include <algorithm>
#include <chrono>
#include <cstring>

#include "parcel/runtime/core.hpp"

namespace weft::parcel {

namespace {

// Nanoseconds: what is under way needs the workers more than questions do.
constexpr std::int64_t kBetweenQuestions = 50'000;
// Where nobody knows how much was dropped, so that what has run is not what was sent, everything must have
// stood still for so long.
constexpr std::int64_t kStandstill = 500'000'000;

std::int64_t now() noexcept {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(
             std::chrono::steady_clock::now().time_since_epoch())
      .count();
}

}  // namespace

JobBarrier::JobBarrier(detail::Core& core) : core_(core) {
  for (State& state : states_) {
    state.arrivals.resize(static_cast<std::size_t>(core.port().size()));
    state.answered.resize(static_cast<std::size_t>(core.port().size()));
  }
  quiet_tasks_.calls.resize(static_cast<std::size_t>(core.port().size()));
}

JobBarrier::QuietTasks JobBarrier::quiet_tasks() const {
  const std::lock_guard lock(mutex_);
  return quiet_tasks_;
}

int JobBarrier::root() const {
  int rank = 0;
  while (rank + 1 < core_.port().size() && core_.port().has_failed(rank)) ++rank;
  return rank;
}

void JobBarrier::send(int rank, const Record& record) { core_.records().send(rank, record); }

void JobBarrier::end_waits(State& state, std::uint64_t released) noexcept {
  state.released = std::max(state.released, released);
  const auto ended = std::partition(state.waiters.begin(), state.waiters.end(),
                                    [&](const auto& waiter) { return waiter.first > state.released; });
  // From here on they are tasks as any other, though they have not gone on yet. The last epoch's: all.
  if (&state == &states_[static_cast<std::size_t>(Kind::quiet)] && ended != state.waiters.end()) {
    quiet_tasks_.tasks = 0;
    std::fill(quiet_tasks_.calls.begin(), quiet_tasks_.calls.end(), std::uint64_t{0});
  }
  for (auto each = ended; each != state.waiters.end(); ++each) each->second->notify();
  state.waiters.erase(ended, state.waiters.end());
}

void JobBarrier::wait(Kind kind, const std::source_location& where) {
  Waiter waiter({kind == Kind::plain ? "the barrier of the runtime" : "all ranks to be quiet", this, where});
  std::unique_lock lock(mutex_);
  State& state = states_[static_cast<std::size_t>(kind)];
  const bool has_arrived = kind == Kind::quiet && state.arrived != state.released;
  const std::uint64_t epoch = has_arrived ? state.arrived : ++state.arrived;
  state.waiters.emplace_back(epoch, &waiter);
  if (const TaskStack* const task = TaskStack::current();
      kind == Kind::quiet && task != nullptr && &task->pool() == &core_.scheduler()) {
    ++quiet_tasks_.tasks;
    if (task->caller >= 0) ++quiet_tasks_.calls[static_cast<std::size_t>(task->caller)];
  }
  if (has_arrived) {
    lock.unlock();
    waiter.wait();
    return;
  }
  const int own = core_.port().rank();
  const int to = root();
  if (to == own) {
    state.arrivals[static_cast<std::size_t>(own)] = epoch;
    lock.unlock();
    advance(kind);
  } else {
    lock.unlock();
    send(to, {Message::arrival, kind, 0, 0, epoch});
  }
  waiter.wait();
}

void JobBarrier::advance(Kind kind) {
  {
    const std::lock_guard lock(mutex_);
    State& state = states_[static_cast<std::size_t>(kind)];
    if (state.is_asking || state.arrived == state.released) return;
    for (int rank = 0; rank < core_.port().size(); ++rank)
      if (!core_.port().has_failed(rank) && state.arrivals[static_cast<std::size_t>(rank)] < state.arrived)
        return;
    if (kind != Kind::plain) {
      state.is_asking = true;
      state.has_last = false;
    }
  }
  if (kind != Kind::plain)
    ask(kind);
  else
    release(kind);
}

void JobBarrier::ask(Kind kind) {
  Record question{Message::question, kind};
  {
    const std::lock_guard lock(mutex_);
    State& state = states_[static_cast<std::size_t>(kind)];
    question.round = ++state.round;
    question.epoch = state.arrived;
    std::fill(state.answered.begin(), state.answered.end(), std::uint8_t{0});
    state.sum = {};
  }
  for (int rank = 0; rank < core_.port().size(); ++rank)
    if (rank != core_.port().rank() && !core_.port().has_failed(rank)) send(rank, question);
  Record own = question;
  own.message = Message::counts;
  fill_counts(own);
  handle(core_.port().rank(), own);
}

void JobBarrier::fill_counts(Record& record) {
  // Finished before sent, and tasks in between, so that nothing is taken for ended that is not; first of all
  // the tasks that wait for quiet, as whatever they have begun is counted below.
  QuietTasks quiet;
  if (record.kind == Kind::quiet) quiet = quiet_tasks();
  const Traffic& traffic = core_.traffic();
  for (int rank = 0; rank < core_.size(); ++rank) {
    if (core_.port().has_failed(rank)) {
      ++record.failed;
      continue;
    }
    if (!quiet.calls.empty()) record.finished += quiet.calls[static_cast<std::size_t>(rank)];
    record.finished += traffic.finished_of(rank);
  }
  const TaskCounts tasks = core_.scheduler().sources().counts();
  record.unknown = traffic.times_lost();
  record.pending = tasks.made - tasks.finished - quiet.tasks + (core_.outbox().is_empty() ? 0 : 1);
  for (int rank = 0; rank < core_.size(); ++rank)
    if (!core_.port().has_failed(rank)) record.sent += traffic.sent_to(rank);
}

void JobBarrier::release(Kind kind) {
  Record record{Message::release, kind};
  {
    const std::lock_guard lock(mutex_);
    State& state = states_[static_cast<std::size_t>(kind)];
    state.is_asking = false;
    record.epoch = state.arrived;
  }
  for (int rank = 0; rank < core_.port().size(); ++rank)
    if (rank != core_.port().rank() && !core_.port().has_failed(rank)) send(rank, record);
  // Released last: nobody may end this rank before the others know.
  const std::lock_guard lock(mutex_);
  end_waits(states_[static_cast<std::size_t>(kind)], record.epoch);
}

void JobBarrier::handle(int source, const Record& record) {
  if (static_cast<std::size_t>(record.kind) >= kKinds.size()) return;
  State& state = states_[static_cast<std::size_t>(record.kind)];
  switch (record.message) {
    case Message::arrival: {
      {
        const std::lock_guard lock(mutex_);
        auto& arrival = state.arrivals[static_cast<std::size_t>(source)];
        arrival = std::max(arrival, record.epoch);
      }
      advance(record.kind);
      return;
    }
    case Message::question: {
      Record answer = record;
      answer.message = Message::counts;
      fill_counts(answer);
      send(source, answer);
      return;
    }
    case Message::counts: {
      bool is_quiet = false;
      {
        const std::lock_guard lock(mutex_);
        if (!state.is_asking || record.round != state.round) return;
        state.answered[static_cast<std::size_t>(source)] = 1;
        state.sum.sent += record.sent;
        state.sum.finished += record.finished;
        state.sum.pending += record.pending;
        state.sum.failed += record.failed;
        state.sum.unknown += record.unknown;
        for (int rank = 0; rank < core_.port().size(); ++rank)
          if (!core_.port().has_failed(rank) && state.answered[static_cast<std::size_t>(rank)] == 0) return;
        const bool is_equal = state.has_last && state.last.sent == state.sum.sent &&
                              state.last.finished == state.sum.finished &&
                              state.last.failed == state.sum.failed;
        if (!is_equal) state.changed_at = now();
        is_quiet = is_equal && state.sum.pending == 0 &&
                   (state.sum.sent == state.sum.finished ||
                    (state.sum.unknown != 0 && now() - state.changed_at > kStandstill));
        state.last = state.sum;
        state.has_last = state.sum.pending == 0;
      }
      if (is_quiet)
        release(record.kind);
      else
        next_questions_[static_cast<std::size_t>(record.kind)].store(now() + kBetweenQuestions,
                                                                     std::memory_order_relaxed);
      return;
    }
    case Message::release: {
      const std::lock_guard lock(mutex_);
      end_waits(state, record.epoch);
      return;
    }
  }
}

void JobBarrier::look() {
  for (const Kind kind : {Kind::quiet, Kind::end}) {
    auto& next = next_questions_[static_cast<std::size_t>(kind)];
    std::int64_t due = next.load(std::memory_order_relaxed);
    if (due == kNever || now() < due) continue;
    if (next.compare_exchange_strong(due, kNever, std::memory_order_relaxed)) ask(kind);
  }
}

void JobBarrier::peer_failed(int rank) {
  const int to = root();
  for (const Kind kind : kKinds) {
    State& state = states_[static_cast<std::size_t>(kind)];
    std::uint64_t waiting = 0;
    bool is_asking = false;
    {
      const std::lock_guard lock(mutex_);
      if (state.arrived != state.released) waiting = state.arrived;
      is_asking = state.is_asking;
      if (to == core_.port().rank() && waiting != 0) state.arrivals[static_cast<std::size_t>(to)] = waiting;
    }
    if (waiting == 0) continue;
    if (to != core_.port().rank()) {
      if (rank < to) send(to, {Message::arrival, kind, 0, 0, waiting});
    } else if (is_asking) {
      ask(kind);
    } else {
      advance(kind);
    }
  }
}

}  // namespace weft::parcel
