// Lists of records that step() has to continue.
#pragma once

#include "concurrent/mpsc_list.hpp"

#include <atomic>
#include <cstddef>
#include <cstdint>

namespace weft::core {

/// The result of one step of a record.
enum class Step : std::uint8_t { idle, moved, finished };

/// Records linked through Record::next. Any thread may call add(); one thread at a time may call run().
/// `count` is the number of records in all lists of an owner, which raises it before add().
template <class Record>
class WorkList {
 public:
  void add(Record& record) noexcept { ready_.put(record); }

  /// Advances every record by one step; those that have finished leave the list. Returns how many moved.
  template <class Advance>
  std::size_t run(std::atomic<std::uint32_t>& count, const Advance& advance) noexcept {
    take_in();
    std::size_t moved = 0;
    for (Record** link = &active_; *link != nullptr;) {
      Record* record = *link;
      Record* next = record->next;  // a finished record may belong to another thread
      const Step result = advance(*record);
      moved += result == Step::idle ? 0 : 1;
      if (result == Step::finished) {
        while (*link != record) link = &(*link)->next;  // the step may have taken others in, in front
        *link = next;
        count.fetch_sub(1, std::memory_order_relaxed);
      } else {
        link = &record->next;
      }
    }
    return moved;
  }

  /// Calls visit(record) for all records. Only for the thread that may call run().
  template <class Visit>
  void for_each(const Visit& visit) noexcept {
    take_in();
    for (Record* record = active_; record != nullptr; record = record->next) visit(*record);
  }

 private:
  void take_in() noexcept {
    for (Record* record = ready_.take_all(); record != nullptr;) {
      Record* next = record->next;
      record->next = active_;
      active_ = record;
      record = next;
    }
  }

  concurrent::MpscList<Record> ready_;
  Record* active_ = nullptr;  // owned by run()
};

}  // namespace weft::core
