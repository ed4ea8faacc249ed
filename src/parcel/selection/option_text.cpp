#include "parcel/selection/option_text.hpp"

#include <weft/error.hpp>

#include <algorithm>
#include <array>
#include <charconv>
#include <cstdint>
#include <type_traits>

#include "parcel/selection/kinds.hpp"

namespace weft::parcel {

namespace {

template <class Value>
using Names = std::pair<std::string_view, Value>;

constexpr std::array kAggregations{Names<Aggregation>{"adaptive", Aggregation::adaptive},
                                   Names<Aggregation>{"immediate", Aggregation::immediate},
                                   Names<Aggregation>{"queued", Aggregation::queued}};
constexpr std::array kProgress{
    Names<Progress>{"workers", Progress::workers}, Names<Progress>{"thread", Progress::thread},
    Names<Progress>{"pinned", Progress::pinned}, Names<Progress>{"both", Progress::both}};

struct Number {
  std::string_view name;
  std::uint64_t least;
  std::uint64_t most;
  void (*set)(RuntimeOptions& options, std::uint64_t value);
  std::uint64_t (*get)(const RuntimeOptions& options);
};
template <auto member>
constexpr Number number_of(std::string_view name, std::uint64_t least, std::uint64_t most) {
  return {name, least, most,
          [](RuntimeOptions& options, std::uint64_t value) {
            options.*member = static_cast<std::remove_reference_t<decltype(options.*member)>>(value);
          },
          [](const RuntimeOptions& options) { return std::uint64_t{options.*member}; }};
}
/// As text_of() has them.
constexpr std::array kNumbers{
    number_of<&RuntimeOptions::workers>("workers", 0, 256),
    number_of<&RuntimeOptions::zero_copy>("zero_copy", 1, std::uint64_t{1} << 40),
    number_of<&RuntimeOptions::message_limit>("message_limit", 64, 1 << 30),
    number_of<&RuntimeOptions::pending_limit>("pending_limit", 1, std::uint64_t{1} << 50),
    number_of<&RuntimeOptions::pace>("pace", 0, std::uint64_t{1} << 50),
    number_of<&RuntimeOptions::connections>("connections", 1, 1 << 20),
    number_of<&RuntimeOptions::stack>("stack", std::uint64_t{64} << 10, std::uint64_t{1} << 30),
    number_of<&RuntimeOptions::devices>("devices", 1, 64),
};
constexpr std::string_view kDevices = "devices";  // described beside the parcelport's own
constexpr std::array<std::string_view, 4> kTexts{"port", "aggregation", "progress", "name"};

constexpr std::size_t kLongestName = 50;

[[noreturn]] void refuse(std::string_view name, std::string_view value, const std::string& right) {
  throw Error("parcel option " + std::string(name) + " is '" + std::string(value) + "'; it must be " + right);
}

std::uint64_t checked(const Number& number, std::string_view value) {
  std::uint64_t result = 0;
  const auto [end, error] = std::from_chars(value.data(), value.data() + value.size(), result);
  std::string_view unit(end, static_cast<std::size_t>(value.data() + value.size() - end));
  int shift = 0;
  if (unit == "K") shift = 10;
  if (unit == "M") shift = 20;
  if (unit == "G") shift = 30;
  if (shift != 0) unit = {};
  const bool is_number = error == std::errc() && unit.empty() && result <= UINT64_MAX >> shift;
  if (!is_number || result << shift < number.least || result << shift > number.most)
    refuse(number.name, value, std::to_string(number.least) + " to " + std::to_string(number.most));
  return result << shift;
}

template <class Value, std::size_t size>
Value choice(std::string_view name, std::string_view value, const std::array<Names<Value>, size>& values) {
  std::vector<std::string_view> known;
  for (const auto& [text, each] : values) {
    if (text == value) return each;
    known.push_back(text);
  }
  refuse(name, value, list_of(known));
}

template <class Value, std::size_t size>
std::string name_of(Value value, const std::array<Names<Value>, size>& values) {
  for (const auto& [name, each] : values)
    if (each == value) return std::string(name);
  throw Error("a parcel option has the value " + std::to_string(static_cast<int>(value)) +
              ", which has no name");
}

/// False: the runtime has no option of the name.
bool set(RuntimeOptions& options, std::string_view name, std::string_view value) {
  for (const Number& number : kNumbers) {
    if (number.name != name) continue;
    number.set(options, checked(number, value));
    return true;
  }
  if (name == "aggregation")
    options.aggregation = choice(name, value, kAggregations);
  else if (name == "progress")
    options.progress = choice(name, value, kProgress);
  else if (name == "port")
    options.port = value;
  else if (name == "name")
    options.name = value;
  else
    return false;
  return true;
}

/// Options that the runtime has, and its parcelport's own.
std::string known_options(const ParcelportKind* kind) {
  std::string text;
  const auto add = [&text](std::string_view name) { text.append(text.empty() ? "" : ", ").append(name); };
  for (const std::string_view name : kTexts) add(name);
  for (const Number& number : kNumbers) add(number.name);
  if (kind == nullptr || kind->options.empty()) return text;
  text.append("; and of port=").append(kind->name).append(":");
  for (const PortOption& own : kind->options)
    text.append(&own == &kind->options[0] ? " " : ", ").append(own.name);
  return text;
}

/// Sets what the text names, and returns the rest of it.
std::vector<std::pair<std::string_view, std::string_view>> read_text(RuntimeOptions& options) {
  std::vector<std::pair<std::string_view, std::string_view>> others;
  std::string_view rest = options.text;
  options.text = {};
  while (!rest.empty()) {
    const std::string_view item = rest.substr(0, rest.find(','));
    rest.remove_prefix(item.size() < rest.size() ? item.size() + 1 : rest.size());
    const std::size_t equals = item.find('=');
    if (equals == std::string_view::npos)
      throw Error("parcel option '" + std::string(item) + "' has no value; write name=value");
    const std::string_view name = item.substr(0, equals);
    const std::string_view value = item.substr(equals + 1);
    if (!set(options, name, value)) others.emplace_back(name, value);
  }
  // The same ranges for options that the program has set as fields.
  for (const Number& number : kNumbers) checked(number, std::to_string(number.get(options)));
  check_name("option name", options.name);
  return others;
}

void check_own(const CompleteOptions& complete) {
  for (const auto& [name, value] : complete.own) {
    if (value.empty())
      throw Error("parcel option '" + std::string(name) + "' has no value; write name=value");
    const auto is_this = [&, own = name](const PortOption& option) { return option.name == own; };
    if (complete.kind != nullptr &&
        std::any_of(complete.kind->options.begin(), complete.kind->options.end(), is_this))
      continue;
    throw Error("there is no parcel option '" + std::string(name) + "'; there are " +
                known_options(complete.kind));
  }
}

bool has_devices_set(const RuntimeOptions& options) {
  return options.progress != Progress::workers || options.devices != 1;
}

}  // namespace

void check_name(std::string_view what, std::string_view name) {
  const bool is_word = std::all_of(name.begin(), name.end(), [](char letter) {
    return (letter >= 'a' && letter <= 'z') || (letter >= 'A' && letter <= 'Z') ||
           (letter >= '0' && letter <= '9') || letter == '_' || letter == '-' || letter == '.';
  });
  if (!is_word || name.size() > kLongestName)
    throw Error("parcel " + std::string(what) + " is '" + std::string(name) + "'; it must be up to " +
                std::to_string(kLongestName) + " letters, digits, '-', '_' or '.'");
}

bool is_option_of_runtime(std::string_view name) noexcept {
  return std::find(kTexts.begin(), kTexts.end(), name) != kTexts.end() ||
         std::any_of(kNumbers.begin(), kNumbers.end(),
                     [name](const Number& number) { return number.name == name; });
}

CompleteOptions complete(RuntimeOptions options) {
  CompleteOptions result;
  result.own = read_text(options);
  result.kind = &kind_of(options.port);
  result.options = options;
  check_own(result);
  if (!result.kind->has_devices && has_devices_set(options))
    throw Error("the parcel options progress and devices mean nothing to port=" + result.kind->name);
  return result;
}

RuntimeOptions complete_without_port(RuntimeOptions options) {
  CompleteOptions result;
  result.own = read_text(options);
  check_own(result);
  if (options.port != RuntimeOptions().port || has_devices_set(options))
    throw Error(
        "the parcel options port, progress and devices are not for a parcelport that the program has made");
  options.port = kPortOfProgram;
  return options;
}

std::string_view own_value(const CompleteOptions& options, std::string_view name) noexcept {
  std::string_view value;  // the last one, as of all options
  for (const auto& [own, text] : options.own)
    if (own == name) value = text;
  return value;
}

std::string text_of(const RuntimeOptions& options, const std::string& own) {
  const ParcelportKind* const kind = find_kind(options.port);
  std::string text = "port=" + std::string(options.port);
  if (!own.empty()) text.append(",").append(own);
  text.append(",aggregation=").append(name_of(options.aggregation, kAggregations));
  if (kind != nullptr && kind->has_devices)
    text.append(",progress=")
        .append(name_of(options.progress, kProgress))
        .append(",devices=")
        .append(std::to_string(options.devices));
  for (const Number& number : kNumbers)
    if (number.name != kDevices)
      text.append(",").append(number.name).append("=").append(std::to_string(number.get(options)));
  return options.name.empty() ? text : text.append(",name=").append(options.name);
}

std::string text_of_common(const CompleteOptions& options) {
  std::string text = "option port=" + options.kind->name +
                     "\noption devices=" + std::to_string(options.options.devices) +
                     "\noption name=" + std::string(options.options.name) + "\n";
  for (const PortOption& option : options.kind->options) {
    if (!option.is_common) continue;
    text.append("option ")
        .append(option.name)
        .append("=")
        .append(own_value(options, option.name))
        .append("\n");
  }
  return text;
}

}  // namespace weft::parcel
