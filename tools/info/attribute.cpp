#include <fmt/core.h>

#include <algorithm>

#include "base/agreed_attributes.hpp"
#include "base/job_variables.hpp"
#include "common/wrapped_text.hpp"
#include "info/report.hpp"

namespace weft::tools::info {
namespace {

std::string small_letters(std::string text) {
  std::transform(text.begin(), text.end(), text.begin(),
                 [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; });
  return text;
}

/// What may be written for a value of the type, beyond its range.
std::string form_of(const std::string& type) {
  if (type == "size") return "a number of bytes, or with K, M, G or T (powers of 1024)";
  if (type == "seconds") return "a duration such as 500ms, 30s or 2m; a plain number counts seconds";
  if (type == "microseconds") return "a duration such as 20us or 1ms; a plain number counts microseconds";
  if (type == "boolean") return "yes or no (also true, false, on, off, 1, 0)";
  if (type == "choice") return "one of these words";
  return type == "integer" ? "a decimal integer" : "text";
}

std::string with_unit(const std::string& value, const std::string& unit) {
  return unit.empty() ? value : value + " " + unit;
}

/// Text for a cell of a table in Markdown.
std::string cell(std::string_view text) {
  std::string out;
  for (const char c : text) {
    if (c == '|') out += '\\';
    out += c;
  }
  return out;
}

}  // namespace

const AttributeState* find_attribute(const Report& report, const std::string& name) {
  const std::string small = small_letters(name);
  for (const AttributeState& state : report.attributes)
    if (small == state.name || small == small_letters(state.variable)) return &state;
  return nullptr;
}

std::string as_explanation(const AttributeState& state) {
  const std::string origin = state.source == "environment" ? "the environment variable " + state.variable
                                                           : "the default, as nothing sets it";
  std::string text = fmt::format("{} (attribute {})\n\n", state.variable, state.name);
  text += wrapped("  ", state.help) + "\n";
  text += wrapped("  value    ", with_unit(state.value, state.unit));
  text += wrapped("  origin   ", origin);
  text += wrapped("  default  ", with_unit(state.default_value, state.unit));
  text += wrapped("  range    ", state.type == "text" ? state.range : with_unit(state.range, state.unit));
  text += wrapped("  written  ", form_of(state.type));
  text += wrapped("  set by   ",
                  fmt::format("{}={} in the environment, or a program by RuntimeOptions::attributes: "
                              "{{\"{}\", \"{}\"}}, which wins",
                              state.variable, state.default_value, state.name, state.default_value));
  return text;
}

std::string variables_page() {
  std::string page =
      "# Environment variables\n\n"
      "`weft info --markdown` writes this page from the table of attributes that the library reads. A "
      "program sets "
      "an\nattribute, by its name without `WEFT_` in small letters, through `RuntimeOptions::attributes`, "
      "which wins "
      "over the\nenvironment. `weft info` shows the values that are in force, and `weft info NAME` one of "
      "them.\n\n"
      "Sizes are numbers of bytes, or have a suffix K, M, G or T (powers of 1024). Durations are numbers "
      "with a "
      "suffix ns, us,\nms, s, m or h; a plain number counts the unit that the table names. A value that is "
      "not valid "
      "ends the start of a\nprogram with a line that names it; a variable that begins with `WEFT_` and that "
      "is not "
      "listed is reported and has no effect.\n\n"
      "## Attributes\n\n| variable | default | range | unit | meaning |\n|---|---|---|---|---|\n";
  for (const base::AttributeRow& row : base::kAttributeTable) {
    page += fmt::format("| `{}` | {} | {}{} | {} | {} |\n", base::environment_name(row),
                        cell(row.default_value), base::range_text(row),
                        row.power_of_two ? ", power of two" : "", row.unit, cell(base::help_text(row)));
  }
  page += "\n## Job\n\nPrograms and scripts may rely on these.\n\n| variable | meaning |\n|---|---|\n";
  const auto append = [&page](const base::JobVariable& variable) {
    page += fmt::format("| `{}` | {} |\n", variable.name, cell(variable.help));
  };
  for (const base::JobVariable& variable : base::kJobVariables)
    if (variable.is_promised) append(variable);
  for (const base::JobVariable& variable : base::kUserVariables) append(variable);
  page +=
      "\nThese are between the launcher and the library, and may change.\n\n| variable | meaning "
      "|\n|---|---|\n";
  for (const base::JobVariable& variable : base::kJobVariables)
    if (!variable.is_promised) append(variable);
  return page;
}

}  // namespace weft::tools::info
