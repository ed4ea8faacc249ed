// The path of a worker's reads from text to the receivers.
#pragma once

#include "count/exchange.hpp"
#include "count/receiver.hpp"
#include "count/super_kmer.hpp"
#include "input/read_source.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace kmer {

/// Numbering of shards: shard s belongs to receiver s / per_receiver.
struct ShardMap {
  std::uint32_t per_receiver;
  std::uint32_t total;
};

/// Sink of a RecordParser: cuts pieces into super-k-mers and sends each to the receiver of its shard. One per
/// worker.
class Sender {
 public:
  /// `wanted`: for each receiver, whether it takes part in this pass.
  Sender(Port& port, int k, bool skip_ends, const ShardMap& shards, std::vector<bool> wanted)
      : port_(port),
        k_(k),
        splitter_(k, shards.total, skip_ends),
        per_receiver_(shards.per_receiver),
        wanted_(std::move(wanted)) {}

  void read() {
    ++reads_;
    // A worker that parses without filling buffers must also serve.
    if (reads_ % kReadsPerServe == 0) port_.serve();
  }
  void piece(const Piece& piece) {
    longest_ = std::max<std::uint64_t>(longest_, piece.size);
    splitter_.split(piece, [this](const SuperKmer& run) { send(run); });
  }

  [[nodiscard]] std::uint64_t reads() const noexcept { return reads_; }
  /// The longest piece: the longest read, if reads fit into one piece.
  [[nodiscard]] std::uint64_t longest() const noexcept { return longest_; }
  [[nodiscard]] std::uint64_t kmers() const noexcept { return kmers_; }
  [[nodiscard]] std::uint64_t super_kmers() const noexcept { return super_kmers_; }

 private:
  static constexpr std::uint64_t kReadsPerServe = 64;

  void send(const SuperKmer& run) {
    ++super_kmers_;
    kmers_ += run.kmers;
    const std::uint32_t receiver = run.shard / per_receiver_;
    if (!wanted_[receiver]) return;
    const std::uint32_t shard = run.shard % per_receiver_;
    const std::size_t size = kRecordHeader + run_bytes(k_, run.kmers);
    std::uint8_t* record = port_.room(static_cast<int>(receiver), size);
    record[0] = static_cast<std::uint8_t>(shard);
    record[1] = static_cast<std::uint8_t>(shard >> 8);
    record[2] = static_cast<std::uint8_t>(run.kmers - 1);
    copy_bases(run.packed, run.first, static_cast<std::size_t>(k_) + run.kmers - 1, record + kRecordHeader);
    port_.commit(static_cast<int>(receiver), size);
  }

  Port& port_;
  int k_;
  Splitter splitter_;
  std::uint32_t per_receiver_;
  std::vector<bool> wanted_;
  std::uint64_t reads_ = 0;
  std::uint64_t longest_ = 0;
  std::uint64_t kmers_ = 0;
  std::uint64_t super_kmers_ = 0;
};

}  // namespace kmer
