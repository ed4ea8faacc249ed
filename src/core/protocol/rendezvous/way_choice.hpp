// Learns whether the payloads of large messages come faster by one way or by another.
#pragma once

#include <cstddef>
#include <cstdint>

namespace weft::core {

/// How a payload comes that the network does not fetch: streamed by its sender through packets, or read from
/// the sender's memory.
enum class Way : std::uint8_t { copy, read };
[[nodiscard]] constexpr Way other_way(Way way) noexcept { return way == Way::copy ? Way::read : Way::copy; }

/// The choice for messages of one peer and about one size. It is told what each message took, and now and
/// then gives some the way that it has not settled for, to compare: so seldom that these cost about one part
/// in a hundred, and soon when the pace of the settled way has changed. Knows no clock; one thread at a time.
class WayChoice {
 public:
  /// The way of the messages that begin now.
  [[nodiscard]] Way way() const noexcept { return is_trying_ ? other_way(settled_) : settled_; }

  /// A message has come, and has taken `ns` for itself; 0: it cannot be told, because messages of both ways
  /// were under way.
  void ended(Way way, std::size_t bytes, std::int64_t ns) noexcept;
  /// A message could not be read.
  void failed() noexcept;

 private:
  /// Time for a byte, over some messages.
  struct Pace {
    double ns = 0;
    double bytes = 0;
    std::uint32_t messages = 0;
    [[nodiscard]] double value() const noexcept { return ns / bytes; }
  };

  void try_other() noexcept;
  void add_to_settled(std::size_t bytes, std::int64_t ns) noexcept;
  void add_to_trial(std::size_t bytes, std::int64_t ns) noexcept;
  [[nodiscard]] bool is_due() const noexcept;
  [[nodiscard]] bool is_tried() const noexcept;
  [[nodiscard]] double trial_value() const noexcept;
  void conclude() noexcept;

  Way settled_ = Way::copy;
  bool is_trying_ = false;
  Pace pace_;                // of the settled way, the last messages most
  double reference_ = 0;     // its value when the ways were last compared; 0: not known
  std::uint32_t ends_ = 0;   // messages since then, or since the trial began
  std::uint32_t tried_ = 0;  // messages of the other way that the last trial has cost
  double spacing_ = 0;       // messages between trials, for each of these
  double widest_spacing_ = 0;
  Pace trial_;  // without the slowest
  Pace slowest_;
};

}  // namespace weft::core
