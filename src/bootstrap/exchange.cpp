#include "bootstrap/exchange.hpp"

#include <algorithm>

namespace weft::bootstrap {
namespace {

std::string name_of(CollectiveKind kind, std::size_t bytes) {
  if (kind == CollectiveKind::barrier) return "barrier";
  return "allgather of " + std::to_string(bytes) + " bytes";
}

std::string absent(int rank, const std::string& how, CollectiveKind kind) {
  return "rank " + std::to_string(rank) + " " + how + " without joining the " +
         (kind == CollectiveKind::barrier ? "barrier" : "allgather");
}

}  // namespace

Exchange::Exchange(int size) : gone_(index(size)), absent_(index(size)), next_number_(index(size), 0) {}

void Exchange::leave(int rank, std::string how) {
  if (has_left(rank)) return;
  end_collectives(rank, how);
  for (Collective& collective : collectives_) {
    if (!collective.taken[index(rank)]) {
      collective.taken[index(rank)] = true;
      --collective.untaken;
    }
  }
  gone_[index(rank)] = std::move(how);
  drop_finished();
}

void Exchange::begin_to_leave(int rank, const std::string& how) {
  if (absent_[index(rank)].has_value()) return;
  end_collectives(rank, how);
}

void Exchange::end_collectives(int rank, const std::string& how) {
  absent_[index(rank)] = how;
  for (Collective& collective : collectives_) {
    if (!collective.arrived[index(rank)] && collective.error.empty())
      collective.error = absent(rank, how, collective.kind);
  }
}

bool Exchange::put(int rank, std::string_view key, std::span<const std::byte> value) {
  return values_.try_emplace({rank, std::string(key)}, value.begin(), value.end()).second;
}

const Bytes* Exchange::find(int rank, std::string_view key) const {
  const auto found = values_.find(std::pair<int, std::string_view>{rank, key});
  return found == values_.end() ? nullptr : &found->second;
}

std::optional<std::string> Exchange::why_never(int rank, std::string_view key) const {
  if (!has_left(rank) || find(rank, key) != nullptr) return std::nullopt;
  return "rank " + std::to_string(rank) + " " + *gone_[index(rank)] + " without publishing \"" +
         std::string(key) + "\"";
}

Exchange::Collective& Exchange::open(int rank, CollectiveKind kind, std::size_t bytes) {
  Collective collective{.kind = kind,
                        .bytes = bytes,
                        .first_rank = rank,
                        .missing = size(),
                        .untaken = size(),
                        .arrived = std::vector<bool>(gone_.size()),
                        .taken = std::vector<bool>(gone_.size()),
                        .data = nullptr,
                        .error = {}};
  for (int other = 0; other < size(); ++other) {
    if (const auto& how = absent_[index(other)]; how && collective.error.empty())
      collective.error = absent(other, *how, kind);
    if (!has_left(other)) continue;
    collective.taken[index(other)] = true;
    --collective.untaken;
  }
  if (kind == CollectiveKind::allgather && collective.error.empty()) {
    collective.data = std::make_shared<Bytes>(bytes * gone_.size());
  }
  return collectives_.emplace_back(std::move(collective));
}

std::uint64_t Exchange::arrive(int rank, CollectiveKind kind, std::span<const std::byte> mine) {
  const std::uint64_t number = next_number_[index(rank)]++;
  const std::size_t offset = static_cast<std::size_t>(number - first_number_);
  Collective& collective =
      offset < collectives_.size() ? collectives_[offset] : open(rank, kind, mine.size());
  collective.arrived[index(rank)] = true;
  --collective.missing;
  if (!collective.error.empty()) return number;
  if (collective.kind != kind || collective.bytes != mine.size()) {
    collective.error = "rank " + std::to_string(rank) + " called " + name_of(kind, mine.size()) +
                       " where rank " + std::to_string(collective.first_rank) + " called " +
                       name_of(collective.kind, collective.bytes);
  } else if (collective.data != nullptr) {
    std::copy(mine.begin(), mine.end(),
              collective.data->begin() + static_cast<std::ptrdiff_t>(index(rank) * mine.size()));
  }
  return number;
}

bool Exchange::is_decided(std::uint64_t number) const {
  return number >= first_number_ && number - first_number_ < collectives_.size() &&
         collectives_[static_cast<std::size_t>(number - first_number_)].decided();
}

std::optional<Exchange::Outcome> Exchange::take(int rank, std::uint64_t number) {
  if (!is_decided(number)) return std::nullopt;
  Collective& collective = collectives_[static_cast<std::size_t>(number - first_number_)];
  Outcome outcome{.gathered = collective.error.empty() ? collective.data : nullptr,
                  .error = collective.error};
  if (!collective.taken[index(rank)]) {
    collective.taken[index(rank)] = true;
    --collective.untaken;
  }
  drop_finished();
  return outcome;
}

void Exchange::drop_finished() {
  while (!collectives_.empty() && collectives_.front().untaken == 0) {
    collectives_.pop_front();
    ++first_number_;
  }
}

}  // namespace weft::bootstrap
