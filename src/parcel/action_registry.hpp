// The actions of this program, and the numbers that the ranks agree on for them.
#pragma once

#include <weft/parcel/action.hpp>
#include <weft/parcel/parcelport.hpp>

#include <atomic>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace weft::parcel {

/// The actions of one runtime: those that were known when it started.
class ActionTable {
 public:
  ActionTable();
  ~ActionTable();
  ActionTable(const ActionTable&) = delete;
  ActionTable& operator=(const ActionTable&) = delete;

  /// Numbers the actions by their names, beginning with 1, and compares the names with those of all ranks.
  /// Collective, before all others. Throws weft::Error with the names that differ.
  void agree(Parcelport& port);

  /// By ActionEntry::index(). 0: the action was not known then. Any thread.
  [[nodiscard]] std::uint32_t number_at(std::uint32_t index) const noexcept {
    return index < numbers_.size() ? numbers_[index] : 0;
  }
  /// nullptr: no action has this number, or its library has been unloaded. Any thread.
  [[nodiscard]] const detail::ActionEntry* find(std::uint32_t number) const noexcept {
    return number <= last_number_ ? by_number_[number].load(std::memory_order_acquire) : nullptr;
  }
  /// The action's library is being unloaded.
  void forget(const detail::ActionEntry& entry) noexcept;

 private:
  std::vector<std::uint32_t> numbers_;  // by index
  std::uint32_t last_number_ = 0;
  // From 0, which is none.
  std::unique_ptr<std::atomic<const detail::ActionEntry*>[]> by_number_ =
      std::make_unique<std::atomic<const detail::ActionEntry*>[]>(1);
};

/// The text that names the differences between the sorted names of two ranks; empty when there are none.
[[nodiscard]] std::string differences(const std::vector<std::string>& mine,
                                      const std::vector<std::string>& theirs, int their_rank);
/// The name of an action for messages.
[[nodiscard]] std::string name_of(const detail::ActionEntry& entry);

/// An action as it is compared: `library` is the file that it comes from.
struct NamedAction {
  std::string name;
  std::string library;
};
/// What the ranks call each of the actions, which are in the order of their registration. Names that several
/// have get their library's file, and a number where it has several: one file always registers them in the
/// same order, but files may be loaded in any.
[[nodiscard]] std::vector<std::string> distinct_names(const std::vector<NamedAction>& actions);

}  // namespace weft::parcel
