#include "common/commands/command_description.hpp"

#include <CLI/CLI.hpp>

#include <algorithm>

namespace weft::tools {
namespace {

/// The words of "core|node|none"; none for a type name like FILE or FILE|-.
std::vector<std::string> choices_in(const std::string& value) {
  if (value.find('|') == std::string::npos) return {};
  const bool has_capitals =
      std::any_of(value.begin(), value.end(), [](char c) { return c >= 'A' && c <= 'Z'; });
  return has_capitals ? std::vector<std::string>{} : CLI::detail::split(value, '|');
}

}  // namespace

OptionDescription describe(const CLI::Option& option) {
  OptionDescription description;
  for (const std::string& name : option.get_snames()) description.names.push_back("-" + name);
  for (const std::string& name : option.get_lnames()) description.names.push_back("--" + name);
  description.is_argument = description.names.empty();
  if (description.is_argument) description.names.push_back(option.get_name(true));
  if (option.get_items_expected_max() > 0) {
    description.value = option.get_type_name();
    description.choices = choices_in(description.value);
  }
  description.help = option.get_description();
  return description;
}

bool OptionDescription::takes_files() const {
  return value == "PREFIX" || value.starts_with("FILE") || value.ends_with("FILE");
}

CommandDescription describe(const CLI::App& app) {
  CommandDescription command;
  command.name = app.get_name();
  if (const CLI::App* const parent = app.get_parent(); parent != nullptr)
    command.name = parent->get_name() + " " + command.name;
  command.summary = app.get_description();
  for (const CLI::Option* const option : app.get_options()) {
    OptionDescription description = describe(*option);
    (description.is_argument ? command.arguments : command.options).push_back(std::move(description));
  }
  for (const CLI::App* const below : app.get_subcommands([](const CLI::App*) { return true; }))
    command.commands.push_back(describe(*below));
  command.footer = app.get_footer();
  command.starts_program = app.get_prefix_command();
  return command;
}

std::vector<std::string> names_of_options(const CLI::App& app) {
  std::vector<std::string> names;
  for (const OptionDescription& option : describe(app).options)
    names.insert(names.end(), option.names.begin(), option.names.end());
  return names;
}

}  // namespace weft::tools
