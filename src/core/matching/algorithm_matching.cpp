#include "core/matching/algorithm_matching.hpp"

#include "base/end_program.hpp"

#include <weft/options.hpp>

#include <string>
#include <utility>

namespace weft::core {

namespace {

MatchEnvelope envelope_of(const MatchKey& message) noexcept {
  return {static_cast<int>(message.source), message.tag};
}

MatchPattern pattern_of(const MatchKey& receive, std::uint64_t tag_mask) noexcept {
  // any_source, which is -1, as well.
  return {static_cast<int>(receive.source), receive.tag, tag_mask};
}

}  // namespace

AlgorithmMatching::AlgorithmMatching(std::uint16_t engine, std::shared_ptr<MatchingAlgorithm> algorithm,
                                     RecordPool<MatchRecord>& records, int ranks)
    : engine_(engine), algorithm_(std::move(algorithm)), records_(records) {
  algorithm_->reserve(records.capacity(), ranks);
}

/// Returns the record that the algorithm has found. An algorithm that names something else would corrupt
/// records of other operations: the process ends with a line that says so.
MatchRecord* AlgorithmMatching::waiting(MatchingAlgorithm::Found found, MatchSide side,
                                        const char* function) noexcept {
  if (found.item == MatchingAlgorithm::kNone) return nullptr;
  MatchRecord* const record = records_.find(found.item);
  if (record == nullptr || !record->waits_elsewhere() ||
      record->is_receive() != (side == MatchSide::posted)) {
    const char* const wanted = side == MatchSide::posted ? "receive" : "message";
    base::end_program("the algorithm of matching engine " + std::to_string(engine_) +
                      " is wrong: " + function + " returned item " + std::to_string(found.item) +
                      ", which is not a " + wanted + " that waits");
  }
  return record;
}

void AlgorithmMatching::unlink(RecordList& list, MatchRecord& record) noexcept {
  list.remove(record);
  record.set_waits_elsewhere(false);
  record.order = 0;
}

MatchRecord* AlgorithmMatching::take_receive(const MatchKey& message, std::uint32_t& depth) noexcept {
  const MatchingAlgorithm::Found found = algorithm_->take_receive(envelope_of(message));
  depth += found.depth;
  MatchRecord* const receive = waiting(found, MatchSide::posted, "take_receive()");
  if (receive != nullptr) unlink(receives_, *receive);
  return receive;
}

void AlgorithmMatching::add_message(MatchRecord& message, const MatchKey& key) noexcept {
  message.set_key(key);
  messages_.append(message);
  message.set_waits_elsewhere(true);
  algorithm_->add_message(message.index(), envelope_of(key));
}

MatchRecord* AlgorithmMatching::take_message(const MatchKey& receive, std::uint64_t tag_mask,
                                             std::uint32_t& depth) noexcept {
  const MatchingAlgorithm::Found found = algorithm_->take_message(pattern_of(receive, tag_mask));
  depth += found.depth;
  MatchRecord* const message = waiting(found, MatchSide::unexpected, "take_message()");
  if (message != nullptr) unlink(messages_, *message);
  return message;
}

void AlgorithmMatching::add_receive(MatchRecord& receive, const MatchKey& key, std::uint64_t tag_mask,
                                    std::uint64_t order) noexcept {
  receive.set_key(key);
  receive.order = order;
  receive.tag_mask = tag_mask;
  receives_.append(receive);
  receive.set_waits_elsewhere(true);
  algorithm_->add_receive(receive.index(), pattern_of(key, tag_mask));
}

MatchRecord* AlgorithmMatching::find_message(const MatchKey& receive, std::uint64_t tag_mask) noexcept {
  const auto& algorithm = std::as_const(*algorithm_);
  return waiting(algorithm.find_message(pattern_of(receive, tag_mask)), MatchSide::unexpected,
                 "find_message()");
}

void AlgorithmMatching::remove(MatchRecord& record) noexcept {
  if (record.is_receive()) {
    algorithm_->remove_receive(record.index());
    unlink(receives_, record);
  } else {
    algorithm_->remove_message(record.index());
    unlink(messages_, record);
  }
}

}  // namespace weft::core
