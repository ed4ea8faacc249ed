#include "base/attributes.hpp"

#include <weft/error.hpp>

#include <unistd.h>

#include <algorithm>
#include <bit>
#include <cstring>
#include <limits>

#include "base/job_variables.hpp"
#include "base/log.hpp"
#include "base/text/parse.hpp"

namespace weft::base {
namespace {

constexpr std::string_view kPrefix = "WEFT_";

char capital(char c) { return c >= 'a' && c <= 'z' ? static_cast<char>(c - 'a' + 'A') : c; }

const AttributeRow* find_row(std::string_view name) {
  for (const AttributeRow& row : kAttributeTable) {
    if (row.name == name) return &row;
  }
  return nullptr;
}

const AttributeRow* find_row_of_variable(std::string_view variable) {
  for (const AttributeRow& row : kAttributeTable) {
    if (environment_name(row) == variable) return &row;
  }
  return nullptr;
}

// Names are suggested for up to two inserted, deleted or replaced letters, as in typing mistakes. No
// attribute is that near to WEFT_ROOT.
constexpr std::size_t kNear = 2;

/// Returns "did you mean NAME? ", or an empty text when the nearest name is not near enough.
std::string suggestion(std::string_view variable, const AttributeRow& nearest, std::string_view shown) {
  if (edit_distance(variable, environment_name(nearest)) > kNear) return {};
  return "did you mean " + std::string(shown) + "? ";
}

const AttributeRow& nearest_row(std::string_view variable) {
  const AttributeRow* best = nullptr;
  std::size_t best_distance = std::numeric_limits<std::size_t>::max();
  for (const AttributeRow& row : kAttributeTable) {
    const std::size_t distance = edit_distance(variable, environment_name(row));
    if (distance < best_distance) {
      best = &row;
      best_distance = distance;
    }
  }
  return *best;
}

// Returns the index of `text` in "a|b|c", or -1.
std::int64_t choice_index(std::string_view choices, std::string_view text) {
  for (std::int64_t index = 0;; ++index) {
    const std::size_t bar = choices.find('|');
    if (choices.substr(0, bar) == text) return index;
    if (bar == std::string_view::npos) return -1;
    choices.remove_prefix(bar + 1);
  }
}

[[noreturn]] void refuse(const AttributeRow& row, std::string_view text, std::string_view shown_name) {
  std::string message = std::string(shown_name) + "=" + std::string(text) + " is not valid: ";
  switch (row.type) {
    case AttributeType::integer:
      message += "it must be an integer from ";
      break;
    case AttributeType::size:
      message += "it must be a size such as 64K or 2M, from ";
      break;
    case AttributeType::seconds:
    case AttributeType::microseconds:
      message += "it must be " + std::string(kDurationForm) + ", or a number of " +
                 std::string(to_string(row.type)) + ", from ";
      break;
    default:
      message += "it must be ";
      break;
  }
  message += range_text(row);
  if (row.power_of_two) message += " and a power of two";
  throw Error(ErrorClass::attribute, message);
}

}  // namespace

std::string_view to_string(Source source) {
  switch (source) {
    case Source::default_value:
      return "default";
    case Source::environment:
      return "environment";
    case Source::program:
      return "program";
  }
  return "unknown";
}

std::string_view to_string(AttributeType type) {
  switch (type) {
    case AttributeType::boolean:
      return "boolean";
    case AttributeType::integer:
      return "integer";
    case AttributeType::size:
      return "size";
    case AttributeType::seconds:
      return "seconds";
    case AttributeType::microseconds:
      return "microseconds";
    case AttributeType::choice:
      return "choice";
    case AttributeType::text:
      return "text";
  }
  return "unknown";
}

std::string environment_name(const AttributeRow& row) {
  std::string name{kPrefix};
  for (const char c : row.name) name += capital(c);
  return name;
}

std::string range_text(const AttributeRow& row) {
  switch (row.type) {
    case AttributeType::boolean:
      return "yes or no";
    case AttributeType::text:
      return "any text";
    case AttributeType::choice: {
      std::string text{row.choices};
      const std::size_t last = text.rfind('|');
      if (last != std::string::npos) text.replace(last, 1, " or ");
      for (std::size_t bar = text.find('|'); bar != std::string::npos; bar = text.find('|'))
        text.replace(bar, 1, ", ");
      return text;
    }
    case AttributeType::size:
      return size_text(row.minimum) + " to " + size_text(row.maximum);
    case AttributeType::integer:
    case AttributeType::seconds:
    case AttributeType::microseconds:
      break;
  }
  return std::to_string(row.minimum) + " to " + std::to_string(row.maximum);
}

bool is_reserved_variable(std::string_view name) {
  const auto has_name = [name](const JobVariable& variable) { return variable.name == name; };
  return std::ranges::any_of(kJobVariables, has_name) || std::ranges::any_of(kUserVariables, has_name);
}

Attributes::Value Attributes::parse(const AttributeRow& row, std::string_view text,
                                    std::string_view shown_name, Source source) {
  Value value;
  value.source = source;
  switch (row.type) {
    case AttributeType::boolean: {
      const auto parsed = parse_boolean(text);
      if (!parsed) refuse(row, text, shown_name);
      value.number = *parsed ? 1 : 0;
      value.text = *parsed ? "yes" : "no";
      break;
    }
    case AttributeType::integer:
    case AttributeType::microseconds:
    case AttributeType::size: {
      const auto parsed = row.type == AttributeType::size           ? parse_size(text)
                          : row.type == AttributeType::microseconds ? parse_whole_duration(text, 1e-6)
                                                                    : parse_integer(text);
      if (!parsed || *parsed < row.minimum || *parsed > row.maximum) refuse(row, text, shown_name);
      if (row.power_of_two && !std::has_single_bit(static_cast<std::uint64_t>(*parsed)))
        refuse(row, text, shown_name);
      value.number = *parsed;
      value.text = row.type == AttributeType::size ? size_text(*parsed) : std::to_string(*parsed);
      break;
    }
    case AttributeType::seconds: {
      const auto parsed = parse_seconds(text);
      if (!parsed || *parsed < static_cast<double>(row.minimum) || *parsed > static_cast<double>(row.maximum))
        refuse(row, text, shown_name);
      value.seconds = *parsed;
      value.text = seconds_text(*parsed);
      break;
    }
    case AttributeType::choice: {
      value.number = choice_index(row.choices, text);
      if (value.number < 0) refuse(row, text, shown_name);
      value.text = text;
      break;
    }
    case AttributeType::text:
      value.text = text;
      break;
  }
  return value;
}

void Attributes::set(const AttributeRow& row, std::string_view text, std::string_view shown_name,
                     Source source) {
  values_[static_cast<std::size_t>(row.id)] = parse(row, text, shown_name, source);
}

void Attributes::check_consistency() const {
  const auto not_above = [this](Attribute small, Attribute large) {
    if (integer(small) <= integer(large)) return;
    throw Error(ErrorClass::attribute, environment_name(row_of(small)) + "=" + std::string(text(small)) +
                                           " is not valid: it must not exceed " +
                                           environment_name(row_of(large)) + ", which is " +
                                           std::string(text(large)));
  };
  not_above(Attribute::lane_slots, Attribute::lane_slots_max);
  not_above(Attribute::backlog_peer, Attribute::backlog);
  if (integer(Attribute::rendezvous_device) >= integer(Attribute::devices_max))
    throw Error(ErrorClass::attribute, environment_name(row_of(Attribute::rendezvous_device)) + "=" +
                                           std::string(text(Attribute::rendezvous_device)) +
                                           " is not valid: devices have indices below " +
                                           environment_name(row_of(Attribute::devices_max)) + ", which is " +
                                           std::string(text(Attribute::devices_max)));
  try {
    static_cast<void>(LogLevels::parse(text(Attribute::log)));
  } catch (const Error& error) {
    throw Error(ErrorClass::attribute, environment_name(row_of(Attribute::log)) + "=" +
                                           std::string(text(Attribute::log)) +
                                           " is not valid: " + error.what());
  }
}

Attributes Attributes::load(std::span<const AttributeSetting> program_settings) {
  return load(program_settings, environ);
}

Attributes Attributes::load(std::span<const AttributeSetting> program_settings,
                            const char* const* environment) {
  Attributes result;
  for (const AttributeRow& row : kAttributeTable)
    result.set(row, row.default_value, row.name, Source::default_value);

  for (; environment != nullptr && *environment != nullptr; ++environment) {
    const std::string_view entry{*environment};
    if (!entry.starts_with(kPrefix)) continue;
    const std::size_t equals = entry.find('=');
    if (equals == std::string_view::npos) continue;
    const std::string_view name = entry.substr(0, equals);
    if (is_reserved_variable(name)) continue;
    const AttributeRow* row = find_row_of_variable(name);
    if (row == nullptr) {
      const AttributeRow& nearest = nearest_row(name);
      result.unknown_variables_.push_back(
          "the environment variable " + std::string(name) + " names no attribute and has no effect: " +
          suggestion(name, nearest, environment_name(nearest)) + "`weft info` lists all");
      continue;
    }
    result.set(*row, entry.substr(equals + 1), name, Source::environment);
  }

  for (const AttributeSetting& setting : program_settings) {
    const std::string_view name = setting.name == nullptr ? "" : setting.name;
    const AttributeRow* row = find_row(name);
    if (row == nullptr) {
      std::string variable{kPrefix};
      for (const char c : name) variable += capital(c);
      const AttributeRow& nearest = nearest_row(variable);
      throw Error(ErrorClass::attribute,
                  "the program sets the attribute \"" + std::string(name) + "\", which does not exist: " +
                      suggestion(variable, nearest, "\"" + std::string(nearest.name) + '"') +
                      "`weft info` lists all");
    }
    result.set(*row, setting.value == nullptr ? "" : setting.value, name, Source::program);
  }
  result.check_consistency();
  return result;
}

}  // namespace weft::base
