#include "core/completion/exposures.hpp"

#include <weft/error.hpp>

#include <cstdlib>
#include <string>

namespace weft::detail {

Exposures::Exposures(network::Network& network, std::function<void()> quiesce)
    : network_(network),
      quiesce_(std::move(quiesce)),
      entries_(static_cast<Entry*>(std::calloc(kEntries, sizeof(Entry)))) {
  if (entries_ == nullptr) throw Error("cannot allocate the table of exposed completion objects");
}

Exposures::~Exposures() {
  const std::lock_guard lock(mutex_);
  for (std::size_t id = 0; id < kEntries; ++id) {
    // Objects may outlive the runtime: they must not find this table any more.
    if ((entries_[id].word.load(std::memory_order_relaxed) & kExposureOpen) == 0) continue;
    Completion* completion = entries_[id].completion.load(std::memory_order_relaxed);
    completion->exposures_.store(nullptr, std::memory_order_relaxed);
    completion->first_exposure_.store(0, std::memory_order_relaxed);
  }
  std::free(entries_);
}

void Exposures::set_word(std::uint16_t id, std::uint32_t word) noexcept {
  // Pairs with the acquire in find().
  entries_[id].word.store(word, std::memory_order_release);
  network_.publish_exposure(id, word);
}

RemoteCompletion Exposures::expose(Completion& completion, std::uint16_t id, std::uint16_t device) {
  const std::lock_guard lock(mutex_);
  Entry& entry = entries_[id];
  const std::uint32_t word = entry.word.load(std::memory_order_relaxed);
  if ((word & kExposureOpen) != 0)
    throw Error("expose: id " + std::to_string(id) + " is in use by another completion object of this runtime");
  Exposures* other = completion.exposures_.load(std::memory_order_relaxed);
  if (other != nullptr && other != this)
    throw Error("expose: the completion object for id " + std::to_string(id) + " is exposed by another runtime");
  const auto generation = static_cast<std::uint16_t>((word >> 16) + 1);
  if (generation == 0) throw Error("expose: id " + std::to_string(id) + " has been exposed 65535 times");
  completion.exposures_.store(this, std::memory_order_relaxed);
  entry.completion.store(&completion, std::memory_order_relaxed);
  entry.next.store(completion.first_exposure_.load(std::memory_order_relaxed), std::memory_order_relaxed);
  completion.first_exposure_.store(id + 1U, std::memory_order_relaxed);
  set_word(id, open_exposure(generation));
  return {id, generation, device};
}

void Exposures::withdraw(Completion& completion) noexcept {
  {
    const std::lock_guard lock(mutex_);
    for (std::uint32_t next = completion.first_exposure_.load(std::memory_order_relaxed); next != 0;) {
      const auto id = static_cast<std::uint16_t>(next - 1);
      next = entries_[id].next.load(std::memory_order_relaxed);
      set_word(id, entries_[id].word.load(std::memory_order_relaxed) & 0xffff0000U);
    }
    completion.first_exposure_.store(0, std::memory_order_relaxed);
    completion.exposures_.store(nullptr, std::memory_order_relaxed);
  }
  quiesce_();
}

void Exposures::stop_senders(const Completion& completion, bool stop) noexcept {
  for (std::uint32_t next = completion.first_exposure_.load(std::memory_order_relaxed); next != 0;) {
    const auto id = static_cast<std::uint16_t>(next - 1);
    const std::uint32_t word = entries_[id].word.load(std::memory_order_relaxed);
    network_.publish_exposure(id, stop ? word | kExposureStopped : word);
    next = entries_[id].next.load(std::memory_order_relaxed);
  }
}

}  // namespace weft::detail
