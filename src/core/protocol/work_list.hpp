// Records that step() has to continue.
#pragma once

#include "concurrent/intake.hpp"

#include <atomic>
#include <cstddef>
#include <cstdint>

namespace weft::core {

/// What one step of a record did.
enum class Step : std::uint8_t { idle, moved, finished };

/// Records linked through Record::next: any thread adds, one thread at a time runs. `count`: of the records
/// in all lists of an owner, who raises it before add().
template <class Record>
class WorkList {
 public:
  void add(Record& record) noexcept { ready_.put(record); }

  /// Advances every record by one step; those that have finished leave the list. Returns how many moved.
  template <class Advance>
  std::size_t run(std::atomic<std::uint32_t>& count, const Advance& advance) noexcept {
    for (Record* record = ready_.take_all(); record != nullptr;) {
      Record* next = record->next;
      record->next = active_;
      active_ = record;
      record = next;
    }
    std::size_t moved = 0;
    for (Record** link = &active_; *link != nullptr;) {
      Record* record = *link;
      Record* next = record->next;  // a finished record belongs to somebody else
      const Step result = advance(*record);
      moved += result == Step::idle ? 0 : 1;
      if (result == Step::finished) {
        *link = next;
        count.fetch_sub(1, std::memory_order_relaxed);
      } else {
        link = &record->next;
      }
    }
    return moved;
  }

 private:
  concurrent::Intake<Record> ready_;
  Record* active_ = nullptr;  // owned by run()
};

}  // namespace weft::core
