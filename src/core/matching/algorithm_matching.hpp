// The receives and messages of an ordered engine whose matching algorithm is the user's.
#pragma once

#include "core/matching/table/match_record.hpp"

#include <weft/matching/algorithm.hpp>

#include <cstdint>
#include <memory>

namespace weft::core {

/// Keeps beside the algorithm a list of all that waits, in order, for everything that is not matching:
/// diagnosis, failed peers, the end. Guarded by the lock of the engine's order.
class AlgorithmMatching {
 public:
  /// Calls the algorithm's reserve(), which may throw.
  AlgorithmMatching(std::uint16_t engine, std::shared_ptr<MatchingAlgorithm> algorithm,
                    RecordPool<MatchRecord>& records, int ranks);

  [[nodiscard]] const std::shared_ptr<MatchingAlgorithm>& algorithm() const noexcept { return algorithm_; }

  /// Unlinks and returns the receive that a message matches, or returns nullptr.
  [[nodiscard]] MatchRecord* take_receive(const MatchKey& message, std::uint32_t& depth) noexcept;
  void add_message(MatchRecord& message, const MatchKey& key) noexcept;
  /// Unlinks and returns the message that a receive matches, or returns nullptr.
  [[nodiscard]] MatchRecord* take_message(const MatchKey& receive, std::uint64_t tag_mask,
                                          std::uint32_t& depth) noexcept;
  void add_receive(MatchRecord& receive, const MatchKey& key, std::uint64_t tag_mask,
                   std::uint64_t order) noexcept;
  /// Returns the message that a receive would match, or nullptr.
  [[nodiscard]] MatchRecord* find_message(const MatchKey& receive, std::uint64_t tag_mask) noexcept;
  /// Unlinks a record that waits.
  void remove(MatchRecord& record) noexcept;

  [[nodiscard]] const RecordList& receives() const noexcept { return receives_; }
  [[nodiscard]] const RecordList& messages() const noexcept { return messages_; }
  /// Forgets all that waits, which the caller has taken over; the algorithm is not told, and not used again.
  void forget_all() noexcept { receives_ = messages_ = {}; }

 private:
  [[nodiscard]] MatchRecord* waiting(MatchingAlgorithm::Found found, MatchSide side,
                                     const char* function) noexcept;
  void unlink(RecordList& list, MatchRecord& record) noexcept;

  const std::uint16_t engine_;
  const std::shared_ptr<MatchingAlgorithm> algorithm_;
  RecordPool<MatchRecord>& records_;
  RecordList receives_;  // in the order of posting
  RecordList messages_;  // in the order of arrival
};

}  // namespace weft::core
