// Which completion object a handle names.
#pragma once

#include <weft/completion/completion.hpp>

#include "network/network.hpp"

#include <weft/detail/lane.hpp>

#include <atomic>
#include <functional>
#include <memory>
#include <mutex>

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

  /// Throws weft::Error when the id or the object is exposed already.
  RemoteCompletion expose(Completion& completion, std::uint16_t id, std::uint8_t device);
  /// Takes back every handle of `completion`.
  void withdraw(Completion& completion) noexcept;
  /// Sets or clears the stop mark of every handle of `completion`. False without effect when handles are
  /// being exposed or withdrawn at the moment.
  bool stop_senders(const Completion& completion, bool stop) noexcept;

  /// The object that a word from the wire names, or nullptr when it is stale, withdrawn or forged.
  [[nodiscard]] Completion* find(std::uint64_t handle_word) const noexcept {
    const Entry& entry = entries_[handle_word >> 48];
    // Pairs with the release in expose().
    if (entry.open.load(std::memory_order_acquire) != open_handle(handle_word)) [[unlikely]]
      return nullptr;
    return entry.completion.load(std::memory_order_relaxed);
  }

  /// What find() compares with the word's upper half: other than that once the object has been withdrawn.
  [[nodiscard]] const std::atomic<std::uint32_t>& open(std::uint64_t handle_word) const noexcept {
    return entries_[handle_word >> 48].open;
  }

  /// The lowest id under which an object is exposed, or -1. A look at the whole table, for explanations;
  /// `completion` is not followed. Any thread.
  [[nodiscard]] std::int32_t id_of(const void* completion) const noexcept;

  /// Whether a handle has not been exposed yet, so that it may still come.
  [[nodiscard]] bool is_to_come(std::uint64_t handle_word) const noexcept {
    return generations_[handle_word >> 48].load(std::memory_order_acquire) <
           static_cast<std::uint16_t>(handle_word >> 32);
  }

 private:
  [[nodiscard]] bool is_open(std::uint16_t id) const noexcept;

  struct Entry {
    std::atomic<std::uint32_t> open;  // open_handle(), or closed_handle()
    std::atomic<std::uint32_t> next;  // id + 1 of the next handle of the same object
    std::atomic<Completion*> completion;
  };
  static constexpr std::size_t kEntries = 65536;

  network::Network& network_;
  const std::function<void()> quiesce_;
  std::mutex mutex_;
  // Both tables are zero pages until used.
  Entry* entries_;
  std::atomic<std::uint16_t>* generations_;  // of the last exposure of each id
  std::size_t used_ = 0;                     // ids below may have been exposed
};

}  // namespace weft::detail
