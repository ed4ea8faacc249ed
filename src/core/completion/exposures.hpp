// The table that maps handles to completion objects.
#pragma once

#include <weft/completion/completion.hpp>

#include "network/network.hpp"

#include <weft/detail/lane.hpp>

#include <atomic>
#include <functional>
#include <memory>
#include <mutex>
#include <vector>

namespace weft::detail {

/// The table of exposed completion objects of a runtime, by id. Looking up is wait-free; exposing and
/// withdrawing are set-up and may wait.
class Exposures {
 public:
  /// `quiesce` returns once no delivery that began before is running in another thread.
  Exposures(network::Network& network, std::function<void()> quiesce);
  ~Exposures();
  Exposures(const Exposures&) = delete;
  Exposures& operator=(const Exposures&) = delete;

  /// Throws weft::Error when the id or the object is exposed already. `drops_late`: see ExposeOptions.
  RemoteCompletion expose(Completion& completion, std::uint16_t id, std::uint8_t device,
                          bool drops_late = false);
  /// Withdraws every handle of `completion`.
  void withdraw(Completion& completion) noexcept;
  /// Withdraws one handle of `completion`. Returns false, without effect, when it does not name the object.
  bool withdraw(Completion& completion, const RemoteCompletion& handle) noexcept;
  /// Sets or clears the stop mark of every handle of `completion`. Returns false, without effect, while
  /// handles are being exposed or withdrawn.
  bool stop_senders(const Completion& completion, bool stop) noexcept;

  /// Returns the object that a word from the wire names, or nullptr when the word is stale, withdrawn or
  /// forged.
  [[nodiscard]] Completion* find(std::uint64_t handle_word) const noexcept {
    const Entry& entry = entries_[handle_word >> 48];
    // Pairs with the release in expose().
    if (entry.open.load(std::memory_order_acquire) != open_handle(handle_word)) [[unlikely]]
      return nullptr;
    return entry.completion.load(std::memory_order_relaxed);
  }

  /// The value that find() compares with the word's upper half: it differs once the object has been
  /// withdrawn.
  [[nodiscard]] const std::atomic<std::uint32_t>& open(std::uint64_t handle_word) const noexcept {
    return entries_[handle_word >> 48].open;
  }

  /// Returns the lowest id under which an object is exposed, or -1. Searches the whole table, for
  /// explanations; `completion` is not dereferenced. Any thread.
  [[nodiscard]] std::int32_t id_of(const void* completion) const noexcept;

  /// Calls visit(id, object) for each exposed object, by the lowest of its ids; the object is not destroyed
  /// meanwhile. For explanations; returns false, without effect, while handles are being exposed or
  /// withdrawn.
  template <class Visit>
  bool try_for_each(const Visit& visit) {
    // withdraw(), which every object calls before it is destroyed, waits for the lock.
    const std::unique_lock lock(mutex_, std::try_to_lock);
    if (!lock.owns_lock()) return false;
    for (std::size_t id = 0; id < used_; ++id) {
      if (!is_open(static_cast<std::uint16_t>(id))) continue;
      Completion& completion = *entries_[id].completion.load(std::memory_order_relaxed);
      if (is_lowest_of(completion, id)) visit(static_cast<std::uint16_t>(id), completion);
    }
    return true;
  }

  /// Returns the lowest ids under which objects are exposed, `most` at most; none while handles are being
  /// exposed or withdrawn. For explanations.
  [[nodiscard]] std::vector<std::uint16_t> ids(std::size_t most);

  /// Returns true when messages for an object that has been withdrawn are nothing to speak of: the object
  /// was exposed so, and so was every later one under this id that was exposed so. Of earlier ones under the
  /// id, before one that was not, this is forgotten.
  [[nodiscard]] bool drops_late(std::uint64_t handle_word) const noexcept {
    const auto generation = static_cast<std::uint16_t>(handle_word >> 32);
    const std::uint32_t late = late_[handle_word >> 48].load(std::memory_order_relaxed);
    return generation != 0 && generation >= late >> 16 && generation <= (late & 0xffff);
  }

  /// Returns true when a handle has not been exposed yet, so that it may be exposed later.
  [[nodiscard]] bool is_to_come(std::uint64_t handle_word) const noexcept {
    return generations_[handle_word >> 48].load(std::memory_order_acquire) <
           static_cast<std::uint16_t>(handle_word >> 32);
  }

 private:
  /// Closes an entry, and tells the peers.
  void close(std::uint16_t id) noexcept;
  [[nodiscard]] bool is_open(std::uint16_t id) const noexcept;
  [[nodiscard]] bool is_lowest_of(const Completion& completion, std::size_t id) const noexcept;

  struct Entry {
    std::atomic<std::uint32_t> open;  // open_handle(), or closed_handle()
    std::atomic<std::uint32_t> next;  // id + 1 of the next handle of the same object
    std::atomic<Completion*> completion;
  };
  static constexpr std::size_t kEntries = 65536;

  network::Network& network_;
  const std::function<void()> quiesce_;
  std::mutex mutex_;
  // The tables are zero pages until used.
  Entry* entries_;
  std::atomic<std::uint16_t>* generations_;  // of the last exposure of each id
  // The first and the last of the latest generations in a row of which late messages are dropped silently.
  std::atomic<std::uint32_t>* late_;
  std::size_t used_ = 0;  // only ids below this may have been exposed
};

}  // namespace weft::detail
