#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string_view>

#include "bootstrap/local/socket.hpp"

namespace weft::bootstrap::local {

/// What the launcher tells with its welcome.
struct Welcome {
  std::uint32_t instance;
  std::int32_t launcher;  ///< process
  std::int32_t board;     ///< descriptor in the launcher, of the instance's board
};

/// Says which ranks of an instance of the job have failed: ended without leaving it. A page that the launcher
/// writes and every rank maps, so that a rank learns of a death by a load, without asking and without traffic
/// towards the dead. Lies in a memory file, of which nothing is left when the last process has ended.
class Board {
 public:
  /// Of the launcher. Throws weft::Error.
  Board(std::string_view job_id, int size);
  /// Of a rank: maps the launcher's. Nothing when that cannot be opened (a rank that sees another /proc), or
  /// is not the board of this job.
  static std::unique_ptr<Board> open(const Welcome& welcome, std::string_view job_id, int size);
  ~Board();
  Board(const Board&) = delete;
  Board& operator=(const Board&) = delete;

  /// In the launcher's process; -1 in ranks.
  int descriptor() const { return file_.get(); }

  /// Any thread of the launcher, once per rank.
  void mark_failed(int rank) noexcept;
  /// How many ranks have failed. Any thread.
  const std::atomic<std::uint32_t>& failures() const noexcept { return page_->failures; }
  /// Everybody who counts a failure (acquire) sees which rank it was.
  bool has_failed(int rank) const noexcept { return failed(rank).load(std::memory_order_relaxed) != 0; }

 private:
  struct Page {  // behind it, a byte for each rank
    std::uint64_t magic;
    std::int32_t size;
    std::atomic<std::uint32_t> failures;
    std::array<char, 64> job_id;
  };
  Board() = default;
  bool map(int size, bool writes);
  std::atomic<std::uint8_t>& failed(int rank) const noexcept {
    return reinterpret_cast<std::atomic<std::uint8_t>*>(page_ + 1)[rank];
  }

  Descriptor file_;
  Page* page_ = nullptr;
  std::size_t bytes_ = 0;
};

}  // namespace weft::bootstrap::local
