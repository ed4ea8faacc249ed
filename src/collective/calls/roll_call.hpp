// What the ranks have called in the place of each run: ranks that wait for long compare it.
#pragma once

#include "collective/calls/called.hpp"
#include "collective/calls/neighbor_changes.hpp"

#include <weft/message.hpp>
#include <weft/types.hpp>

#include <atomic>
#include <cstdint>
#include <mutex>
#include <optional>
#include <source_location>
#include <span>
#include <string>
#include <vector>

namespace weft::collective {

/// The roll call of a Collective. A rank that waits for long asks those that it waits for (ask()), which
/// compare what they have called themselves; who finds a difference tells all ranks. So does a rank that has
/// got a message of another length (tell_length()), and one whose time is over (tell_expiry()). Nothing is
/// sent, and a few words are stored for each run, as long as ranks answer soon and call the same.
///
/// A verdict of other lengths concerns its run only. Any other one concerns its run and all that follow: the
/// Collective is broken. Ranks that have ended the run already report a verdict at the end of their next
/// call.
class RollCall {
 public:
  /// How a rank sends a note to a rank's roll call.
  class Sender {
   public:
    /// Returns false when the note was refused.
    virtual bool send_note(int rank, Bytes note) noexcept = 0;
    /// The rank in the team of a rank of the job, -1 for one that is no member; and its name.
    [[nodiscard]] virtual int rank_of(int peer) const noexcept = 0;
    [[nodiscard]] virtual std::string name_of(int rank) const = 0;

   protected:
    ~Sender() = default;
  };

  static constexpr std::size_t kNoteBytes = 320;

  RollCall(int rank, int size, Sender& sender) : rank_(rank), size_(size), sender_(sender) {}

  /// Notes the beginning of a run.
  void begin(std::uint64_t number, const detail::CollectiveCall& call) noexcept;
  /// Asks `peers` whether they have called the same in the place of the run `number`.
  /// `asked`: how often this has been asked before.
  void ask(std::uint64_t number, std::span<const int> peers, std::uint32_t asked) noexcept;
  /// This rank connects the members on its host in the run: until end_to_connect() its waits in that run are
  /// for others than its neighbors, too.
  void begin_to_connect(std::uint64_t number) noexcept {
    connecting_.store(number, std::memory_order_relaxed);
  }
  void end_to_connect() noexcept { begin_to_connect(kNone); }
  /// A message of another length has come from `rank` in the run: asks that rank to tell all ranks what both
  /// have called. Returns false when the note was refused.
  bool tell_length(std::uint64_t number, int rank, std::uint64_t sent, std::uint64_t expected) noexcept;
  /// The time of the run is over on this rank, which has waited for `rank` (-1: several): tells all ranks.
  void tell_expiry(std::uint64_t number, int rank) noexcept;
  /// Sends again what was refused: verdicts, and questions to neighbors. Returns true when all ranks have
  /// been told.
  bool tell_again() noexcept;
  /// Accepts a note of another rank. Any thread that progresses.
  void arrive(const Message& message) noexcept;

  /// Returns true when the run cannot end because of a verdict. Any thread.
  [[nodiscard]] bool differs(std::uint64_t number) const noexcept {
    return number >= first_differing_.load(std::memory_order_acquire) && is_concerned(number);
  }
  /// With what a run ends that cannot end because of a verdict: timed_out; truncated, for other lengths; or
  /// cancelled, where ranks have called different collectives.
  [[nodiscard]] Outcome outcome_of(std::uint64_t number) const noexcept;
  /// Returns true when time is over, or ranks have called different collectives, in any run.
  [[nodiscard]] bool is_broken() const noexcept { return is_broken_.load(std::memory_order_acquire); }
  [[nodiscard]] bool is_expired() const noexcept;
  /// Returns true when this rank has not reported a verdict yet.
  [[nodiscard]] bool owe_again() const noexcept { return unreported_.load(std::memory_order_acquire) != 0; }
  /// Returns true when a verdict names the calls of both ranks in the run.
  [[nodiscard]] bool has_calls_of(std::uint64_t number, int one, int other) const noexcept;

