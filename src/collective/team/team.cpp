#include <weft/collective/team.hpp>

#include "collective/team/team_builder.hpp"

#include <weft/error.hpp>
#include <weft/runtime.hpp>

#include <algorithm>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace weft {

namespace {

// With more ranges than this, ranks of the job are looked up in a sorted list of the members.
constexpr std::size_t kSearched = 8;

int index_in(const TeamRange& range, int job_rank) noexcept {
  // In 64 bits: the difference of a rank that is none may be any.
  const std::int64_t offset = std::int64_t{job_rank} - range.first;
  if (offset % range.stride != 0) return -1;
  const std::int64_t index = offset / range.stride;
  return index >= 0 && index < range.count ? static_cast<int>(index) : -1;
}

}  // namespace

struct Team::Table {
  struct Part {
    TeamRange range;
    int begin = 0;  // the rank in the team of its first
  };
  std::vector<Part> parts;
  std::vector<std::pair<int, int>> sorted;  // ranks of the job, and in the team
};

void TeamBuilder::add(int job_rank) {
  ++size_;
  if (!ranges_.empty()) {
    TeamRange& last = ranges_.back();
    const int stride = job_rank - (last.first + (last.count - 1) * last.stride);
    if (last.count == 1) {
      last.stride = stride;
      last.count = 2;
      return;
    }
    if (stride == last.stride) {
      ++last.count;
      return;
    }
  }
  ranges_.push_back({job_rank, 1, 1});
}

Team TeamBuilder::make(int own_rank) && {
  Team team;
  team.size_ = size_;
  if (ranges_.size() == 1) {
    team.range_ = ranges_.front();
  } else if (!ranges_.empty()) {
    auto table = std::make_shared<Team::Table>();
    for (int begin = 0; const TeamRange& range : ranges_) {
      table->parts.push_back({range, begin});
      begin += range.count;
    }
    if (ranges_.size() > kSearched) {
      for (const Team::Table::Part& part : table->parts)
        for (int index = 0; index < part.range.count; ++index)
          table->sorted.emplace_back(part.range.first + index * part.range.stride, part.begin + index);
      std::ranges::sort(table->sorted);
    }
    team.table_ = std::move(table);
  }
  team.rank_ = team.rank_of(own_rank);
  return team;
}

Team::Team(const Runtime& runtime, std::span<const int> ranks) {
  std::vector<int> index_of(static_cast<std::size_t>(runtime.size()), -1);
  TeamBuilder builder;
  for (int index = 0; const int rank : ranks) {
    if (rank < 0 || rank >= runtime.size())
      throw Error("Team: rank " + std::to_string(rank) + " is not a rank of this job (0 to " +
                  std::to_string(runtime.size() - 1) + ")");
    int& earlier = index_of[static_cast<std::size_t>(rank)];
    if (earlier >= 0)
      throw Error("Team: rank " + std::to_string(rank) + " is listed twice, at " + std::to_string(earlier) +
                  " and at " + std::to_string(index) + ": a rank is a member once");
    earlier = index++;
    builder.add(rank);
  }
  *this = std::move(builder).make(runtime.rank());
}

Team::Team(const Runtime& runtime, TeamRange range) {
  const std::string text = "Team: the range of " + std::to_string(range.count) + " ranks from " +
                           std::to_string(range.first) + " with stride " + std::to_string(range.stride);
  if (range.count < 0) throw Error(text + " has less than no ranks");
  if (range.count == 0) return;
  if (range.stride == 0) throw Error(text + " is one rank several times: a stride is not 0");
  const std::int64_t last = range.first + (std::int64_t{range.count} - 1) * range.stride;
  if (range.first < 0 || range.first >= runtime.size() || last < 0 || last >= runtime.size())
    throw Error(text + " leaves this job, whose ranks are 0 to " + std::to_string(runtime.size() - 1));
  range_ = range;
  size_ = range.count;
  rank_ = rank_of(runtime.rank());
}

Team Team::world(const Runtime& runtime) { return {runtime, TeamRange{0, runtime.size()}}; }

Team Team::host(const Runtime& runtime) {
  TeamBuilder builder;
  for (const int rank : runtime.local_ranks()) builder.add(rank);
  return std::move(builder).make(runtime.rank());
}

Team Team::leaders(const Runtime& runtime) {
  TeamBuilder builder;
  // Hosts are counted in the order of their first ranks.
  for (int rank = 0; builder.size() < runtime.hosts(); ++rank)
    if (runtime.host_of(rank) == builder.size()) builder.add(rank);
  return std::move(builder).make(runtime.rank());
}

int Team::job_rank(int rank) const {
  if (rank < 0 || rank >= size_)
    throw Error("Team: " + std::to_string(rank) + " is not a rank of the team (" +
                (size_ == 0 ? "which has none" : "0 to " + std::to_string(size_ - 1)) + ")");
  return at(rank);
}

int Team::at_of_table(int rank) const noexcept {
  const auto after = std::ranges::upper_bound(table_->parts, rank, {}, &Table::Part::begin);
  const Table::Part& part = *(after - 1);
  return part.range.first + (rank - part.begin) * part.range.stride;
}

int Team::rank_of(int job_rank) const noexcept {
  if (table_ == nullptr) return size_ == 0 ? -1 : index_in(range_, job_rank);
  if (!table_->sorted.empty()) {
    const auto found = std::ranges::lower_bound(table_->sorted, job_rank, {}, &std::pair<int, int>::first);
    return found != table_->sorted.end() && found->first == job_rank ? found->second : -1;
  }
  for (const Table::Part& part : table_->parts)
    if (const int index = index_in(part.range, job_rank); index >= 0) return part.begin + index;
  return -1;
}

std::size_t Team::ranges() const noexcept {
  return table_ != nullptr ? table_->parts.size() : size_ == 0 ? 0 : 1;
}

bool operator==(const Team& a, const Team& b) noexcept {
  if (a.size_ != b.size_) return false;
  for (int rank = 0; rank < a.size_; ++rank)
    if (a.at(rank) != b.at(rank)) return false;
  return true;
}

}  // namespace weft
