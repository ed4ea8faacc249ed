// Receives the super-k-mers of the shards that one thread owns.
#pragma once

#include "count/run_store.hpp"
#include "count/table.hpp"

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <span>
#include <vector>

namespace kmer {

/// A super-k-mer in a message: shard (of the receiver), number of k-mers less one, packed bases.
inline constexpr std::size_t kRecordHeader = 3;
inline constexpr std::size_t kLargestRecord = kRecordHeader + run_bytes(kLongest, kLongestRun);

/// Keeps all records while they fit into `memory` bytes: then both passes run over the kept runs, shard by
/// shard and in cache. When they do not fit, the receiver spills: pass 1 goes on with the records so far,
/// nothing is kept, and the input must be read and sent a second time. One thread at a time.
template <int Words>
class Receiver {
 public:
  struct Shard {
    RunStore runs;
    std::unique_ptr<ShardCounter<Words>> counter;  // set once the receiver has spilled
  };

  /// `expected_keys`: an estimate of the distinct k-mers of one shard, for the Bloom filters of a receiver
  /// that spills.
  Receiver(int k, std::size_t shards, const BloomPlan& plan, std::size_t memory, std::uint64_t expected_keys)
      : k_(k),
        plan_(plan),
        chunks_left_(memory / RunStore::kChunkBytes),
        expected_keys_(expected_keys),
        shards_(shards) {}

  /// Takes a message of whole records. Returns false when it is damaged; the rest of it was not taken.
  [[nodiscard]] bool accept(std::span<const std::uint8_t> records) {
    while (!records.empty()) {
      if (records.size() < kRecordHeader) return false;
      const std::size_t shard = records[0] | (std::size_t{records[1]} << 8);
      const std::size_t kmers = std::size_t{records[2]} + 1;
      const std::size_t bytes = run_bytes(k_, kmers);
      if (shard >= shards_.size() || records.size() < kRecordHeader + bytes) return false;
      take(shards_[shard], kmers, records.data() + kRecordHeader, bytes);
      records = records.subspan(kRecordHeader + bytes);
    }
    return true;
  }

  /// Returns true when the input must be sent again to this receiver.
  [[nodiscard]] bool has_spilled() const noexcept { return has_spilled_; }
  /// Ends a pass: if this receiver has spilled, runs that wait in chunks are marked or tallied.
  void end_pass() {
    if (!has_spilled_) return;
    for (Shard& shard : shards_) drain(shard);
    is_second_pass_ = true;
  }

  /// Counts a shard after the last pass: any thread, one per shard. `scratch` is the calling thread's own.
  void count(std::size_t index, ShardCounter<Words>& scratch, Kept<Words>& kept) {
    Shard& shard = shards_[index];
    if (has_spilled_) {
      if (shard.counter) shard.counter->harvest(kept);
      shard.counter.reset();
    } else if (shard.runs.kmers() != 0) {
      scratch.reset(shard.runs.kmers());
      scratch.mark(shard.runs);
      scratch.tally(shard.runs);
      scratch.harvest(kept);
    }
    shard.runs.release();
  }
  [[nodiscard]] std::size_t shards() const noexcept { return shards_.size(); }

 private:
  void take(Shard& shard, std::size_t kmers, const std::uint8_t* packed, std::size_t bytes) {
    if (!shard.runs.has_room(bytes)) make_room(shard);
    shard.runs.append(kmers, packed, bytes);
  }

  void make_room(Shard& shard) {
    if (!has_spilled_) {
      if (chunks_left_ > 0) {
        --chunks_left_;
        shard.runs.add_chunk();
        return;
      }
      has_spilled_ = true;
      for (Shard& each : shards_) drain(each);
    } else {
      drain(shard);
    }
    if (!shard.runs.has_room(0)) shard.runs.add_chunk();
  }

  /// Runs the current pass over the runs of the shard at once, so that its part of the filter and table stays
  /// in cache.
  void drain(Shard& shard) {
    if (shard.runs.kmers() == 0) return;
    if (!shard.counter) {
      shard.counter = std::make_unique<ShardCounter<Words>>(k_, plan_);
      shard.counter->reset(expected_keys_);
    }
    if (is_second_pass_)
      shard.counter->tally(shard.runs);
    else
      shard.counter->mark(shard.runs);
    shard.runs.clear();
  }

  int k_;
  BloomPlan plan_;
  std::size_t chunks_left_;
  std::uint64_t expected_keys_;
  std::vector<Shard> shards_;
  bool has_spilled_ = false;
  bool is_second_pass_ = false;
};

}  // namespace kmer
