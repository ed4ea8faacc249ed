#include "core/completion/exposures.hpp"
#include "base/refuse.hpp"

#include <weft/error.hpp>

#include <algorithm>
#include <cstdlib>
#include <string>

namespace weft::detail {

Exposures::Exposures(network::Network& network, std::function<void()> quiesce)
    : network_(network),
      quiesce_(std::move(quiesce)),
      entries_(static_cast<Entry*>(std::calloc(kEntries, sizeof(Entry)))),
      generations_(static_cast<std::atomic<std::uint16_t>*>(std::calloc(kEntries, sizeof *generations_))),
      late_(static_cast<std::atomic<std::uint32_t>*>(std::calloc(kEntries, sizeof *late_))) {
  if (entries_ == nullptr || generations_ == nullptr || late_ == nullptr)
    throw Error(ErrorClass::no_memory, "cannot allocate the table of exposed completion objects");
  entries_[0].open.store(closed_handle(0), std::memory_order_relaxed);
}

bool Exposures::is_open(std::uint16_t id) const noexcept {
  return entries_[id].open.load(std::memory_order_relaxed) != closed_handle(id);
}

bool Exposures::is_lowest_of(const Completion& completion, std::size_t id) const noexcept {
  std::uint32_t next = completion.first_exposure_.load(std::memory_order_relaxed);
  for (; next != 0; next = entries_[next - 1].next.load(std::memory_order_relaxed))
    if (next - 1 < id) return false;
  return true;
}

std::int32_t Exposures::id_of(const void* completion) const noexcept {
  for (std::size_t id = 0; id < kEntries; ++id)
    if (entries_[id].completion.load(std::memory_order_relaxed) == completion &&
        is_open(static_cast<std::uint16_t>(id)))
      return static_cast<std::int32_t>(id);
  return -1;
}

std::vector<std::uint16_t> Exposures::ids(std::size_t most) {
  std::vector<std::uint16_t> found;
  const std::unique_lock lock(mutex_, std::try_to_lock);
  if (!lock.owns_lock()) return found;
  for (std::size_t id = 0; id < used_ && found.size() < most; ++id)
    if (is_open(static_cast<std::uint16_t>(id))) found.push_back(static_cast<std::uint16_t>(id));
  return found;
}

Exposures::~Exposures() {
  const std::lock_guard lock(mutex_);
  for (std::size_t id = 0; id < used_; ++id) {
    // Objects may outlive the runtime: they must not find this table any more.
    if (!is_open(static_cast<std::uint16_t>(id))) continue;
    Completion* completion = entries_[id].completion.load(std::memory_order_relaxed);
    // Peers learn at the first post that the object is not exposed any more.
    network_.publish_handle(static_cast<std::uint16_t>(id), generations_[id].load(std::memory_order_relaxed),
                            network::HandleState::withdrawn);
    completion->exposures_.store(nullptr, std::memory_order_relaxed);
    completion->first_exposure_.store(0, std::memory_order_relaxed);
  }
  std::free(entries_);
  std::free(generations_);
  std::free(late_);
}

RemoteCompletion Exposures::expose(Completion& completion, std::uint16_t id, std::uint8_t device,
                                   bool drops_late) {
  const std::lock_guard lock(mutex_);
  Entry& entry = entries_[id];
  if (is_open(id) && entry.completion.load(std::memory_order_relaxed) == &completion)
    base::refuse(ErrorClass::target, "expose",
                 "this completion object is exposed already as id " + std::to_string(id) +
                     ": use the handle that the earlier call returned, or withdraw() that first");
  if (is_open(id))
    base::refuse(ErrorClass::target, "expose",
                 "id " + std::to_string(id) + " is in use by another completion object of this runtime");
  Exposures* other = completion.exposures_.load(std::memory_order_relaxed);
  if (other != nullptr && other != this)
    base::refuse(ErrorClass::target, "expose",
                 "the completion object for id " + std::to_string(id) + " is exposed by another runtime");
  const auto generation = static_cast<std::uint16_t>(generations_[id].load(std::memory_order_relaxed) + 1);
  if (generation == 0)
    base::refuse(ErrorClass::target, "expose", "id " + std::to_string(id) + " has been exposed 65535 times");
  used_ = std::max(used_, std::size_t{id} + 1);
  completion.exposures_.store(this, std::memory_order_relaxed);
  entry.completion.store(&completion, std::memory_order_relaxed);
  entry.next.store(completion.first_exposure_.load(std::memory_order_relaxed), std::memory_order_relaxed);
  completion.first_exposure_.store(id + 1U, std::memory_order_relaxed);
  if (drops_late) {
    const std::uint32_t late = late_[id].load(std::memory_order_relaxed);
    const bool continues = generation > 1 && (late & 0xffff) == generation - 1U;
    late_[id].store((continues ? late & 0xffff0000 : std::uint32_t{generation} << 16) | generation,
                    std::memory_order_relaxed);
  }
  const RemoteCompletion remote(id, generation, device);
  // Pairs with the acquire in find().
  entry.open.store(open_handle(remote.bits()), std::memory_order_release);
  // Pairs with the acquire in is_to_come(): a thread that finds that the handle was exposed finds it open.
  generations_[id].store(generation, std::memory_order_release);
  network_.publish_handle(id, generation, network::HandleState::open);
  return remote;
}

void Exposures::close(std::uint16_t id) noexcept {
  entries_[id].open.store(closed_handle(id), std::memory_order_relaxed);
  network_.publish_handle(id, generations_[id].load(std::memory_order_relaxed),
                          network::HandleState::withdrawn);
}

bool Exposures::withdraw(Completion& completion, const RemoteCompletion& handle) noexcept {
  {
    const std::lock_guard lock(mutex_);
    const std::uint16_t id = handle.id();
    if (entries_[id].open.load(std::memory_order_relaxed) != open_handle(handle.bits()) ||
        entries_[id].completion.load(std::memory_order_relaxed) != &completion)
      return false;
    const std::uint32_t after = entries_[id].next.load(std::memory_order_relaxed);
    std::atomic<std::uint32_t>* link = &completion.first_exposure_;
    while (link->load(std::memory_order_relaxed) != id + 1U)
      link = &entries_[link->load(std::memory_order_relaxed) - 1].next;
    link->store(after, std::memory_order_relaxed);
    close(id);
    if (completion.first_exposure_.load(std::memory_order_relaxed) == 0)
      completion.exposures_.store(nullptr, std::memory_order_relaxed);
  }
  quiesce_();
  return true;
}

void Exposures::withdraw(Completion& completion) noexcept {
  {
    const std::lock_guard lock(mutex_);
    for (std::uint32_t next = completion.first_exposure_.load(std::memory_order_relaxed); next != 0;) {
      const auto id = static_cast<std::uint16_t>(next - 1);
      next = entries_[id].next.load(std::memory_order_relaxed);
      close(id);
    }
    completion.first_exposure_.store(0, std::memory_order_relaxed);
    completion.exposures_.store(nullptr, std::memory_order_relaxed);
  }
  quiesce_();
}

bool Exposures::stop_senders(const Completion& completion, bool stop) noexcept {
  const std::unique_lock lock(mutex_, std::try_to_lock);
  if (!lock.owns_lock()) return false;
  for (std::uint32_t next = completion.first_exposure_.load(std::memory_order_relaxed); next != 0;) {
    const auto id = static_cast<std::uint16_t>(next - 1);
    network_.publish_handle(id, generations_[id].load(std::memory_order_relaxed),
                            stop ? network::HandleState::stopped : network::HandleState::open);
    next = entries_[id].next.load(std::memory_order_relaxed);
  }
  return true;
}

}  // namespace weft::detail
