// The records of a matching engine, and the memory of its unexpected messages.
#pragma once

#include "core/matching/table/match_record.hpp"
#include "core/matching/table/record_pool.hpp"
#include "core/matching/table/unexpected_message.hpp"

#include <algorithm>
#include <cstdint>
#include <span>

namespace weft::core {

class MatchStorage {
 public:
  MatchStorage(std::uint32_t limit, bool serial)
      : records_(limit, serial),
        unexpected_(limit, serial),
        blocks_(std::min(limit, kMaxBlocks), serial, RecordPool<UnexpectedBlock>::Idle::unreachable) {}

  [[nodiscard]] RecordPool<MatchRecord>& records() noexcept { return records_; }
  [[nodiscard]] const RecordPool<MatchRecord>& records() const noexcept { return records_; }
  [[nodiscard]] RecordPool<Unexpected>& unexpected() noexcept { return unexpected_; }
  [[nodiscard]] RecordPool<UnexpectedBlock>& blocks() noexcept { return blocks_; }

  /// Returns a record for a message, or nullptr.
  [[nodiscard]] MatchRecord* take_unexpected() noexcept {
    Unexpected* unexpected = unexpected_.take();
    if (unexpected == nullptr) return nullptr;
    MatchRecord* record = records_.take();
    if (record == nullptr)
      unexpected_.release(*unexpected);
    else
      set_unexpected(*record, *unexpected);
    return record;
  }
  /// Makes a record that of an unexpected message.
  static void set_unexpected(MatchRecord& record, Unexpected& unexpected) noexcept {
    record.unexpected = &unexpected;
  }
  /// Returns the record of a receive, ready to be posted; nullptr when the fast path does not apply; the
  /// caller then falls back to records().take(). Locking: NoLock when the engine is serial, else TryLock.
  template <class Locking>
  [[nodiscard, gnu::always_inline]] inline MatchRecord* take_receive(std::span<std::byte> buffer,
                                                                     Completion* completion,
                                                                     void* user_data) noexcept {
    MatchRecord* const record = records_.try_take<Locking::kExclusive>();
    if (record == nullptr) [[unlikely]]
      return nullptr;
    record->buffer = buffer;
    record->completion = completion;
    record->user_data = user_data;
    return record;
  }
  /// Releases the record of a receive; handles that name it become invalid.
  void release_receive(MatchRecord& record) noexcept { records_.release(record); }
  /// Releases any record.
  void release(MatchRecord& record) noexcept {
    if (record.unexpected != nullptr) {
      if (UnexpectedBlock* const block = record.unexpected->take_block(); block != nullptr)
        blocks_.release(*block);
      record.unexpected->drop_held();
      unexpected_.release(*record.unexpected);
      record.unexpected = nullptr;
    }
    records_.release(record);
  }

 private:
  static constexpr std::uint32_t kMaxBlocks = 65536;  // further payloads wait in packets

  RecordPool<MatchRecord> records_;
  RecordPool<Unexpected> unexpected_;
  RecordPool<UnexpectedBlock> blocks_;
};

}  // namespace weft::core
