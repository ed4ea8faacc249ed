#include "collective/kinds/algorithm_table.hpp"

#include "collective/kinds/kind_table.hpp"

#include <weft/error.hpp>
#include <weft/runtime.hpp>

#include <algorithm>
#include <string>
#include <vector>

namespace weft {

namespace collective {
namespace {

constexpr bool is_in_order() {
  for (std::size_t row = 0; row < kAlgorithms.size(); ++row) {
    if (kAlgorithms[row].of.collective != traits_of(kAlgorithms[row].kind).name) return false;
    if (row != 0 && kAlgorithms[row].kind < kAlgorithms[row - 1].kind) return false;
  }
  return true;
}
static_assert(is_in_order(), "rows are in the order of the kinds, and bear their names");

/// Where the rows of each kind begin, and the end.
constexpr auto kFirstRow = [] {
  std::array<std::size_t, Kinds::kTraits.size() + 1> first{};
  for (std::size_t kind = 0; kind < first.size(); ++kind)
    first[kind] = static_cast<std::size_t>(std::ranges::count_if(
        kAlgorithms, [&](const AlgorithmRow& row) { return static_cast<std::size_t>(row.kind) < kind; }));
  return first;
}();

/// The bytes by which algorithms are chosen: of the whole buffer, where a rank has the blocks of all.
std::size_t bytes_of(const detail::CollectiveCall& call, int size) noexcept {
  const std::size_t width = call.reduction.element;
  switch (call.kind) {
    case detail::CollectiveKind::gather:
      return call.count * width * static_cast<std::size_t>(size);
    case detail::CollectiveKind::scatter:
      return call.to_count * width * static_cast<std::size_t>(size);
    case detail::CollectiveKind::allgather:
      return call.to_count * width;
    default:
      return call.count * width;
  }
}

bool is_possible(const CollectiveAlgorithm& row, const detail::CollectiveCall& call,
                 bool have_levels) noexcept {
  return (!row.needs_hosts || have_levels) && (!row.needs_equal_blocks || !call.blocks_differ) &&
         (!row.is_commutative || !call.reduction.is_ordered);
}

template <class Name>
std::string list_of(const Name& name) {
  std::vector<std::string_view> names;
  std::string text;
  for (const AlgorithmRow& row : kAlgorithms) {
    const std::string_view each = name(row);
    if (each.empty() || std::ranges::find(names, each) != names.end()) continue;
    names.push_back(each);
    text += (text.empty() ? "" : ", ") + std::string(each);
  }
  return text;
}

}  // namespace

AlgorithmChoice::AlgorithmChoice(const Runtime& runtime, const Team& team)
    : hosts_(runtime, team), size_(team.size()) {
  ask_for(runtime.attribute("collectives"));
}

void AlgorithmChoice::ask_for(std::string_view text) {
  if (text == "auto" || text.empty()) return;
  const std::string whole = "the attribute collectives is \"" + std::string(text) + "\"";
  for (std::size_t begin = 0; begin <= text.size();) {
    const std::size_t end = std::min(text.find(',', begin), text.size());
    const std::string_view part = text.substr(begin, end - begin);
    begin = end + 1;
    const std::size_t sign = part.find('=');
    const std::string_view name = part.substr(0, sign);
    const std::string_view asked = sign == std::string_view::npos ? "" : part.substr(sign + 1);
    const auto of_kind = [&](const AlgorithmRow& row) { return row.of.collective == name; };
    if (std::ranges::none_of(kAlgorithms, of_kind))
      throw Error(whole + ": there is no collective \"" + std::string(name) +
                  "\"; it is COLLECTIVE=ALGORITHM, " + "with commas in between, of " +
                  list_of([](const AlgorithmRow& row) { return row.of.collective; }));
    const auto row = std::ranges::find_if(
        kAlgorithms, [&](const AlgorithmRow& each) { return of_kind(each) && each.of.name == asked; });
    if (row == kAlgorithms.end())
      throw Error(whole + ": " + std::string(name) + " has no algorithm \"" + std::string(asked) +
                  "\"; it has " + list_of([&](const AlgorithmRow& each) {
                    return of_kind(each) ? each.of.name : std::string_view();
                  }));
    asked_[static_cast<std::size_t>(row->kind)] = row->algorithm;
  }
}

Algorithm AlgorithmChoice::of(const detail::CollectiveCall& call) const noexcept {
  const Algorithm asked = asked_[static_cast<std::size_t>(call.kind)];
  const std::size_t bytes = bytes_of(call, size_);
  Algorithm chosen = Algorithm::any;
  const auto kind = static_cast<std::size_t>(call.kind);
  for (std::size_t index = kFirstRow[kind]; index < kFirstRow[kind + 1]; ++index) {
    const AlgorithmRow& row = kAlgorithms[index];
    if (!is_possible(row.of, call, hosts_.have_levels())) continue;
    if (row.algorithm == asked) return asked;
    const bool fits = (row.of.most_bytes == 0 || bytes <= row.of.most_bytes) &&
                      size_ >= row.of.least_members &&
                      (row.of.most_members == 0 || size_ <= row.of.most_members);
    if (chosen == Algorithm::any && fits) chosen = row.algorithm;
    if (chosen != Algorithm::any && asked == Algorithm::any) break;
  }
  return chosen;
}

}  // namespace collective

std::span<const CollectiveAlgorithm> collective_algorithms() noexcept {
  static constexpr auto kTable = [] {
    std::array<CollectiveAlgorithm, collective::kAlgorithms.size()> table{};
    for (std::size_t row = 0; row < table.size(); ++row) table[row] = collective::kAlgorithms[row].of;
    return table;
  }();
  return kTable;
}

}  // namespace weft
