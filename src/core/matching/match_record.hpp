// What waits in a matching engine.
#pragma once

#include "core/matching/match_link.hpp"
#include "core/matching/record_pool.hpp"
#include "core/matching/unexpected.hpp"

#include <cstddef>
#include <cstdint>
#include <span>

namespace weft {
class Completion;
}  // namespace weft

namespace weft::core {

class MatchingEngine;

/// One posted receive, or one message that came before its receive.
/// Two lines, because thousands of them may be in use at a time.
/// What messages need is in the first.
struct alignas(128) MatchRecord : MatchLink, PooledRecord {
  Unexpected* unexpected = nullptr;  // of a message, and of a receive that has met an announcement
  std::span<std::byte> buffer;       // of a receive
  Completion* completion = nullptr;  // likewise
  void* user_data = nullptr;         // likewise
  MatchingEngine* engine = nullptr;  // while it waits for a transfer
  MatchRecord* next = nullptr;       // likewise, and in a RecordList
  // Of ordered engines.
  MatchRecord* previous = nullptr;  // in a RecordList
  std::uint64_t order = 0;          // of a receive: of its post; of a message that is held: its number

  /// Of a record that waits: whether it is that of a receive.
  [[nodiscard]] bool is_receive() const noexcept { return unexpected == nullptr; }
};

static_assert(sizeof(MatchRecord) == 128);

/// Records in an order, through next and previous. A record is in one list at most.
class RecordList {
 public:
  [[nodiscard]] MatchRecord* first() const noexcept { return first_; }
  [[nodiscard]] MatchRecord* last() const noexcept { return last_; }

  void append(MatchRecord& record) noexcept { insert_behind(last_, record); }
  /// `before`: null: as the first.
  void insert_behind(MatchRecord* before, MatchRecord& record) noexcept {
    MatchRecord* const after = before != nullptr ? before->next : first_;
    record.previous = before;
    record.next = after;
    (before != nullptr ? before->next : first_) = &record;
    (after != nullptr ? after->previous : last_) = &record;
  }
  void remove(MatchRecord& record) noexcept {
    (record.previous != nullptr ? record.previous->next : first_) = record.next;
    (record.next != nullptr ? record.next->previous : last_) = record.previous;
  }

 private:
  MatchRecord* first_ = nullptr;
  MatchRecord* last_ = nullptr;
};

}  // namespace weft::core
