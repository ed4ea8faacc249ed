#include "bootstrap/agreement.hpp"

#include <algorithm>
#include <map>

namespace weft::bootstrap {

namespace {

constexpr std::size_t kMostBytes = std::size_t{64} << 10;

using Field = std::pair<std::string_view, std::string_view>;

struct Parsed {
  std::string_view host;
  std::vector<Field> fields;
};

/// Returns false for something else than a statement.
bool parse(std::string_view text, Parsed& parsed) {
  if (text.size() > kMostBytes || text.empty() || text.back() != '\0') return false;
  std::vector<std::string_view> parts;
  while (!text.empty()) {
    const std::size_t end = text.find('\0');
    parts.push_back(text.substr(0, end));
    text.remove_prefix(end + 1);
  }
  if (parts.size() % 2 != 1) return false;
  parsed.host = parts.front();
  for (std::size_t next = 1; next < parts.size(); next += 2)
    parsed.fields.emplace_back(parts[next], parts[next + 1]);
  return true;
}

std::string name_of(int rank, std::string_view host) {
  std::string name = "rank " + std::to_string(rank);
  if (!host.empty()) name.append(" on ").append(host);
  return name;
}

/// "network (WEFT_NETWORK) tcp"; without a value: "no network (WEFT_NETWORK)".
std::string shown(std::string_view what, const std::string_view* value) {
  if (value == nullptr) return "no " + std::string(what);
  return std::string(what) + " " + (value->empty() ? "\"\"" : std::string(*value));
}

/// The things in which they differ, in one line; empty when there is none.
std::string differences(int rank, const Parsed& mine, int other, const Parsed& others) {
  std::map<std::string_view, std::string_view> values(others.fields.begin(), others.fields.end());
  std::string own_part;
  std::string other_part;
  const auto differ = [&](std::string_view what, const std::string_view* own, const std::string_view* there) {
    own_part += (own_part.empty() ? "" : ", ") + shown(what, own);
    other_part += (other_part.empty() ? "" : ", ") + shown(what, there);
  };
  for (const auto& [what, value] : mine.fields) {
    const auto found = values.find(what);
    const std::string_view* const there = found == values.end() ? nullptr : &found->second;
    if (there == nullptr || *there != value) differ(what, &value, there);
    if (there != nullptr) values.erase(found);
  }
  for (const auto& [what, value] : values) differ(what, nullptr, &value);
  if (own_part.empty()) return {};
  return name_of(rank, mine.host) + " has " + own_part + "; " + name_of(other, others.host) + " has " +
         other_part + ": all ranks must have the same";
}

}  // namespace

Statement::Statement(std::string_view host) { append(host); }

void Statement::add(std::string_view what, std::string_view value) {
  append(what);
  append(value);
}

void Statement::append(std::string_view field) {
  text_.append(field.substr(0, field.find('\0')));
  text_.push_back('\0');
}

std::string Agreement::state(int rank, std::string_view statement) {
  if (first_ >= 0 && (statement == statement_ || std::ranges::find(agreed_, statement) != agreed_.end()))
    return {};
  Parsed mine;
  if (!parse(statement, mine))
    return "rank " + std::to_string(rank) +
           " has stated what it expects of the others in a form that is not known";
  if (first_ < 0) {
    first_ = rank;
    statement_ = statement;
    return {};
  }
  Parsed first;
  parse(statement_, first);
  std::string why = differences(rank, mine, first_, first);
  if (why.empty()) agreed_.emplace_back(statement);
  return why;
}

void agree(Bootstrap& bootstrap, std::string_view statement) {
  if (auto* const agreeing = dynamic_cast<Agreeing*>(&bootstrap); agreeing != nullptr)
    agreeing->agree(statement);
}

}  // namespace weft::bootstrap
