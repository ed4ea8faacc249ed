#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string_view>

#include "bootstrap/bootstrap.hpp"
#include "bootstrap/local/socket.hpp"

namespace weft::bootstrap::local {

/// The payload of the launcher's answer to hello; in a job of several hosts the host of each rank follows, as
/// 32-bit numbers.
struct Welcome {
  std::uint32_t instance;
  std::uint32_t unused;
  std::uint64_t user_namespace;  ///< of the launcher; 0: unknown
  std::uint64_t pid_namespace;
  Secret secret;
};

/// Records which ranks of an instance of the job have failed, which means ended without leaving it, or have
/// left in order. It is a page that the launcher writes and every rank maps, so that a rank learns of a
/// departure by a load, without a request and without traffic towards the rank that has left. It lies in a
/// memory file, which the kernel frees when the last process has ended.
class Board {
 public:
  /// Makes the board, in the launcher. Throws weft::Error.
  Board(std::string_view job_id, int size);
  /// Maps the launcher's board in a rank; `file` came with the welcome. Throws weft::Error, also when it is
  /// not the board of this job.
  /// `writes`: to tell of the end of the rank that serves the others, which nobody else can.
  static std::unique_ptr<Board> open(Descriptor file, std::string_view job_id, int size, bool writes = false);
  ~Board();
  Board(const Board&) = delete;
  Board& operator=(const Board&) = delete;

  /// The board's memory file in the launcher's process; -1 in ranks.
  int descriptor() const { return file_.get(); }

  /// Mark a rank as failed, or as left. Any thread of the launcher. For one rank only the first call of
  /// either function has an effect.
  void mark_failed(int rank) noexcept;
  void mark_left(int rank) noexcept;
  /// The number of ranks that have failed. Any thread.
  const std::atomic<std::uint32_t>& failures() const noexcept { return page_->failures; }
  /// Returns true when the rank has failed. A thread that has read failures() with acquire sees all ranks
  /// that were counted.
  bool has_failed(int rank) const noexcept {
    return end(rank).load(std::memory_order_relaxed) == End::failed;
  }
  /// The number of ranks that have failed or left in order. Any thread; has_left() tells which ones have left
  /// in order.
  const std::atomic<std::uint32_t>& departures() const noexcept { return page_->departures; }
  bool has_left(int rank) const noexcept { return end(rank).load(std::memory_order_relaxed) == End::left; }

 private:
  enum class End : std::uint8_t { none, failed, left };
  struct Page {  // followed by an End for each rank
    std::uint64_t magic;
    std::int32_t size;
    std::atomic<std::uint32_t> failures;
    std::atomic<std::uint32_t> departures;
    std::array<char, 64> job_id;
  };
  Board() = default;
  void map(int size, bool writes);
  std::atomic<End>& end(int rank) const noexcept {
    return reinterpret_cast<std::atomic<End>*>(page_ + 1)[rank];
  }
  bool mark(int rank, End how) noexcept;

  Descriptor file_;
  Page* page_ = nullptr;
  std::size_t bytes_ = 0;
};

}  // namespace weft::bootstrap::local
