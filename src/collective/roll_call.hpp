// What the ranks have called in the place of each run: ranks that wait for long compare it.
#pragma once

#include <weft/collective.hpp>
#include <weft/message.hpp>
#include <weft/types.hpp>

#include <array>
#include <atomic>
#include <cstdint>
#include <mutex>
#include <optional>
#include <source_location>
#include <span>
#include <string>
#include <type_traits>
#include <vector>

namespace weft::collective {

/// A collective as a rank has called it, in the form in which ranks tell each other (docs/internals/wire.md).
struct CalledCollective {
  std::uint64_t number = 0;  // of the run, from 0
  std::uint64_t bytes = 0;
  std::int32_t root = 0;
  std::uint32_t element = 1;  // bytes of an element; of reductions only
  std::uint32_t line = 0;     // of the program's call; 0: unknown
  detail::CollectiveKind kind{};
  detail::KnownOperator known{};
  detail::ElementKind element_kind{};
  std::uint8_t blocks_differ = 0;  // each rank has lengths of its own
  char file[96] = {};              // the end of its name

  /// "allreduce of 80 bytes (sum of floating point, 8 bytes each), number 3 of its Collective, at
  /// solver.cpp:41"
  [[nodiscard]] std::string text(bool with_place = true) const;
  /// Returns true when they may be the same collective: everything but the length is equal.
  [[nodiscard]] bool fits(const CalledCollective& other) const noexcept;
  /// Returns true when the lengths may be those of one collective.
  [[nodiscard]] bool has_length_of(const CalledCollective& other) const noexcept;
};
static_assert(std::is_trivially_copyable_v<CalledCollective> && sizeof(CalledCollective) == 128);

/// Returns what all ranks have in common for the same collective, in 12 bits, for tags of messages: those of
/// another collective never match.
[[nodiscard]] std::uint32_t signature_of(const detail::CollectiveCall& call) noexcept;

/// The roll call of a Collective. A rank that waits for long asks those that it waits for (ask()), which
/// compare what they have called themselves; who finds a difference tells all ranks. Nothing is sent, and a
/// few words are stored for each run, as long as ranks answer soon.
class RollCall {
 public:
  /// How a rank sends a note to a rank's roll call.
  class Sender {
   public:
    virtual void send_note(int peer, Bytes note) noexcept = 0;

   protected:
    ~Sender() = default;
  };

  RollCall(int rank, int size, Sender& sender) : rank_(rank), size_(size), sender_(sender) {}

  /// Notes the beginning of a run.
  void begin(std::uint64_t number, const detail::CollectiveCall& call) noexcept;
  /// Asks `peers` whether they have called the same in the place of the run `number`.
  /// `asked`: how often this has been asked before.
  void ask(std::uint64_t number, std::span<const int> peers, std::uint32_t asked) noexcept;
  /// Accepts a note of another rank. Any thread that progresses.
  void arrive(const Message& message) noexcept;

  /// Returns true when the run cannot end because ranks have called different collectives in its place, or in
  /// an earlier one.
  [[nodiscard]] bool differs(std::uint64_t number) const noexcept {
    return number >= first_differing_.load(std::memory_order_acquire) && is_concerned(number);
  }
  /// Throws weft::Error, which names what two ranks have called, for a run that differs.
  [[noreturn]] void report(std::uint64_t number) const;
  /// What this rank has called, for texts; empty when that is long ago.
  [[nodiscard]] std::optional<CalledCollective> called(std::uint64_t number,
                                                       std::source_location* where = nullptr) const noexcept;

 private:
  enum class Kind : std::uint32_t { question = 1, verdict = 2 };
  struct Note {
    Kind kind = Kind::question;
    std::int32_t ranks[2] = {-1, -1};
    std::uint32_t asked = 0;  // how often the rank has asked this before
    CalledCollective called[2];
  };
  static_assert(sizeof(Note) == 272);
  static constexpr std::uint64_t kNone = ~std::uint64_t{0};
  // Other lengths are usually noticed by the messages themselves, and told in their words: only who still
  // waits after so many questions is told by the roll call.
  static constexpr std::uint32_t kAskedForLength = 6;
  static constexpr std::size_t kKept = 64;        // runs
  static constexpr std::size_t kMostEarly = 256;  // questions about runs that have not begun

  /// A run of this rank: a sequence lock, written by the thread that begins it. `stamp`: twice the number,
  /// plus 1 while the words are written, plus 2 afterwards.
  struct Kept {
    std::atomic<std::uint64_t> stamp{0};
    std::atomic<std::uint64_t> bytes{0};
    std::atomic<std::uint64_t> root_and_element{0};
    std::atomic<std::uint64_t> kinds{0};
    std::atomic<std::source_location> where{std::source_location{}};
  };

  [[nodiscard]] bool is_concerned(std::uint64_t number) const noexcept;
  void compare(const Note& question) noexcept;
  void conclude(const Note& verdict, bool tell) noexcept;

  const int rank_;
  const int size_;
  Sender& sender_;
  std::array<Kept, kKept> kept_;
  std::atomic<bool> has_early_{false};
  std::atomic<std::uint64_t> first_differing_{kNone};
  mutable std::mutex mutex_;  // protects the members below; off the path of runs that end soon
  std::vector<Note> early_;   // questions about runs that have not begun here
  std::optional<Note> verdict_;
};

}  // namespace weft::collective
