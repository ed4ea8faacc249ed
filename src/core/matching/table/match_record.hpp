// The records that wait in a matching engine.
#pragma once

#include "core/matching/table/match_link.hpp"
#include "core/matching/table/record_pool.hpp"
#include "core/matching/table/unexpected_message.hpp"

#include <cstddef>
#include <cstdint>
#include <span>

namespace weft {
class Completion;
}  // namespace weft

namespace weft::core {

class MatchingEngine;

/// One posted receive, or one unexpected message. Two cache lines, because thousands of records may be in use
/// at a time. The first line holds what messages need.
struct alignas(128) MatchRecord : MatchLink, PooledRecord {
  Unexpected* unexpected = nullptr;  // of a message, and of a receive that has matched an RTS
  std::span<std::byte> buffer;       // of a receive
  Completion* completion = nullptr;  // of a receive
  void* user_data = nullptr;         // of a receive
  union {
    MatchingEngine* engine = nullptr;  // while it waits for a transfer
    std::uint64_t tag_mask;            // of a receive with wildcards, while it is posted
  };
  MatchRecord* next = nullptr;  // while it waits for a transfer, and in a RecordList
  // For ordered engines:
  MatchRecord* previous = nullptr;  // in a RecordList
  std::uint64_t order = 0;          // of a receive: number of its post; of a held message: its number

  /// Returns true when a waiting record is that of a receive.
  [[nodiscard]] bool is_receive() const noexcept { return unexpected == nullptr; }
};

static_assert(sizeof(MatchRecord) == 128);

/// A number for this use of the record.
[[nodiscard]] inline std::uint64_t identity_of(const MatchRecord& record) noexcept {
  return std::uint64_t{record.generation()} << 32 | record.index();
}

/// An ordered list of records, through next and previous. A record is in one list at most.
class RecordList {
 public:
  [[nodiscard]] MatchRecord* first() const noexcept { return first_; }
  [[nodiscard]] MatchRecord* last() const noexcept { return last_; }

  void append(MatchRecord& record) noexcept { insert_behind(last_, record); }
  /// Inserts the record behind `before`; null: as the first.
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
