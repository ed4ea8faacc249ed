#include "parcel/runtime/task_waits.hpp"

#include <chrono>

#include "parcel/runtime/core.hpp"
#include "parcel/waits/foreign_wait.hpp"

namespace weft::parcel {

namespace {

constexpr std::size_t kMostListed = 64;

}  // namespace

TaskWaits::TaskWaits(detail::Core& core) : WaitSource(core.port().rank()), core_(core) { enter(); }
TaskWaits::~TaskWaits() { remove(); }

std::string TaskWaits::describe(const char* what, const void* subject, std::int32_t& peer) {
  if (const int rank = core_.awaited().calls.rank_of(subject); rank >= 0) {
    peer = rank;
    return "the answer to a call";
  }
  {
    const std::lock_guard lock(core_.awaited().mutex);
    for (const auto& [id, channel] : core_.awaited().channels) {
      std::uint64_t generation = 0;
      if (channel->has_waiting(subject, generation))
        return "value " + std::to_string(generation) + " of channel " + std::to_string(id);
    }
  }
  return what;
}

void TaskWaits::list(void (*add)(void* context, const weft::detail::DescribedWait& wait), void* context) {
  const std::int64_t now = Timers::of(Waiter::Clock::now());
  std::map<std::pair<std::size_t, std::uint64_t>, std::int64_t> seen;
  core_.scheduler().stacks().for_each_wait(
      kMostListed, [&](std::size_t number, const TaskStack::ReportedWait& wait) {
        const auto known = seen_.find({number, wait.count});
        const std::int64_t since = known != seen_.end() ? known->second : now;
        seen.emplace(std::pair{number, wait.count}, since);
        std::int32_t peer = -1;
        const std::string what = describe(wait.what, wait.subject, peer);
        add(context, {what.c_str(), wait.file, wait.function, wait.line, peer,
                      static_cast<std::uint32_t>(number), true, since});
      });
  seen_ = std::move(seen);
  if (const StandIns::Report blocked = core_.scheduler().stand_ins().report(); blocked.blocked != 0) {
    std::string note =
        std::to_string(blocked.blocked) + " of " + std::to_string(core_.options().workers) +
        " workers block their threads in a call that is no wait of weft (the lock of a std::mutex, a system "
        "call), and none gets on; " +
        std::to_string(blocked.lent) + (blocked.lent == 1 ? " thread was" : " threads were") +
        " lent to work in their stead";
    if (blocked.is_exhausted)
      note += ", which is all there are, and block as well: use weft::parcel::Mutex, or blocking()";
    weft::detail::DescribedWait wait;
    wait.what = note.c_str();
    wait.is_note = true;
    add(context, wait);
  }
  struct Visit {
    TaskWaits& self;
    void (*add)(void*, const weft::detail::DescribedWait&);
    void* context;
    std::uint32_t number = 0;
  } visit{*this, add, context};
  ForeignWait::for_each(
      [](void* argument, const ForeignWait& wait) {
        auto& to = *static_cast<Visit*>(argument);
        std::int32_t peer = -1;
        const std::string what = to.self.describe(wait.reason.what, wait.reason.subject, peer);
        to.add(to.context, {what.c_str(), wait.reason.where.file_name(), wait.reason.where.function_name(),
                            wait.reason.where.line(), peer, to.number++, false, wait.since});
      },
      &visit);
}

}  // namespace weft::parcel
