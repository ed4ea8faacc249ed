#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string_view>
#include <vector>

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
/// left in order, and the first small values that each has published. It is memory that the launcher writes
/// and every rank maps, so that a rank learns of a departure, and finds a peer's address, by loads, without a
/// request: many ranks that start together, and wait for each other, do not queue up at the launcher. It lies
/// in a memory file, which the kernel frees when the last process has ended.
class Board {
 public:
  /// Small values of a rank that are kept: where two networks work together, its addresses in both.
  static constexpr std::size_t kKept = 2;

  /// Which values are told to the board: all that ranks publish, or some of them.
  enum class Holds : std::uint32_t { some, all };
  /// Makes the board, in the launcher. Throws weft::Error.
  Board(std::string_view job_id, int size, Holds holds);
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

  /// Tells of a value that the rank has published; it may be told again. One thread of the launcher.
  void publish(int rank, std::string_view key, std::span<const std::byte> value) noexcept;
  /// What the board tells of a value. Any thread of a rank.
  enum class Lookup : std::uint8_t {
    nothing,        ///< only the launcher knows
    not_published,  ///< the rank has not published it yet
    value,          ///< the one that is returned
  };
  Lookup look_up(int rank, std::string_view key, std::vector<std::byte>& value) const;

 private:
  enum class End : std::uint8_t { none, failed, left };
  /// A value of a rank that is short enough. Written before `is_taken`, and not changed then.
  struct alignas(64) Slot {
    std::atomic<std::uint32_t> is_taken;
    std::uint16_t key_bytes;
    std::uint16_t value_bytes;
    std::array<char, 24> key;
    std::array<std::byte, 224> value;
  };
  struct Page {  // followed by kKept slots, then a Mark for each rank
    std::uint64_t magic;
    std::int32_t size;
    Holds holds;
    std::atomic<std::uint32_t> failures;
    std::atomic<std::uint32_t> departures;
    std::array<char, 64> job_id;
  };
  struct Mark {
    std::atomic<End> end;
    // Values that have no slot here. A number, as End is one: whatever another process has written is a
    // value of it.
    std::atomic<std::uint8_t> has_more;
  };
  Board() = default;
  static constexpr std::size_t kPlaces = (sizeof(Page) + alignof(Slot) - 1) / alignof(Slot) * alignof(Slot);
  static constexpr std::size_t bytes_for(int size) noexcept {
    return kPlaces + static_cast<std::size_t>(size) * (kKept * sizeof(Slot) + sizeof(Mark));
  }
  void map(int size, bool writes);
  std::span<Slot, kKept> slots(int rank) const noexcept {
    Slot* const first = reinterpret_cast<Slot*>(reinterpret_cast<std::byte*>(page_) + kPlaces);
    return std::span<Slot, kKept>(first + static_cast<std::size_t>(rank) * kKept, kKept);
  }
  Mark& mark_of(int rank) const noexcept { return reinterpret_cast<Mark*>(slots(page_->size).data())[rank]; }
  std::atomic<End>& end(int rank) const noexcept { return mark_of(rank).end; }
  bool mark(int rank, End how) noexcept;

  Descriptor file_;
  Page* page_ = nullptr;
  std::size_t bytes_ = 0;
};

}  // namespace weft::bootstrap::local
