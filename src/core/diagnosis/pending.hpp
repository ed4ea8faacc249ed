// Operations that have not ended, in the form in which an explanation lists them.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace weft::core {

enum class PendingKind : std::uint8_t {
  receive,
  held_message,  // has arrived, and matches no posted receive
  send,
  active_message,
  arrival,  // a large message of a peer
  put,
  get,
  atomic,
};
inline constexpr std::size_t kPendingKinds = 8;

[[nodiscard]] constexpr const char* to_string(PendingKind kind) noexcept {
  switch (kind) {
    case PendingKind::receive:
      return "receive";
    case PendingKind::held_message:
      return "held message";
    case PendingKind::send:
      return "send";
    case PendingKind::active_message:
      return "active message";
    case PendingKind::arrival:
      return "arrival";
    case PendingKind::put:
      return "put";
    case PendingKind::get:
      return "get";
    case PendingKind::atomic:
      return "atomic operation";
  }
  return "operation";
}

struct PendingOperation {
  static constexpr std::int32_t kAnybody = -1;
  PendingKind kind = PendingKind::receive;
  const char* state = "";        // static text
  std::int32_t peer = kAnybody;  // for a receive: the source
  bool has_tag = false;          // false: any tag, or none
  bool is_collective = false;    // a message of a Collective: its tag says nothing to the program
  std::uint64_t tag = 0;
  std::uint64_t tag_mask = ~std::uint64_t{0};  // of a receive: the bits that a message must have
  std::uint64_t size = 0;                      // bytes; for a receive: the size of its buffer
  std::uint64_t moved = 0;                     // bytes that have been moved so far
  const void* completion = nullptr;            // signalled at the end; never dereferenced
  std::int32_t engine = -1;                    // the engine that matches it
  std::int32_t device = -1;
  std::int32_t remote_id = -1;  // of the peer's object that it is for, which the peer has not exposed
  std::uint64_t identity = 0;   // with kind, engine and device: identifies an operation of an earlier report
};

/// Collects up to a limit of each kind, and counts all. Allocates at construction only, because it is filled
/// under locks.
class PendingList {
 public:
  explicit PendingList(std::size_t limit) : limit_(limit) { operations_.reserve(limit * kPendingKinds); }
  void add(const PendingOperation& operation) noexcept {
    if (counts_[static_cast<std::size_t>(operation.kind)]++ < limit_) operations_.push_back(operation);
  }
  [[nodiscard]] const std::vector<PendingOperation>& operations() const noexcept { return operations_; }
  /// Replaces each completion object by instead(completion).
  template <class Instead>
  void replace_completions(const Instead& instead) noexcept {
    for (PendingOperation& operation : operations_) operation.completion = instead(operation.completion);
  }
  [[nodiscard]] std::size_t count(PendingKind kind) const noexcept {
    return counts_[static_cast<std::size_t>(kind)];
  }
  [[nodiscard]] std::size_t left_out(PendingKind kind) const noexcept {
    return count(kind) > limit_ ? count(kind) - limit_ : 0;
  }

 private:
  std::size_t limit_;
  std::vector<PendingOperation> operations_;
  std::array<std::size_t, kPendingKinds> counts_{};
};

}  // namespace weft::core
