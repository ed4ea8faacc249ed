// The state of handles: those of this rank, which peers are told, and those of a peer, as the peer has told
// them.
#pragma once

#include "network/network.hpp"
#include "network/session/link/message_format.hpp"

#include <array>
#include <atomic>
#include <cstdint>
#include <memory>
#include <span>

namespace weft::network::session {

/// Position up to which a peer knows the handles; starts with everything unknown.
struct HandleCursor {
  bool whole_table = true;    // all handles that were ever exposed are to be sent, from next_id on
  std::uint32_t next_id = 0;  // used while whole_table is true
  std::uint64_t next_change = 0;
};

/// The handles of this rank, with a log of changes. One thread at a time publishes; any thread reads.
class HandleBoard {
 public:
  HandleBoard();

  void publish(std::uint16_t id, std::uint16_t generation, HandleState state) noexcept;

  /// The number of changes so far.
  [[nodiscard]] std::uint64_t changes() const noexcept { return changes_.load(std::memory_order_acquire); }
  [[nodiscard]] bool has_updates(const HandleCursor& cursor) const noexcept {
    return cursor.whole_table || cursor.next_change != changes();
  }
  /// Fills `updates` with the changes that the peer of `cursor` does not know yet, moves the cursor on, and
  /// returns their number.
  [[nodiscard]] std::size_t take_updates(HandleCursor& cursor,
                                         std::span<HandleChange> updates) const noexcept;

 private:
  static constexpr std::uint32_t kIds = 65536;
  static constexpr std::uint32_t kLog = 1024;

  [[nodiscard]] HandleChange entry(std::uint32_t id) const noexcept;

  struct FreeTable {
    void operator()(std::atomic<std::uint64_t>* table) const noexcept;
  };
  std::unique_ptr<std::atomic<std::uint64_t>[], FreeTable>
      table_;                                           // version(32) | generation(16) | state(16)
  std::atomic<std::uint32_t> used_{0};                  // ids below this one may have been exposed
  std::array<std::atomic<std::uint16_t>, kLog> log_{};  // ids, by the number of the change
  std::atomic<std::uint64_t> changes_{0};
};

/// The handles of one peer. Any thread.
class KnownHandles {
 public:
  KnownHandles() = default;
  ~KnownHandles();
  KnownHandles(const KnownHandles&) = delete;
  KnownHandles& operator=(const KnownHandles&) = delete;

  /// Stores a change that the peer has published, unless a newer one is known. Returns false when there is no
  /// memory.
  bool learn(const HandleChange& change) noexcept;
  /// Tells whether messages may be sent to a handle word, as far as is known: sent, no_credit or not_ready.
  [[nodiscard]] SendResult admission(std::uint64_t word) const noexcept;

 private:
  static constexpr std::size_t kPages = 256;
  using Page = std::array<std::atomic<std::uint64_t>, kPages>;

  struct Pages : std::array<std::atomic<Page*>, kPages> {};  // by the upper half of the id

  std::atomic<Pages*> pages_{nullptr};  // null: no change has been learned
};

}  // namespace weft::network::session
