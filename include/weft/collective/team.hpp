// Teams: ordered lists of ranks that have collectives together.
#pragma once

#include <weft/detail/export.hpp>

#include <cstddef>
#include <memory>
#include <span>

namespace weft {

class Runtime;

/// The ranks first, first + stride, first + 2 * stride, ...: `count` of them.
struct TeamRange {
  int first = 0;
  int count = 0;
  int stride = 1;  ///< not 0; below 0: descending
};

/// Ranks of a job in an order, which gives each a rank in the team: 0 to size() - 1. A value: copies are
/// cheap, and any number of them may exist, of any size, with any ranks in common. Making one is local,
/// because each member knows the list; Collective::split() makes teams where no rank knows it.
///
/// Ranks at a constant distance are stored as one range, however many: teams of the world, of a host, and of
/// leaders cost as much as one of two ranks where the ranks of hosts are placed regularly.
class WEFT_API Team {
 public:
  /// A team of nobody.
  Team() noexcept = default;
  /// The ranks of the list, in its order. Throws weft::Error for one that is no rank of the job, or is listed
  /// twice. The rank that makes it need not be a member.
  Team(const Runtime& runtime, std::span<const int> ranks);
  /// Throws weft::Error when the range leaves the job, or its stride is 0.
  Team(const Runtime& runtime, TeamRange range);
  /// All ranks of the job.
  [[nodiscard]] static Team world(const Runtime& runtime);
  /// The ranks on the host of this rank, ascending.
  [[nodiscard]] static Team host(const Runtime& runtime);
  /// The lowest rank of each host, in the order of hosts.
  [[nodiscard]] static Team leaders(const Runtime& runtime);

  [[nodiscard]] int size() const noexcept { return size_; }
  /// The rank in the team of the rank that made it, or -1 when that is no member.
  [[nodiscard]] int rank() const noexcept { return rank_; }
  /// The rank in the job of a member. Throws weft::Error when `rank` is out of range.
  [[nodiscard]] int job_rank(int rank) const;
  /// The rank in the team of a rank of the job, or -1 when that is no member.
  [[nodiscard]] int rank_of(int job_rank) const noexcept;
  [[nodiscard]] bool contains(int job_rank) const noexcept { return rank_of(job_rank) >= 0; }
  /// The rank in `other` of the member `rank`, or -1 when it is none there. Throws weft::Error when `rank` is
  /// out of range.
  [[nodiscard]] int translate(int rank, const Team& other) const { return other.rank_of(job_rank(rank)); }
  /// The number of ranges that the ranks are stored as.
  [[nodiscard]] std::size_t ranges() const noexcept;

  /// job_rank() without the check.
  [[nodiscard]] int at(int rank) const noexcept {
    return table_ == nullptr ? range_.first + rank * range_.stride : at_of_table(rank);
  }
  /// Returns true when both have the same members in the same order.
  friend WEFT_API bool operator==(const Team& a, const Team& b) noexcept;

 private:
  struct Table;
  friend class TeamBuilder;
  [[nodiscard]] int at_of_table(int rank) const noexcept;
  TeamRange range_;  // unless there is a table
  int size_ = 0;
  int rank_ = -1;
  std::shared_ptr<const Table> table_;
};

}  // namespace weft
