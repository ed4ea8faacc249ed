#include "network_ends.hpp"

#include <bit>
#include <cstdio>

#include "process_list.hpp"

namespace lci {

std::atomic<bool> WaitingEnds::are_used_{false};

WaitingEnds::~WaitingEnds() {
  for (const std::atomic<WaitingEnd*>& block : blocks_) delete[] block.load(std::memory_order_relaxed);
}

WaitingEnd& WaitingEnds::at(std::uint32_t index) const noexcept {
  const std::uint32_t block = static_cast<std::uint32_t>(std::bit_width(index / kFirstBlock + 1)) - 1;
  return blocks_[block].load(std::memory_order_acquire)[index - (size_of(block) - kFirstBlock)];
}

WaitingEnd* WaitingEnds::take_unused() noexcept {
  // Acquire: pairs with the release in give_back().
  std::uint64_t seen = unused_.load(std::memory_order_acquire);
  for (;;) {
    const auto first = static_cast<std::uint32_t>(seen);
    if (first == 0) return nullptr;
    WaitingEnd& record = at(first - 1);
    const std::uint64_t next = ((seen >> 32) + 1) << 32 | record.next_unused.load(std::memory_order_relaxed);
    if (unused_.compare_exchange_weak(seen, next, std::memory_order_acquire)) return &record;
  }
}

WaitingEnd& WaitingEnds::take() {
  for (;;) {
    if (WaitingEnd* const record = take_unused(); record != nullptr) [[likely]]
      return *record;
    grow();
  }
}

void WaitingEnds::give_back(WaitingEnd& record) noexcept {
  std::uint64_t seen = unused_.load(std::memory_order_relaxed);
  do record.next_unused.store(static_cast<std::uint32_t>(seen), std::memory_order_relaxed);
  while (!unused_.compare_exchange_weak(seen, ((seen >> 32) + 1) << 32 | (record.index + 1),
                                        std::memory_order_release, std::memory_order_relaxed));
}

void WaitingEnds::grow() {
  const std::lock_guard lock(growing_);
  if (static_cast<std::uint32_t>(unused_.load(std::memory_order_relaxed)) != 0) return;
  std::uint32_t block = 0;
  while (block < blocks_.size() && blocks_[block].load(std::memory_order_relaxed) != nullptr) ++block;
  if (block == blocks_.size())
    refuse(std::to_string(size_of(block) - kFirstBlock) +
           " operations with comp_semantic_t::network are under way: there is room for no more");
  auto* const made = new WaitingEnd[size_of(block)];
  for (std::uint32_t at = 0; at < size_of(block); ++at) made[at].index = size_of(block) - kFirstBlock + at;
  are_used_.store(true, std::memory_order_relaxed);
  blocks_[block].store(made, std::memory_order_release);
  for (std::uint32_t at = size_of(block); at != 0; --at) give_back(made[at - 1]);
}

NetworkEnds::NetworkEnds() : OwnCompletion(comp_attr_t()) {
  attr.comp_type = attr_comp_type_t::handler;
  attach(*this);
  auto& process = ProcessList<NetworkEnds>::get();
  const std::lock_guard lock(process.mutex);
  process.all.push_back(this);
}

NetworkEnds::~NetworkEnds() {
  retire();
  auto& process = ProcessList<NetworkEnds>::get();
  const std::lock_guard lock(process.mutex);
  std::erase(process.all, this);
}

void* NetworkEnds::begin(const comp_t& comp, void* user_context) {
  WaitingEnd& begun = records_.take();
  begun.comp.store(comp.p_impl, std::memory_order_relaxed);
  begun.user_context = user_context;
  return &begun;
}

void NetworkEnds::abandon(void* begun) noexcept {
  auto& record = *static_cast<WaitingEnd*>(begun);
  record.comp.store(nullptr, std::memory_order_relaxed);
  records_.give_back(record);
}

void NetworkEnds::signal(status_t status) {
  auto& ended = *static_cast<WaitingEnd*>(status.user_context);
  ended.status = status;
  ended.status.user_context = ended.user_context;
  ended.next = ended_.load(std::memory_order_relaxed);
  // Pairs with the acquire in signal_ended().
  while (
      !ended_.compare_exchange_weak(ended.next, &ended, std::memory_order_release, std::memory_order_relaxed))
    continue;
  notify_waiters();
}

void NetworkEnds::signal_ended(const weft::Runtime& runtime) {
  // Not those of operations that the objects post now.
  WaitingEnd* last = ended_.exchange(nullptr, std::memory_order_acquire);
  WaitingEnd* first = nullptr;
  while (last != nullptr) first = std::exchange(last, std::exchange(last->next, first));
  while (first != nullptr) signal_one(*std::exchange(first, first->next), runtime);
}

void NetworkEnds::signal_one(WaitingEnd& ended, const weft::Runtime& runtime) {
  comp_impl_t* const comp = ended.comp.exchange(nullptr, std::memory_order_relaxed);
  status_t status = ended.status;
  records_.give_back(ended);
  if (comp == nullptr) return;
  if (status.is_done() && runtime.has_failed(status.rank)) {
    std::fprintf(stderr, "lci: rank %d has failed before it was known that %zu bytes have reached it\n",
                 status.rank, status.size);
    status.error = errorcode_t::fatal;
  }
  comp->signal(status);
}

void NetworkEnds::forget(const comp_impl_t& object) noexcept {
  if (!WaitingEnds::are_used()) return;
  auto& process = ProcessList<NetworkEnds>::get();
  const std::lock_guard lock(process.mutex);
  for (NetworkEnds* const each : process.all)
    each->records_.for_each([&object](WaitingEnd& record) {
      auto* waiting = const_cast<comp_impl_t*>(&object);
      record.comp.compare_exchange_strong(waiting, nullptr, std::memory_order_relaxed);
    });
}

}  // namespace lci
