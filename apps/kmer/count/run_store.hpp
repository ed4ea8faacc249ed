// Received super-k-mers of one shard, packed, in chunks.
#pragma once

#include "count/super_kmer.hpp"
#include "kmer.hpp"

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <utility>
#include <vector>

namespace kmer {

/// A store of runs. Each run is one byte, the number of its k-mers less one, and its packed bases. Used by
/// one thread at a time.
class RunStore {
 public:
  static constexpr std::size_t kChunkBytes = std::size_t{16} << 10;

  /// Returns true when the run fits without another chunk.
  [[nodiscard]] bool has_room(std::size_t bytes) const noexcept {
    return used_ + 1 + bytes <= kChunkBytes && !chunks_.empty();
  }
  /// Opens another chunk; those before it are full.
  void add_chunk() {
    if (!chunks_.empty()) full_.push_back(static_cast<std::uint32_t>(used_));
    chunks_.push_back(std::make_unique_for_overwrite<std::uint8_t[]>(kChunkBytes + kSlack));
    used_ = 0;
  }
  /// Appends a run; has_room(bytes) must hold.
  void append(std::size_t kmers, const std::uint8_t* packed, std::size_t bytes) noexcept {
    std::uint8_t* at = chunks_.back().get() + used_;
    *at = static_cast<std::uint8_t>(kmers - 1);
    std::memcpy(at + 1, packed, bytes);
    used_ += 1 + bytes;
    kmers_ += kmers;
  }
  /// Removes all runs but keeps one chunk.
  void clear() noexcept {
    if (chunks_.size() > 1) chunks_.resize(1);
    full_.clear();
    used_ = 0;
    kmers_ = 0;
  }
  /// Frees all memory.
  void release() noexcept { *this = RunStore(); }

  /// The number of k-mers in all runs.
  [[nodiscard]] std::uint64_t kmers() const noexcept { return kmers_; }

  /// Calls visit(canonical k-mer, its hash) for every k-mer of every run.
  template <int Words, class Visit>
  void for_each_kmer(int k, Visit&& visit) const {
    RollingKmer<Words> rolling(k);
    for (std::size_t chunk = 0; chunk < chunks_.size(); ++chunk) {
      const std::uint8_t* at = chunks_[chunk].get();
      const std::uint8_t* end = at + (chunk < full_.size() ? full_[chunk] : used_);
      while (at != end) {
        const std::size_t kmers = std::size_t{*at} + 1;
        const std::uint8_t* packed = at + 1;
        at = packed + run_bytes(k, kmers);
        rolling.start(packed);
        const Kmer<Words> first = rolling.canonical();
        visit(first, hash_of(first));
        const auto next = static_cast<std::size_t>(k);
        const std::uint8_t* source = packed + next / 4;
        std::uint64_t bases = load_word(source) >> (2 * (next % 4));
        std::size_t left = 32 - next % 4;
        for (std::size_t i = 1; i < kmers; ++i) {
          rolling.advance(bases & 3U);
          const Kmer<Words> kmer = rolling.canonical();
          visit(kmer, hash_of(kmer));
          bases >>= 2;
          if (--left == 0) {
            source += 8;
            bases = load_word(source);
            left = 32;
          }
        }
      }
    }
  }

 private:
  static constexpr std::size_t kSlack = 48;  // readable bytes behind the last run: whole words are loaded

  std::vector<std::unique_ptr<std::uint8_t[]>> chunks_;
  std::vector<std::uint32_t> full_;  // used bytes of all chunks but the last
  std::size_t used_ = 0;             // bytes of the last chunk
  std::uint64_t kmers_ = 0;
};

}  // namespace kmer
