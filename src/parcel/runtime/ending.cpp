// How a runtime ends, and what ends with it.
#include <sched.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <mutex>
#include <source_location>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "parcel/runtime/core.hpp"
#include "parcel/runtime/ended_cores.hpp"

namespace weft::parcel {

namespace detail {

Runtime* RuntimeLink::enter() noexcept {
  if ((users_.fetch_add(1, std::memory_order_seq_cst) & kClosed) == 0) return &runtime_;
  leave();
  return nullptr;
}

void RuntimeLink::close() noexcept {
  users_.fetch_or(kClosed, std::memory_order_seq_cst);
  while ((users_.load(std::memory_order_acquire) & ~kClosed) != 0) sched_yield();
}

void RuntimeUse::refuse(const char* what) {
  throw RuntimeEnded(std::string(what) + ", but its parcel runtime has ended");
}

void Core::check_is_open(const std::string& what) const {
  if (is_closed())
    throw RuntimeEnded(
        what + " was called on rank " + std::to_string(rank_) +
        " after its parcel runtime had ended: end the threads that call it before its destructor");
}

void Core::end_failed(int rank) {
  const InsidePort inside(pool_);
  for (const PendingCall& call : calls_.take_all(rank)) {
    call.state->set_exception(std::make_exception_ptr(PeerFailed(rank)));
    call.state->release();
  }
  std::vector<std::shared_ptr<ChannelBase>> all;
  std::vector<std::shared_ptr<RuntimePart>> all_parts;
  {
    const std::lock_guard lock(table_mutex_);
    for (auto& [id, channel] : channels) all.push_back(channel);
    for (auto& [type, part] : parts) all_parts.push_back(part);
  }
  for (auto& channel : all) channel->fail(rank);
  for (auto& part : all_parts) part->peer_failed(rank);
  barrier_.peer_failed(rank);
}

void Core::end_waiting() noexcept {
  const auto why = [](const std::string& what) {
    return std::make_exception_ptr(RuntimeEnded(what + " when the parcel runtime ended"));
  };
  for (int rank = 0; rank < size_; ++rank)
    for (const PendingCall& call : calls_.take_all(rank)) {
      call.state->set_exception(why("rank " + std::to_string(rank) + " had not answered"));
      call.state->release();
    }
  std::unordered_map<std::uint64_t, std::shared_ptr<ChannelBase>> ended;
  decltype(parts) ended_parts;
  {
    const std::lock_guard lock(table_mutex_);
    ended.swap(channels);
    ended_parts.swap(parts);
  }
  for (auto& [id, channel] : ended)
    channel->end(why("channel " + std::to_string(id) + " had not been given the value"));
}

void Core::finish() noexcept {
  if (!is_running_.exchange(false)) return;
  if (WorkerPool::current() == &pool_) {
    std::fprintf(
        stderr,
        "weft: rank %d: parcel: a task destroys the runtime that runs it: destroy it in the thread that "
        "has made it\n",
        rank_);
    std::abort();
  }
  barrier_.wait(JobBarrier::Kind::end, std::source_location::current());
  // From now on nobody begins anything.
  link_->close();
  is_closed_.store(true, std::memory_order_seq_cst);
  while (senders_outside_.load(std::memory_order_acquire) != 0) sched_yield();
  while (has_waiting_records_.load(std::memory_order_acquire)) sched_yield();  // the others' release
  end_waiting();
  lasting_->detach();
  waits_.reset();
  pool_.stop();
  port_->stop();
}

void EndedCores::keep(Core* core) noexcept {
  // A thread that calls a runtime which is gone is a mistake that shall be named. The last ones are kept.
  constexpr std::size_t kMost = 16;
  static std::mutex mutex;
  static auto* const kept = new std::vector<Core*>;
  core->release_port();
  Core* oldest = nullptr;
  {
    const std::lock_guard lock(mutex);
    kept->push_back(core);
    if (kept->size() > kMost) {
      oldest = kept->front();
      kept->erase(kept->begin());
    }
  }
  delete oldest;
}

}  // namespace detail
}  // namespace weft::parcel
