#include "network_ends.hpp"

#include <cstdio>

namespace lci {

std::mutex NetworkEnds::mutex_;
std::list<NetworkEnds::Waiting> NetworkEnds::waiting_;
std::atomic<std::size_t> NetworkEnds::count_{0};

NetworkEnds::NetworkEnds() : OwnCompletion(comp_attr_t()) {
  attr.comp_type = attr_comp_type_t::handler;
  attach(*this);
}

NetworkEnds::~NetworkEnds() {
  retire();
  const std::lock_guard lock(mutex_);
  count_.fetch_sub(waiting_.remove_if([this](const Waiting& each) { return each.of == this; }),
                   std::memory_order_relaxed);
}

void* NetworkEnds::begin(const comp_t& comp, void* user_context) {
  const std::lock_guard lock(mutex_);
  Waiting& begun = waiting_.emplace_front(Waiting{this, comp.p_impl, user_context, {}, {}});
  begun.self = waiting_.begin();
  count_.fetch_add(1, std::memory_order_relaxed);
  return &begun;
}

void NetworkEnds::abandon(void* begun) noexcept {
  const std::lock_guard lock(mutex_);
  waiting_.erase(static_cast<Waiting*>(begun)->self);
  count_.fetch_sub(1, std::memory_order_relaxed);
}

void NetworkEnds::signal(status_t status) {
  {
    const std::lock_guard lock(mutex_);
    auto* const ended = static_cast<Waiting*>(status.user_context);
    ended->status = status;
    ended->status.user_context = ended->user_context;
    ended_.push_back(ended);
    any_.store(true, std::memory_order_release);
  }
  notify_waiters();
}

void NetworkEnds::tell(const weft::Runtime& runtime) {
  // Not those of operations that the objects post now.
  std::size_t left = [this] {
    const std::lock_guard lock(mutex_);
    return ended_.size();
  }();
  for (; left != 0; --left) {
    comp_impl_t* comp = nullptr;
    status_t status;
    {
      const std::lock_guard lock(mutex_);
      any_.store(ended_.size() > 1, std::memory_order_relaxed);
      if (ended_.empty()) return;
      Waiting& first = *ended_.front();
      ended_.pop_front();
      comp = first.comp;
      status = first.status;
      waiting_.erase(first.self);
      count_.fetch_sub(1, std::memory_order_relaxed);
    }
    if (comp == nullptr) continue;
    if (status.is_done() && runtime.has_failed(status.rank)) {
      std::fprintf(stderr, "lci: rank %d has failed before it was known that %zu bytes have reached it\n",
                   status.rank, status.size);
      status.error = errorcode_t::fatal;
    }
    comp->signal(status);
  }
}

void NetworkEnds::forget(const comp_impl_t& object) noexcept {
  if (count_.load(std::memory_order_relaxed) == 0) return;
  const std::lock_guard lock(mutex_);
  for (Waiting& each : waiting_)
    if (each.comp == &object) each.comp = nullptr;
}

}  // namespace lci
