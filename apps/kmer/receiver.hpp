// Takes the super-k-mers of the shards that one thread owns.
#pragma once

#include "run_store.hpp"
#include "table.hpp"

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

/// Keeps everything while that fits `memory` bytes: then both passes run over the kept runs, shard by shard
/// and in cache. When it does not fit, the receiver spills: pass 1 goes on with what has come so far, nothing
/// is kept, and the input must be read and sent a second time. One thread at a time.
template <int Words>
class Receiver {
 public:
  struct Shard {
    RunStore runs;
    std::unique_ptr<ShardCounter<Words>> counter;  // only once spilled
  };

  /// `expected_keys`: a guess of the distinct k-mers of one shard, for the Bloom filters of a receiver that
  /// spills.
  Receiver(int k, std::size_t shards, const BloomPlan& plan, std::size_t memory, std::uint64_t expected_keys)
      : k_(k),
        plan_(plan),
        chunks_left_(memory / RunStore::kChunkBytes),
        expected_keys_(expected_keys),
        shards_(shards) {}

  /// Takes a message of whole records. False: it is damaged, nothing of the rest was taken.
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

  /// Whether the input must be sent again to this receiver.
  [[nodiscard]] bool has_spilled() const noexcept { return has_spilled_; }
  /// Ends a pass: what waits in chunks is marked or tallied if this receiver has spilled.
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

  /// Runs the current pass over what the shard holds, in one go, so that its part of the filter and table
  /// stays in cache.
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
