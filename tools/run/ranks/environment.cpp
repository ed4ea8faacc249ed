#include "run/ranks/environment.hpp"

#include <fmt/core.h>
#include <unistd.h>

#include <algorithm>
#include <map>
#include <string_view>

#include "base/attributes.hpp"
#include "base/job_variables.hpp"
#include "sockets/tcp_socket.hpp"

namespace weft::tools::run {

namespace {

bool is_of_a_job(std::string_view name) {
  return std::ranges::any_of(base::kJobVariables,
                             [&](const base::JobVariable& variable) { return variable.name == name; });
}

}  // namespace

std::vector<std::string> environment_with(const Variables& own) {
  std::map<std::string, std::string, std::less<>> values;
  for (const auto& [name, value] : own) values[name] = value;
  std::vector<std::string> entries;
  for (char** entry = environ; *entry != nullptr; ++entry) {
    const std::string_view text{*entry};
    const std::string_view name = text.substr(0, text.find('='));
    if (!values.contains(name) && !is_of_a_job(name)) entries.emplace_back(text);
  }
  for (const auto& [name, value] : values) entries.push_back(fmt::format("{}={}", name, value));
  return entries;
}

void check_variables(const Variables& own) {
  const std::vector<std::string> entries = environment_with(own);
  std::vector<const char*> environment;
  for (const std::string& entry : entries) environment.push_back(entry.c_str());
  environment.push_back(nullptr);
  const base::Attributes attributes = base::Attributes::load({}, environment.data());
  static_cast<void>(sockets::parse_ports(attributes.text(base::Attribute::ports)));
}

Variables variables_for_hosts() {
  Variables variables;
  for (char** entry = environ; *entry != nullptr; ++entry) {
    const std::string_view text{*entry};
    const std::size_t equals = text.find('=');
    const std::string_view name = text.substr(0, equals);
    if (equals == std::string_view::npos || is_of_a_job(name)) continue;
    if (name.starts_with("WEFT_") || name == "PATH" || name == "LD_LIBRARY_PATH")
      variables.emplace_back(name, text.substr(equals + 1));
  }
  return variables;
}

}  // namespace weft::tools::run