  /// The text of the verdict that concerns the run, which counts as reported then.
  [[nodiscard]] std::string report(std::uint64_t number);
  /// The text of a verdict that this rank has not reported.
  [[nodiscard]] std::string report_any();
  /// What both ranks have called in the run, by a verdict: "; rank 0 ...; rank 1 ...", or nothing. Other
  /// lengths in that run count as reported.
  [[nodiscard]] std::string report_length(std::uint64_t number, int one, int other);
  /// What this rank has called, for texts; empty when that is long ago.
  [[nodiscard]] std::optional<CalledCollective> called(std::uint64_t number,
                                                       std::source_location* where = nullptr) const noexcept {
    return log_.called(number, where);
  }

 private:
  enum class Kind : std::uint32_t { question = 1, other_length, differing, lengths, expired };
  struct Note {
    Kind kind = Kind::question;
    std::int32_t ranks[2] = {-1, -1};
    std::uint32_t asked = 0;  // how often the rank has asked this before
    std::uint64_t sent = 0;   // bytes that ranks[1] has sent, and that ranks[0] expects; of questions below
    std::uint64_t expected = 0;
    CalledCollective called[2];

    // In `sent` of questions: whether the rank takes the one that it asks for a neighbor.
    static constexpr std::uint64_t kAsNeighbor = 1;
    [[nodiscard]] bool asks_as_neighbor() const noexcept {
      return kind == Kind::question && sent == kAsNeighbor;
    }
  };
  static_assert(sizeof(Note) == kNoteBytes);
  static constexpr std::uint64_t kNone = ~std::uint64_t{0};
  // Other lengths are usually noticed by the messages themselves, and told in their words: only who still
  // waits after so many questions is told by the roll call.
  static constexpr std::uint32_t kAskedForLength = 6;
  static constexpr std::size_t kMostEarly = 256;  // questions about runs that have not begun
  static constexpr std::size_t kMostLengths = 32;

  [[nodiscard]] bool is_concerned(std::uint64_t number) const noexcept;
  [[nodiscard]] bool agrees(const CalledCollective& mine, const Note& question) const noexcept;
  void answer(const Note& question) noexcept;
  void answer_early(std::uint64_t number) noexcept;
  void ask_neighbors(std::uint64_t number, const detail::CollectiveCall& call) noexcept;
  void conclude(const Note& verdict, bool tell) noexcept;
  void note_verdict(const Note& verdict);
  void count_unreported() noexcept;
  [[nodiscard]] std::string text_of(const Note& verdict) const;
  [[nodiscard]] std::string neighbors_of(const Note& verdict) const;
  bool send(int rank, const Note& note) noexcept;

  const int rank_;
  const int size_;
  Sender& sender_;
  CallLog log_;
  std::atomic<bool> has_early_{false};  // or a note that is not sent
  std::atomic<bool> is_broken_{false};
  std::atomic<std::uint32_t> unreported_{0};
  std::atomic<std::uint64_t> first_differing_{kNone};
  std::atomic<std::uint64_t> connecting_{kNone};  // the run
  mutable std::mutex mutex_;  // protects the members below; off the path of runs that end soon
  std::vector<Note> early_;   // notes about runs that have not begun here
  struct Verdict {
    Note note;
    bool is_reported = false;
  };
  struct UnsentNote {
    int rank;
    Note note;
  };
  std::vector<UnsentNote> unsent_notes_;
  NeighborChanges neighbors_;
  std::optional<Verdict> broken_;
  std::vector<Verdict> lengths_;         // the last ones
  std::vector<std::uint64_t> reported_;  // runs whose other lengths this rank has reported, the last ones
};

}  // namespace weft::collective
